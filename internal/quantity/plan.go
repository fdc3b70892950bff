package quantity

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// plan says where the quantities of a Go type are. A type without quantities has no
// plan, so that a check skips it.
type plan struct {
	kind   planKind
	fields []field
	elem   *plan // of a pointer, a list or a mapping
}

type planKind int

const (
	single    planKind = iota // a Quantity
	resources                 // a v1.ResourceList
	structure
	pointer
	list
	mapping
)

// field is a field of a struct that has quantities. An inlined one has no name.
type field struct {
	index int
	name  string
	plan  *plan
}

// plans are made when they are first needed, by type.
var plans sync.Map

func planOf(t reflect.Type) *plan {
	if p, ok := plans.Load(t); ok {
		return p.(*plan)
	}
	p := build(t, map[reflect.Type]bool{})
	plans.Store(t, p)
	return p
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// build makes the plan of a type. inside has the types that it is part of: a type
// inside itself has no more quantities than the outer one.
func build(t reflect.Type, inside map[reflect.Type]bool) *plan {
	switch {
	case t == reflect.TypeFor[resource.Quantity]():
		return &plan{kind: single}
	case t == reflect.TypeFor[v1.ResourceList]():
		return &plan{kind: resources, elem: &plan{kind: single}}
	case inside[t] || reflect.PointerTo(t).Implements(unmarshaler):
		return nil
	}
	inside[t] = true
	defer delete(inside, t)
	switch t.Kind() {
	case reflect.Struct:
		return buildStruct(t, inside)
	case reflect.Pointer:
		return around(pointer, t, inside)
	case reflect.Slice:
		return around(list, t, inside)
	case reflect.Map:
		return around(mapping, t, inside)
	}
	return nil
}

func around(kind planKind, t reflect.Type, inside map[reflect.Type]bool) *plan {
	elem := build(t.Elem(), inside)
	if elem == nil {
		return nil
	}
	return &plan{kind: kind, elem: elem}
}

func buildStruct(t reflect.Type, inside map[reflect.Type]bool) *plan {
	p := &plan{kind: structure}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" {
			continue
		}
		if name == "" && !f.Anonymous && !strings.Contains(options, "inline") {
			name = f.Name
		}
		if inner := build(f.Type, inside); inner != nil {
			p.fields = append(p.fields, field{i, name, inner})
		}
	}
	if p.fields == nil {
		return nil
	}
	return p
}
