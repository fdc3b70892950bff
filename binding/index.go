package binding

import (
	"cmp"
	"iter"

	v1 "k8s.io/api/core/v1"
)

// Index is a set of volumes that answers FindBestMatchForClaim and
// FindMatchingVolume as those do for its volumes in order of name, without looking at
// all of them: a lookup costs the logarithm of their number, and one step for every
// volume that is big enough and yet refused by mode, label or node.
//
// The volumes are shared: nobody may change them. The zero Index is not ready for
// use; make one with NewIndex. It is not safe for concurrent use.
//
// Upstream: index.go persistentVolumeOrderedIndex, v1.36, which is keyed by access
// modes only.
type Index struct {
	volumes map[string]*v1.PersistentVolume
	// free are the volumes that an unreserved match can come from: Available, without
	// claimRef and deletionTimestamp.
	free map[shelf]*sorted[*v1.PersistentVolume]
	// reserved are the volumes whose claimRef names a claim.
	reserved map[claimKey]*sorted[*v1.PersistentVolume]
}

// shelf is what all volumes of one list have in common.
type shelf struct {
	modes modeSet
	class string
}

type claimKey struct{ namespace, name string }

// NewIndex makes an empty index.
func NewIndex() *Index {
	return &Index{
		volumes:  map[string]*v1.PersistentVolume{},
		free:     map[shelf]*sorted[*v1.PersistentVolume]{},
		reserved: map[claimKey]*sorted[*v1.PersistentVolume]{},
	}
}

// Len is the number of volumes.
func (ix *Index) Len() int { return len(ix.volumes) }

// Get returns the volume of that name.
func (ix *Index) Get(name string) (*v1.PersistentVolume, bool) {
	volume, found := ix.volumes[name]
	return volume, found
}

// Put adds the volume, or replaces the one of its name.
func (ix *Index) Put(volume *v1.PersistentVolume) {
	ix.Delete(volume.Name)
	ix.volumes[volume.Name] = volume
	switch ref := volume.Spec.ClaimRef; {
	case ref != nil:
		put(ix.reserved, claimKey{ref.Namespace, ref.Name}, volume, byName)
	case isFree(volume):
		put(ix.free, shelfOf(volume), volume, bySize)
	}
}

// Delete removes the volume of that name, if it is there.
func (ix *Index) Delete(name string) {
	volume, found := ix.volumes[name]
	if !found {
		return
	}
	delete(ix.volumes, name)
	switch ref := volume.Spec.ClaimRef; {
	case ref != nil:
		remove(ix.reserved, claimKey{ref.Namespace, ref.Name}, volume)
	case isFree(volume):
		remove(ix.free, shelfOf(volume), volume)
	}
}

// FindBestMatchForClaim is the PV controller's question; see the function of that
// name.
// Upstream: index.go persistentVolumeOrderedIndex.findBestMatchForClaim, v1.36.
func (ix *Index) FindBestMatchForClaim(claim *v1.PersistentVolumeClaim, delayBinding bool) (*v1.PersistentVolume, error) {
	want, err := wantedBy(claim)
	if err != nil {
		return nil, err
	}
	for _, modes := range allPossibleMatchingAccessModes(claim) {
		for volume := range ix.reservedFor(claim) {
			if offered, _ := modesOf(volume.Spec.AccessModes); offered == modes && want.unfit(volume, capacityOf(volume)) == Passed {
				return volume, nil
			}
		}
		if delayBinding {
			continue
		}
		if best := ix.smallest(&want, shelf{modes, want.class}, nil, nil); best != nil {
			return best, nil
		}
	}
	return nil, nil
}

// FindMatchingVolume is the scheduler's question: FindMatchingVolume over the index's
// volumes of the claim's class, on a node.
// Upstream: binder.go findMatchingVolumes asks for the volumes of the class, v1.36.
func (ix *Index) FindMatchingVolume(claim *v1.PersistentVolumeClaim, node *v1.Node, excluded map[string]*v1.PersistentVolume) (*v1.PersistentVolume, error) {
	want, err := wantedBy(claim)
	if err != nil {
		return nil, err
	}
	for volume := range ix.reservedFor(claim) {
		_, promised := excluded[volume.Name]
		if promised || GetPersistentVolumeClass(volume) != want.class || want.unfit(volume, capacityOf(volume)) != Passed {
			continue
		}
		if !reachable(volume, node) {
			return nil, nil
		}
		return volume, nil
	}
	requested, _ := modesOf(claim.Spec.AccessModes)
	var best *v1.PersistentVolume
	for _, modes := range orderedModeSets {
		if modes&requested != requested {
			continue
		}
		if volume := ix.smallest(&want, shelf{modes, want.class}, node, excluded); volume != nil && (best == nil || bySize(volume, best) < 0) {
			best = volume
		}
	}
	return best, nil
}

// smallest is the smallest free volume on the shelf that passes every filter.
func (ix *Index) smallest(want *wanted, on shelf, node *v1.Node, excluded map[string]*v1.PersistentVolume) *v1.PersistentVolume {
	list, found := ix.free[on]
	if !found {
		return nil
	}
	tooSmall := func(volume *v1.PersistentVolume) bool {
		capacity := capacityOf(volume)
		return capacity.Cmp(want.request) < 0
	}
	for volume := range list.from(tooSmall) {
		_, promised := excluded[volume.Name]
		if !promised && want.unfit(volume, capacityOf(volume)) == Passed && want.unsuitable(volume, node) == Passed {
			return volume
		}
	}
	return nil
}

// reservedFor walks the volumes whose claimRef has the claim's namespace and name, in
// order of name.
func (ix *Index) reservedFor(claim *v1.PersistentVolumeClaim) iter.Seq[*v1.PersistentVolume] {
	list, found := ix.reserved[claimKey{claim.Namespace, claim.Name}]
	if !found {
		return func(func(*v1.PersistentVolume) bool) {}
	}
	return list.from(func(*v1.PersistentVolume) bool { return false })
}

func isFree(volume *v1.PersistentVolume) bool {
	return volume.Spec.ClaimRef == nil && volume.Status.Phase == v1.VolumeAvailable && volume.DeletionTimestamp == nil
}

func shelfOf(volume *v1.PersistentVolume) shelf {
	modes, _ := modesOf(volume.Spec.AccessModes)
	return shelf{modes, GetPersistentVolumeClass(volume)}
}

func byName(a, b *v1.PersistentVolume) int { return cmp.Compare(a.Name, b.Name) }

func bySize(a, b *v1.PersistentVolume) int {
	size, other := capacityOf(a), capacityOf(b)
	if c := size.Cmp(other); c != 0 {
		return c
	}
	return byName(a, b)
}

func put[K comparable](lists map[K]*sorted[*v1.PersistentVolume], key K, volume *v1.PersistentVolume, compare func(a, b *v1.PersistentVolume) int) {
	list, found := lists[key]
	if !found {
		list = &sorted[*v1.PersistentVolume]{compare: compare}
		lists[key] = list
	}
	list.add(volume)
}

func remove[K comparable](lists map[K]*sorted[*v1.PersistentVolume], key K, volume *v1.PersistentVolume) {
	if list, found := lists[key]; found {
		list.remove(volume)
		if list.empty() {
			delete(lists, key)
		}
	}
}
