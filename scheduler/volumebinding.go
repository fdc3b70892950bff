package scheduler

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/control"
)

// volumeBinding lets the volume binder take part in the phases.
// Upstream: plugins/volumebinding/volume_binding.go, v1.36.
type volumeBinding struct{ binder *volumeBinder }

// volumeState is what volumeBinding knows of the pod in one cycle.
type volumeState struct {
	claims    *PodVolumeClaims
	byNode    map[string]*PodVolumes
	conflicts map[string]Conflicts // by node, for Explain and the trace
	allBound  bool
}

func (volumeBinding) Name() string { return "VolumeBinding" }

// Helps: anything that can make a volume or a claim fit.
func (volumeBinding) Helps(pod *v1.Pod, e clusterEvent) bool {
	switch obj := e.new.(type) {
	case *v1.PersistentVolumeClaim:
		return slices.Contains(claimKeys(pod), control.Key(obj))
	case *v1.PersistentVolume:
		return true
	case *storagev1.StorageClass:
		old, updated := e.old.(*storagev1.StorageClass)
		return !updated || !equality.Semantic.DeepEqual(old.AllowedTopologies, obj.AllowedTopologies)
	case *storagev1.CSIDriver:
		old, updated := e.old.(*storagev1.CSIDriver)
		return updated && publishesCapacity(old) && !publishesCapacity(obj)
	case *storagev1.CSIStorageCapacity:
		old, updated := e.old.(*storagev1.CSIStorageCapacity)
		if !updated || volumeLimit(obj) == nil || volumeLimit(old) == nil {
			return !updated || volumeLimit(obj) != nil
		}
		return volumeLimit(obj).Cmp(*volumeLimit(old)) > 0
	case *v1.Node:
		return e.nodeChanged(relabelled)
	}
	return false
}

func publishesCapacity(d *storagev1.CSIDriver) bool {
	return d.Spec.StorageCapacity != nil && *d.Spec.StorageCapacity
}

// PreFilter refuses pods whose claims cannot be used by anybody, and those that
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
	c.volumes = volumeState{claims: claims, byNode: map[string]*PodVolumes{}, conflicts: map[string]Conflicts{}}
	return nil
}

// usable says why a claim cannot be used, "" if it can.
// Upstream: volume_binding.go podHasPVCs, v1.36.
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

// Filter keeps what was found for the node, for Reserve.
func (p volumeBinding) Filter(c *cycle, node *nodeInfo) *status {
	volumes, conflicts, err := p.binder.FindPodVolumes(c.volumes.claims, node.node)
	if err != nil {
		return asStatus(err)
	}
	if len(conflicts) > 0 {
		c.volumes.conflicts[node.node.Name] = conflicts
		return refuse(unresolvable, conflicts.Reasons()...)
	}
	c.volumes.byNode[node.node.Name] = volumes
	return nil
}

// Reserve takes the volumes of the chosen node, in memory.
func (p volumeBinding) Reserve(c *cycle, node string) *status {
	volumes, ok := c.volumes.byNode[node]
	if !ok {
		c.volumes.allBound = true
		return nil
	}
	allBound, err := p.binder.AssumePodVolumes(c.pod, node, volumes)
	c.volumes.allBound = allBound
	return asStatus(err)
}

// Unreserve gives them back, in memory.
func (p volumeBinding) Unreserve(c *cycle, node string) {
	if volumes, ok := c.volumes.byNode[node]; ok && !c.volumes.allBound {
		p.binder.RevertAssumedPodVolumes(volumes)
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
	return asStatus(p.binder.BindPodVolumes(ctx, c.pod, node, c.volumes.byNode[node]))
}
