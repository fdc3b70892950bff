// Package sorted keeps strings in order while they come and go: a hundred thousand
// of them as fast as a hundred.
package sorted

import (
	"iter"

	"k8s.io/utils/third_party/forked/golang/btree"
)

// degree is the number of children a node of the tree has at least: some thirty strings
// lie beside each other.
const degree = 32

// noNodes keeps no nodes for later: most trees are of one node, and a list of their own would be larger.
var noNodes = btree.NewFreeList[string](0)

// Keys is a set of strings. The zero value is an empty one. Any number may read it at
// once, but not while it changes.
type Keys struct {
	tree *btree.BTree[string] // nil until there is a key: most caches of most kinds stay empty
}

// Len returns the number of keys.
func (k *Keys) Len() int {
	if k.tree == nil {
		return 0
	}
	return k.tree.Len()
}

// Add adds a key; one that is there already stays.
func (k *Keys) Add(key string) {
	if k.tree == nil {
		k.tree = btree.NewWithFreeList(degree, btree.Less[string](), noNodes)
	}
	k.tree.ReplaceOrInsert(key)
}

// Remove removes a key if it is there.
func (k *Keys) Remove(key string) {
	if k.tree != nil {
		k.tree.Delete(key)
	}
}

// List returns the keys in order.
func (k *Keys) List() []string {
	if k.Len() == 0 {
		return nil
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
	return func(yield func(string) bool) {
		if k.tree != nil {
			k.tree.Ascend(yield)
		}
	}
}

// Range walks the keys from one on, in order, and ends before another.
func (k *Keys) Range(from, before string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if k.tree != nil {
			k.tree.AscendRange(from, before, yield)
		}
	}
}

// Clone returns the set as it is now. It costs next to nothing: both share what neither
// changes. It counts as a change.
func (k *Keys) Clone() *Keys {
	if k.tree == nil {
		return &Keys{}
	}
	return &Keys{k.tree.Clone()}
}
