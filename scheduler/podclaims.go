package scheduler

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/control"
)

// podVolumeClaims are a pod's claims by what is to be done with them.
// Upstream: binder.go PodVolumeClaims, v1.37.
type podVolumeClaims struct {
	boundClaims               []*v1.PersistentVolumeClaim
	unboundClaimsDelayBinding []*v1.PersistentVolumeClaim
	unboundClaimsImmediate    []*v1.PersistentVolumeClaim

	// The fields below do not depend on the node; they save FindPodVolumes the work of finding
	// them again for every node. They are valid for one scheduling cycle.

	bound []boundClaim
	// selected are the delayed claims for which a node was selected earlier, toMatch
	// the others, the smallest request first.
	selected, toMatch []*delayedClaim
	answer            nodeAnswer
	// choose picks one of equal volumes; nil takes the first.
	choose binding.Choose
}

// boundClaim is a bound claim with its volume, nil if that does not exist.
type boundClaim struct {
	claim *v1.PersistentVolumeClaim
	pv    *v1.PersistentVolume
}

// delayedClaim is a claim that waits for this pod's node.
type delayedClaim struct {
	*v1.PersistentVolumeClaim
	selectedNode string
	// search finds an existing volume for it; invalid is why it cannot be searched.
	search  binding.Search
	invalid error
	// provision holds the data of its class, nil until it is needed.
	provision *provision
	// room is the capacity that made the last node fit, nil if its driver publishes none.
	room *storagev1.CSIStorageCapacity
}

// prepare looks up what does not depend on the node.
func (b *volumeBinder) prepare(claims *podVolumeClaims) {
	for _, claim := range claims.boundClaims {
		pv, _ := b.pvs.Get(claim.Spec.VolumeName)
		claims.bound = append(claims.bound, boundClaim{claim, pv})
	}
	for _, claim := range claims.unboundClaimsDelayBinding {
		d := &delayedClaim{PersistentVolumeClaim: claim}
		if node, ok := claim.Annotations[binding.AnnSelectedNode]; ok {
			d.selectedNode = node
			claims.selected = append(claims.selected, d)
			continue
		}
		d.search, d.invalid = b.free.Search(claim)
		claims.toMatch = append(claims.toMatch, d)
	}
	slices.SortStableFunc(claims.toMatch, func(a, b *delayedClaim) int {
		x, y := a.Spec.Resources.Requests[v1.ResourceStorage], b.Spec.Resources.Requests[v1.ResourceStorage]
		return x.Cmp(y)
	})
}

// nodeAnswer holds the volumes found on one node. The next node's answer takes its
// place, in the same memory: volumes copies what is kept.
//
// No claim is both in bindings and in provisions.
type nodeAnswer struct {
	bindings   []BindingInfo
	provisions []*delayedClaim
	problems   []problem
	// chosen are the volumes of bindings by name, all of them where several claims
	// compete, and none where one looks for a volume alone.
	chosen map[string]*v1.PersistentVolume
}

func (a *nodeAnswer) reset() {
	a.bindings, a.provisions, a.problems = a.bindings[:0], a.provisions[:0], a.problems[:0]
	if len(a.chosen) > 0 {
		clear(a.chosen)
	}
}

// volumes returns the answer to keep.
func (a *nodeAnswer) volumes() *PodVolumes {
	volumes := &PodVolumes{}
	for _, found := range a.bindings {
		volumes.StaticBindings = append(volumes.StaticBindings, &found)
	}
	for _, claim := range a.provisions {
		volumes.DynamicProvisions = append(volumes.DynamicProvisions, claim.PersistentVolumeClaim)
	}
	return volumes
}

// conflicts returns the node's problems in words.
func (a *nodeAnswer) conflicts(node *v1.Node) Conflicts {
	var list Conflicts
	for _, p := range a.problems {
		list = append(list, Conflict{p.reason, control.Key(p.claim), p.detail(node, a.topologies(p.claim))})
	}
	return list
}

// topologies returns the topologies that the class of a claim to provision allows.
func (a *nodeAnswer) topologies(claim *v1.PersistentVolumeClaim) []v1.TopologySelectorTerm {
	for _, c := range a.provisions {
		if c.PersistentVolumeClaim == claim && c.provision != nil {
			return c.provision.topologies
		}
	}
	return nil
}

// reasons returns the problems' reasons, a bit for each.
func (a *nodeAnswer) reasons() reasonSet {
	var set reasonSet
	for _, p := range a.problems {
		set |= setOf(p.reason)
	}
	return set
}
