package expand

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// hasGrown: the claim is bound and asks for more than it has.
func hasGrown(claim *v1.PersistentVolumeClaim) bool {
	return claim.Status.Phase == v1.ClaimBound && larger(requested(claim), capacity(claim))
}

// wasResized: the claim had less before, and its volume was not bound only now.
func wasResized(old, claim *v1.PersistentVolumeClaim) bool {
	return old.Status.Phase == v1.ClaimBound && claim.Status.Phase == v1.ClaimBound && larger(capacity(claim), capacity(old))
}

// requested returns what the claim asks for, 0 if it does not say.
func requested(claim *v1.PersistentVolumeClaim) resource.Quantity {
	return claim.Spec.Resources.Requests[v1.ResourceStorage]
}

// capacity returns what the claim has, 0 if that is not known.
func capacity(claim *v1.PersistentVolumeClaim) resource.Quantity {
	return claim.Status.Capacity[v1.ResourceStorage]
}

func larger(a, b resource.Quantity) bool { return a.Cmp(b) > 0 }
