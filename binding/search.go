package binding

import v1 "k8s.io/api/core/v1"

// Search finds a claim's volume on one node after the other, as the scheduler does: with
// FindMatchingVolume over an index's volumes of the claim's class, and delayBinding. What
// does not depend on the node is looked up once. A Search is valid until the index changes.
// Upstream: binder.go findMatchingVolumes asks for the volumes of the class, v1.37.
type Search struct {
	query query
	// reserved holds the volumes of the class that are reserved for the claim.
	reserved []*v1.PersistentVolume
	// modes[:n] holds the sets of access modes that contain all requested ones and with
	// which the class has a volume that is big enough.
	modes [len(orderedModeSets)]modeSet
	n     int
	// free holds the free volumes of the class; nil without any.
	free *labelIndex
}

// Search prepares the search for the claim's volume. The only error is an invalid label
// selector in the claim. The first search in a class puts all its free volumes in buckets
// by node label.
func (ix *Index) Search(claim *v1.PersistentVolumeClaim) (Search, error) {
	q, err := newQuery(claim, nil, nil, true)
	if err != nil {
		return Search{}, err
	}
	s := Search{query: q, reserved: ix.reservedFor(claim, func(volume *v1.PersistentVolume) bool {
		return GetPersistentVolumeClass(volume) == q.class
	})}
	class := ix.classes[q.class]
	if class == nil {
		return s, nil
	}
	if class.byLabel == nil {
		class.byLabel = newLabelIndex(&class.free)
	}
	s.free = class.byLabel
	for modes := range q.modes.supersets() {
		if b := class.free[modes]; b != nil && compareSizes(&b.largest().size, &q.request) >= 0 {
			s.modes[s.n] = modes
			s.n++
		}
	}
	return s, nil
}

// On returns the volume that the claim would get on the node, nil if none fits. Without a
// Node it finds only a volume reserved for the claim. choose picks among equally good ones.
func (s *Search) On(node *NodeBuckets, excluded map[string]*v1.PersistentVolume, choose Choose) *v1.PersistentVolume {
	s.query.node, s.query.excluded = node.Node, excluded
	var few [4]*bucket
	from := candidates{volumes: s.reserved, buckets: few[:0]}
	if node.Node != nil && s.n > 0 {
		node.find(s.free)
		for buckets := range node.all() {
			for _, modes := range s.modes[:s.n] {
				if b := buckets[modes]; b != nil {
					from.buckets = append(from.buckets, b)
				}
			}
		}
	}
	if len(from.volumes) == 0 && len(from.buckets) == 0 { // nearly always in a full cluster
		return nil
	}
	return s.query.pick(from, choose)
}
