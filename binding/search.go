package binding

import v1 "k8s.io/api/core/v1"

// Search is Index.FindMatchingVolume for one claim, to be asked for many nodes: what
// does not depend on the node is looked up once, and of a node only the labels that
// say where volumes of the claim's class are. It holds until the index changes.
type Search struct {
	want wanted
	// reserved are the volumes that only this claim can have, and are the answer
	// wherever they can be reached, in order of name.
	reserved []*v1.PersistentVolume
	// modes, the first n of them, are sets of access modes that offer what the claim
	// requests, and that volumes of its class have which are big enough.
	modes [1 << len(knownModes)]modeSet
	n     int
	// free are the other volumes of the class; nil if there are none.
	free *ground
}

// Search prepares the scheduler's question about the claim. The only error is an
// invalid label selector in the claim.
func (ix *Index) Search(claim *v1.PersistentVolumeClaim) (Search, error) {
	want, err := wantedBy(claim)
	if err != nil {
		return Search{}, err
	}
	ix.placeAll()
	s := Search{want: want, free: ix.placed[want.class]}
	for volume := range ix.reservedFor(claim).all() {
		if GetPersistentVolumeClass(volume) == want.class && want.unfit(volume) == Passed {
			s.reserved = append(s.reserved, volume)
		}
	}
	for modes := range setsWith(want.modes) {
		if ix.free[want.class].anyOf(modes, &want.request) {
			s.modes[s.n] = modes
			s.n++
		}
	}
	return s, nil
}

// placeAll sorts the volumes by place, before the first search.
func (ix *Index) placeAll() {
	if ix.placed != nil {
		return
	}
	ix.placed = map[string]*ground{}
	for _, volume := range ix.volumes {
		if isFree(volume) {
			ix.place(volume)
		}
	}
}

// On is the volume that the claim would get on the site's node, nil if none: see
// Index.FindMatchingVolume. Of several equal ones, choose picks one.
func (s *Search) On(site *Site, excluded map[string]*v1.PersistentVolume, choose Choose) *v1.PersistentVolume {
	node := site.Node
	if reserved := s.reservedBut(excluded); len(reserved) > 0 {
		volume := reserved[choose.among(len(reserved))]
		if !reachable(volume, node) {
			return nil
		}
		return volume
	}
	if node == nil || s.free == nil || s.n == 0 {
		return nil
	}
	site.look(s.free)
	var best *offer
	for r := range site.racks() {
		best = s.smallest(r, node, excluded, best)
	}
	if best == nil {
		return nil
	}
	if choose == nil {
		return best.volume
	}
	var equal ties
	for r := range site.racks() {
		for _, modes := range s.modes[:s.n] {
			equal.add(r[modes], best)
		}
	}
	return equal.pick(best, choose, func(o *offer) bool { return !excludes(excluded, o.volume) && s.want.takes(o, node) })
}

// reservedBut are the volumes reserved for the claim that are not excluded.
func (s *Search) reservedBut(excluded map[string]*v1.PersistentVolume) []*v1.PersistentVolume {
	if len(excluded) == 0 {
		return s.reserved
	}
	var left []*v1.PersistentVolume
	for _, volume := range s.reserved {
		if !excludes(excluded, volume) {
			left = append(left, volume)
		}
	}
	return left
}

// smallest is the better of best, which may be nil, and what the rack has.
func (s *Search) smallest(r *rack, node *v1.Node, excluded map[string]*v1.PersistentVolume, best *offer) *offer {
	for _, modes := range s.modes[:s.n] {
		if smaller := r.smallest(modes, &s.want, node, excluded, best); smaller != nil {
			best = smaller
		}
	}
	return best
}
