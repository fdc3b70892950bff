package scheduler

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/control"
)

// FindPodVolumes says what the pod's claims need on the node, or which of them
// cannot be served there and why. It only reads.
//
// Bound claims need their volume to be reachable. A delayed claim on which a
// node was selected earlier is provisioned there and nowhere else, even if
// another node has a volume that would do. The other delayed claims get an
// existing volume if one fits, else they are provisioned.
// Upstream: binder.go FindPodVolumes, v1.36.
func (b *volumeBinder) FindPodVolumes(claims *PodVolumeClaims, node *v1.Node) (*PodVolumes, Conflicts, error) {
	conflicts := b.checkBoundClaims(claims.boundClaims, node)
	volumes := &PodVolumes{}
	var toMatch, toProvision []*v1.PersistentVolumeClaim
	for _, claim := range claims.unboundClaimsDelayBinding {
		selected, ok := claim.Annotations[binding.AnnSelectedNode]
		switch {
		case !ok:
			toMatch = append(toMatch, claim)
		case selected == node.Name:
			toProvision = append(toProvision, claim)
		default:
			return nil, append(conflicts, Conflict{ErrReasonBindConflict, control.Key(claim),
				fmt.Sprintf("its volume is being made for node %s (%s)", selected, binding.AnnSelectedNode)}), nil
		}
	}
	bindings, unmatched, err := findMatchingVolumes(toMatch, claims.unboundVolumesDelayBinding, node)
	if err != nil {
		return nil, nil, err
	}
	volumes.StaticBindings = bindings
	volumes.DynamicProvisions = slices.Concat(toProvision, unmatched)
	conflict, err := b.checkVolumeProvisions(volumes.DynamicProvisions, node)
	if err != nil {
		return nil, nil, err
	}
	if conflict != nil {
		conflicts = append(conflicts, *conflict)
	}
	return volumes, conflicts, nil
}

// checkBoundClaims finds the first claim whose volume is missing or cannot be
// reached from the node.
// Upstream: binder.go checkBoundClaims, v1.36.
func (b *volumeBinder) checkBoundClaims(claims []*v1.PersistentVolumeClaim, node *v1.Node) Conflicts {
	for _, claim := range claims {
		pv, ok := b.pvs.Get(claim.Spec.VolumeName)
		if !ok {
			return Conflicts{{ErrReasonPVNotExist, control.Key(claim), fmt.Sprintf("it is bound to pv %s, which does not exist", claim.Spec.VolumeName)}}
		}
		if err := binding.CheckNodeAffinity(pv, node.Labels); err != nil {
			return Conflicts{{ErrReasonNodeConflict, control.Key(claim), fmt.Sprintf("it is bound to pv %s: %v", pv.Name, err)}}
		}
	}
	return nil
}

// findMatchingVolumes chooses an existing volume for each claim, the smallest
// request first, no volume twice. Claims that get none are returned.
// Upstream: binder.go findMatchingVolumes, v1.36.
func findMatchingVolumes(claims []*v1.PersistentVolumeClaim, volumes map[string][]*v1.PersistentVolume, node *v1.Node) (bindings []*BindingInfo, unmatched []*v1.PersistentVolumeClaim, err error) {
	claims = slices.Clone(claims)
	slices.SortStableFunc(claims, func(a, b *v1.PersistentVolumeClaim) int {
		x, y := a.Spec.Resources.Requests[v1.ResourceStorage], b.Spec.Resources.Requests[v1.ResourceStorage]
		return x.Cmp(y)
	})
	chosen := map[string]*v1.PersistentVolume{}
	for _, claim := range claims {
		class := binding.GetPersistentVolumeClaimClass(claim)
		pv, err := binding.FindMatchingVolume(claim, volumes[class], node, chosen, true)
		if err != nil {
			return nil, nil, err
		}
		if pv == nil {
			unmatched = append(unmatched, claim)
			continue
		}
		chosen[pv.Name] = pv
		bindings = append(bindings, &BindingInfo{pvc: claim, pv: pv})
	}
	return bindings, unmatched, nil
}
