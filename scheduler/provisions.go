package scheduler

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/control"
)

// checkVolumeProvisions finds the first claim for which no volume can be made on
// the node: its class has no provisioner, does not allow the node's topology, or
// the driver says there is too little space.
// Upstream: binder.go checkVolumeProvisions, v1.37.
func (b *volumeBinder) checkVolumeProvisions(claims []*delayedClaim, node *v1.Node) (problem, error) {
	for _, claim := range claims {
		if claim.provision == nil {
			claim.provision = b.provisionOf(claim.PersistentVolumeClaim)
		}
		if claim.provision.err != nil {
			return problem{}, claim.provision.err
		}
		room, reason, cause := claim.provision.on(node)
		if cause != none {
			return problem{reason, cause, claim.PersistentVolumeClaim, nil}, nil
		}
		claim.room = room
	}
	return problem{}, nil
}

// provision holds what a claim's class says about making its volume on any node.
type provision struct {
	err error
	// possible: there is a provisioner.
	possible   bool
	topologies []v1.TopologySelectorTerm
	// limited: the driver publishes where it has room, which is at rooms.
	limited bool
	rooms   []room
}

// room is capacity that is large enough, and the nodes that can reach it.
type room struct {
	*storagev1.CSIStorageCapacity
	nodes labels.Selector
}

// provisionOf looks at the claim's class and at its driver.
func (b *volumeBinder) provisionOf(claim *v1.PersistentVolumeClaim) *provision {
	className := binding.GetPersistentVolumeClaimClass(claim)
	if className == "" {
		return &provision{err: fmt.Errorf("no class for claim %q", control.Key(claim))}
	}
	class, ok := b.classes.Get(className)
	if !ok {
		return &provision{err: fmt.Errorf("failed to find storage class %q", className)}
	}
	p := &provision{topologies: class.AllowedTopologies}
	p.possible = class.Provisioner != "" && class.Provisioner != binding.NotSupportedProvisioner
	p.rooms, p.limited = b.roomFor(class, claim)
	return p
}

// on returns the capacity that the node can reach, if the driver publishes it, or why no volume can be
// made there.
func (p *provision) on(node *v1.Node) (*storagev1.CSIStorageCapacity, ConflictReason, cause) {
	switch {
	case !p.possible:
		return nil, ErrReasonBindConflict, noProvisioner
	case !matchTopologySelectorTerms(p.topologies, node.Labels):
		return nil, ErrReasonBindConflict, wrongTopology
	case !p.limited:
		return nil, "", none
	}
	i := slices.IndexFunc(p.rooms, func(r room) bool { return r.nodes.Matches(labels.Set(node.Labels)) })
	if i < 0 {
		return nil, ErrReasonNotEnoughSpace, noRoom
	}
	return p.rooms[i].CSIStorageCapacity, "", none
}

// matchTopologySelectorTerms: no terms allow every node; otherwise one term must
// have all its keys among the node's labels with an allowed value. A term
// without requirements matches nothing.
// Upstream: pkg/apis/core/v1/helper MatchTopologySelectorTerms, v1.37.
func matchTopologySelectorTerms(terms []v1.TopologySelectorTerm, nodeLabels map[string]string) bool {
	if len(terms) == 0 {
		return true
	}
	return slices.ContainsFunc(terms, func(term v1.TopologySelectorTerm) bool {
		return len(term.MatchLabelExpressions) > 0 && !slices.ContainsFunc(term.MatchLabelExpressions, func(r v1.TopologySelectorLabelRequirement) bool {
			value, ok := nodeLabels[r.Key]
			return !ok || !slices.Contains(r.Values, value)
		})
	})
}

// roomFor returns where the class's driver has room for the claim. Only
// drivers that publish their capacity are limited to them.
// Upstream: binder.go hasEnoughCapacity, v1.37.
func (b *volumeBinder) roomFor(class *storagev1.StorageClass, claim *v1.PersistentVolumeClaim) (rooms []room, limited bool) {
	request, ok := claim.Spec.Resources.Requests[v1.ResourceStorage]
	if !ok {
		return nil, false
	}
	driver, ok := b.drivers.Get(class.Provisioner)
	if !ok || driver.Spec.StorageCapacity == nil || !*driver.Spec.StorageCapacity {
		return nil, false
	}
	for capacity := range b.capacities.All() {
		if capacity.StorageClassName == class.Name && capacitySufficient(capacity, request) {
			rooms = append(rooms, room{capacity, nodesWithAccess(capacity)})
		}
	}
	return rooms, true
}

// capacitySufficient: the largest volume if it is known, else the total.
// Upstream: binder.go capacitySufficient, volumeLimit, v1.37.
func capacitySufficient(capacity *storagev1.CSIStorageCapacity, request resource.Quantity) bool {
	limit := volumeLimit(capacity)
	return limit != nil && limit.Value() >= request.Value()
}

func volumeLimit(capacity *storagev1.CSIStorageCapacity) *resource.Quantity {
	if capacity.MaximumVolumeSize != nil {
		return capacity.MaximumVolumeSize
	}
	return capacity.Capacity
}

// nodesWithAccess returns a selector of the nodes that can reach the capacity's storage: without a
// topology, or with one that cannot be parsed, no node can.
// Upstream: binder.go nodeHasAccess, v1.37.
func nodesWithAccess(capacity *storagev1.CSIStorageCapacity) labels.Selector {
	if capacity.NodeTopology == nil {
		return labels.Nothing()
	}
	selector, err := metav1.LabelSelectorAsSelector(capacity.NodeTopology)
	if err != nil {
		return labels.Nothing()
	}
	return selector
}
