package store

import (
	"cmp"
	"maps"
	"slices"
)

// followers holds the cursors of a table by their buckets. Most tables have few, and those in the zero bucket.
type followers struct {
	ofAll []*Cursor
	few   [2]*Cursor           // where ofAll begins
	of    map[bucket][]*Cursor // the others; no list is empty
}

func (f *followers) in(b bucket) []*Cursor {
	if b == (bucket{}) {
		return f.ofAll
	}
	return f.of[b]
}

func (f *followers) add(c *Cursor) {
	if f.ofAll == nil {
		f.ofAll = f.few[:0]
	}
	f.set(c.filter.bucket, append(f.in(c.filter.bucket), c))
}

func (f *followers) remove(c *Cursor) { f.set(c.filter.bucket, without(f.in(c.filter.bucket), c)) }

func (f *followers) set(b bucket, list []*Cursor) {
	switch {
	case b == (bucket{}):
		f.ofAll = list
	case len(list) == 0:
		delete(f.of, b)
	default:
		if f.of == nil {
			f.of = map[bucket][]*Cursor{}
		}
		f.of[b] = list
	}
}

// none reports whether there is no cursor.
func (f *followers) none() bool { return len(f.ofAll)+len(f.of) == 0 }

// all returns all cursors, always in the same order.
func (f *followers) all() []*Cursor {
	list := slices.Clone(f.ofAll)
	for _, b := range slices.SortedFunc(maps.Keys(f.of), func(a, b bucket) int {
		return cmp.Or(cmp.Compare(a.field, b.field), cmp.Compare(a.value, b.value))
	}) {
		list = append(list, f.of[b]...)
	}
	return list
}

// without returns a list without a cursor.
func without(list []*Cursor, c *Cursor) []*Cursor {
	return slices.DeleteFunc(list, func(other *Cursor) bool { return other == c })
}
