package binding

import (
	"iter"
	"slices"
	"sort"
)

// chunkSize bounds the chunks of a sorted list. A full chunk is split in two.
const chunkSize = 512

// sorted is a list without duplicates, in the order of compare. It is kept in
// chunks, so that adding and removing move few entries however long the list is.
type sorted[T any] struct {
	compare func(a, b T) int
	chunks  [][]T // none of them empty
	// head is the first entry, if there is one: of a list that lies anywhere in memory, most
	// searches look at nothing else.
	head T
}

// chunk is the number of the chunk that holds x or would: the first whose last entry
// is not less than x, or the last chunk.
func (s *sorted[T]) chunk(x T) int {
	n := sort.Search(len(s.chunks), func(i int) bool {
		chunk := s.chunks[i]
		return s.compare(chunk[len(chunk)-1], x) >= 0
	})
	return min(n, len(s.chunks)-1)
}

func (s *sorted[T]) add(x T) {
	if len(s.chunks) == 0 {
		s.chunks, s.head = [][]T{{x}}, x
		return
	}
	if s.compare(x, s.head) <= 0 {
		s.head = x
	}
	n := s.chunk(x)
	chunk := s.chunks[n]
	at, found := slices.BinarySearchFunc(chunk, x, s.compare)
	if found {
		chunk[at] = x
		return
	}
	chunk = slices.Insert(chunk, at, x)
	s.chunks[n] = chunk
	if len(chunk) > chunkSize {
		half := len(chunk) / 2
		s.chunks[n] = slices.Clone(chunk[:half])
		s.chunks = slices.Insert(s.chunks, n+1, slices.Clone(chunk[half:]))
	}
}

func (s *sorted[T]) remove(x T) {
	if len(s.chunks) == 0 {
		return
	}
	n := s.chunk(x)
	at, found := slices.BinarySearchFunc(s.chunks[n], x, s.compare)
	if !found {
		return
	}
	s.chunks[n] = slices.Delete(s.chunks[n], at, at+1)
	if len(s.chunks[n]) == 0 {
		s.chunks = slices.Delete(s.chunks, n, n+1)
	}
	s.head = *new(T)
	if len(s.chunks) > 0 {
		s.head = s.chunks[0][0]
	}
}

func (s *sorted[T]) empty() bool { return len(s.chunks) == 0 }

// last is the last entry; the list is not empty.
func (s *sorted[T]) last() T {
	chunk := s.chunks[len(s.chunks)-1]
	return chunk[len(chunk)-1]
}

// all walks the entries; a nil list has none.
func (s *sorted[T]) all() iter.Seq[T] {
	return func(yield func(T) bool) {
		if s == nil {
			return
		}
		for _, chunk := range s.chunks {
			for _, x := range chunk {
				if !yield(x) {
					return
				}
			}
		}
	}
}

// from walks the entries that are not less than a bound: those for which below is
// false. below must be true for a beginning of the list and false for the rest.
func (s *sorted[T]) from(below func(T) bool) iter.Seq[T] {
	return func(yield func(T) bool) {
		if len(s.chunks) == 0 {
			return
		}
		n, at := 0, 1
		if below(s.head) {
			n, at = s.first(below)
		} else if !yield(s.head) {
			return
		}
		for ; n < len(s.chunks); n, at = n+1, 0 {
			for _, x := range s.chunks[n][at:] {
				if !yield(x) {
					return
				}
			}
		}
	}
}

// first is where the first entry is for which below is false, its chunk and its place
// in it; the list is not empty.
func (s *sorted[T]) first(below func(T) bool) (n, at int) {
	if !below(s.head) {
		return 0, 0 // nearly always
	}
	n = sort.Search(len(s.chunks), func(i int) bool {
		chunk := s.chunks[i]
		return !below(chunk[len(chunk)-1])
	})
	if n == len(s.chunks) {
		return n, 0
	}
	return n, sort.Search(len(s.chunks[n]), func(i int) bool { return !below(s.chunks[n][i]) })
}

// between walks the entries from the first for which below is false to the last for
// which above is false, a piece of the list at a time. The pieces are shared.
func (s *sorted[T]) between(below, above func(T) bool) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		if len(s.chunks) == 0 {
			return
		}
		n, at := s.first(below)
		for ; n < len(s.chunks); n, at = n+1, 0 {
			chunk := s.chunks[n][at:]
			end := len(chunk)
			if above(chunk[end-1]) { // most chunks of a long run are in it as a whole
				end = sort.Search(end, func(i int) bool { return above(chunk[i]) })
			}
			if end == 0 || !yield(chunk[:end]) || end < len(chunk) {
				return
			}
		}
	}
}
