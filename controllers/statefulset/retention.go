package statefulset

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The retention policy says whether a replica's claims are deleted when the set is deleted, and when it is scaled
// down. The controller deletes no claim. It makes the set, or the pod that scaling down will delete, the claim's
// owner, and the garbage collector does the rest.

// retains returns the set's policy: whether claims stay when the set is deleted, and when it is scaled down. The
// default is that they stay.
// Upstream: stateful_set_utils.go getPersistentVolumeClaimRetentionPolicy, v1.37.
func retains(set *appsv1.StatefulSet) (whenDeleted, whenScaled bool) {
	policy := set.Spec.PersistentVolumeClaimRetentionPolicy
	if policy == nil {
		return true, true
	}
	return policy.WhenDeleted != appsv1.DeletePersistentVolumeClaimRetentionPolicyType,
		policy.WhenScaled != appsv1.DeletePersistentVolumeClaimRetentionPolicyType
}

// owner identifies an owner, to compare it with an ownerReference.
type owner struct {
	metav1.Object
	apiVersion, kind string
}

func setOwner(set *appsv1.StatefulSet) owner {
	return owner{set, appsv1.SchemeGroupVersion.String(), controllerKind}
}

func podOwner(pod *v1.Pod) owner { return owner{pod, v1.SchemeGroupVersion.String(), "Pod"} }

// named reports whether the reference is to an object of this kind and name, with any UID.
// Upstream: stateful_set_utils.go matchesRef, v1.37.
func (o owner) named(ref *metav1.OwnerReference) bool {
	return ref.APIVersion == o.apiVersion && ref.Kind == o.kind && ref.Name == o.GetName()
}

// of reports whether the claim has a reference to this object.
// Upstream: stateful_set_utils.go hasOwnerRef, v1.37.
func (o owner) of(claim *v1.PersistentVolumeClaim) bool {
	return slices.ContainsFunc(claim.OwnerReferences, func(ref metav1.OwnerReference) bool { return ref.UID == o.GetUID() })
}

// staleOn reports whether the claim has a reference to an earlier object of this name.
// Upstream: stateful_set_utils.go hasStaleOwnerRef, v1.37.
func (o owner) staleOn(claim *v1.PersistentVolumeClaim) bool {
	for i := range claim.OwnerReferences {
		if ref := &claim.OwnerReferences[i]; o.named(ref) {
			return ref.UID != o.GetUID()
		}
	}
	return false
}

// wantedOwners returns which of the two should own the claims of the set's pod: the set, if they are deleted with
// it; the pod, if scaling down will delete it and they are deleted then.
// Upstream: the cases of stateful_set_utils.go isClaimOwnerUpToDate, v1.37.
func wantedOwners(set *appsv1.StatefulSet, pod *v1.Pod) (bySet, byPod bool) {
	whenDeleted, whenScaled := retains(set)
	byPod = !whenScaled && !inOrdinalRange(set, pod)
	return !whenDeleted && !byPod, byPod
}

// inOrdinalRange reports whether the pod is one of the replicas that the set should have.
// Upstream: stateful_set_utils.go podInOrdinalRange, v1.37.
func inOrdinalRange(set *appsv1.StatefulSet, pod *v1.Pod) bool {
	ordinal, ok := ordinalOf(set, pod)
	first, end := ordinals(set)
	return ok && first <= ordinal && ordinal < end
}

// hasUnexpectedController reports whether another controller manages the claim although the set has a policy for it.
// An earlier set or pod of the same name counts as another.
// Upstream: stateful_set_utils.go hasUnexpectedController, v1.37.
func hasUnexpectedController(claim *v1.PersistentVolumeClaim, set *appsv1.StatefulSet, pod *v1.Pod) bool {
	if whenDeleted, whenScaled := retains(set); whenDeleted && whenScaled {
		return false
	}
	for i := range claim.OwnerReferences {
		ref := &claim.OwnerReferences[i]
		switch {
		case setOwner(set).named(ref):
			if ref.UID != set.UID {
				return true
			}
		case podOwner(pod).named(ref):
			if ref.UID != pod.UID {
				return true
			}
		case ref.Controller != nil && *ref.Controller:
			return true
		}
	}
	return false
}

// hasNonControllerOwner reports whether the set or the pod owns the claim without being its controller.
// Upstream: stateful_set_utils.go hasNonControllerOwner, v1.37.
func hasNonControllerOwner(claim *v1.PersistentVolumeClaim, set *appsv1.StatefulSet, pod *v1.Pod) bool {
	return slices.ContainsFunc(claim.OwnerReferences, func(ref metav1.OwnerReference) bool {
		return (ref.UID == set.UID || ref.UID == pod.UID) && (ref.Controller == nil || !*ref.Controller)
	})
}

// isClaimOwnerUpToDate reports whether the claim has the owners of the policy, or must not be changed because an
// earlier set or pod of the name, or another object, owns it.
// Upstream: stateful_set_utils.go isClaimOwnerUpToDate, v1.37.
func isClaimOwnerUpToDate(claim *v1.PersistentVolumeClaim, set *appsv1.StatefulSet, pod *v1.Pod) bool {
	ownedBySet, ownedByPod := setOwner(set).of(claim), podOwner(pod).of(claim)
	switch {
	case setOwner(set).staleOn(claim) || podOwner(pod).staleOn(claim):
		return true
	case hasUnexpectedController(claim, set, pod):
		return !ownedBySet && !ownedByPod
	case hasNonControllerOwner(claim, set, pod):
		return false
	}
	bySet, byPod := wantedOwners(set, pod)
	return ownedBySet == bySet && ownedByPod == byPod
}

// updateClaimOwnerRefForSetAndPod sets the claim's owners of the policy. If another controller manages the claim, it
// only removes the set and the pod.
// Upstream: stateful_set_utils.go updateClaimOwnerRefForSetAndPod, v1.37.
func updateClaimOwnerRefForSetAndPod(claim *v1.PersistentVolumeClaim, set *appsv1.StatefulSet, pod *v1.Pod) {
	unexpected := hasUnexpectedController(claim, set, pod)
	claim.OwnerReferences = slices.DeleteFunc(claim.OwnerReferences, func(ref metav1.OwnerReference) bool {
		return setOwner(set).named(&ref) || podOwner(pod).named(&ref)
	})
	if unexpected {
		return
	}
	bySet, byPod := wantedOwners(set, pod)
	if byPod {
		addControllerRef(claim, podOwner(pod))
	}
	if bySet {
		addControllerRef(claim, setOwner(set))
	}
}

// addControllerRef makes o a controller of the claim, unless it owns it.
// Upstream: stateful_set_utils.go addControllerRef, v1.37.
func addControllerRef(claim *v1.PersistentVolumeClaim, o owner) {
	if o.of(claim) {
		return
	}
	claim.OwnerReferences = append(claim.OwnerReferences, metav1.OwnerReference{
		APIVersion: o.apiVersion, Kind: o.kind, Name: o.GetName(), UID: o.GetUID(), Controller: new(true), BlockOwnerDeletion: new(true),
	})
}

// claimsOf returns the existing claims of the pod.
func (c *controller) claimsOf(set *appsv1.StatefulSet, pod *v1.Pod) []*v1.PersistentVolumeClaim {
	var claims []*v1.PersistentVolumeClaim
	ordinal, _ := ordinalOf(set, pod)
	for i := range set.Spec.VolumeClaimTemplates {
		key := set.Namespace + "/" + claimName(set, &set.Spec.VolumeClaimTemplates[i], ordinal)
		if claim, found := c.claims.Get(key); found {
			claims = append(claims, claim)
		}
	}
	return claims
}

// claimsMatchRetentionPolicy reports whether all existing claims of the pod have the owners of the policy.
// Upstream: stateful_pod_control.go ClaimsMatchRetentionPolicy, v1.37.
func (c *controller) claimsMatchRetentionPolicy(set *appsv1.StatefulSet, pod *v1.Pod) bool {
	return !slices.ContainsFunc(c.claimsOf(set, pod), func(claim *v1.PersistentVolumeClaim) bool {
		return !isClaimOwnerUpToDate(claim, set, pod)
	})
}

// updatePodClaimForRetentionPolicy gives the pod's claims the owners of the policy. A claim that is not in the cache
// yet gets them the next time.
// Upstream: stateful_pod_control.go UpdatePodClaimForRetentionPolicy, v1.37.
func (c *controller) updatePodClaimForRetentionPolicy(ctx context.Context, set *appsv1.StatefulSet, pod *v1.Pod) error {
	for _, claim := range c.claimsOf(set, pod) {
		if hasUnexpectedController(claim, set, pod) {
			c.recorder.Eventf(set, v1.EventTypeWarning, "ConflictingController",
				"PersistentVolumeClaim %s has a conflicting OwnerReference that acts as a manging controller, the retention policy is ignored for this claim", claim.Name)
		}
		if isClaimOwnerUpToDate(claim, set, pod) {
			continue
		}
		claim = claim.DeepCopy()
		updateClaimOwnerRefForSetAndPod(claim, set, pod)
		if _, err := c.client.CoreV1().PersistentVolumeClaims(claim.Namespace).Update(ctx, claim, metav1.UpdateOptions{}); err != nil {
			return fmt.Errorf("could not update claim %s for delete policy ownerRefs: %w", claim.Name, err)
		}
	}
	return nil
}

// podClaimIsStale reports whether a claim of a pod that is to be created belongs to an earlier pod of its name, and
// will be deleted with it. The new pod has to wait for that.
// Upstream: stateful_pod_control.go PodClaimIsStale, v1.37.
func (c *controller) podClaimIsStale(set *appsv1.StatefulSet, pod *v1.Pod) bool {
	_, whenScaled := retains(set)
	return !whenScaled && slices.ContainsFunc(c.claimsOf(set, pod), podOwner(pod).staleOn)
}
