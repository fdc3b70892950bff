package patch

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// sameErrors is a TypeConverter that finds the same errors in an object each time. The library goes through a map in Go's order, which differs from
// run to run, and stops at the first field that the schema does not have: with two such fields kube-apiserver names now one and now the other.
type sameErrors struct{ managedfields.TypeConverter }

// ObjectToTyped looks through an object with errors once more, with the keys of its maps in order.
func (c sameErrors) ObjectToTyped(obj runtime.Object, options ...typed.ValidationOptions) (*typed.TypedValue, error) {
	out, err := c.TypeConverter.ObjectToTyped(obj, options...)
	u, ok := obj.(*unstructured.Unstructured)
	if err == nil || !ok {
		return out, err
	}
	empty := &unstructured.Unstructured{Object: map[string]any{}}
	empty.SetGroupVersionKind(u.GroupVersionKind())
	kind, unknown := c.TypeConverter.ObjectToTyped(empty)
	if unknown != nil {
		return out, err
	}
	return typed.AsTyped(inOrder{value.NewValueInterface(u.Object)}, kind.Schema(), kind.TypeRef(), options...)
}

// inOrder is a value that iterates over the keys of maps in order.
type inOrder struct{ value.Value }

func (v inOrder) AsMap() value.Map { return mapInOrder{v.Value.AsMap()} }

func (v inOrder) AsMapUsing(value.Allocator) value.Map { return v.AsMap() }

func (v inOrder) AsList() value.List { return listInOrder{v.Value.AsList()} }

func (v inOrder) AsListUsing(value.Allocator) value.List { return v.AsList() }

// Format writes the value as if it were not wrapped: it is part of messages.
func (v inOrder) Format(f fmt.State, verb rune) { fmt.Fprintf(f, fmt.FormatString(f, verb), v.Value) }

type mapInOrder struct{ value.Map }

func (m mapInOrder) Iterate(visit func(key string, v value.Value) bool) bool {
	items := map[string]value.Value{}
	m.Map.Iterate(func(key string, v value.Value) bool {
		items[key] = value.NewValueInterface(v.Unstructured()) // v itself is used again for the next key
		return true
	})
	for _, key := range slices.Sorted(maps.Keys(items)) {
		if !visit(key, inOrder{items[key]}) {
			return false
		}
	}
	return true
}

func (m mapInOrder) IterateUsing(_ value.Allocator, visit func(key string, v value.Value) bool) bool {
	return m.Iterate(visit)
}

type listInOrder struct{ value.List }

func (l listInOrder) At(i int) value.Value { return inOrder{l.List.At(i)} }

func (l listInOrder) AtUsing(_ value.Allocator, i int) value.Value { return l.At(i) }
