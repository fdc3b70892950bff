package binding

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// Choose picks one of n alternatives where upstream leaves the choice to the order of a Go
// map: 0 <= result < n. Nil always picks the first. Pass Env.Choose of package control, so
// that the engine's policy decides.
type Choose func(n int) int

// among returns the chosen alternative. It calls choose only if there are several.
func (choose Choose) among(n int) int {
	if choose == nil || n < 2 {
		return 0
	}
	return choose(n)
}

// pick returns what match finds among the candidates of an index, or another one that is
// equally good.
//
// Upstream takes the first that it meets on its walk over a Go map, which begins anywhere
// and goes round. So does pick, once match has told what size wins; choose decides where
// the walk begins.
func (q *query) pick(from candidates, choose Choose) *v1.PersistentVolume {
	if choose == nil {
		return q.match(from).volume
	}
	from.volumes = q.beginAnywhere(from.volumes, choose)
	best := q.match(from)
	if best.volume == nil || best.claimRef != nil {
		return best.volume
	}
	var chunks [][]*candidate // all candidates as big as the best one, whether they pass or not
	n, at := 0, 0             // their number, and the position of the best one
	for _, b := range from.buckets {
		for chunk := range b.equal(&best.size) {
			if i, found := slices.BinarySearchFunc(chunk, &best, bySize); found {
				at = n + i
			}
			chunks = append(chunks, chunk)
			n += len(chunk)
		}
	}
	skip := (at + choose.among(n)) % n
	for range 2 { // to the end, and again from the beginning
		for _, chunk := range chunks {
			skipped := min(skip, len(chunk))
			skip -= skipped
			for _, c := range chunk[skipped:] {
				if q.filter(c) == Passed {
					return c.volume
				}
			}
		}
	}
	return best.volume
}

// beginAnywhere returns volumes, which are reserved for the claim, without those before
// the one that choose picks among those that fit.
func (q *query) beginAnywhere(volumes []*v1.PersistentVolume, choose Choose) []*v1.PersistentVolume {
	if len(volumes) < 2 {
		return volumes
	}
	var fits []int
	for i, volume := range volumes {
		c := newCandidate(volume)
		if filter := q.filter(&c); filter == Passed || filter == WrongNode {
			fits = append(fits, i)
		}
	}
	if len(fits) == 0 {
		return nil
	}
	return volumes[fits[choose.among(len(fits))]:]
}
