package volumemanager

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/control"
)

// reconciler compares both states of the world and starts the operations that are due.
//
// Upstream: pkg/kubelet/volumemanager/reconciler, v1.37.
type reconciler struct {
	*given
	*states

	attachments    *attachments
	operations     *operationExecutor
	reconstruction *reconstruction
}

// reconcile makes one pass over the touched volumes. Operations run in the order in which it
// starts them.
//
// Upstream: reconciler.go reconcile, v1.37, which passes over everything ten times
// a second.
func (r *reconciler) reconcile(ctx context.Context, _ string) error {
	if err := r.ComesRound(ctx, loopPeriod); err != nil {
		return err
	}
	touched := r.takeTouched()
	r.unmountVolumes(touched) // before mounts: the next pod may need what a dying pod has
	r.mountVolumes(touched)
	r.expandVolumes(touched)
	r.unmountDevices(touched)
	r.attachments.checkVolumesInUse()
	return r.reconstruction.cleanOrphanVolumes()
}

// takeTouched returns the volumes touched since the last pass, sorted. Until all pods are
// known they stay touched, since nothing is unmounted before.
func (r *reconciler) takeTouched() []podVolume {
	keys := make([]podVolume, 0, len(r.touched))
	for key := range r.touched {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, comparePodVolumes)
	if r.desired.hasAddedPods() {
		clear(r.touched)
	}
	return keys
}

// unmountVolumes unmounts the volumes that pods should not have, once all pods were looked at. A volume
// whose claim could not be read is one of them, even if its pod runs, unless Decisions.KeepUnread
// is set.
//
// Upstream: reconciler_common.go unmountVolumes, v1.37, which walks a Go map.
func (r *reconciler) unmountVolumes(touched []podVolume) {
	if !r.desired.hasAddedPods() {
		return
	}
	var list []podVolume
	for _, key := range touched {
		if !r.actual.volumes.has(key) || r.desired.get(key) != nil {
			continue
		}
		if r.decisions.KeepUnread && !r.desired.isPopulated(key.pod) && !r.pods.HasReleasedVolumes(key.pod) {
			continue
		}
		list = append(list, key)
	}
	control.Shuffle(r.env, list)
	for _, key := range list {
		r.operations.start(operation{unmountVolume, key})
	}
}

// mountVolumes mounts the volumes that pods should have and that are not mounted, not for
// certain, or not up to date. What an earlier life has mounted waits until all pods are known, and what is new until the kubelet asks for its pods: upstream,
// no pod is known before. The order is any, that of a Go map upstream.
func (r *reconciler) mountVolumes(touched []podVolume) {
	if r.desired.awaitsSources() {
		return
	}
	var list []*volumeToMount
	for _, key := range touched {
		if r.actual.volumes.has(key) && !r.desired.hasAddedPods() {
			continue
		}
		if v := r.desired.get(key); v != nil && !r.actual.isUpToDate(key) && !r.attachments.waitsForAttach(v) {
			list = append(list, v)
		}
	}
	list = inOrder(list)
	control.Shuffle(r.env, list)
	for _, v := range list {
		r.operations.start(operation{mountVolume, v.podVolume})
	}
}

// expandVolumes expands the volumes that are smaller than they should be.
//
// Upstream: reconciler_common.go expandVolume, v1.37.
func (r *reconciler) expandVolumes(touched []podVolume) {
	for _, key := range touched {
		if r.desired.get(key) != nil && r.actual.isUpToDate(key) && r.sizes.needsExpansion(key.volume) {
			r.operations.start(operation{expandVolume, key})
		}
	}
}

// unmountDevices unmounts volumes from the node that no pod has or should have, once all pods
// are known.
func (r *reconciler) unmountDevices(touched []podVolume) {
	if !r.desired.hasAddedPods() {
		return
	}
	var names []v1.UniqueVolumeName
	for _, key := range touched {
		if r.actual.devices[key.volume] != nil {
			names = append(names, key.volume)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	control.Shuffle(r.env, names)
	for _, name := range names {
		if !r.desired.volumes.uses(name) && !r.actual.volumes.uses(name) {
			r.operations.start(operation{unmountDevice, podVolume{volume: name}})
		}
	}
}
