package explore

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/trace"
)

// BuiltInRules returns the names of the rules that every run checks, except those in Config.Except.
//
//   - OneOwner: no two claims are bound to one volume, and no two volumes to one claim; no
//     controller gives a volume that has an owner to another one;
//   - OneDisk: no two volumes that were provisioned for different claims have their data in one place, such as a directory of an NFS server or
//     of the same nodes; those of CSI drivers are CSIAnswers' to tell apart;
//   - OneNode: a volume whose access modes allow one node is attached to one, except for
//     attachments that are being deleted, of which the driver may have detached it;
//   - NotInUse: no claim is removed while a pod on a node uses it, no volume while it is attached (by a driver that attaches);
//   - AsClass: a provisioned volume has the reclaim policy of its class, and, of the types NFS and CSI, its mount options, and a node of the topologies that
//     the class allows reaches it;
//   - CallOrder: a driver's volume is attached before it is staged, staged before it is
//     published, except one of a pod's own spec, which is not staged, and not deleted while it is attached;
//   - CSIAnswers: a driver answers another node_id for each node, and another volume_id for each volume: its callers, and the two rules about
//     their calls, tell nodes and volumes apart by them; and no negative max_volumes_per_node, and pages of ListVolumes that end;
//   - CSICalls: the sidecars and the kubelet keep the rules of CSI v1.13: a volume is unpublished from a node when it is
//     unstaged there, a volume for one node is staged on one, and no call is made a second time while it is under way. A
//     breach of this rule or of CallOrder is attributed to Kubernetes or to this library, unless what the driver answers misleads its
//     callers, or the plain run has it without any trouble;
//   - NothingLost: at each rest the backend has the volume of each bound claim, and the driver has staged and published what it answered
//     to have for pods that run, as far as it has an Inventory;
//   - NothingLeaks: Cluster.RequireNoLeaks holds at the end, except for leaks that are known
//     to be upstream's (storagesim.Leak.Known);
//   - Liveness: at each rest (before the scenario acts, and at the end) as many pods run, as many claims are bound, and
//     as many other objects are finished as in the plain run at the same rest, and no more are being deleted. What is
//     behind has 20 minutes without trouble.
//   - Succeeds: at the end no more work of provisioners and operators of the scenario fails, and is tried again, than in the plain run. What
//     fails has 20 minutes without trouble.
//   - PlainRun: in the plain run each claim is bound, and each pod runs, at each rest and at the end, except what waits
//     by design and what Config.Expect names;
//   - Returns: the code of provisioners and drivers does not panic, and returns, also in the goroutines that it starts (one that
//     several runs leave behind does not); and the scenario ends.
//
// That finalizers go last needs no rule: the API server sees to it.
func BuiltInRules() []string {
	return []string{
		OneOwner, OneDisk, OneNode, NotInUse, AsClass, CSIAnswers, CallOrder, CSICalls, Returns, NothingLost, NothingLeaks, Liveness, Succeeds, PlainRun,
	}
}

// The names of the built-in rules.
const (
	OneOwner     = "one owner"
	OneDisk      = "one disk"
	OneNode      = "one node"
	NotInUse     = "not in use"
	AsClass      = "as the class says"
	CallOrder    = "in order"
	CSICalls     = "the calls of CSI"
	CSIAnswers   = "the answers of CSI"
	NothingLost  = "nothing is lost"
	NothingLeaks = "nothing leaks"
	Liveness     = "what runs in order runs"
	Succeeds     = "work succeeds in the end"
	PlainRun     = "the plain run works"
	Returns      = "the author's code returns"
)

// stateless returns the built-in rules that need nothing but the run itself.
func stateless() []Rule {
	return []Rule{
		{OneOwner, func(*storagesim.Cluster) Check {
			return Check{Write: (&owners{map[string]types.UID{}, map[types.UID]string{}}).write}
		}},
		{OneDisk, func(*storagesim.Cluster) Check { return Check{Write: (&disks{map[string]disk{}}).write} }},
		{OneNode, func(*storagesim.Cluster) Check {
			return Check{Write: (&places{map[string]bool{}, map[string]string{}}).write}
		}},
		{NotInUse, func(c *storagesim.Cluster) Check {
			return Check{Write: (&uses{map[types.UID]*v1.Pod{}, map[types.UID]*storagev1.VolumeAttachment{}, c.Engine().Trace()}).write}
		}},
		{AsClass, func(c *storagesim.Cluster) Check {
			a := newAsClass(c)
			return Check{Write: a.write, Rest: a.rest}
		}},
		{Returns, func(c *storagesim.Cluster) Check {
			calls := &authorsCalls{log: c.Engine().Trace()}
			return Check{Write: func(trace.Write) error { return calls.look() }, Rest: calls.look}
		}},
		{CSIAnswers, func(c *storagesim.Cluster) Check {
			answers := newAnswers(c.Engine().Trace())
			return Check{Write: func(trace.Write) error { return answers.look() }, Rest: answers.look}
		}},
		{CallOrder, func(c *storagesim.Cluster) Check {
			return Check{Rest: func() error { return callsInOrder(c.Trace().Records()) }}
		}},
		{CSICalls, func(c *storagesim.Cluster) Check {
			return Check{Rest: func() error { return keepCSI(c.Trace().Records()) }}
		}},
	}
}

// builtIn returns the rules of a configuration, for a run with these objects. plain says how the run in order stood; it
// is nil in that run itself.
func (cfg Config) builtIn(plain *ends, objects *objects) []Rule {
	rules := stateless()
	before := unheld()
	if plain != nil {
		before = plain.lost
	}
	if plain == nil {
		rules = append(rules, Rule{PlainRun, func(*storagesim.Cluster) Check {
			return Check{Rest: func() error { return cmp.Or(objects.ill(cfg.Expect), objects.cameTrue(cfg.Expect)) }}
		}})
	}
	// After what does not work at all, which may be why something is left: its explanation says more.
	rules = append(rules, Rule{NothingLeaks, func(c *storagesim.Cluster) Check {
		return Check{Rest: func() error { return newLeaks(c) }}
	}})
	if plain != nil {
		rules = append(rules, Rule{Liveness, func(*storagesim.Cluster) Check {
			return Check{Rest: func() error { return objects.behindOf(plain.end, "") }}
		}}, Rule{Succeeds, func(*storagesim.Cluster) Check {
			return Check{Rest: func() error { return objects.failing.more(plain.failing) }}
		}})
	}
	rules = append(rules, Rule{NothingLost, func(c *storagesim.Cluster) Check {
		return Check{Rest: func() error { return lost(c, before) }}
	}})
	return slices.DeleteFunc(rules, func(r Rule) bool { return cfg.excepts(r.Name) })
}

// excepts reports whether a built-in rule need not hold.
func (cfg Config) excepts(rule string) bool { return slices.Contains(cfg.Except, rule) }

// about returns an error about an object, which is part of the Reason of a failure.
func about(object, format string, args ...any) error {
	return objectError{object, fmt.Errorf(format, args...)}
}

// newLeaks returns the leaks that upstream does not have.
func newLeaks(c *storagesim.Cluster) error {
	found, err := c.Lab().Leaks()
	if err != nil {
		return err
	}
	if found = slices.DeleteFunc(found, func(l storagesim.Leak) bool { return l.Known != "" }); len(found) == 0 {
		return nil
	}
	return &storagesim.LeakError{Leaks: found}
}

// owners maps volumes to the claims that have them.
type owners struct {
	claimOf  map[string]types.UID // the bound claim of a volume
	volumeOf map[types.UID]string // the bound volume of a claim
}

func (o *owners) write(w trace.Write) error {
	switch w.Kind {
	case "PersistentVolumeClaim":
		return o.claim(w)
	case "PersistentVolume":
		return o.volume(w)
	}
	return nil
}

func (o *owners) claim(w trace.Write) error {
	if old, ok := w.Old.(*v1.PersistentVolumeClaim); ok && o.claimOf[old.Spec.VolumeName] == old.UID {
		delete(o.claimOf, old.Spec.VolumeName)
	}
	claim, ok := w.New.(*v1.PersistentVolumeClaim)
	if !ok || claim.Status.Phase != v1.ClaimBound {
		return nil
	}
	if other, taken := o.claimOf[claim.Spec.VolumeName]; taken {
		return about(w.About().Path(), "%s is bound to %s, to which the claim with UID %s is bound", w.About().Path(), pathOfVolume(claim.Spec.VolumeName), other)
	}
	o.claimOf[claim.Spec.VolumeName] = claim.UID
	return nil
}

func (o *owners) volume(w trace.Write) error {
	old, _ := w.Old.(*v1.PersistentVolume)
	pv, _ := w.New.(*v1.PersistentVolume)
	if old != nil && old.Spec.ClaimRef != nil && o.volumeOf[old.Spec.ClaimRef.UID] == old.Name {
		delete(o.volumeOf, old.Spec.ClaimRef.UID)
	}
	if pv == nil || pv.Spec.ClaimRef == nil {
		return nil
	}
	owner := pv.Spec.ClaimRef.UID
	if old != nil && old.Spec.ClaimRef != nil && w.Actor != storagesim.User {
		if was := old.Spec.ClaimRef.UID; was != "" && owner != "" && was != owner {
			return about(w.About().Path(), "%s goes from the claim with UID %s to that with UID %s", w.About().Path(), was, owner)
		}
	}
	if pv.Status.Phase != v1.VolumeBound {
		return nil
	}
	if other, has := o.volumeOf[owner]; has {
		return about(w.About().Path(), "%s is bound to pvc/%s/%s, to which %s is bound", w.About().Path(), pv.Spec.ClaimRef.Namespace,
			pv.Spec.ClaimRef.Name, pathOfVolume(other))
	}
	o.volumeOf[owner] = pv.Name
	return nil
}

func pathOfVolume(name string) string { return trace.Ref{Kind: "PersistentVolume", Name: name}.Path() }

// places maps volumes to the nodes to which they are attached.
type places struct {
	single   map[string]bool // volumes that may be attached to one node only
	attached map[string]string
}

func (p *places) write(w trace.Write) error {
	if pv, ok := w.New.(*v1.PersistentVolume); ok {
		p.single[pv.Name] = !slices.ContainsFunc(pv.Spec.AccessModes, func(m v1.PersistentVolumeAccessMode) bool {
			return m == v1.ReadWriteMany || m == v1.ReadOnlyMany
		})
		return nil
	}
	if old, ok := w.Old.(*storagev1.VolumeAttachment); ok && p.attached[volumeOf(old)] == old.Spec.NodeName {
		delete(p.attached, volumeOf(old))
	}
	va, ok := w.New.(*storagev1.VolumeAttachment)
	if !ok || !va.Status.Attached || va.DeletionTimestamp != nil || !p.single[volumeOf(va)] {
		return nil
	}
	if at, elsewhere := p.attached[volumeOf(va)]; elsewhere && at != va.Spec.NodeName {
		return about(pathOfVolume(volumeOf(va)), "%s is attached to %s, and to %s already", pathOfVolume(volumeOf(va)), va.Spec.NodeName, at)
	}
	p.attached[volumeOf(va)] = va.Spec.NodeName
	return nil
}

func volumeOf(va *storagev1.VolumeAttachment) string {
	if name := va.Spec.Source.PersistentVolumeName; name != nil {
		return *name
	}
	return ""
}

// uses are the pods that use claims, and the attachments of volumes.
type uses struct {
	pods     map[types.UID]*v1.Pod // on a node, and not ended
	attached map[types.UID]*storagev1.VolumeAttachment
	log      *trace.Log
}

func (u *uses) write(w trace.Write) error {
	switch old := w.Old.(type) {
	case *v1.Pod:
		delete(u.pods, old.UID)
	case *storagev1.VolumeAttachment:
		delete(u.attached, old.UID)
	case *v1.PersistentVolumeClaim:
		if w.New == nil {
			return u.claimGoes(old)
		}
	case *v1.PersistentVolume:
		if w.New == nil && w.Actor != storagesim.User {
			return u.volumeGoes(old)
		}
	}
	switch obj := w.New.(type) {
	case *v1.Pod:
		if obj.Spec.NodeName != "" && obj.Status.Phase != v1.PodSucceeded && obj.Status.Phase != v1.PodFailed {
			u.pods[obj.UID] = obj
		}
	case *storagev1.VolumeAttachment:
		if obj.Status.Attached {
			u.attached[obj.UID] = obj
		}
	}
	return nil
}

func (u *uses) claimGoes(claim *v1.PersistentVolumeClaim) error {
	for _, uid := range slices.Sorted(maps.Keys(u.pods)) {
		pod := u.pods[uid]
		if pod.Namespace != claim.Namespace {
			continue
		}
		for _, v := range pod.Spec.Volumes {
			if v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim.Name {
				ref := trace.RefOf("PersistentVolumeClaim", claim).Path()
				return about(ref, "%s goes while %s on %s uses it", ref, trace.RefOf("Pod", pod).Path(), pod.Spec.NodeName)
			}
		}
	}
	return nil
}

func (u *uses) volumeGoes(pv *v1.PersistentVolume) error {
	for _, uid := range slices.Sorted(maps.Keys(u.attached)) {
		if va := u.attached[uid]; volumeOf(va) == pv.Name && pv.Spec.PersistentVolumeReclaimPolicy == v1.PersistentVolumeReclaimDelete && u.published(pv) {
			return about(pathOfVolume(pv.Name), "%s goes while it is attached to %s", pathOfVolume(pv.Name), va.Spec.NodeName)
		}
	}
	return nil
}

// published reports whether ControllerPublishVolume was ever called for a volume. Of a driver that lacks it, the attacher only marks a VolumeAttachment as
// attached, and the provisioner deletes the volume beside it: nothing was attached.
//
// Upstream: external-attacher trivial_handler.go, v4.13; external-provisioner csi-provisioner.go main (vaLister) and controller.go canDeleteVolume, v6.4.
func (u *uses) published(pv *v1.PersistentVolume) bool {
	return pv.Spec.CSI == nil || slices.ContainsFunc(u.log.Since(0), func(entry trace.Entry) bool {
		rpc, ok := entry.Record.(trace.RPC)
		return ok && rpc.Method == "ControllerPublishVolume" && rpc.Driver == pv.Spec.CSI.Driver && rpc.Request["volume_id"] == pv.Spec.CSI.VolumeHandle
	})
}

// driverState holds the state of a driver's volumes as its callers know it.
type driverState struct {
	attaches         bool              // it does so at all
	stages           map[string]bool   // it does so at all, by machine
	nodeOf           map[string]string // node ID -> machine
	attached, staged map[[2]string]bool
	inline           inlineVolumes
}

// callsInOrder checks the rule CallOrder: attached before staged, staged before published, detached before deleted.
func callsInOrder(records []trace.Entry) error {
	drivers, inline := map[string]*driverState{}, inlineVolumes{}
	for _, entry := range records {
		if w, ok := entry.Record.(trace.Write); ok {
			inline.see(w)
		}
		rpc, ok := entry.Record.(trace.RPC)
		if !ok {
			continue
		}
		d := drivers[rpc.Driver]
		if d == nil {
			d = &driverState{stages: map[string]bool{}, nodeOf: map[string]string{}, attached: map[[2]string]bool{}, staged: map[[2]string]bool{}, inline: inline}
			drivers[rpc.Driver] = d
		}
		if err := d.see(rpc); err != nil {
			return fmt.Errorf("%s %s at %s: %w", entry.Actor, rpc.Method, entry.Time.Format("15:04:05.000"), err)
		}
	}
	return nil
}

func (d *driverState) see(rpc trace.RPC) error {
	volume, _ := rpc.Request["volume_id"].(string)
	done := rpc.Code == "OK"
	here := [2]string{volume, rpc.Machine}
	switch rpc.Method {
	case "NodeGetInfo":
		if id, ok := rpc.Answer["node_id"].(string); ok {
			d.nodeOf[id] = rpc.Machine
		}
	case "ControllerPublishVolume", "ControllerUnpublishVolume":
		d.attaches = true
		id, _ := rpc.Request["node_id"].(string)
		there := [2]string{volume, d.nodeOf[id]}
		if rpc.Method == "ControllerPublishVolume" && done {
			d.attached[there] = true
		} else if rpc.Method == "ControllerUnpublishVolume" {
			delete(d.attached, there) // also when it failed: the driver may have done it
		}
	case "NodeStageVolume":
		d.stages[rpc.Machine] = true
		if d.attaches && !d.attached[here] {
			return fmt.Errorf("volume %s is staged on %s, where it is not attached", volume, rpc.Machine)
		}
		d.staged[here] = d.staged[here] || done
	case "NodeUnstageVolume":
		delete(d.staged, here)
	case "NodePublishVolume":
		return d.inline.unstaged(here, d.stages[rpc.Machine], d.staged)
	case "DeleteVolume":
		for at := range d.attached {
			if at[0] == volume && done && !strings.Contains(rpc.Fault, "after") {
				return fmt.Errorf("volume %s is deleted while it is attached", volume)
			}
		}
	}
	return nil
}
