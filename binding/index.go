package binding

import (
	"cmp"

	v1 "k8s.io/api/core/v1"
)

// Index is a set of volumes that answers FindBestMatchForClaim and
// FindMatchingVolume as those do for its volumes in order of name, without looking at
// all of them: a lookup costs the logarithm of their number, and one step for every
// volume of the claim's class, in the node's reach, that is big enough and yet refused
// by mode, label, attributes class or exclusion. Volumes of other nodes cost a step
// only if they are not kept by node: those whose node affinity has several terms, or
// none that asks for a label's value with In.
//
// The volumes are shared: nobody may change them. The zero Index is not ready for
// use; make one with NewIndex. It is not safe for concurrent use.
//
// Upstream: index.go persistentVolumeOrderedIndex, v1.36, which is keyed by access
// modes only.
type Index struct {
	volumes map[string]*v1.PersistentVolume
	// free are the volumes that an unreserved match can come from, by class:
	// Available, without claimRef and deletionTimestamp.
	free map[string]*rack
	// placed are the same by class and place, for searches with a node. It is nil until
	// the first such search: the PV controller has none.
	placed map[shelf]*rack
	// reserved are the volumes whose claimRef names a claim, in order of name.
	reserved map[claimKey]*sorted[*v1.PersistentVolume]
}

// shelf is what all volumes of one placed rack have in common.
type shelf struct {
	class string
	place
}

type claimKey struct{ namespace, name string }

// NewIndex makes an empty index.
func NewIndex() *Index {
	return &Index{
		volumes:  map[string]*v1.PersistentVolume{},
		free:     map[string]*rack{},
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
		key := claimKey{ref.Namespace, ref.Name}
		list, found := ix.reserved[key]
		if !found {
			list = &sorted[*v1.PersistentVolume]{compare: byName}
			ix.reserved[key] = list
		}
		list.add(volume)
	case isFree(volume):
		putOn(ix.free, GetPersistentVolumeClass(volume), volume)
		if ix.placed != nil {
			ix.place(volume)
		}
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
		key := claimKey{ref.Namespace, ref.Name}
		list := ix.reserved[key]
		if list.remove(volume); list.empty() {
			delete(ix.reserved, key)
		}
	case isFree(volume):
		class := GetPersistentVolumeClass(volume)
		takeFrom(ix.free, class, volume)
		if ix.placed == nil {
			return
		}
		for at := range placesOf(volume) {
			takeFrom(ix.placed, shelf{class, at}, volume)
		}
	}
}

func (ix *Index) place(volume *v1.PersistentVolume) {
	class := GetPersistentVolumeClass(volume)
	for at := range placesOf(volume) {
		putOn(ix.placed, shelf{class, at}, volume)
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
	requested, known := modesOf(claim.Spec.AccessModes)
	if !known {
		return nil, nil
	}
	reserved, free := ix.reservedFor(claim), ix.free[want.class]
	for modes := range setsWith(requested) {
		for volume := range reserved.all() {
			if offered, _ := modesOf(volume.Spec.AccessModes); offered == modes && want.unfit(volume) == Passed {
				return volume, nil
			}
		}
		if delayBinding {
			continue
		}
		if best := free.smallest(modes, &want, nil, nil, nil); best != nil {
			return best, nil
		}
	}
	return nil, nil
}

// FindMatchingVolume is the scheduler's question: FindMatchingVolume over the index's
// volumes of the claim's class, on a node, with delayBinding. As there, without a node
// only a volume reserved for the claim is an answer. The first call takes as long as
// putting every volume.
// Upstream: binder.go findMatchingVolumes asks for the volumes of the class, v1.36.
func (ix *Index) FindMatchingVolume(claim *v1.PersistentVolumeClaim, node *v1.Node, excluded map[string]*v1.PersistentVolume) (*v1.PersistentVolume, error) {
	want, err := wantedBy(claim)
	if err != nil {
		return nil, err
	}
	for volume := range ix.reservedFor(claim).all() {
		if excludes(excluded, volume) || GetPersistentVolumeClass(volume) != want.class || want.unfit(volume) != Passed {
			continue
		}
		if !reachable(volume, node) {
			return nil, nil
		}
		return volume, nil
	}
	if node == nil {
		return nil, nil
	}
	return ix.smallestInReach(&want, node, excluded), nil
}

// smallestInReach is the smallest free volume that passes every filter: of those that
// may be anywhere and of those at one of the node's places. In what order the labels
// come does not matter, as no two volumes are equal in size and name.
func (ix *Index) smallestInReach(want *wanted, node *v1.Node, excluded map[string]*v1.PersistentVolume) *v1.PersistentVolume {
	if ix.placed == nil {
		ix.placed = map[shelf]*rack{}
		for _, volume := range ix.volumes {
			if isFree(volume) {
				ix.place(volume)
			}
		}
	}
	requested, _ := modesOf(want.claim.Spec.AccessModes)
	var best *v1.PersistentVolume
	look := func(at place) {
		rack, found := ix.placed[shelf{want.class, at}]
		if !found {
			return
		}
		for modes := range setsWith(requested) {
			if smaller := rack.smallest(modes, want, node, excluded, best); smaller != nil {
				best = smaller
			}
		}
	}
	look(place{})
	for label, value := range node.Labels {
		look(place{label, value})
	}
	return best
}

// reservedFor are the volumes whose claimRef has the claim's namespace and name; nil
// if there are none.
func (ix *Index) reservedFor(claim *v1.PersistentVolumeClaim) *sorted[*v1.PersistentVolume] {
	return ix.reserved[claimKey{claim.Namespace, claim.Name}]
}

func isFree(volume *v1.PersistentVolume) bool {
	return volume.Spec.ClaimRef == nil && volume.Status.Phase == v1.VolumeAvailable && volume.DeletionTimestamp == nil
}

func byName(a, b *v1.PersistentVolume) int { return cmp.Compare(a.Name, b.Name) }

func bySize(a, b *v1.PersistentVolume) int {
	size, other := capacityOf(a), capacityOf(b)
	if c := compareSizes(&size, &other); c != 0 {
		return c
	}
	return byName(a, b)
}
