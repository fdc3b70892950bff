package binding

import v1 "k8s.io/api/core/v1"

// rack holds free volumes, a list in order of size and name for each set of access
// modes; nil where there are none.
type rack [1 << len(knownModes)]*sorted[*v1.PersistentVolume]

// smallest is the smallest volume with just these modes that passes every filter and
// is smaller than best, which may be nil. Nil if there is none.
func (r *rack) smallest(modes modeSet, want *wanted, node *v1.Node, excluded map[string]*v1.PersistentVolume, best *v1.PersistentVolume) *v1.PersistentVolume {
	if r == nil || r[modes] == nil {
		return nil
	}
	tooSmall := func(volume *v1.PersistentVolume) bool {
		capacity := capacityOf(volume)
		return compareSizes(&capacity, &want.request) < 0
	}
	for volume := range r[modes].from(tooSmall) {
		if best != nil && bySize(volume, best) >= 0 {
			return nil
		}
		if !excludes(excluded, volume) && want.unfit(volume) == Passed && want.unsuitable(volume, node) == Passed {
			return volume
		}
	}
	return nil
}

// empty says whether the rack holds no volume.
func (r *rack) empty() bool { return *r == rack{} }

// putOn puts the volume on the rack of that key, which is made if it is missing.
func putOn[K comparable](racks map[K]*rack, key K, volume *v1.PersistentVolume) {
	r, found := racks[key]
	if !found {
		r = &rack{}
		racks[key] = r
	}
	modes, _ := modesOf(volume.Spec.AccessModes)
	if r[modes] == nil {
		r[modes] = &sorted[*v1.PersistentVolume]{compare: bySize}
	}
	r[modes].add(volume)
}

// takeFrom takes the volume from the rack of that key, if it is there, and removes
// what has become empty.
func takeFrom[K comparable](racks map[K]*rack, key K, volume *v1.PersistentVolume) {
	modes, _ := modesOf(volume.Spec.AccessModes)
	r, found := racks[key]
	if !found || r[modes] == nil {
		return
	}
	if r[modes].remove(volume); !r[modes].empty() {
		return
	}
	if r[modes] = nil; r.empty() {
		delete(racks, key)
	}
}
