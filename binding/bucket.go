package binding

import (
	"cmp"
	"slices"
	"sort"

	"k8s.io/apimachinery/pkg/api/resource"
)

// chunkSize bounds the chunks of a bucket. A full chunk is split in two.
const chunkSize = 512

// bucket holds candidates in order of size and name. It keeps them in chunks, so that
// adding and removing move few entries however many there are. A nil bucket is empty.
type bucket struct {
	chunks [][]*candidate // none of them empty
	// head is the first candidate, nil in an empty bucket. Most searches need no other, and
	// then do not touch the chunks.
	head *candidate
}

// bucketsByModes holds a bucket for each set of access modes; nil if it is empty.
type bucketsByModes [1 << len(knownModes)]*bucket

func (b *bucketsByModes) add(c *candidate) {
	if b[c.modes] == nil {
		b[c.modes] = &bucket{}
	}
	b[c.modes].add(c)
}

func (b *bucketsByModes) remove(c *candidate) {
	if b[c.modes] == nil { // removed already: the volume names a label twice
		return
	}
	if b[c.modes].remove(c); b[c.modes].head == nil {
		b[c.modes] = nil
	}
}

// bySize orders candidates by size and then by name.
func bySize(a, b *candidate) int {
	if c := compareSizes(&a.size, &b.size); c != 0 {
		return c
	}
	return cmp.Compare(a.volume.Name, b.volume.Name)
}

// chunk returns the number of the chunk where c is or belongs: the first whose last entry
// is not less than c, or the last chunk.
func (b *bucket) chunk(c *candidate) int {
	n := sort.Search(len(b.chunks), func(i int) bool {
		chunk := b.chunks[i]
		return bySize(chunk[len(chunk)-1], c) >= 0
	})
	return min(n, len(b.chunks)-1)
}

// add adds the candidate, unless it is there already: its volume names a label twice.
func (b *bucket) add(c *candidate) {
	if len(b.chunks) == 0 {
		b.chunks, b.head = [][]*candidate{{c}}, c
	}
	n := b.chunk(c)
	at, found := slices.BinarySearchFunc(b.chunks[n], c, bySize)
	if found {
		return
	}
	chunk := slices.Insert(b.chunks[n], at, c)
	b.chunks[n] = chunk
	if len(chunk) > chunkSize {
		half := len(chunk) / 2
		b.chunks[n] = slices.Clone(chunk[:half])
		b.chunks = slices.Insert(b.chunks, n+1, slices.Clone(chunk[half:]))
	}
	b.head = b.chunks[0][0]
}

// remove removes the candidate, if it is there; the bucket is not empty.
func (b *bucket) remove(c *candidate) {
	n := b.chunk(c)
	at, found := slices.BinarySearchFunc(b.chunks[n], c, bySize)
	if !found {
		return
	}
	b.chunks[n] = slices.Delete(b.chunks[n], at, at+1)
	if len(b.chunks[n]) == 0 {
		b.chunks = slices.Delete(b.chunks, n, n+1)
	}
	b.head = nil
	if len(b.chunks) > 0 {
		b.head = b.chunks[0][0]
	}
}

// largest returns the last candidate; the bucket is not empty.
func (b *bucket) largest() *candidate {
	chunk := b.chunks[len(b.chunks)-1]
	return chunk[len(chunk)-1]
}

// cursor is a position in a bucket. It is valid until the bucket changes.
type cursor struct {
	bucket    *bucket
	chunk, at int
	candidate *candidate // nil at the end
}

// seek returns the position of the first candidate that is at least as big.
func (b *bucket) seek(size *resource.Quantity) cursor {
	if b == nil {
		return cursor{}
	}
	if compareSizes(&b.head.size, size) >= 0 { // nearly always
		return cursor{bucket: b, candidate: b.head}
	}
	n := sort.Search(len(b.chunks), func(i int) bool {
		chunk := b.chunks[i]
		return compareSizes(&chunk[len(chunk)-1].size, size) >= 0
	})
	if n == len(b.chunks) {
		return cursor{}
	}
	chunk := b.chunks[n]
	at := sort.Search(len(chunk), func(i int) bool { return compareSizes(&chunk[i].size, size) >= 0 })
	return cursor{b, n, at, chunk[at]}
}

func (c *cursor) advance() {
	if c.at++; c.at == len(c.bucket.chunks[c.chunk]) {
		c.chunk, c.at = c.chunk+1, 0
	}
	c.candidate = nil
	if c.chunk < len(c.bucket.chunks) {
		c.candidate = c.bucket.chunks[c.chunk][c.at]
	}
}

// equal returns the candidates of just this size, as chunks and parts of chunks. Do not
// modify them.
func (b *bucket) equal(size *resource.Quantity) (parts [][]*candidate) {
	first := b.seek(size)
	if first.candidate == nil {
		return nil
	}
	for n, at := first.chunk, first.at; n < len(b.chunks); n, at = n+1, 0 {
		chunk := b.chunks[n][at:]
		end := sort.Search(len(chunk), func(i int) bool { return compareSizes(&chunk[i].size, size) > 0 })
		if end == 0 {
			break
		}
		parts = append(parts, chunk[:end])
	}
	return parts
}
