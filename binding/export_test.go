package binding

import v1 "k8s.io/api/core/v1"

// Empty reports whether nothing is left in the index, buckets included.
func (ix *Index) Empty() bool {
	return len(ix.volumes) == 0 && len(ix.classes) == 0 && len(ix.reserved) == 0
}

// FindMatchingVolume answers the scheduler's question for a single node.
func (ix *Index) FindMatchingVolume(claim *v1.PersistentVolumeClaim, node *v1.Node, excluded map[string]*v1.PersistentVolume,
	choose Choose) (*v1.PersistentVolume, error) {
	search, err := ix.Search(claim)
	if err != nil {
		return nil, err
	}
	return search.On(&NodeBuckets{Node: node}, excluded, choose), nil
}
