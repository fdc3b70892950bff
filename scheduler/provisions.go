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
// Upstream: binder.go checkVolumeProvisions, v1.36.
func (b *volumeBinder) checkVolumeProvisions(claims []*v1.PersistentVolumeClaim, node *v1.Node) (*Conflict, error) {
	for _, claim := range claims {
		key := control.Key(claim)
		className := binding.GetPersistentVolumeClaimClass(claim)
		if className == "" {
			return nil, fmt.Errorf("no class for claim %q", key)
		}
		class, ok := b.classes.Get(className)
		if !ok {
			return nil, fmt.Errorf("failed to find storage class %q", className)
		}
		if class.Provisioner == "" || class.Provisioner == binding.NotSupportedProvisioner {
			return &Conflict{ErrReasonBindConflict, key, fmt.Sprintf("no volume of class %s fits, and the class has no provisioner", className)}, nil
		}
		if !matchTopologySelectorTerms(class.AllowedTopologies, node.Labels) {
			return &Conflict{ErrReasonBindConflict, key, fmt.Sprintf("allowedTopologies of class %s do not include the node", className)}, nil
		}
		if short := b.hasEnoughCapacity(class, claim, node); short != "" {
			return &Conflict{ErrReasonNotEnoughSpace, key, short}, nil
		}
	}
	return nil, nil
}

// matchTopologySelectorTerms: no terms allow every node; otherwise one term must
// have all its keys among the node's labels with an allowed value. A term
// without requirements matches nothing.
// Upstream: component-helpers scheduling/corev1 MatchTopologySelectorTerms, v1.36.
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

// hasEnoughCapacity says what is short, "" if nothing is. Only drivers that
// publish their capacity are asked.
// Upstream: binder.go hasEnoughCapacity, v1.36.
func (b *volumeBinder) hasEnoughCapacity(class *storagev1.StorageClass, claim *v1.PersistentVolumeClaim, node *v1.Node) string {
	request, ok := claim.Spec.Resources.Requests[v1.ResourceStorage]
	if !ok {
		return ""
	}
	driver, ok := b.drivers.Get(class.Provisioner)
	if !ok || driver.Spec.StorageCapacity == nil || !*driver.Spec.StorageCapacity {
		return ""
	}
	for capacity := range b.capacities.All() {
		if capacity.StorageClassName == class.Name && capacitySufficient(capacity, request) && nodeHasAccess(node, capacity) {
			return ""
		}
	}
	return fmt.Sprintf("no CSIStorageCapacity of class %s for the node has room for %s", class.Name, request.String())
}

// capacitySufficient: the largest volume if it is known, else the total.
// Upstream: binder.go capacitySufficient, volumeLimit, v1.36.
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

// nodeHasAccess: without a topology no node has; a topology that cannot be
// parsed is none either.
// Upstream: binder.go nodeHasAccess, v1.36.
func nodeHasAccess(node *v1.Node, capacity *storagev1.CSIStorageCapacity) bool {
	if capacity.NodeTopology == nil {
		return false
	}
	selector, err := metav1.LabelSelectorAsSelector(capacity.NodeTopology)
	return err == nil && selector.Matches(labels.Set(node.Labels))
}
