package kubelet

import (
	"context"
	"errors"

	"github.com/storagesim/storagesim/kubelet/volume"
)

// reconcileVolumes is one pass over both worlds. It decides which operations are
// due; the operations queue carries them out, in this order.
//
// Upstream: reconciler.go reconcile, v1.36.
func (k *kubelet) reconcileVolumes(context.Context, string) error {
	k.unmountVolumes() // before mounts: what a dying pod has may be what the next one needs
	k.mountVolumes()
	k.unmountDevices()
	return k.cleanLeftovers()
}

// unmountVolumes takes away what no pod is to have any more, once all pods are
// known. A living pod keeps what it has while the API cannot say what it is to
// have.
func (k *kubelet) unmountVolumes() {
	if !k.allPodsSeen() {
		return
	}
	for _, v := range k.actual.list() {
		w := k.workers[v.pod]
		if k.desired.get(v.podVolume) != nil || w == nil || !w.released && !w.populated {
			continue
		}
		k.startOperation(operation{unmountVolume, v.podVolume})
	}
}

// mountVolumes mounts what pods are to have and do not have for sure.
func (k *kubelet) mountVolumes() {
	for _, v := range k.desired.list() {
		if !k.actual.isMounted(v.podVolume) {
			k.startOperation(operation{mountVolume, v.podVolume})
		}
	}
}

// unmountDevices takes volumes off the node that no pod has or is to have.
func (k *kubelet) unmountDevices() {
	if !k.allPodsSeen() {
		return
	}
	for _, name := range k.actual.deviceNames() {
		if !k.desired.has(name) && !k.actual.usesVolume(name) {
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
