package volumemanager

import (
	"context"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/volume"
)

// attachments keeps what the kubelet and the attach/detach controller tell each other through
// the Node's status: volumesInUse and volumesAttached.
type attachments struct {
	*given
	*states

	// attachable holds the volumes that volumesInUse lists, each from when a pod wants it
	// until it is safely unmounted.
	attachable map[v1.UniqueVolumeName]bool
	// reportedInUse is volumesInUse as it was last written.
	reportedInUse []v1.UniqueVolumeName
	// synced: the Node was read, so that what was found on the disk is known to be attached or not.
	// Before, volumesInUse stays as it is.
	synced bool
	// listed holds the volumes that the Node listed as attached when the kubelet registered.
	listed map[v1.UniqueVolumeName]bool
	// mayMount holds the reported volumes that pods wanted when volumesInUse was last written.
	mayMount map[v1.UniqueVolumeName]bool
	// ownNode has the Node object, from the first attachable volume on.
	ownNode *control.Cache[*v1.Node]
}

// isAttachable reports whether the volume must be attached before it is mounted.
//
// Upstream: pkg/volume/util/util.go IsAttachableVolume, v1.37.
func isAttachable(plugin volume.VolumePlugin, spec *volume.Spec) (bool, error) {
	attachable, ok := plugin.(volume.AttachableVolumePlugin)
	if !ok {
		return false, nil
	}
	return attachable.CanAttach(spec)
}

// add reports an attachable volume as in use, and follows the node's status for it.
func (a *attachments) add(name v1.UniqueVolumeName) {
	a.attachable[name] = true
	a.followNode()
	a.kubelet.ReportNodeStatus()
}

// markVolumeAttachability stops waiting for the volumes of which their driver says now that they need not be attached. One that is attached
// stays in use until it is unmounted.
//
// Upstream: desired_state_of_world_populator.go findAndRemoveDeletedPods, and desired_state_of_world.go MarkVolumeAttachability, v1.37.
func (a *attachments) markVolumeAttachability() {
	for _, name := range slices.Sorted(maps.Keys(a.attachable)) {
		for _, key := range a.desired.volumes.of(name) {
			v := a.desired.get(key)
			if needed, err := isAttachable(v.plugin, v.spec); err != nil || needed || !v.attachable {
				continue
			}
			v.attachable = false
			if !a.actual.attached[name] {
				delete(a.attachable, name)
			}
			a.note(v.ref(), fmt.Sprintf("volume %s need not be attached any more: its driver says so", v.spec.Name()))
			a.touch(key)
		}
	}
}

// followNode starts to follow the Node object, whose status lists the attached volumes. A
// kubelet without attachable volumes does not need it.
//
// Upstream: pkg/kubelet/volume_host.go GetAttachedVolumesFromNodeStatus, v1.37.
func (a *attachments) followNode() {
	if a.ownNode != nil {
		return
	}
	a.ownNode = control.NewCacheOfName[*v1.Node](a.env, control.Nodes(), a.node.Name)
	a.ownNode.Handle(control.Handler[*v1.Node]{Add: a.nodeChanged, Update: func(_, node *v1.Node) { a.nodeChanged(node) }})
}

// nodeChanged touches the volumes that have become attached.
func (a *attachments) nodeChanged(node *v1.Node) {
	for _, v := range node.Status.VolumesAttached {
		if a.attachable[v.Name] && !a.actual.attached[v.Name] {
			a.touch(a.desired.volumes.of(v.Name)...)
		}
	}
}

// isListed reports whether the node's status, as far as it has arrived, lists the volume as
// attached.
func (a *attachments) isListed(name v1.UniqueVolumeName) bool {
	if a.ownNode == nil {
		return false
	}
	node, ok := a.ownNode.Get(a.node.Name)
	return ok && slices.ContainsFunc(node.Status.VolumesAttached, func(v v1.AttachedVolume) bool { return v.Name == name })
}

// volumesInUse returns the attachable volumes that the node has or is to have, sorted. A
// volume that is being mounted is in use until that has ended, even if its pod has gone: it
// must not be detached meanwhile.
//
// Upstream: volume_manager.go GetVolumesInUse, and reconciler_common.go unmountDetachDevices,
// which leaves a volume attached while an operation is pending, v1.37.
func (a *attachments) volumesInUse() []v1.UniqueVolumeName {
	var names []v1.UniqueVolumeName
	for name := range a.attachable {
		if a.desired.volumes.uses(name) || a.actual.volumes.uses(name) || a.actual.devices[name] != nil ||
			a.actual.isMounting(func(key podVolume) bool { return key.volume == name }) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// checkVolumesInUse schedules a write of the node's status if volumesInUse has changed. A
// volume that is no longer in use must be attached anew before it is used again.
func (a *attachments) checkVolumesInUse() {
	names := a.volumesInUse()
	if !a.desired.hasAddedPods() || slices.Equal(names, a.reportedInUse) {
		return
	}
	for name := range a.attachable {
		if !slices.Contains(names, name) {
			delete(a.attachable, name)
			delete(a.actual.attached, name)
		}
	}
	a.kubelet.ReportNodeStatus()
}

// volumesToReport returns volumesInUse as it is to be written. Until the kubelet has read the Node
// it keeps what is written already; a Node that is made anew has nothing.
//
// Upstream: nodestatus/setters.go VolumesInUse, and reconciler.go StatesHasBeenSynced, v1.37.
func (a *attachments) volumesToReport(reported []v1.UniqueVolumeName) []v1.UniqueVolumeName {
	if !a.synced && !a.decisions.KeepInUse {
		return reported
	}
	names := a.volumesInUse()
	if a.decisions.KeepInUse && !a.desired.hasAddedPods() { // those volumes may still be in use
		names = append(names, reported...)
		slices.Sort(names)
		names = slices.Compact(names)
	}
	return names
}

// markVolumesAsReportedInUse touches the volumes that volumesInUse lists for the first time. A
// name that was written while no pod wanted the volume must be written again for the next pod,
// as after a restart, when the node's status is written before the pods are known.
//
// Upstream: desired_state_of_world.go MarkVolumesReportedInUse, v1.37.
func (a *attachments) markVolumesAsReportedInUse(names []v1.UniqueVolumeName) {
	before := a.mayMount
	a.mayMount = map[v1.UniqueVolumeName]bool{}
	for _, name := range names {
		if !a.desired.volumes.uses(name) {
			continue
		}
		if a.mayMount[name] = true; !before[name] {
			a.touch(a.desired.volumes.of(name)...)
		}
	}
	a.reportedInUse = names
}

// waitsForAttach reports whether the volume must not be mounted yet: it is not attached, or
// the node has not reported it as in use, so that it could be detached at any moment.
// Nothing has failed then, and no backoff grows.
//
// Upstream: reconciler_common.go waitForVolumeAttach, and operation_generator.go
// GenerateVerifyControllerAttachedVolumeFunc, whose error for that has no
// backoff, v1.37.
func (a *attachments) waitsForAttach(v *volumeToMount) bool {
	return v.attachable && !a.actual.attached[v.volume] && (!a.mayMount[v.volume] || !a.isListed(v.volume))
}

// verifyControllerAttachedVolume refuses a volume that is not attached, as the Node's status
// has it now, or that the node has not reported as in use.
//
// Upstream: operation_generator.go GenerateVerifyControllerAttachedVolumeFunc,
// v1.37.
func (a *attachments) verifyControllerAttachedVolume(ctx context.Context, v *volumeToMount) error {
	fail := func(why string) error {
		return fmt.Errorf("VerifyControllerAttachedVolume failed for volume %q : %s", v.spec.Name(), why)
	}
	switch {
	case !v.attachable || a.actual.attached[v.volume]:
		return nil
	case !a.mayMount[v.volume]:
		return fail("Volume has not been added to the list of VolumesInUse in the node's volume status")
	}
	node, err := a.env.Client().CoreV1().Nodes().Get(ctx, a.node.Name, metav1.GetOptions{})
	if err != nil {
		return fail(err.Error())
	}
	for _, attached := range node.Status.VolumesAttached {
		if attached.Name == v.volume {
			a.actual.attached[v.volume] = true
			return nil
		}
	}
	return fail("Volume not attached according to node status")
}
