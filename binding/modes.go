package binding

import (
	"cmp"
	"iter"
	"math/bits"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// modeSet is a set of access modes, a bit for each of knownModes.
type modeSet uint8

// knownModes holds the access modes in the order of upstream's index keys.
var knownModes = [...]v1.PersistentVolumeAccessMode{
	v1.ReadWriteOnce, v1.ReadOnlyMany, v1.ReadWriteMany, v1.ReadWriteOncePod,
}

// orderedModeSets holds all sets of modes, those with the fewest modes first.
var orderedModeSets = func() (sets [1 << len(knownModes)]modeSet) {
	for i := range sets {
		sets[i] = modeSet(i)
	}
	slices.SortStableFunc(sets[:], func(a, b modeSet) int { return cmp.Compare(a.len(), b.len()) })
	return sets
}()

// modesOf returns the set of the known modes among modes, and whether all are known.
// Upstream: component-helpers GetAccessModesAsString drops unknown ones, too.
func modesOf(modes []v1.PersistentVolumeAccessMode) (set modeSet, known bool) {
	known = true
	for _, mode := range modes {
		at := slices.Index(knownModes[:], mode)
		if at < 0 {
			known = false
			continue
		}
		set |= 1 << at
	}
	return set, known
}

func (s modeSet) len() int { return bits.OnesCount8(uint8(s)) }

// supersets walks the sets that contain all of these modes, those with the fewest modes
// first.
func (s modeSet) supersets() iter.Seq[modeSet] {
	return func(yield func(modeSet) bool) {
		for _, set := range orderedModeSets {
			if set&s == s && !yield(set) {
				return
			}
		}
	}
}

// allPossibleMatchingAccessModes walks the sets that contain all modes the claim
// requests, those with the fewest modes first. There are none if it requests an unknown
// mode.
// Upstream: index.go persistentVolumeOrderedIndex.allPossibleMatchingAccessModes, v1.37.
func (q *query) allPossibleMatchingAccessModes() iter.Seq[modeSet] {
	return func(yield func(modeSet) bool) {
		if q.knownModes {
			q.modes.supersets()(yield)
		}
	}
}
