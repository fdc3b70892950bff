package binding

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// Choose picks one of n alternatives between which upstream leaves the choice to the
// order of a Go map: 0 <= result < n. Nil always takes the first. Pass Env.Choose of
// package control, so that the engine's policy decides.
type Choose func(n int) int

// among is the alternative chosen. It asks only if there is more than one.
func (choose Choose) among(n int) int {
	if choose == nil || n < 2 {
		return 0
	}
	return choose(n)
}

// ties are the volumes that are as big as the best one found, in the racks that were
// searched for it. Not all of them need pass the filters.
type ties struct {
	chunks [][]*offer
	n      int // volumes in all chunks
	best   int // the place of the best one among them
}

// add adds the volumes of the list that are as big as best.
func (t *ties) add(list *sorted[*offer], best *offer) {
	if list == nil {
		return
	}
	smaller := func(o *offer) bool { return compareSizes(&o.size, &best.size) < 0 }
	bigger := func(o *offer) bool { return compareSizes(&o.size, &best.size) > 0 }
	for chunk := range list.between(smaller, bigger) {
		if bySize(chunk[len(chunk)-1], best) >= 0 && bySize(chunk[0], best) <= 0 {
			if at, found := slices.BinarySearchFunc(chunk, best, bySize); found {
				t.best = t.n + at
			}
		}
		t.chunks = append(t.chunks, chunk)
		t.n += len(chunk)
	}
}

// pick is one of the volumes as big as best that are fit. Upstream takes the first that
// it meets on its walk over a Go map, which begins anywhere and goes round. So does this
// one: choose says how far from best, which is fit, it begins.
// Upstream: component-helpers storage/volume/pv_helpers.go FindMatchingVolume, v1.36.
func (t *ties) pick(best *offer, choose Choose, fit func(*offer) bool) *v1.PersistentVolume {
	chosen := choose.among(t.n)
	if chosen == 0 {
		return best.volume
	}
	begin := (t.best + chosen) % t.n
	for range 2 { // to the end, and from the beginning
		at := 0
		for _, chunk := range t.chunks {
			for _, o := range chunk[min(max(begin-at, 0), len(chunk)):] {
				if fit(o) {
					return o.volume
				}
			}
			at += len(chunk)
		}
		begin = 0
	}
	return best.volume
}
