package explain

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/controllers/attachdetach"
	"github.com/storagesim/storagesim/internal/podstatus"
	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/kubelet/volumemanager"
	"github.com/storagesim/storagesim/scheduler"
	"github.com/storagesim/storagesim/trace"
)

// pod explains a pod: what the scheduler thinks of each node for it, or whether
// it runs, its events and its claims.
func (x *explainer) pod(ns, name string) error {
	pod, err := x.Client.CoreV1().Pods(ns).Get(x.ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	x.of = name
	if err := x.podAlone(pod); err != nil {
		return err
	}
	found := len(x.findings)
	claims := claimNames(pod)
	for i, claim := range claims {
		if slices.Contains(claims[:i], claim) {
			continue // two of the pod's volumes name it
		}
		switch err := x.claim(ns, claim); {
		case apierrors.IsNotFound(err):
			x.missingClaim(pod, claim)
		case err != nil:
			return err
		}
	}
	if binding.IsPodTerminated(pod) {
		x.findings = x.findings[:found] // it waits for none of its claims any more
	}
	return nil
}

// missingClaim blames a claim that a pod names and that does not exist.
func (x *explainer) missingClaim(pod *v1.Pod, claim string) {
	_ = x.within(podRef(pod), func() error {
		was := x.indent
		x.indent = ""
		defer func() { x.indent = was }()
		v := Verdict{
			Class: Ill, Code: ClaimMissing, Object: claimRef(pod.Namespace, claim), Field: "spec.volumes", Value: claim,
			Do:    "create the claim in namespace " + pod.Namespace + x.otherClaims(pod.Namespace, claim),
			Cause: fmt.Sprintf("it uses pvc %s/%s, which does not exist", pod.Namespace, claim),
		}
		x.silently(func() { x.blame(v) })
		x.say("%s", v.Cause)
		return nil
	})
}

// otherClaims names the claim that was probably meant: that of the same name in another namespace, or one with a similar name in this one.
func (x *explainer) otherClaims(ns, name string) string {
	claims, err := x.Client.CoreV1().PersistentVolumeClaims(metav1.NamespaceAll).List(x.ctx, metav1.ListOptions{})
	if err != nil {
		return ""
	}
	var names []string
	for i := range claims.Items {
		switch claim := &claims.Items[i]; {
		case claim.Namespace == ns:
			names = append(names, claim.Name)
		case claim.Name == name:
			return " (there is one in namespace " + claim.Namespace + ", which pods of that namespace can use)"
		}
	}
	return prose.DidYouMean(name, names)
}

func podRef(pod *v1.Pod) string { return "pod/" + pod.Namespace + "/" + pod.Name }

// podAlone explains a pod without its claims.
func (x *explainer) podAlone(pod *v1.Pod) error {
	return x.within(podRef(pod), func() error {
		x.found.Objects = append(x.found.Objects, podRef(pod))
		course := x.courseOf(pod)
		x.podState(pod, course)
		x.say("pod %s/%s is %s%s", pod.Namespace, pod.Name, pod.Status.Phase, scheduledWhere(pod))
		x.notModelled("Pod", pod)
		if err := x.nobodyRuns(pod); err != nil {
			return err
		}
		if pod.Spec.NodeName == "" {
			if err := x.unplaced(pod); err != nil {
				return err
			}
		}
		x.placed(pod)
		x.underWayNow(pod, course)
		x.containers(pod, course)
		x.readinessGates(pod)
		x.unwritten(pod)
		if pod.Status.Phase == v1.PodFailed && (pod.DeletionTimestamp == nil || pod.Status.Reason != "") {
			x.ill(PodFailed, "", "see why, then delete it", "it has failed%s", because(reasonAnd(pod.Status.Reason, pod.Status.Message)))
		}
		x.missing(pod)
		if pod.DeletionTimestamp != nil {
			x.terminating(pod, course)
		}
		x.events(podRef(pod), "Pod", pod.UID, unscheduled(pod))
		return nil
	})
}

// podState notes a pod's state in a word or two, and whether it is as it should be.
func (x *explainer) podState(pod *v1.Pod, c *course) {
	ready := podstatus.IsReady(pod)
	where := ""
	if pod.Spec.NodeName != "" {
		where = " on node " + pod.Spec.NodeName
	}
	switch {
	case pod.DeletionTimestamp != nil:
		x.setState(false, "being deleted%s", where)
	case pod.Status.Phase == v1.PodRunning && slices.ContainsFunc(c.names(), func(name string) bool { return c.kills[name].ofPod() }):
		x.setState(false, "Running and being stopped%s", where)
	case pod.Status.Phase == v1.PodRunning && len(c.kills) > 0:
		x.setState(false, "Running, with a container being stopped,%s", where)
	case pod.Status.Phase == v1.PodRunning && (!ready || c.hook != nil):
		x.setState(false, "Running and not ready%s", where)
	default:
		x.setState(pod.Status.Phase == v1.PodRunning || pod.Status.Phase == v1.PodSucceeded, "%s%s", pod.Status.Phase, where)
	}
}

// placed says what keeps a pod that has a node from running there: the node, its kubelet, its drivers, its attachments, its mounts.
func (x *explainer) placed(pod *v1.Pod) {
	node := pod.Spec.NodeName
	if _, runs := x.Kubelets[node]; !runs || binding.IsPodTerminated(pod) {
		return
	}
	if x.nodeIsDead(node) {
		x.lostNode(pod, node)
		return
	}
	if _, down := x.Down["kubelet/"+node]; down && pod.Status.Phase == v1.PodRunning && pod.DeletionTimestamp == nil {
		x.needs("kubelet/"+node, "tells what becomes of the pod")
	}
	if pod.Status.Phase != v1.PodPending && pod.DeletionTimestamp == nil {
		return
	}
	x.needs("kubelet/"+node, "runs the pods of "+node)
	if pod.Status.Phase != v1.PodPending || pod.DeletionTimestamp != nil {
		return
	}
	x.volumeModes(pod)
	x.unattached(pod)
	x.drivers(pod)
	x.driversPanic(pod)
	if !x.hangs(pod, MountFailed, "mounted") {
		x.mountTrouble(pod)
	}
}

// hangs says which operations on a pod's volumes have had no answer, and since when. It reports whether there is one.
func (x *explainer) hangs(pod *v1.Pod, code Code, done string) (found bool) {
	seen := map[string]bool{}
	for _, entry := range slices.Backward(x.Log.Entries()) {
		switch r := entry.Record.(type) {
		case trace.Mount:
			if r.About.Namespace == pod.Namespace && r.About.Name == pod.Name {
				seen[r.Volume] = true // it was answered
			}
		case trace.Decision:
			volume, why, ok := volumemanager.Hang(r.Text)
			if !ok || r.About != trace.RefOf("Pod", pod) || seen[volume] || entry.Time.Before(pod.CreationTimestamp.Time) {
				continue
			}
			seen[volume], found = true, true
			x.ill(code, "", "mend the server, or what keeps it from answering; the kubelet waits until then",
				"volume %s cannot be %s: there has been no answer since %s (%s): %s",
				volume, done, entry.Time.UTC().Format("15:04:05"), duration.HumanDuration(x.Now.Sub(entry.Time)), oneLine(why))
		}
	}
	return found
}

// mountTrouble says what the kubelet said last about a pod that it does not start.
func (x *explainer) mountTrouble(pod *v1.Pod) {
	e, failed := x.lastWarning("Pod", pod.UID)
	if !failed {
		x.unsaid(pod)
	}
	if !failed || e.By != "kubelet" || pod.Status.Phase != v1.PodPending || e.Reason == failedPostStartHook {
		return
	}
	code := ContainerFailed
	switch {
	case e.Reason == "FailedMount" || e.Reason == "FailedMapVolume":
		code = MountFailed
	case x.containersFail(pod):
		return // their status says more
	}
	x.silently(func() { x.ill(code, "", mend(e.Message), "%s", e.Message) }) // it stands among the events
}

// unsaid says why a volume of a pod cannot be mounted if the kubelet only logs that: the pod has no event.
func (x *explainer) unsaid(pod *v1.Pod) {
	ref, kubelet := trace.RefOf("Pod", pod), "kubelet/"+pod.Spec.NodeName
	for _, entry := range slices.Backward(x.Log.Entries()) {
		if entry.Actor != kubelet || entry.Time.Before(pod.CreationTimestamp.Time) {
			continue
		}
		switch r := entry.Record.(type) {
		case trace.Mount:
			if r.About == ref {
				return // it was mounted since
			}
		case trace.Retry:
			if strings.HasPrefix(r.About, "to mount volume ") && strings.HasSuffix(r.About, " of "+ref.String()) {
				x.ill(MountFailed, "", mend(r.Err.Error()), "%s; a kubelet only logs that, so that the pod has no event", oneLine(r.Err.Error()))
				return
			}
		}
	}
}

// drivers blames the CSI drivers of a pod's volumes that have not registered with its node's kubelet, or whose process there is down.
func (x *explainer) drivers(pod *v1.Pod) {
	node := pod.Spec.NodeName
	registered, err := x.Client.StorageV1().CSINodes().Get(x.ctx, node, metav1.GetOptions{})
	if err != nil {
		return
	}
	for i := range pod.Spec.Volumes {
		name := x.driverOf(pod, &pod.Spec.Volumes[i])
		if name == "" {
			continue
		}
		here := slices.ContainsFunc(registered.Spec.Drivers, func(d storagev1.CSINodeDriver) bool { return d.Name == name })
		if actor := "csi-driver/" + name + "/" + node; slices.Contains(x.Actors, actor) {
			if x.needs(actor, "is the driver on its node") && !here && !x.unregistered(name, node) {
				x.underWay(DriverMissing, "csinode/"+node, "driver %s has not registered on node %s yet", name, node)
			}
			continue
		}
		if here {
			continue
		}
		x.blame(Verdict{
			Class: Ill, Code: DriverMissing, Object: "csinode/" + node, Field: "spec.drivers", Want: name, Do: "run the driver on the node",
			Cause: fmt.Sprintf("CSI driver %s does not run on node %s", name, node),
		})
	}
}

// driversPanic blames panics of drivers in calls about a pod's volumes.
func (x *explainer) driversPanic(pod *v1.Pod) {
	for i := range pod.Spec.Volumes {
		switch spec := x.spec(pod, &pod.Spec.Volumes[i]); {
		case spec == nil:
		case spec.PersistentVolume != nil:
			x.volumePanics(spec.PersistentVolume.Spec.CSI, pod.Spec.NodeName)
		case spec.Volume.CSI != nil:
			x.panicsIn(spec.Volume.CSI.Driver, func(rpc trace.RPC) bool {
				target, _ := rpc.Request["target_path"].(string)
				return strings.Contains(target, "/"+string(pod.UID)+"/")
			})
		}
	}
}

// driverOf returns the CSI driver of a volume, "" if it has none.
func (x *explainer) driverOf(pod *v1.Pod, v *v1.Volume) string {
	spec := x.spec(pod, v)
	switch {
	case spec == nil:
	case spec.PersistentVolume != nil && spec.PersistentVolume.Spec.CSI != nil:
		return spec.PersistentVolume.Spec.CSI.Driver
	case spec.PersistentVolume == nil && spec.Volume.CSI != nil:
		return spec.Volume.CSI.Driver
	}
	return ""
}

// volumeModes compares how a pod's containers use claims with the claims' volumeMode, as the kubelet does.
// Upstream: pkg/kubelet/volumemanager/populator/desired_state_of_world_populator.go createVolumeSpec, v1.37.2.
func (x *explainer) volumeModes(pod *v1.Pod) {
	mounts, devices := map[string]bool{}, map[string]bool{}
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		for _, m := range c.VolumeMounts {
			mounts[m.Name] = true
		}
		for _, d := range c.VolumeDevices {
			devices[d.Name] = true
		}
	}
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		name := binding.ClaimOfVolume(pod, v)
		claim, err := x.Client.CoreV1().PersistentVolumeClaims(pod.Namespace).Get(x.ctx, name, metav1.GetOptions{})
		if name == "" || err != nil {
			continue
		}
		block := claim.Spec.VolumeMode != nil && *claim.Spec.VolumeMode == v1.PersistentVolumeBlock
		found := Verdict{Class: Ill, Code: VolumeMode, Object: claimRef(pod.Namespace, name), Field: "spec.volumeMode"}
		switch {
		case block && mounts[v.Name]:
			found.Value, found.Want, found.Do = "Block", "Filesystem", "name the volume in volumeDevices instead, or make the claim anew with volumeMode Filesystem"
			found.Cause = fmt.Sprintf("its volume %s is in volumeMounts, and the volumeMode of pvc %s/%s is Block", v.Name, pod.Namespace, name)
		case !block && devices[v.Name]:
			found.Value, found.Want, found.Do = "Filesystem", "Block", "name the volume in volumeMounts instead, or make the claim anew with volumeMode Block"
			found.Cause = fmt.Sprintf("its volume %s is in volumeDevices, and the volumeMode of pvc %s/%s is Filesystem", v.Name, pod.Namespace, name)
		default:
			continue
		}
		x.blame(found)
	}
}

// terminating says what keeps a pod that is being deleted.
func (x *explainer) terminating(pod *v1.Pod, c *course) {
	x.hangs(pod, UnmountFailed, "unmounted")
	for _, m := range x.lastUnmounts(pod) {
		switch {
		case m.Err != "":
			x.ill(UnmountFailed, "pv/"+m.Volume, "remove the cause that the message names; the kubelet tries again",
				"it is being deleted, and volume %s cannot be unmounted: %s", m.Volume, oneLine(m.Err))
		case x.IsMounted != nil && x.IsMounted(pod.Spec.NodeName, m.Target):
			x.ill(UnmountFailed, "pv/"+m.Volume, "mend what unmounts it, such as NodeUnpublishVolume of its driver, and unmount it by hand on the node",
				"it is being deleted, and volume %s is still mounted at %s, though unmounting it succeeded: the kubelet waits and does not try again",
				m.Volume, m.Target)
		}
	}
	if len(pod.Finalizers) > 0 {
		x.waitsForFinalizers(pod)
		x.foreignFinalizers(pod)
	}
	if x.stopping(pod, c) {
		return
	}
	if left := pod.DeletionTimestamp.Sub(x.Now); left > 0 && len(x.findings) == 0 {
		x.underWay(Stopping, "", "it is being deleted, and its containers have %s to end", left)
	}
}

// lastUnmounts returns the unmount of each of a pod's volumes that was not mounted again since.
func (x *explainer) lastUnmounts(pod *v1.Pod) (last []trace.Mount) {
	seen := map[string]bool{}
	for _, entry := range slices.Backward(x.Log.Entries()) {
		m, ok := entry.Record.(trace.Mount)
		if !ok || m.About.Namespace != pod.Namespace || m.About.Name != pod.Name || seen[m.Volume] {
			continue
		}
		seen[m.Volume] = true
		if m.Op == "unmount" {
			last = append(last, m)
		}
	}
	slices.Reverse(last)
	return last
}

// unattached says which volumes of a pod wait to be attached to its node, and why.
func (x *explainer) unattached(pod *v1.Pod) {
	said := attachdetach.Explain(x.attachDetach(), pod.Namespace+"/"+pod.Name, x.Objects(), x.attacherWaits)
	for _, why := range said {
		v := Verdict{Class: UnderWay, Code: NotAttached, Object: why.Object, Cause: fmt.Sprintf("volume %s %s", why.Volume, why.Text), Do: why.Do}
		if why.Stuck {
			v.Class, v.Code = Ill, AttachFailed
		}
		if why.Driver != "" && x.attacherWaits(why.Driver) != "" {
			v.Class, v.Code, v.Object, v.Do = Ill, ActorIdle, "actor/csi-attacher/"+why.Driver, "remove the cause that the message names"
		}
		x.blame(v)
		if why.Driver != "" {
			if x.attacherIsHere(why.Driver) {
				x.needs("csi-attacher/"+why.Driver, "attaches and detaches volumes")
			}
			if actor := "csi-driver/" + why.Driver; slices.Contains(x.Actors, actor) {
				x.needs(actor, "is the driver's controller")
			}
		}
	}
	if len(said) > 0 {
		x.needs(attachdetach.ActorName, "asks for volumes to be attached and detached")
	}
}

// attacherWaits says why the attacher of a CSI driver works on nothing at all, or "".
func (x *explainer) attacherWaits(driver string) string {
	if waits := x.AttacherWaits[driver]; waits != nil {
		return waits(x.Log)
	}
	return ""
}

// nobodyRuns says so if the pod is on a node that does not exist, or that is only
// an object: such a pod waits for ever.
func (x *explainer) nobodyRuns(pod *v1.Pod) error {
	node := pod.Spec.NodeName
	_, err := x.Client.CoreV1().Nodes().Get(x.ctx, node, metav1.GetOptions{})
	_, runs := x.Kubelets[node]
	switch {
	case node == "":
	case apierrors.IsNotFound(err) && pod.Status.Phase != v1.PodPending:
		x.ill(NodeGone, "node/"+node, "bring the node back, or wait until the pod garbage collector deletes the pod",
			"there is no node %s any more, and its status shows what the kubelet said last", node)
	case apierrors.IsNotFound(err):
		x.ill(NodeGone, "node/"+node, "delete the pod, or bring the node back", "there is no node %s, so its containers are never started", node)
	case err != nil:
		return err
	case !runs:
		x.ill(ActorMissing, "actor/kubelet/"+node, "run a kubelet there", "no kubelet runs on node %s, so its containers are never started", node)
	}
	return nil
}

// nodes says which nodes could take a pod, and why the others could not.
func (x *explainer) nodes(cfg scheduler.Config, pod *v1.Pod) error {
	why, err := scheduler.Explain(cfg, pod.Namespace+"/"+pod.Name, x.Objects())
	if err != nil {
		return err
	}
	if why.PreFilter != "" {
		x.say("  no node is looked at: %s", why.PreFilter)
		x.silently(func() { x.refused(pod, why.PreFilter) })
	}
	if why.Failure != "" {
		x.ill(SchedulingFailed, "", "remove the cause that the message names", "an attempt ends with an error: %s", why.Failure)
	}
	for _, note := range why.Notes {
		x.say("    %s", note)
	}
	x.verdicts(why.Nodes)
	x.silently(func() { x.turnedDown(pod, why) })
	return nil
}

// refused judges a pod for which no node is looked at: the cause is mostly in one of its claims, which come later in the chain.
func (x *explainer) refused(pod *v1.Pod, why string) {
	for _, name := range claimNames(pod) {
		claim, err := x.Client.CoreV1().PersistentVolumeClaims(pod.Namespace).Get(x.ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			if x.of == "" {
				x.missingClaim(pod, name)
			}
			return
		case err != nil:
			return
		case x.takenByName(pod, claim):
			return
		case claim.DeletionTimestamp != nil:
			x.ill(ClaimDeleted, claimRef(pod.Namespace, name), "wait until it is gone, and create it anew", "its claim pvc %s/%s is being deleted", pod.Namespace, name)
			return
		case claim.Status.Phase != v1.ClaimBound:
			x.underWay(NoNodeFits, claimRef(pod.Namespace, name), "no node is looked at: %s", why)
			return
		}
	}
	x.ill(NoNodeFits, "", "remove the cause that the message names", "no node is looked at: %s", why)
}

// takenByName blames a claim that has the name of a pod's ephemeral volume and was not made for the pod.
func (x *explainer) takenByName(pod *v1.Pod, claim *v1.PersistentVolumeClaim) bool {
	ephemeral := slices.ContainsFunc(pod.Spec.Volumes, func(v v1.Volume) bool { return v.Ephemeral != nil && pod.Name+"-"+v.Name == claim.Name })
	if !ephemeral || metav1.IsControlledBy(claim, pod) {
		return false
	}
	ref := claimRef(claim.Namespace, claim.Name)
	x.blame(Verdict{
		Class: Ill, Code: VolumeTaken, Object: ref, Field: "metadata.ownerReferences", Want: podRef(pod),
		Do:    "make the pod anew under another name, or delete that claim if its data is not needed",
		Cause: fmt.Sprintf("the claim of its ephemeral volume would be %s, and that one was not made for it", shown(ref)),
	})
	return true
}

// turnedDown judges a pod that no node can take.
func (x *explainer) turnedDown(pod *v1.Pod, why scheduler.Explanation) {
	if len(why.Nodes) == 0 || why.PreFilter != "" {
		return
	}
	var causes []string
	on := map[string][]string{} // nodes by cause
	for _, v := range why.Nodes {
		if nominated := pod.Status.NominatedNodeName; v.Plugin == "" && nominated != "" {
			if x.schedulerRuns(pod) {
				x.underWay(VolumesNotBound, "node/"+nominated, "it is to run on node %s, and waits for its volumes to be bound", nominated)
			}
			return
		}
		if v.Plugin == "" {
			if why.Failure == "" && x.schedulerRuns(pod) {
				x.triedAgain(pod, v.Node)
			}
			return
		}
		cause := strings.TrimPrefix(v.String(), v.Node+": ")
		if near := nearestOf(v); near != "" {
			cause += " (" + near + ")"
		}
		if on[cause] == nil {
			causes = append(causes, cause)
		}
		on[cause] = append(on[cause], v.Node)
	}
	const shown = 2
	more := ""
	if len(causes) > shown {
		left := 0
		for _, cause := range causes[shown:] {
			left += len(on[cause])
		}
		more = fmt.Sprintf("; and %d more", left)
		causes = causes[:shown]
	}
	for i, cause := range causes {
		causes[i] = someOf(on[cause]) + ": " + cause
	}
	if x.volumesApart(pod) {
		return
	}
	object, field := x.atFault(pod, why.Nodes)
	x.blame(Verdict{Class: Ill, Code: NoNodeFits, Object: object, Field: field, Do: x.waysOut(why.Nodes),
		Cause: fmt.Sprintf("no node can take it: %s%s", strings.Join(causes, "; "), more)})
	x.unreachableVolumes(pod)
	for _, v := range why.Nodes {
		if v.Plugin == "TaintToleration" && x.nodeIsDead(v.Node) {
			x.deadNode(v.Node)
			return
		}
	}
}

// triedAgain judges a pod that a node can take. Where a provisioner gave a claim of it back to the scheduler, what the provisioner says is the cause.
func (x *explainer) triedAgain(pod *v1.Pod, node string) {
	for _, name := range claimNames(pod) {
		claim, err := x.Client.CoreV1().PersistentVolumeClaims(pod.Namespace).Get(x.ctx, name, metav1.GetOptions{})
		if err != nil || claim.Status.Phase == v1.ClaimBound {
			continue
		}
		last, failed := x.lastWarning("PersistentVolumeClaim", claim.UID, provisioningFailed)
		if !failed {
			continue
		}
		times := int32(0)
		for _, e := range x.eventsOf("PersistentVolumeClaim", claim.UID) {
			if e.Reason == provisioningFailed {
				times += e.Count
			}
		}
		x.ill(ProvisioningFailed, claimRef(claim.Namespace, name), mend(last.Message),
			"node %s can take it, and the scheduler tries again; %s failed %s to make a volume for pvc %s/%s, last with: %s",
			node, last.By, timesOf(times), claim.Namespace, name, last.Message)
		return
	}
	x.underWay(Unknown, "", "node %s can take it, and the scheduler tries again", node)
}

func timesOf(n int32) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// someOf names nodes: of many the first.
func someOf(nodes []string) string {
	const shown = 3
	if len(nodes) <= shown {
		return strings.Join(nodes, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(nodes[:shown-1], ", "), len(nodes)-shown+1)
}

// nearestOf says of a node which volume came nearest to what a claim wants, if its claims keep the pod from it.
func nearestOf(v scheduler.NodeVerdict) string {
	for _, conflict := range v.Conflicts {
		for _, claim := range v.Claims {
			if claim.Claim != conflict.Claim {
				continue
			}
			var best *binding.Verdict
			for i := range claim.Volumes {
				if one := &claim.Volumes[i]; one.Filter != binding.Claimed && (best == nil || one.Filter > best.Filter) {
					best = one
				}
			}
			if best != nil {
				return "volume " + best.String()
			}
		}
	}
	return ""
}

// unreachableVolumes blames volumes that are on no node of the cluster: their node was deleted, mostly.
func (x *explainer) unreachableVolumes(pod *v1.Pod) {
	for _, pv := range x.persistentVolumes(pod) {
		x.outOfReach(pv, "its volume "+pv.Name)
	}
}

// persistentVolumes returns the volumes that a pod's claims are bound to.
func (x *explainer) persistentVolumes(pod *v1.Pod) (list []*v1.PersistentVolume) {
	for i := range pod.Spec.Volumes {
		if spec := x.spec(pod, &pod.Spec.Volumes[i]); spec != nil && spec.PersistentVolume != nil {
			list = append(list, spec.PersistentVolume)
		}
	}
	return list
}

// outOfReach blames a volume that no node of the cluster can reach. The sentence begins with these words for the volume.
func (x *explainer) outOfReach(pv *v1.PersistentVolume, words string) {
	if affinity := pv.Spec.NodeAffinity; affinity == nil || affinity.Required == nil || len(x.nodesOf(pv)) > 0 {
		return
	}
	back := "bring the node back"
	if strings.HasPrefix(hostsOf(pv), labelled) {
		back = "give a node those labels"
	}
	x.blame(Verdict{
		Class: Ill, Code: NodeGone, Object: "pv/" + pv.Name, Field: "spec.nodeAffinity", Value: hostsOf(pv), Do: back + x.otherNodes(pv) +
			", or give the data up: delete the claim and its pod",
		Cause: fmt.Sprintf("%s is only on %s, and the cluster has no such node", words, hostsOf(pv)),
	})
}

// nodesOf returns the nodes that can reach a volume.
func (x *explainer) nodesOf(pv *v1.PersistentVolume) (names []string) {
	nodes, err := x.Client.CoreV1().Nodes().List(x.ctx, metav1.ListOptions{})
	if err != nil {
		return nil
	}
	for i := range nodes.Items {
		if binding.CheckNodeAffinity(pv, nodes.Items[i].Labels) == nil {
			names = append(names, nodes.Items[i].Name)
		}
	}
	return names
}

// volumesApart blames volumes of which each can be reached from a node, and all from none.
func (x *explainer) volumesApart(pod *v1.Pod) bool {
	var common, where []string
	var last *v1.PersistentVolume
	for _, pv := range x.persistentVolumes(pod) {
		nodes := x.nodesOf(pv)
		if len(nodes) == 0 {
			return false // its node is gone
		}
		where = append(where, fmt.Sprintf("pv %s is on %s", pv.Name, someOf(nodes)))
		if last == nil {
			common = nodes
		}
		last = pv
		common = slices.DeleteFunc(slices.Clone(common), func(node string) bool { return !slices.Contains(nodes, node) })
	}
	if last == nil || len(common) > 0 {
		return false
	}
	x.blame(Verdict{
		Class: Ill, Code: VolumesApart, Object: "pv/" + last.Name, Field: "spec.nodeAffinity",
		Do:    "use claims whose volumes are on one node, after their data was copied there, or a pod for each volume",
		Cause: "no node can reach all of its volumes: " + strings.Join(where, ", "),
	})
	return true
}

// otherNodes names the node that was probably meant, where a volume is on one that does not exist.
func (x *explainer) otherNodes(pv *v1.PersistentVolume) string {
	nodes, err := x.Client.CoreV1().Nodes().List(x.ctx, metav1.ListOptions{})
	if err != nil {
		return ""
	}
	names := make([]string, len(nodes.Items))
	for i := range nodes.Items {
		names[i] = nodes.Items[i].Name
	}
	for _, term := range pv.Spec.NodeAffinity.Required.NodeSelectorTerms {
		for _, e := range term.MatchExpressions {
			if e.Key == v1.LabelHostname && len(e.Values) == 1 && !x.hadNode(e.Values[0]) {
				return prose.DidYouMean(e.Values[0], names)
			}
		}
	}
	return ""
}

// hadNode reports whether there was a node of that name, as far as the trace goes back.
func (x *explainer) hadNode(name string) bool {
	return slices.ContainsFunc(x.Log.Entries(), func(e trace.Entry) bool {
		w, ok := e.Record.(trace.Write)
		return ok && w.Kind == "Node" && w.Name == name
	})
}

// labelled begins what hostsOf says of nodes that are not meant by their names.
const labelled = "nodes with"

// hostsOf says on which nodes a volume is.
func hostsOf(pv *v1.PersistentVolume) string {
	var wants []string
	if affinity := pv.Spec.NodeAffinity; affinity != nil && affinity.Required != nil {
		for _, term := range affinity.Required.NodeSelectorTerms {
			for _, e := range term.MatchExpressions {
				if e.Key == v1.LabelHostname && e.Operator == v1.NodeSelectorOpIn {
					wants = append(wants, "node "+strings.Join(e.Values, ", "))
					continue
				}
				wants = append(wants, fmt.Sprintf("%s %s %s %v", labelled, e.Key, e.Operator, e.Values))
			}
		}
	}
	return strings.Join(wants, " or ")
}

// maxAlike is the number of nodes with the same verdict that are listed one by one.
const maxAlike = 4

// verdicts lists the verdict on each node; of many with the same verdict, only their number.
func (x *explainer) verdicts(nodes []scheduler.NodeVerdict) {
	// What is said names the node, and often its hostname label; it may name others, too,
	// whose names begin with this one's.
	name := regexp.MustCompile(`\w([-.\w]*\w)?`)
	kind := func(v scheduler.NodeVerdict) string {
		return name.ReplaceAllStringFunc(fmt.Sprint(v, v.Claims), func(word string) string {
			if word == v.Node {
				return "*"
			}
			return word
		})
	}
	alike, told := map[string]int{}, map[string]int{}
	for _, verdict := range nodes {
		alike[kind(verdict)]++
	}
	for _, verdict := range nodes {
		k := kind(verdict)
		if told[k]++; told[k] > maxAlike {
			continue
		}
		x.say("  node %s", verdict)
		for _, claim := range verdict.Claims {
			x.claimOnNode(claim)
		}
		if more := alike[k] - maxAlike; told[k] == maxAlike && more > 0 {
			x.say("  the same is true of %d more nodes", more)
		}
	}
}

// claimOnNode says what a claim would get on the node of the line before.
func (x *explainer) claimOnNode(claim scheduler.ClaimVerdict) {
	if claim.Text != "" {
		x.say("    pvc %s: %s", claim.Claim, claim.Text)
	}
	for _, volume := range claim.Volumes {
		x.say("      volume %s", volume)
	}
}

// unplaced says why a pod has no node: what keeps the scheduler from looking at
// it, or what it thinks of each node.
func (x *explainer) unplaced(pod *v1.Pod) error {
	switch {
	case pod.DeletionTimestamp != nil:
		x.say("  it is being deleted, so it gets no node")
		return nil
	case len(pod.Spec.SchedulingGates) > 0:
		x.blame(Verdict{
			Class: Waits, Code: Gated, Field: "spec.schedulingGates", Value: gates(pod), Do: "remove the gates",
			Cause: fmt.Sprintf("it is not scheduled before its scheduling gates are removed: %s", gates(pod)),
		})
		return nil
	}
	cfg, ok := x.schedulerOf(pod)
	if !ok {
		return nil
	}
	x.schedulerRuns(pod)
	if node := pod.Status.NominatedNodeName; node != "" {
		x.say("  node %s is nominated while its volumes are bound", node)
	}
	nodes, err := x.Client.CoreV1().Nodes().List(x.ctx, metav1.ListOptions{Limit: 1})
	switch {
	case err != nil:
		return err
	case len(nodes.Items) == 0:
		x.ill(NoNodes, "", "add a node", "there are no nodes")
	}
	return x.nodes(cfg, pod)
}

// schedulerRuns blames the scheduler of a pod if it is down. Which actor it is follows from the order in which schedulers were added.
func (x *explainer) schedulerRuns(pod *v1.Pod) bool {
	for i, cfg := range x.Schedulers {
		if cfg.Name() == pod.Spec.SchedulerName && i < len(x.SchedulerActors) {
			_, down := x.Down[x.SchedulerActors[i]]
			blamed := slices.ContainsFunc(x.findings, func(v Verdict) bool { return v.Object == "actor/"+x.SchedulerActors[i] })
			return !down || !blamed && x.needs(x.SchedulerActors[i], "gives pods their nodes")
		}
	}
	return true
}

// schedulerOf returns the configuration of the scheduler that the pod is for; false, and it is
// said, if that does not run.
func (x *explainer) schedulerOf(pod *v1.Pod) (scheduler.Config, bool) {
	var names []string
	for _, cfg := range x.Schedulers {
		if cfg.Name() == pod.Spec.SchedulerName {
			return cfg, true
		}
		names = append(names, cfg.Name())
	}
	others := "no scheduler runs here"
	switch len(names) {
	case 0:
	case 1:
		others = "only " + names[0] + " runs here"
	default:
		others = "only " + strings.Join(names, " and ") + " run here"
	}
	x.blame(Verdict{
		Class: Ill, Code: ActorMissing, Object: "actor/" + pod.Spec.SchedulerName, Field: "spec.schedulerName", Value: pod.Spec.SchedulerName,
		Want:  strings.Join(names, ", "),
		Do:    "run that scheduler, or make the pod anew for one that runs",
		Cause: fmt.Sprintf("it is left to scheduler %q (spec.schedulerName), and %s", pod.Spec.SchedulerName, others),
	})
	return scheduler.Config{}, false
}

func gates(pod *v1.Pod) string {
	names := make([]string, len(pod.Spec.SchedulingGates))
	for i, gate := range pod.Spec.SchedulingGates {
		names[i] = gate.Name
	}
	return strings.Join(names, ", ")
}

func scheduledWhere(pod *v1.Pod) string {
	if pod.Spec.NodeName != "" {
		return " on node " + pod.Spec.NodeName
	}
	if why := unscheduled(pod); why != "" {
		return ": " + why
	}
	return " and has no node yet"
}

// unscheduled returns the reason in the pod's status why it has no node.
func unscheduled(pod *v1.Pod) string {
	for _, cond := range pod.Status.Conditions {
		if cond.Type == v1.PodScheduled && cond.Status == v1.ConditionFalse {
			return cond.Message
		}
	}
	return ""
}

// claimNames returns the claims a pod uses, generic ephemeral volumes included.
func claimNames(pod *v1.Pod) []string {
	var names []string
	for i := range pod.Spec.Volumes {
		if name := binding.ClaimOfVolume(pod, &pod.Spec.Volumes[i]); name != "" {
			names = append(names, name)
		}
	}
	return names
}
