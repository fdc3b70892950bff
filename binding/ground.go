package binding

import (
	"iter"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// ground is where the free volumes of a class are.
type ground struct {
	// anywhere are those that have no place; nil if there are none.
	anywhere *rack
	// labels are those that have, in no particular order; usually by one label, the
	// host's name.
	labels []labelled
}

// labelled are the volumes that ask for a label, by the value they ask for.
type labelled struct {
	label  string
	values map[string]*rack
}

// putOn puts the volume at its places.
func (g *ground) putOn(o *offer) {
	for at := range placesOf(o.volume) {
		if at == (place{}) {
			if g.anywhere == nil {
				g.anywhere = &rack{}
			}
			g.anywhere.put(o)
			continue
		}
		i := g.find(at.label)
		if i < 0 {
			i, g.labels = len(g.labels), append(g.labels, labelled{at.label, map[string]*rack{}})
		}
		putOn(g.labels[i].values, at.value, o)
	}
}

// takeFrom takes the volume from its places, and says whether the ground is empty
// then.
func (g *ground) takeFrom(o *offer) (empty bool) {
	for at := range placesOf(o.volume) {
		if at == (place{}) {
			if g.anywhere.take(o); g.anywhere.empty() {
				g.anywhere = nil
			}
			continue
		}
		i := g.find(at.label)
		if i < 0 {
			continue // the volume has this place twice
		}
		takeFrom(g.labels[i].values, at.value, o)
		if len(g.labels[i].values) == 0 {
			g.labels = slices.Delete(g.labels, i, i+1)
		}
	}
	return g.anywhere == nil && len(g.labels) == 0
}

func (g *ground) find(label string) int {
	return slices.IndexFunc(g.labels, func(l labelled) bool { return l.label == label })
}

// racksAt walks the racks of the volumes that the node may reach.
func (g *ground) racksAt(node *v1.Node) iter.Seq[*rack] {
	return func(yield func(*rack) bool) {
		if g.anywhere != nil && !yield(g.anywhere) {
			return
		}
		for i := range g.labels {
			value, found := node.Labels[g.labels[i].label]
			if !found {
				continue
			}
			if r := g.labels[i].values[value]; r != nil && !yield(r) {
				return
			}
		}
	}
}
