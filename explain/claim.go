package explain

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/internal/migration"
	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/provisioner"
	"github.com/storagesim/storagesim/pvcontroller"
	"github.com/storagesim/storagesim/pvcontroller/protection"
	"github.com/storagesim/storagesim/trace"
)

// claim explains a claim: its class, a verdict for every volume, its events and
// the pods that wait for it.
func (x *explainer) claim(ns, name string) error {
	claim, err := x.Client.CoreV1().PersistentVolumeClaims(ns).Get(x.ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	ref := claimRef(ns, name)
	return x.within(ref, func() error {
		x.found.Objects = append(x.found.Objects, ref)
		x.say("pvc %s/%s is %s%s", ns, name, claim.Status.Phase, boundWhere(claim))
		x.notModelled("PersistentVolumeClaim", claim)
		switch {
		case claim.DeletionTimestamp != nil:
			x.setState(false, "being deleted")
		default:
			x.setState(claim.Status.Phase == v1.ClaimBound, "%s", claim.Status.Phase)
		}
		switch {
		case claim.DeletionTimestamp != nil: // what it lacks does not matter any more
		case claim.Status.Phase == v1.ClaimPending:
			err = x.pending(claim)
		case claim.Status.Phase == v1.ClaimLost:
			err = x.lost(claim)
		case claim.Status.Phase == v1.ClaimBound:
			err = x.grows(claim)
			x.boundOutOfReach(claim)
		}
		if err != nil {
			return err
		}
		x.dropped(claim)
		x.events(ref, "PersistentVolumeClaim", claim.UID, "")
		return x.users(claim)
	})
}

// boundOutOfReach blames the volume of a bound claim that no node can reach.
func (x *explainer) boundOutOfReach(claim *v1.PersistentVolumeClaim) {
	if volume, err := x.Client.CoreV1().PersistentVolumes().Get(x.ctx, claim.Spec.VolumeName, metav1.GetOptions{}); err == nil {
		x.outOfReach(volume, "its volume "+volume.Name)
	}
}

func claimRef(ns, name string) string { return "pvc/" + ns + "/" + name }

// users names the pods that use a claim, and says what its deletion waits for.
func (x *explainer) users(claim *v1.PersistentVolumeClaim) error {
	pods, err := x.Client.CoreV1().Pods(claim.Namespace).List(x.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	var users []*v1.Pod
	for i := range pods.Items {
		if slices.Contains(claimNames(&pods.Items[i]), claim.Name) {
			users = append(users, &pods.Items[i])
		}
	}
	if claim.DeletionTimestamp != nil {
		x.waitsForFinalizers(claim)
		holder := slices.IndexFunc(users, func(pod *v1.Pod) bool { return protection.Keeps(pod, claim) })
		switch {
		case !slices.Contains(claim.Finalizers, protectsClaims):
		case holder >= 0:
			x.heldBy(users[holder])
		default:
			x.needs(protection.PVCActorName, "lets a claim go that no pod uses")
		}
		x.foreignFinalizers(claim)
	}
	for _, pod := range users {
		if pod.Name != x.of {
			x.say("  it is used by pod %s/%s, which is %s%s", claim.Namespace, pod.Name, pod.Status.Phase, scheduledWhere(pod))
		}
	}
	return nil
}

// heldBy says which pod keeps a claim that is being deleted.
func (x *explainer) heldBy(pod *v1.Pod) {
	ref := podRef(pod)
	switch {
	case pod.DeletionTimestamp != nil && pod.Name == x.of:
		x.underWay(InUse, ref, "%s still uses it", shown(ref))
	case pod.DeletionTimestamp != nil:
		v, _ := x.aside(func(y *explainer) error { return y.podAlone(pod) })
		x.underWay(InUse, ref, "%s still uses it, which is being deleted%s", shown(ref), because(v.Cause))
	case binding.IsPodTerminated(pod):
		x.waits(InUse, ref, "delete "+shown(ref), "%s still uses it, although it has ended", shown(ref))
	default:
		x.waits(InUse, ref, "delete "+shown(ref), "%s still uses it", shown(ref))
	}
}

const protectsClaims = "kubernetes.io/pvc-protection"

// lost says what became of the volume of a claim that has lost it, and how the claim gets it back: the PV controller binds a Lost claim again
// as soon as the volume of its spec.volumeName exists and has its claimRef.
// Upstream: pkg/controller/volume/persistentvolume/pv_controller.go syncBoundClaim, v1.37.2.
func (x *explainer) lost(claim *v1.PersistentVolumeClaim) error {
	name := claim.Spec.VolumeName
	const own = "spec.claimRef with this claim's namespace, name and uid"
	const anew = ", and the claim is bound again; or give the data up, delete the claim and make it anew"
	volume, err := x.Client.CoreV1().PersistentVolumes().Get(x.ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		source, where := x.lastSource(name)
		x.blame(Verdict{
			Class: Ill, Code: VolumeLost, Object: "pv/" + name, Field: "spec.volumeName", Value: name,
			Do:    fmt.Sprintf("create pv %s again with %sa %s%s", name, source, own, anew),
			Cause: fmt.Sprintf("it was bound to volume %s, which is gone%s", name, where),
		})
	case err != nil:
		return err
	case volume.Spec.ClaimRef != nil && volume.Spec.ClaimRef.UID != claim.UID:
		x.blame(Verdict{
			Class: Ill, Code: VolumeLost, Object: "pv/" + name, Field: "spec.claimRef", Value: named(volume.Spec.ClaimRef), Want: claim.Namespace + "/" + claim.Name,
			Do:    fmt.Sprintf("if no pod uses the volume for the other claim, give pv %s a %s%s", name, own, anew),
			Cause: fmt.Sprintf("it was bound to volume %s, which belongs to %s now; what it holds is still there", name, otherClaim(volume.Spec.ClaimRef, claim)),
		})
	default:
		x.underWay(VolumeLost, "pv/"+name, "it was bound to volume %s, which exists again", name)
	}
	return nil
}

// lastSource says what a volume that is gone was made of, as a field to restore and as the place where its data may still be; "" if the trace
// does not tell.
func (x *explainer) lastSource(name string) (field, where string) {
	for _, entry := range slices.Backward(x.Log.Entries()) {
		w, ok := entry.Record.(trace.Write)
		if !ok || w.Kind != "PersistentVolume" || w.Name != name || w.Err != nil {
			continue
		}
		for _, version := range []runtime.Object{w.Last, w.Old, w.New} {
			if pv, ok := version.(*v1.PersistentVolume); ok && pv != nil {
				if field, where = sourceOf(pv); field != "" {
					return field, where
				}
			}
		}
	}
	return "", ""
}

// sourceOf names where the data of a volume is.
func sourceOf(pv *v1.PersistentVolume) (field, where string) {
	switch s := pv.Spec.PersistentVolumeSource; {
	case s.CSI != nil:
		return fmt.Sprintf("its csi.volumeHandle %s and ", s.CSI.VolumeHandle),
			fmt.Sprintf("; driver %s may still have its data as volume %s", s.CSI.Driver, s.CSI.VolumeHandle)
	case s.NFS != nil:
		return fmt.Sprintf("its nfs.path %s and ", s.NFS.Path), fmt.Sprintf("; its data may still be in %s:%s", s.NFS.Server, s.NFS.Path)
	case s.Local != nil:
		return fmt.Sprintf("its local.path %s and ", s.Local.Path), fmt.Sprintf("; its data may still be in %s on %s", s.Local.Path, hostsOf(pv))
	case s.HostPath != nil:
		return fmt.Sprintf("its hostPath.path %s and ", s.HostPath.Path), fmt.Sprintf("; its data may still be in %s on a node", s.HostPath.Path)
	}
	return "", ""
}

// otherClaim names the claim in a claimRef that is not this one, and tells two of one name apart by their UIDs.
func otherClaim(ref *v1.ObjectReference, claim *v1.PersistentVolumeClaim) string {
	if ref.Namespace == claim.Namespace && ref.Name == claim.Name && ref.UID != "" {
		return fmt.Sprintf("another claim of the same name (UID %s; this one has UID %s)", ref.UID, claim.UID)
	}
	return "pvc " + ref.Namespace + "/" + ref.Name
}

func named(ref *v1.ObjectReference) string { return ref.Namespace + "/" + ref.Name }

func (x *explainer) pending(claim *v1.PersistentVolumeClaim) error {
	volumes, err := x.Client.CoreV1().PersistentVolumes().List(x.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	x.needs(pvcontroller.ActorName, "binds claims")
	class, delayed, err := x.class(claim, reservedFor(claim, volumes.Items))
	if err != nil {
		return err
	}
	if claim.Spec.VolumeName != "" {
		x.asksFor(claim, volumes.Items)
	}
	var pointers []*v1.PersistentVolume
	for i := range volumes.Items {
		if name := claim.Spec.VolumeName; name == "" || name == volumes.Items[i].Name {
			pointers = append(pointers, &volumes.Items[i])
		}
	}
	verdicts, err := binding.Explain(claim, pointers, nil, nil, delayed)
	if err != nil {
		x.ill(NoVolumeFits, "", "mend spec.selector", "%v", err)
		return nil
	}
	chosen := slices.ContainsFunc(verdicts, func(v binding.Verdict) bool { return v.Chosen })
	switch {
	case claim.Spec.VolumeName != "" || chosen: // no provisioner acts
	case class != nil && external(class):
		if err := x.source(claim); err != nil {
			return err
		}
		x.provisioner(claim, provisionerOf(class), delayed)
		x.provisioning(claim, provisionerOf(class), volumes.Items)
	}
	switch {
	case len(verdicts) > 0 || claim.Spec.VolumeName != "":
	default:
		x.say("  there are no volumes")
	}
	for _, v := range verdicts {
		x.say("  volume %s", v)
	}
	if chosen {
		i := slices.IndexFunc(verdicts, func(v binding.Verdict) bool { return v.Chosen })
		x.silently(func() {
			x.underWay(Unknown, "pv/"+verdicts[i].Volume, "volume %s is to be bound to it", verdicts[i].Volume)
		})
	}
	if claim.Spec.VolumeName != "" || chosen {
		return nil
	}
	if delayed && claim.Annotations[binding.AnnSelectedNode] == "" {
		return x.firstConsumer(claim)
	}
	x.unmade(claim, class, pointers, verdicts)
	return nil
}

// asksFor judges the volume that a claim names: no other is taken, and no provisioner makes one.
func (x *explainer) asksFor(claim *v1.PersistentVolumeClaim, volumes []v1.PersistentVolume) {
	name := claim.Spec.VolumeName
	x.say("  it asks for volume %s and no other, so no provisioner makes one for it", name)
	v := Verdict{Class: Ill, Object: "pv/" + name, Do: "mend the volume, or make the claim anew with another spec.volumeName or without"}
	i := slices.IndexFunc(volumes, func(pv v1.PersistentVolume) bool { return pv.Name == name })
	if i < 0 {
		v.Code, v.Object, v.Field, v.Value, v.Cause = VolumeMissing, "", "spec.volumeName", name, fmt.Sprintf("it names volume %s, and there is no such volume", name)
		v.Do = fmt.Sprintf("create pv %s, or make the claim anew without spec.volumeName", name)
		x.blame(v)
		return
	}
	volume := &volumes[i]
	mismatch, mismatches := errors.AsType[*binding.MismatchError](binding.CheckVolumeSatisfyClaim(volume, claim))
	switch ref := volume.Spec.ClaimRef; {
	case ref != nil && !binding.IsVolumeBoundToClaim(volume, claim):
		v.Code, v.Field, v.Value, v.Want = VolumeTaken, "spec.claimRef", named(ref), claim.Namespace+"/"+claim.Name
		v.Cause = fmt.Sprintf("it names volume %s, which belongs to %s", name, otherClaim(ref, claim))
	case mismatches:
		v.Code, v.Field, v.Value, v.Want = VolumeMismatch, fieldOf(mismatch), mismatch.Has, mismatch.Wants
		v.Cause = fmt.Sprintf("it names volume %s, whose %s is %q; the claim wants %q", name, v.Field, mismatch.Has, mismatch.Wants)
	default:
		return
	}
	x.blame(v)
}

// fieldOf returns the path of the volume's field that differs from the claim's.
func fieldOf(m *binding.MismatchError) string {
	if m.Field == "storage" {
		return "spec.capacity.storage"
	}
	return m.Field
}

// unmade says why there is no volume for a claim that is to be bound at once: none is made, and none fits.
func (x *explainer) unmade(claim *v1.PersistentVolumeClaim, class *storagev1.StorageClass, volumes []*v1.PersistentVolume, verdicts []binding.Verdict) {
	name := binding.GetPersistentVolumeClaimClass(claim)
	of, none := "of class "+name, fmt.Sprintf("class %s has no provisioner", name)
	switch {
	case class != nil && class.Provisioner == binding.NotSupportedProvisioner:
	case claim.Annotations[binding.AnnMigratedTo] != "":
		return
	case class != nil && !external(class):
		x.blame(Verdict{
			Class: Ill, Code: PluginMissing, Object: "storageclass/" + name, Field: "provisioner", Value: class.Provisioner,
			Do:    "use a class whose provisioner runs: a CSI driver's name, for example",
			Cause: fmt.Sprintf("the provisioner %s of its class %s is an in-tree plugin that %s does not have", class.Provisioner, name, pvcontroller.ActorName),
		})
		return
	case class != nil:
		return // its provisioner was judged
	case name == "":
		of, none = "without a class", "it has no class, so no provisioner makes one"
	default:
		none = "" // said already: its class does not exist
	}
	if earlier := earlierOwned(claim, volumes); earlier != nil && name == binding.GetPersistentVolumeClass(earlier) {
		x.blame(Verdict{
			Class: Ill, Code: VolumeTaken, Object: "pv/" + earlier.Name, Field: "spec.claimRef", Value: string(earlier.Spec.ClaimRef.UID), Want: string(claim.UID),
			Do:    fmt.Sprintf("remove spec.claimRef.uid of pv %s to use it again, or create another PersistentVolume", earlier.Name),
			Cause: fmt.Sprintf("volume %s belongs to %s, and is not given to this one by itself", earlier.Name, otherClaim(earlier.Spec.ClaimRef, claim)),
		})
		return
	}
	nearest, found := nearest(claim, volumes, verdicts)
	request := claim.Spec.Resources.Requests[v1.ResourceStorage]
	v := Verdict{
		Class: Ill, Code: NoVolumeFits,
		Do: fmt.Sprintf("create a PersistentVolume %s with at least %s and access modes %v", of, request.String(), claim.Spec.AccessModes),
	}
	if claim.Spec.VolumeMode != nil && *claim.Spec.VolumeMode == v1.PersistentVolumeBlock {
		v.Do += " and volumeMode Block"
	}
	switch {
	case found:
		v.Object, v.Field = "pv/"+nearest.Volume, nearest.Filter.Field()
		v.Cause = fmt.Sprintf("no volume fits: volume %s", nearest)
	case claim.Spec.StorageClassName == nil && name == "":
		v.Code, v.Field = NoDefaultClass, "spec.storageClassName"
		v.Do = fmt.Sprintf("mark a class as the default (annotation %s: \"true\"), make the claim anew with a class, or %s", annDefaultClass, v.Do)
		v.Cause = "it names no class, no class is the default, and there is no free volume without a class"
		x.blame(v)
		return
	default:
		v.Cause = fmt.Sprintf("there is no free volume %s", of)
	}
	if none != "" {
		v.Cause += ", and " + none
	} else {
		v.Code, v.Object, v.Field, v.Value = ClassMissing, "", "spec.storageClassName", name
		v.Do = fmt.Sprintf("create StorageClass %s%s, or %s", name, x.otherClasses(name), v.Do)
		v.Cause = fmt.Sprintf("its class %q does not exist, and %s", name, v.Cause)
		x.silently(func() { x.blame(v) }) // the chain says both already
		return
	}
	x.blame(v)
}

// annDefaultClass marks the class of claims that name none.
const annDefaultClass = "storageclass.kubernetes.io/is-default-class"

// otherClasses names the class that was probably meant.
func (x *explainer) otherClasses(name string) string {
	classes, err := x.Client.StorageV1().StorageClasses().List(x.ctx, metav1.ListOptions{})
	if err != nil || len(classes.Items) == 0 {
		return ""
	}
	names := make([]string, len(classes.Items))
	for i := range classes.Items {
		names[i] = classes.Items[i].Name
	}
	return prose.DidYouMean(name, names)
}

// earlierOwned returns a volume that an earlier claim of the same name had, nil if there is none.
func earlierOwned(claim *v1.PersistentVolumeClaim, volumes []*v1.PersistentVolume) *v1.PersistentVolume {
	for _, volume := range volumes {
		if ref := volume.Spec.ClaimRef; ref != nil && named(ref) == claim.Namespace+"/"+claim.Name && ref.UID != "" && ref.UID != claim.UID {
			return volume
		}
	}
	return nil
}

// nearest returns the volume that fails the fewest tests: a free one of the claim's class, or one that is reserved for it.
func nearest(claim *v1.PersistentVolumeClaim, volumes []*v1.PersistentVolume, verdicts []binding.Verdict) (best binding.Verdict, found bool) {
	for i, v := range verdicts {
		alike := binding.GetPersistentVolumeClass(volumes[i]) == binding.GetPersistentVolumeClaimClass(claim)
		reserved := volumes[i].Spec.ClaimRef != nil
		if v.Filter == binding.Claimed || v.Filter == binding.Excluded || !alike && !reserved {
			continue
		}
		if !found || v.Filter > best.Filter {
			best, found = v, true
		}
	}
	return best, found
}

// reservedFor names the volumes that are reserved for a claim, of any class; "" if no volume is.
func reservedFor(claim *v1.PersistentVolumeClaim, volumes []v1.PersistentVolume) string {
	var names []string
	for i := range volumes {
		ref := volumes[i].Spec.ClaimRef
		if ref != nil && ref.Namespace == claim.Namespace && ref.Name == claim.Name && (ref.UID == "" || ref.UID == claim.UID) {
			names = append(names, volumes[i].Name)
		}
	}
	return strings.Join(names, ", ")
}

// class says which class the claim has and what that means. reserved are the
// volumes reserved for the claim.
func (x *explainer) class(claim *v1.PersistentVolumeClaim, reserved string) (*storagev1.StorageClass, bool, error) {
	name := binding.GetPersistentVolumeClaimClass(claim)
	or := ""
	if reserved != "" {
		or = fmt.Sprintf(", and %s, which is reserved for it", reserved)
	}
	if name == "" {
		x.say("  it has no class, so it can only be bound to a volume without a class%s", or)
		return nil, false, nil
	}
	class, err := x.Client.StorageV1().StorageClasses().Get(x.ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		x.say("  its class %q does not exist, so it can only be bound to a volume that names the same class%s", name, or)
		return nil, false, nil
	case err != nil:
		return nil, false, err
	}
	delayed := isDelayed(class)
	switch {
	case delayed:
		x.say("  its class %s binds when the first pod that uses the claim is scheduled (WaitForFirstConsumer)", name)
	case class.Provisioner == binding.NotSupportedProvisioner:
		x.say("  its class %s has no provisioner, so a user must create a volume for it", name)
	default:
		x.say("  its class %s binds at once (Immediate)", name)
	}
	return class, delayed, nil
}

func isDelayed(class *storagev1.StorageClass) bool {
	return class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
}

// external reports whether a provisioner makes the volumes of a class, and no plugin in Kubernetes itself.
func external(class *storagev1.StorageClass) bool {
	return !strings.HasPrefix(provisionerOf(class), "kubernetes.io/")
}

// provisionerOf returns the provisioner of a class: the CSI driver where it has replaced the plugin that the class names.
func provisionerOf(class *storagev1.StorageClass) string {
	return cmp.Or(migration.Driver(class.Provisioner), class.Provisioner)
}

// firstConsumer says why a claim that waits for the scheduler to place a pod has no node yet.
func (x *explainer) firstConsumer(claim *v1.PersistentVolumeClaim) error {
	pods, err := x.Client.CoreV1().Pods(claim.Namespace).List(x.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	consumers := 0
	for i := range pods.Items {
		pod := &pods.Items[i]
		if !slices.Contains(claimNames(pod), claim.Name) || binding.IsPodTerminated(pod) {
			continue
		}
		consumers++
		ref := "pod/" + pod.Namespace + "/" + pod.Name
		switch {
		case pod.Spec.NodeName != "":
			x.blame(Verdict{
				Class: Ill, Code: NodeNameSet, Object: ref, Field: "spec.nodeName", Value: pod.Spec.NodeName, Do: "make the pod anew without spec.nodeName",
				Cause: fmt.Sprintf("pod %s/%s is on node %s already (spec.nodeName), so the scheduler does not look at it and selects no node for the claim",
					pod.Namespace, pod.Name, pod.Spec.NodeName),
			})
		case x.of == "": // else the pod itself is being explained
			if v, ok := x.aside(func(y *explainer) error { return y.podAlone(pod) }); ok {
				x.findings = append(x.findings, v)
			}
		}
	}
	if consumers > 0 || x.of != "" {
		return nil
	}
	if workloads := x.workloadsOf(claim); len(workloads) > 0 {
		w := workloads[0]
		v, ok := x.aside(func(y *explainer) error { return y.workload(w.kind, claim.Namespace, w.name) })
		if !ok {
			v = Verdict{Class: UnderWay, Cause: "it has no pods yet"}
		}
		x.blame(Verdict{
			Class: v.Class, Code: ConsumerWithoutPods, Object: w.ref(claim.Namespace), Do: v.Do,
			Cause: fmt.Sprintf("its first consumer would be a pod of %s, which has none: %s", shown(w.ref(claim.Namespace)), v.Cause),
		})
		return nil
	}
	x.waits(NoConsumer, "", "create a pod that uses the claim", "it waits for the first pod that uses it, and there is none")
	return nil
}

// aside explains another object and returns the cause that says most, if there is one. Nothing of it goes into this chain.
func (x *explainer) aside(explain func(y *explainer) error) (Verdict, bool) {
	y := &explainer{World: x.World, ctx: x.ctx, asides: x.asides + 1}
	if x.asides > 2 || explain(y) != nil {
		return Verdict{}, false
	}
	v, ok := worst(y.findings)
	if v.Subject == "" {
		v.Subject = y.about
	}
	return v, ok && !(y.well && v.Class != Ill)
}

// grows says how far the growth of a bound claim's volume is.
func (x *explainer) grows(claim *v1.PersistentVolumeClaim) error {
	asked, has := claim.Spec.Resources.Requests[v1.ResourceStorage], claim.Status.Capacity[v1.ResourceStorage]
	if asked.Cmp(has) <= 0 {
		return nil
	}
	volume, err := x.Client.CoreV1().PersistentVolumes().Get(x.ctx, claim.Spec.VolumeName, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil // the claim is to become Lost
	case err != nil:
		return err
	}
	x.well = x.well && x.subject != x.about // not as it asks
	v := Verdict{Field: "spec.resources.requests.storage", Value: has.String(), Want: asked.String()}
	status := claim.Status.AllocatedResourceStatuses[v1.ResourceStorage]
	warning, failed := x.lastWarning("PersistentVolumeClaim", claim.UID, "VolumeResizeFailed")
	by := resizerOf(volume)
	switch {
	case status == v1.PersistentVolumeClaimControllerResizeInfeasible || status == v1.PersistentVolumeClaimNodeResizeInfeasible:
		v.Class, v.Code, v.Do = Ill, ResizeInfeasible, "ask for less: the request may go down to more than "+has.String()
		v.Cause = fmt.Sprintf("it has %s and asks for %s, which the driver says is not to be had (%s)", has.String(), asked.String(), status)
		if failed {
			v.Cause += ": " + warning.Message
		}
	case isTrue(claim, v1.PersistentVolumeClaimNodeResizeError):
		v.Class, v.Code, v.Do = Ill, ResizeFailed, "mend what the driver on the node says"
		v.Cause = fmt.Sprintf("it has %s and asks for %s: %s", has.String(), asked.String(), conditionOf(claim, v1.PersistentVolumeClaimNodeResizeError).Message)
	case x.grewLess(volume.Spec.CSI) != "":
		v.Class, v.Code, v.Object, v.Do = Ill, ResizeFailed, "actor/csi-driver/"+volume.Spec.CSI.Driver, "mend the driver: it must answer at least what is asked for"
		v.Cause = fmt.Sprintf("it has %s and asks for %s: %s", has.String(), asked.String(), x.grewLess(volume.Spec.CSI))
	case x.growsOn(claim) != nil && isTrue(claim, v1.PersistentVolumeClaimFileSystemResizePending):
		pod := x.growsOn(claim)
		node := pod.Spec.NodeName
		x.needs("kubelet/"+node, "expands volumes on "+node)
		v.Class, v.Code, v.Object = UnderWay, ResizeWaits, "actor/kubelet/"+node
		v.Cause = fmt.Sprintf("it has %s and asks for %s; the rest is done on node %s, where a pod uses it", has.String(), asked.String(), node)
		if e, failed := x.failsOn(pod, volume); failed {
			v.Class, v.Code, v.Object, v.Do = Ill, ResizeFailed, podRef(pod), mend(e.Message)
			v.Cause = fmt.Sprintf("it has %s and asks for %s; the rest is done on node %s, where %s uses it, and the kubelet there said last (%s): %s",
				has.String(), asked.String(), node, shown(podRef(pod)), e.Reason, e.Message)
		}
	case status == v1.PersistentVolumeClaimNodeResizePending || isTrue(claim, v1.PersistentVolumeClaimFileSystemResizePending):
		v.Class, v.Code, v.Do = Waits, ResizeWaits, "run a pod that uses it"
		v.Cause = fmt.Sprintf("it has %s and asks for %s; the rest is done on the node when a pod mounts it", has.String(), asked.String())
	case by == "":
		v.Class, v.Code, v.Do = Ill, NoResizer, "ask for what it has, or move the data to a larger volume"
		v.Cause = fmt.Sprintf("it has %s and asks for %s, and no program expands a volume of its kind", has.String(), asked.String())
	case x.expands(by) && failed:
		v.Class, v.Code, v.Object, v.Do = Ill, ResizeFailed, "actor/"+by, "mend what "+by+" says"
		v.Cause = fmt.Sprintf("it has %s and asks for %s: %s", has.String(), asked.String(), warning.Message)
	case x.expands(by):
		v.Class, v.Code, v.Cause = UnderWay, ResizeWaits, fmt.Sprintf("it has %s and asks for %s; %s is to expand it", has.String(), asked.String(), by)
	default:
		if slices.Contains(x.Actors, by) {
			x.needs(by, "expands volumes")
			return nil
		}
		v.Class, v.Code, v.Object, v.Do = Ill, NoResizer, "actor/"+by, "run the driver's csi-resizer"
		v.Cause = fmt.Sprintf("it has %s and asks for %s, and %s does not run here", has.String(), asked.String(), by)
	}
	x.blame(v)
	return nil
}

// resizerOf returns the actor that expands a volume, "" if no program does for volumes of its kind.
func resizerOf(volume *v1.PersistentVolume) string {
	switch {
	case volume.Spec.CSI != nil:
		return "csi-resizer/" + volume.Spec.CSI.Driver
	case migration.OfVolume(volume) != "":
		return "csi-resizer/" + migration.Driver(migration.OfVolume(volume))
	}
	return ""
}

// expands reports whether a resizer runs.
func (w World) expands(actor string) bool {
	_, down := w.Down[actor]
	return slices.Contains(w.Actors, actor) && !down
}

func isTrue(claim *v1.PersistentVolumeClaim, kind v1.PersistentVolumeClaimConditionType) bool {
	return conditionOf(claim, kind).Status == v1.ConditionTrue
}

func conditionOf(claim *v1.PersistentVolumeClaim, kind v1.PersistentVolumeClaimConditionType) v1.PersistentVolumeClaimCondition {
	for _, c := range claim.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return v1.PersistentVolumeClaimCondition{}
}

// growsOn returns a pod on a node that uses a claim, nil if there is none.
func (x *explainer) growsOn(claim *v1.PersistentVolumeClaim) *v1.Pod {
	for _, obj := range x.Objects() {
		if pod, ok := obj.(*v1.Pod); ok && pod.Namespace == claim.Namespace && pod.Spec.NodeName != "" && !binding.IsPodTerminated(pod) &&
			slices.Contains(claimNames(pod), claim.Name) {
			return pod
		}
	}
	return nil
}

// failsOn returns what a kubelet said last of a volume that it cannot mount for a pod, or cannot expand. A pod that runs has the volume.
func (x *explainer) failsOn(pod *v1.Pod, volume *v1.PersistentVolume) (Event, bool) {
	for _, e := range slices.Backward(x.eventsOf("Pod", pod.UID)) {
		mounts := pod.Status.Phase == v1.PodPending && (e.Reason == "FailedMount" || e.Reason == "FailedMapVolume")
		if (mounts || e.Reason == "VolumeResizeFailed") && strings.Contains(e.Message, volume.Name) {
			return e, true
		}
	}
	return Event{}, false
}

// dropped says that the API server left out the data source of a claim.
func (x *explainer) dropped(claim *v1.PersistentVolumeClaim) {
	for _, entry := range x.Log.Entries() {
		w, ok := entry.Record.(trace.Write)
		if !ok || w.Old != nil || w.New == nil || !isOf(w.New, claim.UID) || len(w.Dropped) == 0 {
			continue
		}
		x.blame(Verdict{
			Class: Ill, Code: SourceDropped, Field: strings.Join(w.Dropped, ", "),
			Do:    "use a source of its own namespace, or an API server with the feature gate CrossNamespaceVolumeDataSource",
			Cause: fmt.Sprintf("the API server dropped %s, which names another namespace, so its volume is made empty", strings.Join(w.Dropped, ", ")),
		})
		return
	}
}

// isOf reports whether a version of an object has a UID.
func isOf(version runtime.Object, uid types.UID) bool {
	at, err := meta.Accessor(version)
	return err == nil && at.GetUID() == uid
}

func boundWhere(claim *v1.PersistentVolumeClaim) string {
	if claim.Status.Phase == v1.ClaimBound {
		return " to pv " + claim.Spec.VolumeName
	}
	return ""
}

// provisionerOf returns the index of the provisioner that answers to a name, -1 if none does.
func (w World) provisionerOf(name string) int {
	return slices.IndexFunc(w.Provisioners, func(cfg provisioner.Config) bool { return cfg.AnswersTo(name) })
}
