package binding

// Empty says whether nothing is left in the index, shelves included.
func (ix *Index) Empty() bool {
	return len(ix.volumes) == 0 && len(ix.free) == 0 && len(ix.placed) == 0 && len(ix.reserved) == 0
}
