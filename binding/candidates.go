package binding

import (
	"iter"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// candidate holds what the filters look at in a volume, read once: the volumes of a large
// cluster lie far apart in memory.
type candidate struct {
	volume          *v1.PersistentVolume
	size            resource.Quantity
	claimRef        *v1.ObjectReference
	class           string
	attributesClass string
	mode            v1.PersistentVolumeMode
	modes           modeSet // without unknown ones
	available       bool    // its phase is Available
	deleting        bool
	// reachable: every node for which an index offers the volume reaches it, so that its node
	// affinity need not be evaluated.
	reachable bool
}

func newCandidate(volume *v1.PersistentVolume) candidate {
	modes, _ := modesOf(volume.Spec.AccessModes)
	return candidate{
		volume:          volume,
		size:            capacityOf(volume),
		claimRef:        volume.Spec.ClaimRef,
		class:           GetPersistentVolumeClass(volume),
		attributesClass: deref(volume.Spec.VolumeAttributesClassName),
		mode:            volumeMode(volume.Spec.VolumeMode),
		modes:           modes,
		available:       volume.Status.Phase == v1.VolumeAvailable,
		deleting:        volume.DeletionTimestamp != nil,
	}
}

func (c *candidate) reachableFrom(node *v1.Node) bool {
	return c.reachable || Reachable(c.volume, node)
}

// candidates is a sequence of volumes for match: first a list in its own order, then the
// content of an index's buckets in order of size and name.
type candidates struct {
	volumes []*v1.PersistentVolume
	buckets []*bucket
}

// within walks the reserved candidates of the list, and all others whose size is in the
// interval, which the caller may narrow on the way. A candidate is valid until the next.
func (s *candidates) within(sizes *interval) iter.Seq[*candidate] {
	return func(yield func(*candidate) bool) {
		if len(s.volumes) > 0 {
			c := new(candidate)
			for _, volume := range s.volumes {
				if capacity := capacityOf(volume); volume.Spec.ClaimRef == nil && !sizes.contains(&capacity) {
					continue // saves reading the rest of most volumes of a long list
				}
				if *c = newCandidate(volume); !yield(c) {
					return
				}
			}
		}
		var few [4]cursor
		cursors := few[:0]
		for _, b := range s.buckets {
			if at := b.seek(sizes.least); at.candidate != nil {
				cursors = append(cursors, at)
			}
		}
		for {
			var next *cursor
			for i := range cursors {
				if at := &cursors[i]; at.candidate != nil && (next == nil || bySize(at.candidate, next.candidate) < 0) {
					next = at
				}
			}
			// Once match has taken one, the others are outside the interval: none is smaller.
			if next == nil || !sizes.contains(&next.candidate.size) || !yield(next.candidate) {
				return
			}
			next.advance()
		}
	}
}
