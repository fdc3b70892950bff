package kubelet

import (
	"context"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagesim/storagesim/volume"
)

// volumeSizes are the sizes of volumes that can grow on the node, by unique name.
//
// Upstream: desired_state_of_world.go and actual_state_of_world.go persistentVolumeSize,
// volumeInUseErrorForExpansion and volumesWithFinalExpansionErrors, v1.36.
type volumeSizes struct {
	// desired is what the PersistentVolume says, actual what the volume has on this node.
	desired, actual map[v1.UniqueVolumeName]resource.Quantity
	// inUse are volumes that cannot grow while they are in use; failed are those whose
	// growth has failed for good.
	inUse, failed map[v1.UniqueVolumeName]bool
}

func newVolumeSizes() *volumeSizes {
	return &volumeSizes{
		desired: map[v1.UniqueVolumeName]resource.Quantity{}, actual: map[v1.UniqueVolumeName]resource.Quantity{},
		inUse: map[v1.UniqueVolumeName]bool{}, failed: map[v1.UniqueVolumeName]bool{},
	}
}

// initialize notes the size of a volume of which none is known.
//
// Upstream: actual_state_of_world.go InitializeClaimSize, v1.36.
func (s *volumeSizes) initialize(name v1.UniqueVolumeName, size resource.Quantity) {
	if known := s.actual[name]; known.IsZero() {
		s.actual[name] = size
	}
}

// needsExpansion says whether a volume is smaller than it is to be.
//
// Upstream: actual_state_of_world.go volumeNeedsExpansion, v1.36.
func (s *volumeSizes) needsExpansion(name v1.UniqueVolumeName) bool {
	desired, actual := s.desired[name], s.actual[name]
	return !s.inUse[name] && !actual.IsZero() && desired.Cmp(actual) > 0
}

// forget forgets a volume that is not on the node any more.
func (s *volumeSizes) forget(name v1.UniqueVolumeName) {
	delete(s.desired, name)
	delete(s.actual, name)
	delete(s.inUse, name)
	delete(s.failed, name)
}

// syncRegularly begins, with the first volume that needs it, to look at all volumes every
// minute: at those that are to be set up again and at those that may have grown.
func (k *kubelet) syncRegularly() {
	if k.syncing {
		return
	}
	k.syncing = true
	k.env.Every("sync", syncFrequency, func(context.Context) {
		for _, uid := range slices.Sorted(maps.Keys(k.workers)) {
			k.markRemountRequired(k.workers[uid])
			k.reprocessSizes(k.workers[uid])
		}
	})
}

// reprocessSizes has the populator look at the sizes of a pod's volumes, if it has any that
// can grow on the node.
func (k *kubelet) reprocessSizes(w *podWorker) {
	if w.populated && slices.ContainsFunc(k.desired.ofPod(w.uid), func(v *volumeToMount) bool { return expander(v) != nil }) {
		k.populatorQueue.Add(string(w.uid))
	}
}

// expander is the plugin of a volume that can grow on the node, nil for others.
//
// Upstream: operation_generator.go checkIfSupportsNodeExpansion, v1.36.
func expander(v *volumeToMount) volume.NodeExpandableVolumePlugin {
	plugin, ok := v.plugin.(volume.NodeExpandableVolumePlugin)
	if !ok || v.spec.PersistentVolume == nil || !plugin.RequiresFSResize() {
		return nil
	}
	return plugin
}

// checkVolumeFSResize reads anew how large a pod's volumes are to be. One that cannot be read
// is looked at again in the next round.
//
// Upstream: desired_state_of_world_populator.go checkVolumeFSResize, v1.36.
func (k *kubelet) checkVolumeFSResize(ctx context.Context, w *podWorker) {
	for _, v := range k.desired.ofPod(w.uid) {
		if expander(v) == nil || v.spec.ReadOnly {
			continue
		}
		ref := v.spec.PersistentVolume.Spec.ClaimRef
		pvc, err := k.getPVC(ctx, ref.Namespace, ref.Name)
		if err != nil {
			continue
		}
		pv, err := k.getPV(ctx, pvc)
		if err != nil {
			continue
		}
		k.sizes.desired[v.volume] = pv.Spec.Capacity[v1.ResourceStorage]
		k.sizes.initialize(v.volume, pvc.Status.Capacity[v1.ResourceStorage])
		if k.sizes.needsExpansion(v.volume) {
			v.spec = volume.NewSpecFromPersistentVolume(pv, v.spec.ReadOnly)
			k.touch(v.podVolume)
		}
	}
}

// expandVolumes has volumes grow that are smaller than they are to be.
//
// Upstream: reconciler_common.go expandVolume, v1.36.
func (k *kubelet) expandVolumes(touched []podVolume) {
	for _, key := range touched {
		if v := k.desired.get(key); v != nil && k.actual.isUpToDate(key) && k.sizes.needsExpansion(key.volume) {
			k.startOperation(operation{expandVolume, key})
		}
	}
}
