package call

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DistinctOwners returns the owners without duplicates, and the UIDs of the duplicates.
// Upstream: apiserver endpoints/handlers dedupOwnerReferences, v1.37.
func DistinctOwners(owners []metav1.OwnerReference) (distinct []metav1.OwnerReference, repeated []string) {
	seen := make(map[metav1.OwnerReference]bool, len(owners))
	var kept []metav1.OwnerReference
	for i, owner := range owners {
		owner.Controller, owner.BlockOwnerDeletion = flag(owner.Controller), flag(owner.BlockOwnerDeletion)
		if seen[owner] {
			repeated = append(repeated, string(owner.UID))
		}
		switch {
		case seen[owner] && kept == nil:
			kept = slices.Clone(owners[:i])
		case !seen[owner] && kept != nil:
			kept = append(kept, owners[i])
		}
		seen[owner] = true
	}
	if kept != nil {
		return kept, repeated
	}
	return owners, nil
}

var yes, no = new(bool), new(bool)

// flag returns the same pointer for equal values.
func flag(of *bool) *bool {
	switch {
	case of == nil:
		return nil
	case *of:
		return yes
	}
	return no
}
