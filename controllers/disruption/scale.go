package disruption

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// expectedPodCount returns the number of pods that there should be, and how many of them must be healthy. unmanaged reports that
// the pods' controllers had to be asked, and a pod has none.
// Upstream: disruption.go getExpectedPodCount, v1.37.
func (c *controller) expectedPodCount(budget *policyv1.PodDisruptionBudget, pods []*v1.Pod) (expected, desired int32, unmanaged bool, err error) {
	limit, unavailable := budget.Spec.MinAvailable, false
	if budget.Spec.MaxUnavailable != nil {
		limit, unavailable = budget.Spec.MaxUnavailable, true
	}
	switch {
	case limit == nil:
		return 0, 0, false, nil
	case !unavailable && limit.Type == intstr.Int:
		return int32(len(pods)), limit.IntVal, false, nil
	}
	expected, unmanaged, err = c.expectedScale(pods)
	if err != nil {
		return 0, 0, false, err
	}
	scaled, err := intstr.GetScaledValueFromIntOrPercent(limit, int(expected), true)
	if err != nil {
		return 0, 0, false, err
	}
	if unavailable {
		return expected, max(expected-int32(scaled), 0), unmanaged, nil
	}
	return expected, int32(scaled), unmanaged, nil
}

// expectedScale adds up the replicas of all controllers of the pods.
// Upstream: disruption.go getExpectedScale, v1.37.
func (c *controller) expectedScale(pods []*v1.Pod) (sum int32, unmanaged bool, err error) {
	asked, counted := map[types.UID]bool{}, map[types.UID]bool{}
	for _, pod := range pods {
		owner := metav1.GetControllerOfNoCopy(pod)
		if owner == nil {
			unmanaged = true
			continue
		}
		if asked[owner.UID] {
			continue
		}
		asked[owner.UID] = true
		uid, replicas, found := c.scaleOf(pod.Namespace, owner)
		if !found {
			return 0, unmanaged, fmt.Errorf("found no controllers for pod %q", pod.Name)
		}
		if !counted[uid] { // two ReplicaSets may be of one Deployment
			counted[uid] = true
			sum += replicas
		}
	}
	return sum, unmanaged, nil
}

// scaleOf returns the controller that says how many pods there should be, and how many. For a ReplicaSet of a Deployment it is the
// Deployment.
// Upstream: disruption.go finders, v1.37.
func (c *controller) scaleOf(namespace string, owner *metav1.OwnerReference) (uid types.UID, replicas int32, found bool) {
	group, err := schema.ParseGroupVersion(owner.APIVersion)
	if err != nil {
		return "", 0, false
	}
	key := namespace + "/" + owner.Name
	switch (schema.GroupKind{Group: group.Group, Kind: owner.Kind}) {
	case schema.GroupKind{Kind: "ReplicationController"}:
		if rc, ok := c.controllers.Get(key); ok && rc.UID == owner.UID {
			return rc.UID, replicasOr1(rc.Spec.Replicas), true
		}
	case schema.GroupKind{Group: "apps", Kind: "StatefulSet"}:
		if set, ok := c.sets.Get(key); ok && set.UID == owner.UID {
			return set.UID, replicasOr1(set.Spec.Replicas), true
		}
	case schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}:
		rs, ok := c.replicaSets.Get(key)
		if !ok || rs.UID != owner.UID {
			return "", 0, false
		}
		above := metav1.GetControllerOfNoCopy(rs)
		if above == nil || above.Kind != "Deployment" {
			return rs.UID, replicasOr1(rs.Spec.Replicas), true
		}
		if d, ok := c.deployments.Get(namespace + "/" + above.Name); ok && d.UID == above.UID {
			return d.UID, replicasOr1(d.Spec.Replicas), true
		}
	}
	return "", 0, false
}

// replicasOr1 returns a number of replicas; one is the default.
func replicasOr1(n *int32) int32 {
	if n == nil {
		return 1
	}
	return *n
}
