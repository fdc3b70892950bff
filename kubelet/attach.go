package kubelet

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/volume"
)

// isAttachable says whether the volume must be attached before it is mounted.
//
// Upstream: desired_state_of_world.go isAttachableVolume, v1.36.
func isAttachable(plugin volume.VolumePlugin, spec *volume.Spec) (bool, error) {
	attachable, ok := plugin.(volume.AttachableVolumePlugin)
	if !ok {
		return false, nil
	}
	return attachable.CanAttach(spec)
}

// noteAttachable has a volume reported as in use from when it is desired until it
// is safely unmounted.
func (k *kubelet) noteAttachable(name v1.UniqueVolumeName) {
	k.attachable[name] = true
	k.followNode()
	k.reportLater()
}

// followNode has the kubelet hear what its node's status says is attached. A kubelet
// without attachable volumes need not.
//
// Upstream: kubelet_getters.go GetAttachedVolumesFromNodeStatus, v1.36.
func (k *kubelet) followNode() {
	if k.ownNode != nil {
		return
	}
	k.ownNode = control.NewCacheOfName[*v1.Node](k.env, control.Nodes(), k.node.Name)
	k.ownNode.Handle(control.Handler[*v1.Node]{Add: k.nodeChanged, Update: func(_, node *v1.Node) { k.nodeChanged(node) }})
}

// nodeChanged has the volumes looked at that the node's status says are attached, and
// that have waited for it.
func (k *kubelet) nodeChanged(node *v1.Node) {
	for _, v := range node.Status.VolumesAttached {
		if k.attachable[v.Name] && !k.attached[v.Name] {
			k.touch(k.desired.volumes.of(v.Name)...)
		}
	}
}

// isListed says whether the node's status, as the kubelet has heard of it, says that the
// volume is attached.
func (k *kubelet) isListed(name v1.UniqueVolumeName) bool {
	if k.ownNode == nil {
		return false
	}
	node, ok := k.ownNode.Get(k.node.Name)
	return ok && slices.ContainsFunc(node.Status.VolumesAttached, func(v v1.AttachedVolume) bool { return v.Name == name })
}

// volumesInUse are the attachable volumes that the node has or is to have, sorted. One that
// is being mounted is in use until that has ended, though its pod may have gone: it must not
// be detached meanwhile.
//
// Upstream: volume_manager.go GetVolumesInUse, and reconciler_common.go unmountDetachDevices,
// which leaves a volume attached while an operation is pending, v1.36.
func (k *kubelet) volumesInUse() []v1.UniqueVolumeName {
	var names []v1.UniqueVolumeName
	for name := range k.attachable {
		if k.desired.volumes.uses(name) || k.actual.volumes.uses(name) || k.actual.devices[name] != nil || k.mounting.volume == name {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// checkVolumesInUse has a report written if it has changed. What is not in use any
// more must be attached anew before it is used again.
func (k *kubelet) checkVolumesInUse() {
	names := k.volumesInUse()
	if !k.allPodsSeen() || slices.Equal(names, k.reportedInUse) {
		return
	}
	for name := range k.attachable {
		if !slices.Contains(names, name) {
			delete(k.attachable, name)
			delete(k.attached, name)
		}
	}
	k.reportLater()
}

// volumesToReport are those that the node's status is to say are in use. Before all
// pods are known it only ever adds to those that it says: what was in use may still be.
//
// Upstream: nodestatus/setters.go VolumesInUse, v1.36.
func (k *kubelet) volumesToReport(reported []v1.UniqueVolumeName) []v1.UniqueVolumeName {
	names := k.volumesInUse()
	if !k.allPodsSeen() {
		names = append(names, reported...)
		slices.Sort(names)
		names = slices.Compact(names)
	}
	return names
}

// markVolumesAsReportedInUse has those volumes looked at that have just been reported. One
// that no pod is to have at this moment must be reported again for the next pod: so after a
// restart, when the node's status is looked at before the pods are.
//
// Upstream: desired_state_of_world.go MarkVolumesReportedInUse, v1.36.
func (k *kubelet) markVolumesAsReportedInUse(names []v1.UniqueVolumeName) {
	before := k.mayMount
	k.mayMount = map[v1.UniqueVolumeName]bool{}
	for _, name := range names {
		if !k.desired.volumes.uses(name) {
			continue
		}
		if k.mayMount[name] = true; !before[name] {
			k.touch(k.desired.volumes.of(name)...)
		}
	}
	k.reportedInUse = names
}

// waitsForAttach says whether the volume must not be mounted yet: it is not attached, or
// the node has not said that it will use it, so that it could be detached at any moment.
// Nothing has failed then, and no backoff grows.
//
// Upstream: reconciler_common.go waitForVolumeAttach, and operation_generator.go
// GenerateVerifyControllerAttachedVolumeFunc, whose NewMountPreConditionFailedError has no
// backoff, v1.36.
func (k *kubelet) waitsForAttach(v *volumeToMount) bool {
	return v.attachable && !k.attached[v.volume] && (!k.isReported(v.volume) || !k.isListed(v.volume))
}

// isReported says whether the node's status was written to say that the volume is in use
// when a pod was to have it.
func (k *kubelet) isReported(name v1.UniqueVolumeName) bool {
	return k.mayMount[name]
}

// verifyControllerAttachedVolume refuses a volume that is not attached yet, as the
// node's status has it, or that the node has not said it will use.
//
// Upstream: operation_generator.go GenerateVerifyControllerAttachedVolumeFunc,
// v1.36.
func (k *kubelet) verifyControllerAttachedVolume(ctx context.Context, v *volumeToMount) error {
	fail := func(why string) error {
		return fmt.Errorf("VerifyControllerAttachedVolume failed for volume %q : %s", v.spec.Name(), why)
	}
	switch {
	case !v.attachable || k.attached[v.volume]:
		return nil
	case !k.isReported(v.volume):
		return fail("Volume has not been added to the list of VolumesInUse in the node's volume status")
	}
	node, err := k.env.Client().CoreV1().Nodes().Get(ctx, k.node.Name, metav1.GetOptions{})
	if err != nil {
		return fail(err.Error())
	}
	for _, attached := range node.Status.VolumesAttached {
		if attached.Name == v.volume {
			k.attached[v.volume] = true
			return nil
		}
	}
	return fail("Volume not attached according to node status")
}
