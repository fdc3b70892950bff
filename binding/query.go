package binding

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// query holds what a claim asks for, read once, and the other parameters of
// FindMatchingVolume.
type query struct {
	claim           *v1.PersistentVolumeClaim
	request         resource.Quantity
	class           string
	mode            v1.PersistentVolumeMode
	attributesClass string
	selector        labels.Selector // nil matches everything
	// modes holds the requested access modes. knownModes: the claim requests no others.
	modes      modeSet
	knownModes bool

	node         *v1.Node
	excluded     map[string]*v1.PersistentVolume
	delayBinding bool
}

// newQuery reads the claim. An invalid label selector is an error.
func newQuery(claim *v1.PersistentVolumeClaim, node *v1.Node, excluded map[string]*v1.PersistentVolume, delayBinding bool) (query, error) {
	q := query{
		claim:           claim,
		request:         claim.Spec.Resources.Requests[v1.ResourceStorage],
		class:           GetPersistentVolumeClaimClass(claim),
		mode:            volumeMode(claim.Spec.VolumeMode),
		attributesClass: deref(claim.Spec.VolumeAttributesClassName),
		node:            node, excluded: excluded, delayBinding: delayBinding,
	}
	q.modes, q.knownModes = modesOf(claim.Spec.AccessModes)
	if claim.Spec.Selector == nil {
		return q, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(claim.Spec.Selector)
	if err != nil {
		return q, fmt.Errorf("claim %s/%s: spec.selector: %w", claim.Namespace, claim.Name, err)
	}
	q.selector = selector
	return q, nil
}

func (q *query) isExcluded(volume *v1.PersistentVolume) bool {
	if len(q.excluded) == 0 { // saves reading the name, far away in memory
		return false
	}
	_, found := q.excluded[volume.Name]
	return found
}

// hasModes reports what CheckAccessModes does.
func (q *query) hasModes(c *candidate) bool {
	if q.knownModes {
		return c.modes&q.modes == q.modes
	}
	return CheckAccessModes(q.claim, c.volume)
}
