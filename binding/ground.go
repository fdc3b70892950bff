package binding

import "slices"

// ground is where the free volumes of a class are. As long as there are any, empty racks
// stay: there are as many as places that volumes had, usually one for each node.
type ground struct {
	volumes int
	// anywhere are those that have no place.
	anywhere rack
	// labels are those that have, in no particular order; usually by one label, the
	// host's name.
	labels []labelled
	// version counts the racks that were added.
	version int
}

// labelled are the volumes that ask for a label, by the value they ask for.
type labelled struct {
	label  string
	values map[string]*rack
}

// rackAt is the rack of a place.
func (g *ground) rackAt(at place) *rack {
	if at == (place{}) {
		return &g.anywhere
	}
	i := slices.IndexFunc(g.labels, func(l labelled) bool { return l.label == at.label })
	if i < 0 {
		i, g.labels = len(g.labels), append(g.labels, labelled{at.label, map[string]*rack{}})
	}
	r, found := g.labels[i].values[at.value]
	if !found {
		r = &rack{}
		g.labels[i].values[at.value] = r
		g.version++
	}
	return r
}

// put puts the volume at its places.
func (g *ground) put(o *offer) {
	g.volumes++
	for at := range placesOf(o.volume) {
		g.rackAt(at).put(o)
	}
}

// take takes the volume from its places.
func (g *ground) take(o *offer) {
	g.volumes--
	for at := range placesOf(o.volume) {
		g.rackAt(at).take(o)
	}
}
