package binding

import (
	"cmp"

	v1 "k8s.io/api/core/v1"
)

// Index is a set of volumes that answers FindBestMatchForClaim and
// FindMatchingVolume as those do for its volumes in order of name (Choose takes another
// of several equal ones), without looking at
// all of them: a lookup costs the logarithm of their number, and one step for every
// volume of the claim's class, in the node's reach, that is big enough and yet refused
// by mode, label, attributes class or exclusion. Volumes of other nodes cost a step
// only if they are not kept by node: those whose node affinity has several terms, or
// none that asks for a label's value with In.
//
// The volumes are shared: do not modify them. The zero Index is not ready for
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
	placed map[string]*ground
	// reserved are the volumes whose claimRef names a claim, in order of name.
	reserved map[claimKey]*sorted[*v1.PersistentVolume]
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
		putOn(ix.free, GetPersistentVolumeClass(volume), newOffer(volume))
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
		taken := newOffer(volume)
		takeFrom(ix.free, class, taken)
		if ix.placed == nil {
			return
		}
		if ix.placed[class].take(taken); ix.placed[class].volumes == 0 {
			delete(ix.placed, class)
		}
	}
}

func (ix *Index) place(volume *v1.PersistentVolume) {
	class := GetPersistentVolumeClass(volume)
	g, found := ix.placed[class]
	if !found {
		g = &ground{}
		ix.placed[class] = g
	}
	g.put(newOffer(volume))
}

// FindBestMatchForClaim is the PV controller's question; see the function of that
// name. Of several groups with as few modes, of several volumes reserved for the claim
// and of several of one size, choose picks one.
// Upstream: index.go persistentVolumeOrderedIndex.findBestMatchForClaim, v1.36.
func (ix *Index) FindBestMatchForClaim(claim *v1.PersistentVolumeClaim, delayBinding bool, choose Choose) (*v1.PersistentVolume, error) {
	want, err := wantedBy(claim)
	if err != nil {
		return nil, err
	}
	if !want.knownModes {
		return nil, nil
	}
	reserved, free := ix.reservedFor(claim), ix.free[want.class]
	if delayBinding {
		free = nil
	}
	var groups [len(orderedModeSets)]group
	n := 0
	for modes := range setsWith(want.modes) {
		if n > 0 && modes.len() > groups[0].modes.len() {
			break
		}
		g := group{modes: modes, reserved: want.fitting(reserved, modes)}
		if len(g.reserved) == 0 {
			g.best = free.smallest(modes, &want, nil, nil, nil)
		}
		if g.best != nil || len(g.reserved) > 0 {
			groups[n] = g
			n++
		}
	}
	if n == 0 {
		return nil, nil
	}
	return groups[choose.among(n)].pick(free, &want, choose), nil
}

// group is what the volumes with just these access modes have for a claim.
type group struct {
	modes    modeSet
	reserved []*v1.PersistentVolume // for the claim, and fit: one of these if there are any
	best     *offer
}

// pick is one of the group's equal answers.
func (g *group) pick(free *rack, want *wanted, choose Choose) *v1.PersistentVolume {
	if len(g.reserved) > 0 {
		return g.reserved[choose.among(len(g.reserved))]
	}
	if choose == nil {
		return g.best.volume
	}
	var equal ties
	equal.add(free[g.modes], g.best)
	return equal.pick(g.best, choose, func(o *offer) bool { return want.takes(o, nil) })
}

// fitting are the volumes with just these modes that the claim can have, of those
// reserved for it.
func (w *wanted) fitting(reserved *sorted[*v1.PersistentVolume], modes modeSet) []*v1.PersistentVolume {
	var fit []*v1.PersistentVolume
	for volume := range reserved.all() {
		if offered, _ := modesOf(volume.Spec.AccessModes); offered == modes && w.unfit(volume) == Passed {
			fit = append(fit, volume)
		}
	}
	return fit
}

// FindMatchingVolume is the scheduler's question: FindMatchingVolume over the index's
// volumes of the claim's class, on a node, with delayBinding. As there, without a node
// only a volume reserved for the claim is an answer. The first call takes as long as
// putting every volume. Who asks for many nodes makes a Search. choose picks one of
// several equal answers.
// Upstream: binder.go findMatchingVolumes asks for the volumes of the class, v1.36.
func (ix *Index) FindMatchingVolume(
	claim *v1.PersistentVolumeClaim,
	node *v1.Node,
	excluded map[string]*v1.PersistentVolume,
	choose Choose,
) (*v1.PersistentVolume, error) {
	search, err := ix.Search(claim)
	if err != nil {
		return nil, err
	}
	return search.On(&Site{Node: node}, excluded, choose), nil
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
