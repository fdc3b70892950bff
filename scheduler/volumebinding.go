package scheduler

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/semantic"
)

// volumeBinding lets the volume binder take part in the phases.
// Upstream: plugins/volumebinding/volume_binding.go, v1.37.
type volumeBinding struct {
	binder *volumeBinder
	decide Decide
}

// volumeState holds the data of volumeBinding about the pod in one cycle.
type volumeState struct {
	claims *podVolumeClaims
	// refusals are the verdicts so far by their reasons: many nodes have the same.
	refusals [allReasons + 1]*status
	// cycle numbers the cycle: nodeInfo.volumeScore holds what Score returns where Filter found volumes or capacity to compare, on
	// scored nodes. It comes from the sums in classes.
	cycle   uint64
	scored  int
	classes []classResource
	// unscored says why a claim is left out of the scores, which would end upstream's scheduler.
	unscored string
	// onNode holds the volumes found on the chosen node, which Reserve has assumed.
	onNode   *PodVolumes
	allBound bool
}

func (volumeBinding) Name() string { return "VolumeBinding" }

// Upstream: volume_binding.go EventsToRegister, v1.37.
func (volumeBinding) EventsToRegister() []registration {
	return []registration{
		upon(added|updated, isSchedulableAfterStorageClassChange),
		upon(added|updated, isClaimOfPod),
		upon(added|updated, always[*v1.PersistentVolume]),
		upon(added|updateNodeLabel, always[*v1.Node]),
		upon(added|updated, isSchedulableAfterCSINodeChange),
		upon(updated, isSchedulableAfterCSIDriverChange),
		upon(added|updated, isSchedulableAfterCSIStorageCapacityChange),
	}
}

// isClaimOfPod: the pod uses the claim, or it is made for the pod.
// Upstream: volume_binding.go isSchedulableAfterPersistentVolumeClaimChange and
// nodevolumelimits/csi.go isSchedulableAfterPVCAdded, v1.37.
func isClaimOfPod(pod *v1.Pod, _, after *v1.PersistentVolumeClaim) bool {
	return slices.Contains(claimKeys(pod), control.Key(after))
}

// Upstream: volume_binding.go isSchedulableAfterStorageClassChange, v1.37.
func isSchedulableAfterStorageClassChange(_ *v1.Pod, before, after *storagev1.StorageClass) bool {
	return before == nil || !semantic.Equal(before.AllowedTopologies, after.AllowedTopologies)
}

// isSchedulableAfterCSINodeChange: a CSINode comes, or other in-tree plugins are
// migrated there.
// Upstream: volume_binding.go isSchedulableAfterCSINodeChange, v1.37.
func isSchedulableAfterCSINodeChange(_ *v1.Pod, before, after *storagev1.CSINode) bool {
	return before == nil || before.Annotations[v1.MigratedPluginsAnnotationKey] != after.Annotations[v1.MigratedPluginsAnnotationKey]
}

// isSchedulableAfterCSIDriverChange: the driver of a volume that the pod itself defines
// no longer publishes its capacity. Of a claim's driver nothing is asked, although it
// is for claims that capacity counts.
// Upstream: volume_binding.go isSchedulableAfterCSIDriverChange, v1.37.
func isSchedulableAfterCSIDriverChange(pod *v1.Pod, before, after *storagev1.CSIDriver) bool {
	return publishesCapacity(before) && !publishesCapacity(after) &&
		slices.ContainsFunc(pod.Spec.Volumes, func(v v1.Volume) bool { return v.CSI != nil && v.CSI.Driver == after.Name })
}

// Upstream: volume_binding.go isSchedulableAfterCSIStorageCapacityChange, v1.37.
func isSchedulableAfterCSIStorageCapacityChange(_ *v1.Pod, before, after *storagev1.CSIStorageCapacity) bool {
	if before == nil {
		return true
	}
	had, has := volumeLimit(before), volumeLimit(after)
	return has != nil && (had == nil || has.Value() > had.Value())
}

func publishesCapacity(d *storagev1.CSIDriver) bool {
	return d.Spec.StorageCapacity != nil && *d.Spec.StorageCapacity
}

// PreFilter refuses pods whose claims cannot be used by any pod, and those that
// the PV controller has not finished with: it will be heard of when it has.
func (p volumeBinding) PreFilter(c *cycle) *status {
	names := claimNames(c.pod)
	if len(names) == 0 {
		c.volumes.allBound = true
		return refuse(skip)
	}
	for _, pc := range names {
		if problem := p.usable(c.pod, pc); problem != "" {
			return refuse(unresolvable, problem)
		}
	}
	claims, err := p.binder.GetPodVolumeClaims(c.pod)
	if err != nil {
		return asStatus(err)
	}
	if len(claims.unboundClaimsImmediate) > 0 {
		return refuse(unresolvable, "pod has unbound immediate PersistentVolumeClaims")
	}
	p.binder.cycles++
	c.volumes = volumeState{claims: claims, cycle: p.binder.cycles}
	return nil
}

// usable says why a claim cannot be used, "" if it can.
// Upstream: volume_binding.go podHasPVCs, v1.37.
func (p volumeBinding) usable(pod *v1.Pod, pc podClaim) string {
	claim, ok := p.binder.pvcs.Get(pod.Namespace + "/" + pc.name)
	switch {
	case !ok:
		return claimNotFound(pc)
	case claim.Status.Phase == v1.ClaimLost:
		return fmt.Sprintf("persistentvolumeclaim %q bound to non-existent persistentvolume %q", claim.Name, claim.Spec.VolumeName)
	case claim.DeletionTimestamp != nil:
		return fmt.Sprintf("persistentvolumeclaim %q is being deleted", claim.Name)
	case pc.ephemeral && !metav1.IsControlledBy(claim, pod):
		return fmt.Sprintf("PVC %s/%s was not created for pod %s/%s (pod is not owner)", claim.Namespace, claim.Name, pod.Namespace, pod.Name)
	}
	return ""
}

func claimNotFound(pc podClaim) string {
	if pc.ephemeral {
		return fmt.Sprintf("waiting for ephemeral volume controller to create the persistentvolumeclaim %q", pc.name)
	}
	return fmt.Sprintf("persistentvolumeclaim %q not found", pc.name)
}

// Filter asks whether the node has what the pod needs. What that is, Reserve asks
// of the chosen node, upstream keeps it for every node: nothing can change meanwhile.
func (p volumeBinding) Filter(c *cycle, node *nodeInfo) *status {
	reasons, err := p.binder.podVolumeReasons(c.volumes.claims, &node.volumes)
	if err != nil {
		return asStatus(err)
	}
	if reasons == 0 {
		c.volumes.score(node)
		return nil
	}
	if c.volumes.refusals[reasons] == nil {
		c.volumes.refusals[reasons] = refuse(unresolvable, reasons.texts()...)
	}
	return c.volumes.refusals[reasons]
}

// found returns what Filter has found on the node.
func (p volumeBinding) found(c *cycle, node string) (*PodVolumes, error) {
	if c.volumes.onNode != nil {
		return c.volumes.onNode, nil
	}
	n, ok := p.binder.nodes.Get(node)
	if !ok {
		return nil, notFound("node", node)
	}
	volumes, err := p.decide(c.pod, node, func() (*PodVolumes, error) { return p.chooseVolumes(c.volumes.claims, n) })
	c.volumes.onNode = volumes
	return volumes, err
}

// chooseVolumes lets the policy choose among equal volumes. If the choice for one claim takes
// the only volume that fits another, it takes the first ones instead, with which Filter
// found that the node fits. Upstream chooses at random in Filter, and then refuses the node.
func (p volumeBinding) chooseVolumes(claims *podVolumeClaims, node *v1.Node) (*PodVolumes, error) {
	claims.choose = p.binder.env.Choose
	volumes, conflicts, err := p.binder.FindPodVolumes(claims, node)
	claims.choose = nil
	if len(conflicts) > 0 {
		volumes, _, err = p.binder.FindPodVolumes(claims, node)
	}
	return volumes, err
}

// conflicts returns the reasons against the node claim by claim, if the plugin has turned
// it down.
func (p volumeBinding) conflicts(c *cycle, node string) Conflicts {
	n, ok := p.binder.nodes.Get(node)
	if !ok || c.volumes.claims == nil {
		return nil
	}
	_, conflicts, _ := p.binder.FindPodVolumes(c.volumes.claims, n)
	return conflicts
}

// Reserve takes the volumes of the chosen node, in memory.
func (p volumeBinding) Reserve(c *cycle, node string) *status {
	if c.volumes.claims == nil {
		c.volumes.allBound = true
		return nil
	}
	volumes, err := p.found(c, node)
	if err != nil {
		return asStatus(err)
	}
	allBound, err := p.binder.AssumePodVolumes(c.pod, node, volumes)
	c.volumes.allBound = allBound
	return asStatus(err)
}

// Unreserve gives them back, in memory.
func (p volumeBinding) Unreserve(c *cycle, _ string) {
	if c.volumes.onNode != nil && !c.volumes.allBound {
		p.binder.RevertAssumedPodVolumes(c.volumes.onNode)
	}
}

// PreBindPreFlight: there is work unless every claim is bound.
func (p volumeBinding) PreBindPreFlight(c *cycle, _ string) *status {
	if c.volumes.allBound {
		return refuse(skip)
	}
	return nil
}

// PreBind writes the choice and waits until every claim is bound.
func (p volumeBinding) PreBind(ctx context.Context, c *cycle, node string) *status {
	return asStatus(p.binder.BindPodVolumes(ctx, c.pod, node, c.volumes.onNode))
}
