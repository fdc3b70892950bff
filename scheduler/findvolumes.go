package scheduler

import (
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/binding"
)

// FindPodVolumes says what the pod's claims need on the node, or which of them
// cannot be served there and why. It only reads.
//
// Bound claims need their volume to be reachable. A delayed claim on which a
// node was selected earlier is provisioned there and nowhere else, even if
// another node has a volume that would do. The other delayed claims get an
// existing volume if one fits, else they are provisioned.
// Upstream: binder.go FindPodVolumes, v1.37.
func (b *volumeBinder) FindPodVolumes(claims *podVolumeClaims, node *v1.Node) (*PodVolumes, Conflicts, error) {
	searched, err := b.findPodVolumes(claims, &binding.NodeBuckets{Node: node})
	if err != nil {
		return nil, nil, err
	}
	conflicts := claims.answer.conflicts(node)
	if !searched {
		return nil, conflicts, nil
	}
	return claims.answer.volumes(), conflicts, nil
}

// podVolumeReasons returns the reasons why the pod's claims cannot be served on the node,
// none if they can: FindPodVolumes for a node of which nothing else is wanted yet.
func (b *volumeBinder) podVolumeReasons(claims *podVolumeClaims, node *binding.NodeBuckets) (reasonSet, error) {
	if _, err := b.findPodVolumes(claims, node); err != nil {
		return 0, err
	}
	return claims.answer.reasons(), nil
}

// findPodVolumes leaves in claims.answer what it finds. searched is false if a claim
// belongs to another node, so that nothing was searched for.
// Upstream: binder.go FindPodVolumes, v1.37.
func (b *volumeBinder) findPodVolumes(claims *podVolumeClaims, node *binding.NodeBuckets) (searched bool, err error) {
	answer := &claims.answer
	answer.reset()
	if p := checkBoundClaims(claims.bound, node.Node); p.cause != none {
		answer.problems = append(answer.problems, p)
	}
	for _, claim := range claims.selected {
		if claim.selectedNode != node.Node.Name {
			answer.problems = append(answer.problems, problem{ErrReasonBindConflict, otherNodeSelected, claim.PersistentVolumeClaim, nil})
			return false, nil
		}
		answer.provisions = append(answer.provisions, claim)
	}
	if err := findMatchingVolumes(claims.toMatch, node, answer, claims.choose); err != nil {
		return true, err
	}
	p, err := b.checkVolumeProvisions(answer.provisions, node.Node)
	if p.cause != none {
		answer.problems = append(answer.problems, p)
	}
	return true, err
}

// checkBoundClaims finds the first claim whose volume is missing or cannot be
// reached from the node.
// Upstream: binder.go checkBoundClaims, v1.37.
func checkBoundClaims(claims []boundClaim, node *v1.Node) problem {
	for _, bound := range claims {
		if bound.pv == nil {
			return problem{ErrReasonPVNotExist, noVolume, bound.claim, nil}
		}
		if !binding.Reachable(bound.pv, node) {
			return problem{ErrReasonNodeConflict, volumeElsewhere, bound.claim, bound.pv}
		}
	}
	return problem{}
}

// findMatchingVolumes finds an existing volume for each claim, the smallest request
// first, no volume twice; of equal ones choose picks one. Claims that get none are to be
// provisioned.
// Upstream: binder.go findMatchingVolumes, v1.37.
func findMatchingVolumes(claims []*delayedClaim, node *binding.NodeBuckets, answer *nodeAnswer, choose binding.Choose) error {
	for _, claim := range claims {
		if claim.invalid != nil {
			return claim.invalid
		}
		pv := claim.search.On(node, answer.chosen, choose)
		if pv == nil {
			answer.provisions = append(answer.provisions, claim)
			continue
		}
		answer.bindings = append(answer.bindings, BindingInfo{pvc: claim.PersistentVolumeClaim, pv: pv})
		if len(claims) == 1 {
			continue // no other claim could choose it
		}
		if answer.chosen == nil {
			answer.chosen = map[string]*v1.PersistentVolume{}
		}
		answer.chosen[pv.Name] = pv
	}
	return nil
}
