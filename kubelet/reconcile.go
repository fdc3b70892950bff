package kubelet

import (
	"context"
	"errors"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/volume"
)

// touch has volumes looked at in the next pass, because either world says
// something new of them.
func (k *kubelet) touch(keys ...podVolume) {
	for _, key := range keys {
		k.touched[key] = true
	}
	k.volumeQueue.Add(k.node.Name)
}

// touchPod touches all volumes that a pod has or is to have.
func (k *kubelet) touchPod(uid types.UID) {
	k.touch(k.desired.volumes.ofPod(uid)...)
	k.touch(k.actual.volumes.ofPod(uid)...)
}

// reconcileVolumes is one pass over what differs between both worlds, as far as
// it was touched. It decides which operations are due; the operations queue
// carries them out, in this order.
//
// Upstream: reconciler.go reconcile, v1.36, which passes over everything ten times
// a second.
func (k *kubelet) reconcileVolumes(context.Context, string) error {
	touched := k.takeTouched()
	k.unmountVolumes(touched) // before mounts: what a dying pod has may be what the next one needs
	k.mountVolumes(touched)
	k.expandVolumes(touched)
	k.unmountDevices(touched)
	k.checkVolumesInUse()
	return k.cleanLeftovers()
}

// takeTouched is what was touched since the last pass, sorted. Before all pods are
// known it stays touched: nothing was unmounted then.
func (k *kubelet) takeTouched() []podVolume {
	keys := make([]podVolume, 0, len(k.touched))
	for key := range k.touched {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, comparePodVolumes)
	if k.allPodsSeen() {
		clear(k.touched)
	}
	return keys
}

// unmountVolumes takes away what no pod is to have any more, once all pods are
// known. A living pod keeps what it has while the API cannot say what it is to
// have.
func (k *kubelet) unmountVolumes(touched []podVolume) {
	if !k.allPodsSeen() {
		return
	}
	for _, key := range touched {
		w := k.workers[key.pod]
		if !k.actual.volumes.has(key) || k.desired.get(key) != nil || w == nil || !w.released && !w.populated {
			continue
		}
		k.startOperation(operation{unmountVolume, key})
	}
}

// mountVolumes mounts what pods are to have and do not have for sure, or not as it
// is now.
func (k *kubelet) mountVolumes(touched []podVolume) {
	var list []*volumeToMount
	for _, key := range touched {
		if v := k.desired.get(key); v != nil && !k.actual.isUpToDate(key) && !k.waitsForAttach(v) {
			list = append(list, v)
		}
	}
	for _, v := range inOrder(list) {
		k.startOperation(operation{mountVolume, v.podVolume})
	}
}

// unmountDevices takes volumes off the node that no pod has or is to have.
func (k *kubelet) unmountDevices(touched []podVolume) {
	if !k.allPodsSeen() {
		return
	}
	var names []v1.UniqueVolumeName
	for _, key := range touched {
		if k.actual.devices[key.volume] != nil {
			names = append(names, key.volume)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if !k.desired.volumes.uses(name) && !k.actual.volumes.uses(name) {
			k.startOperation(operation{unmountDevice, podVolume{volume: name}})
		}
	}
}

// cleanLeftovers removes what was found in pods' directories and could not be
// reconstructed, once all pods are known: unmounted if mounted, and removed if
// empty. Data is never deleted.
//
// Upstream: reconstruct.go cleanOrphanVolumes, v1.36.
func (k *kubelet) cleanLeftovers() error {
	if !k.allPodsSeen() {
		return nil
	}
	var kept []string
	var errs []error
	for _, dir := range k.leftovers {
		if err := volume.CleanupMountPoint(dir, k.mounter, k.fs); err != nil {
			kept, errs = append(kept, dir), append(errs, err)
		}
	}
	k.leftovers = kept
	return errors.Join(errs...)
}
