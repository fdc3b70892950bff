package scheduler

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/binding"
)

// AssumePodVolumes takes the volumes found for the chosen node, in memory only:
//
//  1. a volume to bind gets its claimRef in the cache of volumes,
//  2. a claim to provision gets its selected-node in the cache of claims,
//  3. podVolumes holds the changed copies, which BindPodVolumes writes as they are.
//
// The next pod's Filter sees them as taken. If any of them has changed since it
// was read, all are given back and it is an error.
// allFullyBound says that there is nothing to do.
// Upstream: binder.go AssumePodVolumes, v1.37.
func (b *volumeBinder) AssumePodVolumes(pod *v1.Pod, nodeName string, podVolumes *PodVolumes) (allFullyBound bool, err error) {
	if b.arePodVolumesBound(pod) {
		return true, nil
	}
	assumed := &PodVolumes{}
	for _, found := range podVolumes.StaticBindings {
		pv, dirty, err := binding.GetBindVolumeToClaim(found.pv, found.pvc)
		if err == nil && dirty {
			err = b.pvs.Assume(pv)
		}
		if err != nil {
			b.RevertAssumedPodVolumes(assumed)
			return false, err
		}
		assumed.StaticBindings = append(assumed.StaticBindings, &BindingInfo{pvc: found.pvc, pv: pv})
	}
	for _, claim := range podVolumes.DynamicProvisions {
		clone := claim.DeepCopy()
		metav1.SetMetaDataAnnotation(&clone.ObjectMeta, binding.AnnSelectedNode, nodeName)
		if err := b.pvcs.Assume(clone); err != nil {
			b.RevertAssumedPodVolumes(assumed)
			return false, err
		}
		assumed.DynamicProvisions = append(assumed.DynamicProvisions, clone)
	}
	*podVolumes = *assumed
	return false, nil
}

// RevertAssumedPodVolumes gives back what AssumePodVolumes took, as far as the
// caches have heard nothing newer. The API is left as it is.
// Upstream: binder.go RevertAssumedPodVolumes, v1.37.
func (b *volumeBinder) RevertAssumedPodVolumes(podVolumes *PodVolumes) {
	for _, bound := range podVolumes.StaticBindings {
		b.pvs.Restore(bound.pv)
	}
	for _, claim := range podVolumes.DynamicProvisions {
		b.pvcs.Restore(claim)
	}
}

// arePodVolumesBound says that every claim of the pod is fully bound.
// Upstream: binder.go arePodVolumesBound, v1.37.
func (b *volumeBinder) arePodVolumesBound(pod *v1.Pod) bool {
	for _, pc := range claimNames(pod) {
		if claim, ok := b.pvcs.Get(pod.Namespace + "/" + pc.name); !ok || !isPVCFullyBound(claim) {
			return false
		}
	}
	return true
}
