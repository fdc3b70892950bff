package binding

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Index is a set of volumes that finds the candidates for a claim without a walk over all
// of them. It decides nothing: its answers equal those of FindBestMatchForClaim and
// FindMatchingVolume for its volumes in order of name, except that Choose may pick another
// of several equal ones.
//
// A search takes time in the logarithm of the number of volumes, and a step for each volume
// of the claim's class that is big enough and fails another filter: mode, labels, attributes
// class, exclusion. Volumes of other nodes take a step only if their node affinity has
// several terms or no requirement with the operator In.
//
// The volumes are shared: do not modify them. Make an Index with NewIndex. It is not safe
// for concurrent use.
//
// Upstream: index.go persistentVolumeOrderedIndex, v1.37, which is keyed by access
// modes only.
type Index struct {
	volumes map[string]*candidate
	// classes holds the free volumes by class: Available and without claimRef. No claim can
	// get another one that is not reserved for it.
	classes map[string]*classBuckets
	// reserved holds the volumes with a claimRef by the claim that it names, in order of
	// name.
	reserved map[claimKey][]*v1.PersistentVolume
}

type claimKey struct{ namespace, name string }

// classBuckets holds the free volumes of a class.
type classBuckets struct {
	free bucketsByModes
	// byLabel holds the same volumes by node label. It is nil until the first search with a
	// node: the PV controller never asks for one.
	byLabel *labelIndex
}

// NewIndex returns an empty index.
func NewIndex() *Index {
	return &Index{
		volumes:  map[string]*candidate{},
		classes:  map[string]*classBuckets{},
		reserved: map[claimKey][]*v1.PersistentVolume{},
	}
}

// Len returns the number of volumes.
func (ix *Index) Len() int { return len(ix.volumes) }

// Get returns the volume of that name.
func (ix *Index) Get(name string) (*v1.PersistentVolume, bool) {
	if c, found := ix.volumes[name]; found {
		return c.volume, true
	}
	return nil, false
}

// All returns the volumes in order of name.
func (ix *Index) All() []*v1.PersistentVolume {
	all := make([]*v1.PersistentVolume, 0, len(ix.volumes))
	for _, c := range ix.volumes {
		all = append(all, c.volume)
	}
	slices.SortFunc(all, byName)
	return all
}

// Put adds the volume, or replaces the one of its name.
func (ix *Index) Put(volume *v1.PersistentVolume) {
	ix.Delete(volume.Name)
	c := new(newCandidate(volume))
	ix.volumes[volume.Name] = c
	switch {
	case c.claimRef != nil:
		key := claimKey{c.claimRef.Namespace, c.claimRef.Name}
		at, _ := slices.BinarySearchFunc(ix.reserved[key], volume, byName)
		ix.reserved[key] = slices.Insert(ix.reserved[key], at, volume)
	case c.available:
		c.reachable = requiresOnlyLabel(volume)
		if ix.classes[c.class] == nil {
			ix.classes[c.class] = &classBuckets{}
		}
		ix.classes[c.class].add(c)
	}
}

// Delete removes the volume of that name, if it is there.
func (ix *Index) Delete(name string) {
	c, found := ix.volumes[name]
	if !found {
		return
	}
	delete(ix.volumes, name)
	switch {
	case c.claimRef != nil:
		key := claimKey{c.claimRef.Namespace, c.claimRef.Name}
		at, _ := slices.BinarySearchFunc(ix.reserved[key], c.volume, byName)
		if ix.reserved[key] = slices.Delete(ix.reserved[key], at, at+1); len(ix.reserved[key]) == 0 {
			delete(ix.reserved, key)
		}
	case c.available:
		if ix.classes[c.class].remove(c); ix.classes[c.class].free == (bucketsByModes{}) {
			delete(ix.classes, c.class)
		}
	}
}

func byName(a, b *v1.PersistentVolume) int { return strings.Compare(a.Name, b.Name) }

func (k *classBuckets) add(c *candidate) {
	k.free.add(c)
	if k.byLabel != nil {
		k.byLabel.add(c)
	}
}

func (k *classBuckets) remove(c *candidate) {
	k.free.remove(c)
	if k.byLabel != nil {
		k.byLabel.remove(c)
	}
}

// reservedFor returns the volumes reserved for the claim for which keep is true, in order
// of name.
func (ix *Index) reservedFor(claim *v1.PersistentVolumeClaim, keep func(*v1.PersistentVolume) bool) []*v1.PersistentVolume {
	var kept []*v1.PersistentVolume
	for _, volume := range ix.reserved[claimKey{claim.Namespace, claim.Name}] {
		if keep(volume) {
			kept = append(kept, volume)
		}
	}
	return kept
}

// FindBestMatchForClaim answers the PV controller's question as the function of that name
// does. choose picks among groups with an answer and equally few modes, among volumes
// reserved for the claim, and among volumes of the same size.
// Upstream: index.go persistentVolumeOrderedIndex.findBestMatchForClaim, v1.37.
func (ix *Index) FindBestMatchForClaim(claim *v1.PersistentVolumeClaim, delayBinding bool, choose Choose) (*v1.PersistentVolume, error) {
	q, err := newQuery(claim, nil, nil, delayBinding)
	if err != nil {
		return nil, err
	}
	if delayBinding && len(ix.reserved[claimKey{claim.Namespace, claim.Name}]) == 0 {
		return nil, nil // each free volume would fail
	}
	class := ix.classes[q.class]
	group := func(modes modeSet) candidates {
		from := candidates{volumes: ix.reservedFor(claim, func(volume *v1.PersistentVolume) bool {
			offered, _ := modesOf(volume.Spec.AccessModes)
			return offered == modes
		})}
		if class != nil && !delayBinding { // with delayBinding each would fail
			from.buckets = class.free[modes : modes+1]
		}
		return from
	}
	var matching [len(orderedModeSets)]modeSet // groups with an answer and as few modes as any
	n := 0
	for modes := range q.allPossibleMatchingAccessModes() {
		if n > 0 && modes.len() > matching[0].len() {
			break
		}
		if best := q.match(group(modes)); best.volume != nil {
			matching[n] = modes
			n++
		}
	}
	if n == 0 {
		return nil, nil
	}
	return q.pick(group(matching[choose.among(n)]), choose), nil
}
