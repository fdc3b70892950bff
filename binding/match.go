package binding

import (
	"cmp"
	"iter"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// FindMatchingVolume finds the best of volumes for the claim, nil if none will do:
// the first volume reserved for the claim that is fit for it, else the smallest that
// passes every filter, the first among equals.
//
// node is the node the claim's pod may run on (scheduler); nil means that node
// affinity and access modes do not count (PV controller, which asks group by group).
// excluded are volumes promised to other claims of the pod, by name; nil means none.
// delayBinding with no node skips volumes not reserved for the claim: they are the
// scheduler's to choose. The only error is an invalid label selector in the claim.
//
// Upstream: component-helpers storage/volume/pv_helpers.go, v1.36.
func FindMatchingVolume(
	claim *v1.PersistentVolumeClaim,
	volumes []*v1.PersistentVolume,
	node *v1.Node,
	excluded map[string]*v1.PersistentVolume,
	delayBinding bool,
) (*v1.PersistentVolume, error) {
	want, err := wantedBy(claim)
	if err != nil {
		return nil, err
	}
	var smallest *v1.PersistentVolume
	sizes := spanFrom(want.request)
	for _, volume := range volumes {
		if len(excluded) > 0 && excludes(excluded, volume) {
			continue
		}
		if volume.Spec.ClaimRef == nil {
			if node == nil && delayBinding {
				continue
			}
			// Only a smaller volume can win, and most are refused for their size alone:
			// the others need not be looked at.
			capacity := capacityOf(volume)
			if sizes.contains(&capacity) && want.different(volume) == Passed && want.unsuitable(volume, node) == Passed {
				smallest = volume
				sizes.narrow(capacity)
			}
			continue
		}
		if !IsVolumeBoundToClaim(volume, claim) || want.unfit(volume) != Passed {
			continue
		}
		if !reachable(volume, node) {
			return nil, nil
		}
		return volume, nil
	}
	return smallest, nil
}

func excludes(excluded map[string]*v1.PersistentVolume, volume *v1.PersistentVolume) bool {
	if len(excluded) == 0 {
		return false
	}
	_, promised := excluded[volume.Name]
	return promised
}

// FindBestMatchForClaim is what the PV controller asks: FindMatchingVolume without a
// node for each group of volumes with the same access modes, of the groups that offer
// all modes the claim requests, fewest modes first. The first answer counts. Index
// gives the same answer faster, for volumes in order of name.
// Upstream: index.go persistentVolumeOrderedIndex.findByClaim, v1.36.
func FindBestMatchForClaim(claim *v1.PersistentVolumeClaim, volumes []*v1.PersistentVolume, delayBinding bool) (*v1.PersistentVolume, error) {
	groups := map[modeSet][]*v1.PersistentVolume{}
	for _, volume := range volumes {
		modes, _ := modesOf(volume.Spec.AccessModes)
		groups[modes] = append(groups[modes], volume)
	}
	for _, modes := range allPossibleMatchingAccessModes(claim) {
		best, err := FindMatchingVolume(claim, groups[modes], nil, nil, delayBinding)
		if best != nil || err != nil {
			return best, err
		}
	}
	return nil, nil
}

// modeSet is a set of access modes, a bit for each of knownModes.
type modeSet uint8

// knownModes are in the order of upstream's index keys.
var knownModes = [...]v1.PersistentVolumeAccessMode{
	v1.ReadWriteOnce, v1.ReadOnlyMany, v1.ReadWriteMany, v1.ReadWriteOncePod,
}

// modesOf is the set of the known modes among modes, and whether all are known.
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

// len is the number of modes in the set.
func (s modeSet) len() int {
	n := 0
	for ; s != 0; s &= s - 1 {
		n++
	}
	return n
}

// orderedModeSets are all sets of modes, fewest modes first.
var orderedModeSets = func() (sets [1 << len(knownModes)]modeSet) {
	for i := range sets {
		sets[i] = modeSet(i)
	}
	slices.SortStableFunc(sets[:], func(a, b modeSet) int { return cmp.Compare(a.len(), b.len()) })
	return sets
}()

// allPossibleMatchingAccessModes are the sets that contain all modes the claim
// requests, fewest modes first; none if it requests an unknown mode.
// Upstream: index.go persistentVolumeOrderedIndex.allPossibleMatchingAccessModes, v1.36.
func allPossibleMatchingAccessModes(claim *v1.PersistentVolumeClaim) []modeSet {
	requested, known := modesOf(claim.Spec.AccessModes)
	if !known {
		return nil
	}
	return slices.Collect(setsWith(requested))
}

// setsWith walks the sets that contain all of the requested modes, fewest modes first.
func setsWith(requested modeSet) iter.Seq[modeSet] {
	return func(yield func(modeSet) bool) {
		for _, set := range orderedModeSets {
			if set&requested == requested && !yield(set) {
				return
			}
		}
	}
}
