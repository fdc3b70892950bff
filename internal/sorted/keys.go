// Package sorted keeps strings in order while they come and go: a hundred thousand
// of them as fast as a hundred.
package sorted

import (
	"iter"
	"slices"

	"k8s.io/utils/third_party/forked/golang/btree"
)

// few is the number of keys up to which a list is faster than a tree, and smaller.
const few = 32

// noNodes keeps no nodes for later: a list of their own would be larger than most trees.
var noNodes = btree.NewFreeList[string](0)

// Keys is a set of strings. The zero value is an empty one. Any number may read it at
// once, but not while it changes.
type Keys struct {
	list []string             // in order; nil where there is a tree
	tree *btree.BTree[string] // nil until there have been more than a few
}

// Len returns the number of keys.
func (k *Keys) Len() int {
	if k.tree == nil {
		return len(k.list)
	}
	return k.tree.Len()
}

// Add adds a key; one that is there already stays.
func (k *Keys) Add(key string) {
	if k.tree != nil {
		k.tree.ReplaceOrInsert(key)
		return
	}
	at, there := slices.BinarySearch(k.list, key)
	if there {
		return
	}
	if k.list = slices.Insert(k.list, at, key); len(k.list) <= few {
		return
	}
	k.tree = btree.NewWithFreeList(few, btree.Less[string](), noNodes)
	for _, key := range k.list {
		k.tree.ReplaceOrInsert(key)
	}
	k.list = nil
}

// Remove removes a key if it is there.
func (k *Keys) Remove(key string) {
	if k.tree != nil {
		k.tree.Delete(key)
		return
	}
	if at, there := slices.BinarySearch(k.list, key); there {
		k.list = slices.Delete(k.list, at, at+1)
	}
}

// List returns the keys in order.
func (k *Keys) List() []string {
	if k.Len() == 0 {
		return nil
	}
	if k.tree == nil {
		return slices.Clone(k.list)
	}
	list := make([]string, 0, k.Len())
	k.tree.Ascend(func(key string) bool {
		list = append(list, key)
		return true
	})
	return list
}

// All walks the keys in order. They must not change meanwhile: see Clone.
func (k *Keys) All() iter.Seq[string] {
	if k.tree == nil {
		return slices.Values(k.list)
	}
	return func(yield func(string) bool) { k.tree.Ascend(yield) }
}

// Range walks the keys from one on, in order, and ends before another.
func (k *Keys) Range(from, before string) iter.Seq[string] {
	if k.tree == nil {
		first, _ := slices.BinarySearch(k.list, from)
		end, _ := slices.BinarySearch(k.list, before)
		return slices.Values(k.list[first:max(first, end)])
	}
	return func(yield func(string) bool) { k.tree.AscendRange(from, before, yield) }
}

// Clone returns the set as it is now. It costs little: trees share what neither
// changes. It counts as a change.
func (k *Keys) Clone() *Keys {
	if k.tree == nil {
		return &Keys{list: slices.Clone(k.list)}
	}
	return &Keys{tree: k.tree.Clone()}
}
