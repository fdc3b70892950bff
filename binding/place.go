package binding

import (
	"iter"

	v1 "k8s.io/api/core/v1"
)

// place is a label and a value that a node must bear for a volume to be in its reach.
// The zero place is anywhere: what the volume asks of a node, if anything, cannot be
// said with one label. No volume asks for it by name, as "" is not a label key.
type place struct{ label, value string }

// maxPlaces bounds the places of one volume. One that allows more values is rare, and
// would be on as many shelves.
const maxPlaces = 16

// placesOf walks the places of a volume: a node that is at none of them cannot reach
// it. That a node is at one of them does not mean that it can. Every volume has at
// least one place, and may have one twice.
func placesOf(volume *v1.PersistentVolume) iter.Seq[place] {
	return func(yield func(place) bool) {
		r := placing(volume)
		if r == nil {
			yield(place{})
			return
		}
		for _, value := range r.Values {
			if !yield(place{r.Key, value}) {
				return
			}
		}
	}
}

// placing is the requirement that says where the volume is: an In of the only term of
// its node affinity, that on the host name if there is one, else the first. Nil if
// there is none, as of volumes that several terms offer a choice of places.
func placing(volume *v1.PersistentVolume) *v1.NodeSelectorRequirement {
	if volume.Spec.NodeAffinity == nil || volume.Spec.NodeAffinity.Required == nil {
		return nil
	}
	terms := volume.Spec.NodeAffinity.Required.NodeSelectorTerms
	if len(terms) != 1 {
		return nil
	}
	var found *v1.NodeSelectorRequirement
	for i := range terms[0].MatchExpressions {
		r := &terms[0].MatchExpressions[i]
		if r.Operator != v1.NodeSelectorOpIn || len(r.Values) > maxPlaces || invalidLabelRequirement(r) != "" {
			continue
		}
		if r.Key == v1.LabelHostname {
			return r
		}
		if found == nil {
			found = r
		}
	}
	return found
}

// asksOnlyForPlace says whether the volume's place is all that it asks of a node.
func asksOnlyForPlace(volume *v1.PersistentVolume) bool {
	if volume.Spec.NodeAffinity == nil || volume.Spec.NodeAffinity.Required == nil {
		return true
	}
	terms := volume.Spec.NodeAffinity.Required.NodeSelectorTerms
	return placing(volume) != nil && len(terms[0].MatchExpressions) == 1 && len(terms[0].MatchFields) == 0
}
