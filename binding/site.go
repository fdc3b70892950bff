package binding

import (
	"iter"

	v1 "k8s.io/api/core/v1"
)

// Site is a node as searches look at it. It remembers where the volumes that the node may
// reach are kept, so that who keeps a node's Site asks for them at little cost. A Site with
// nothing but its Node is ready for use. It is for the searches of one Index.
type Site struct {
	Node *v1.Node

	// rack and more are where ground has the volumes that the node may reach, as of
	// version; nil if there is none or, as nearly always, only one such place.
	ground  *ground
	version int
	rack    *rack
	more    []*rack
}

// look finds the node's places on the ground, unless they are known.
func (s *Site) look(g *ground) {
	if s.ground == g && s.version == g.version {
		return
	}
	*s = Site{Node: s.Node, ground: g, version: g.version}
	for i := range g.labels {
		value, found := s.Node.Labels[g.labels[i].label]
		switch r := g.labels[i].values[value]; {
		case !found || r == nil:
		case s.rack == nil:
			s.rack = r
		default:
			s.more = append(s.more, r)
		}
	}
}

// racks walks the racks of the volumes that the node may reach. Some may be empty.
func (s *Site) racks() iter.Seq[*rack] {
	return func(yield func(*rack) bool) {
		if !yield(&s.ground.anywhere) || s.rack != nil && !yield(s.rack) {
			return
		}
		for _, r := range s.more {
			if !yield(r) {
				return
			}
		}
	}
}
