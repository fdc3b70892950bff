package binding

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// FindMatchingVolume returns the best of volumes for the claim, nil if none fits: the
// first volume reserved for the claim that passes the filters, else the smallest
// unreserved one that does, the first among equals.
//
// node is the node on which the claim's pod may run (scheduler). Nil means that node
// affinity and access modes do not count (PV controller, which asks group by group).
// excluded holds by name the volumes promised to other claims of the pod; nil means none.
// With delayBinding and without a node, only a volume reserved for the claim is returned:
// the scheduler chooses among the others. The only error is an invalid label selector in
// the claim.
//
// Upstream: component-helpers storage/volume/pv_helpers.go, v1.37.
func FindMatchingVolume(
	claim *v1.PersistentVolumeClaim,
	volumes []*v1.PersistentVolume,
	node *v1.Node,
	excluded map[string]*v1.PersistentVolume,
	delayBinding bool,
) (*v1.PersistentVolume, error) {
	q, err := newQuery(claim, node, excluded, delayBinding)
	if err != nil {
		return nil, err
	}
	return q.match(candidates{volumes: volumes}).volume, nil
}

// FindBestMatchForClaim answers the PV controller's question. It groups the volumes by
// their set of access modes and asks each group that offers all modes the claim requests,
// those with the fewest modes first. The first answer counts. Index.FindBestMatchForClaim
// gives the same answer faster, for volumes in order of name.
// Upstream: index.go persistentVolumeOrderedIndex.findByClaim, v1.37.
func FindBestMatchForClaim(claim *v1.PersistentVolumeClaim, volumes []*v1.PersistentVolume, delayBinding bool) (*v1.PersistentVolume, error) {
	q, err := newQuery(claim, nil, nil, delayBinding)
	if err != nil {
		return nil, err
	}
	return q.bestMatch(volumes), nil
}

func (q *query) bestMatch(volumes []*v1.PersistentVolume) *v1.PersistentVolume {
	groups := map[modeSet][]*v1.PersistentVolume{}
	for _, volume := range volumes {
		modes, _ := modesOf(volume.Spec.AccessModes)
		groups[modes] = append(groups[modes], volume)
	}
	for modes := range q.allPossibleMatchingAccessModes() {
		if best := q.match(candidates{volumes: groups[modes]}); best.volume != nil {
			return best.volume
		}
	}
	return nil
}

// match decides which volume a claim gets; every search calls this rule. A
// volume reserved for the claim is the answer at once, or, if the node cannot reach it,
// the reason why no volume fits. Of the others the smallest that passes the filters wins,
// the first among equals. The zero candidate means that no volume fits.
func (q *query) match(from candidates) candidate {
	var best candidate
	sizes := interval{least: &q.request} // of the unreserved volumes that could still win
	for c := range from.within(&sizes) {
		reserved := c.claimRef != nil
		switch filter := q.filter(c); {
		case reserved && filter == WrongNode:
			return candidate{}
		case filter != Passed:
		case reserved:
			return *c
		default:
			best = *c
			sizes.below = &best.size
		}
	}
	return best
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
	for _, b := range from.buckets {
		chunks = append(chunks, b.equal(&best.size)...)
	}
	var n, at int // their number, and the position of the best one
	for _, chunk := range chunks {
		if i, found := slices.BinarySearchFunc(chunk, &best, bySize); found {
			at = n + i
		}
		n += len(chunk)
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

// filter returns the first filter that the volume fails. A volume reserved for the claim
// need not pass those about phase, labels, class and access modes.
//
// Upstream looks at the node affinity, the most expensive filter, before claimRef, but
// acts on it where it stands here.
func (q *query) filter(c *candidate) Filter {
	switch {
	case q.isExcluded(c.volume):
		return Excluded
	case c.claimRef != nil && !IsVolumeBoundToClaim(c.volume, q.claim):
		return Claimed
	case compareSizes(&c.size, &q.request) < 0:
		return TooSmall
	case c.mode != q.mode:
		return WrongMode
	case c.attributesClass != q.attributesClass:
		return WrongAttributesClass
	case c.deleting:
		return Deleting
	case c.claimRef != nil:
		if !c.reachableFrom(q.node) {
			return WrongNode
		}
		return Passed
	case q.delayBinding && q.node == nil:
		return Delayed
	case !c.available:
		return NotAvailable
	case q.selector != nil && !q.selector.Matches(labels.Set(c.volume.Labels)):
		return WrongLabels
	case c.class != q.class:
		return WrongClass
	case !c.reachableFrom(q.node):
		return WrongNode
	case q.node != nil && !q.hasModes(c):
		return WrongAccessModes
	}
	return Passed
}

// beginAnywhere returns volumes, which are reserved for the claim, without those before
// the one that choose picks among those that fit.
func (q *query) beginAnywhere(volumes []*v1.PersistentVolume, choose Choose) []*v1.PersistentVolume {
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
