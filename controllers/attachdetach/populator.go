package attachdetach

import (
	"context"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/control"
)

// attachable returns the PersistentVolume behind a volume of a pod, or that into which it is translated. It returns nil if there is none, if pod, claim
// and volume do not belong together, or if the volume need not be attached. late reports that the caches do not
// show a bound claim and its volume yet.
// Upstream: attachdetach/util createInTreeVolumeSpec, getPVCFromCache and
// getPVSpecFromCache, v1.37.
func (c *controller) attachable(pod *v1.Pod, volume *v1.Volume) (pv *v1.PersistentVolume, late bool) {
	name := binding.ClaimOfVolume(pod, volume)
	if name == "" {
		if pv = inline(pod, volume); pv == nil || !c.canAttach(pv) {
			return nil, false
		}
		return pv, false
	}
	claim, ok := c.claims.Get(pod.Namespace + "/" + name)
	if !ok || !isBound(claim) {
		return nil, true
	}
	if volume.Ephemeral != nil && !metav1.IsControlledBy(claim, pod) {
		return nil, false
	}
	pv, ok = c.volumes.Get(claim.Spec.VolumeName)
	if !ok || pv.Spec.ClaimRef == nil || pv.Spec.ClaimRef.UID != claim.UID {
		return nil, true
	}
	if pv = translated(pv); !c.canAttach(pv) {
		return nil, false
	}
	return pv, false
}

func isBound(claim *v1.PersistentVolumeClaim) bool {
	return claim.Status.Phase == v1.ClaimBound && claim.Spec.VolumeName != ""
}

// processPod brings the desired state in line with a pod.
// Upstream: attachdetach/util DetermineVolumeAction, v1.37.
func (c *controller) processPod(pod *v1.Pod) { c.processPodVolumes(pod, !binding.IsPodTerminated(pod)) }

// processPodVolumes adds the attachable volumes of a pod to the desired state, or removes them.
// Upstream: attachdetach/util ProcessPodVolumes, v1.37.
func (c *controller) processPodVolumes(pod *v1.Pod, add bool) {
	if !c.desired.nodes[pod.Spec.NodeName] {
		return
	}
	for i := range pod.Spec.Volumes {
		pv, late := c.attachable(pod, &pod.Spec.Volumes[i])
		if late && add {
			c.missed = true
			c.lookRegularly()
		}
		if pv == nil {
			continue
		}
		at := place{uniqueVolumeName(pv.Spec.CSI), pod.Spec.NodeName}
		if add && c.desired.addPod(pod, pv, at) || !add && c.desired.deletePod(pod.UID, at) {
			c.touch(at.volume)
		}
	}
}

// claimChanged queues a claim that may have become bound, for its pods. It ignores claims of volumes that are not
// attached.
// Upstream: attach_detach_controller.go enqueuePVC, v1.37.
func (c *controller) claimChanged(claim *v1.PersistentVolumeClaim) {
	if !isBound(claim) {
		return
	}
	if pv, ok := c.volumes.Get(claim.Spec.VolumeName); !ok || c.canAttach(translated(pv)) {
		c.claimQueue.Add(control.Key(claim))
	}
}

// syncClaim processes the pods of a claim that is bound now.
// Upstream: attach_detach_controller.go syncPVCByKey, v1.37.
func (c *controller) syncClaim(_ context.Context, key string) error {
	for _, pod := range c.pods.ByIndex(byClaim, key) {
		if !binding.IsPodTerminated(pod) {
			c.processPodVolumes(pod, true)
		}
	}
	return nil
}

// populate processes all pods from time to time, in case a change was missed.
// Upstream: populator/desired_state_of_world_populator.go populatorLoopFunc, v1.37.
func (c *controller) populate() {
	c.findAndRemoveDeletedPods()
	if c.env.Now().Sub(c.began)%listPodsPeriod == 0 {
		c.findAndAddActivePods()
	}
}

// findAndRemoveDeletedPods removes from the desired state pods that are gone or have ended, and volumes that need
// not be attached any more.
// Upstream: populator/desired_state_of_world_populator.go findAndRemoveDeletedPods, v1.37.
func (c *controller) findAndRemoveDeletedPods() {
	for _, name := range slices.Sorted(maps.Keys(c.desired.volumes)) {
		for _, v := range c.desired.at(name) {
			needed := c.canAttach(v.pv)
			for _, known := range v.scheduledPods() {
				pod, ok := c.pods.Get(control.Key(known))
				if !ok || pod.UID != known.UID || binding.IsPodTerminated(pod) || !needed || c.cfg.DropOld && c.isOld(pod, v) {
					c.desired.deletePod(known.UID, v.place)
					c.touch(name)
				}
			}
		}
	}
}

// isOld reports whether a pod's claims lead to other volumes only. It does not as long as the caches do not show one of them.
func (c *controller) isOld(pod *v1.Pod, v *volumeToAttach) bool {
	for i := range pod.Spec.Volumes {
		pv, late := c.attachable(pod, &pod.Spec.Volumes[i])
		if late || pv != nil && uniqueVolumeName(pv.Spec.CSI) == v.volume {
			return false
		}
	}
	return true
}

// findAndAddActivePods adds to the desired state volumes of pods that were missed before.
// Upstream: populator/desired_state_of_world_populator.go findAndAddActivePods, v1.37.
func (c *controller) findAndAddActivePods() {
	c.missed = false
	for pod := range c.pods.All() {
		if !binding.IsPodTerminated(pod) {
			c.processPodVolumes(pod, true)
		}
	}
}
