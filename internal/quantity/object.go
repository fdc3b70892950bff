package quantity

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Error is a quantity that was refused.
type Error struct {
	// Field is its path, "spec.resources.requests[storage]".
	Field string
	// Value is the quantity as it was given, or its beginning.
	Value string
	// Problem says what is allowed.
	Problem string
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%s: %q: %s", e.Field, e.Value, e.Problem) }

// in returns the error, found inside a field, an item ("[0]") or an inlined struct ("").
func (e *Error) in(outer string) *Error {
	switch {
	case e == nil || outer == "":
	case e.Field == "" || e.Field[0] == '[':
		e.Field = outer + e.Field
	default:
		e.Field = outer + "." + e.Field
	}
	return e
}

// CheckObject finds a quantity of an API object (a pointer to a struct) that is too
// expensive to compute with; nil if there is none. It takes well under a microsecond for an
// object of the storage plane.
func CheckObject(obj any) *Error {
	v := reflect.ValueOf(obj)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return nil
	}
	p := planOf(v.Type().Elem())
	if p == nil {
		return nil
	}
	return p.object(v.Elem())
}

// object checks a value that can be addressed.
func (p *plan) object(v reflect.Value) *Error {
	switch p.kind {
	case single:
		return problemOf(v.Addr().Interface().(*resource.Quantity))
	case resources:
		return checkResources(*v.Addr().Interface().(*v1.ResourceList))
	case structure:
		for _, f := range p.fields {
			if err := f.plan.object(v.Field(f.index)); err != nil {
				return err.in(f.name)
			}
		}
	case pointer:
		if !v.IsNil() {
			return p.elem.object(v.Elem())
		}
	case list:
		for i := range v.Len() {
			if err := p.elem.object(v.Index(i)); err != nil {
				return err.in(fmt.Sprintf("[%d]", i))
			}
		}
	case mapping:
		return p.values(v)
	}
	return nil
}

func problemOf(q *resource.Quantity) *Error {
	if err := checkParsed(q); err != nil {
		return &Error{Value: shown(q), Problem: err.Error()}
	}
	return nil
}

// checkResources finds the first refused quantity in order of name.
func checkResources(list v1.ResourceList) (first *Error) {
	if len(list) == 0 {
		return nil
	}
	var found v1.ResourceName
	for name, q := range list {
		if ordinary(&q) { // q itself then need not be on the heap
			continue
		}
		suspect := q
		if err := problemOf(&suspect); err != nil && (first == nil || name < found) {
			first, found = err, name
		}
	}
	if first == nil {
		return nil
	}
	return first.in("[" + string(found) + "]")
}

// values checks the values of a map in the order of its keys. Values of maps are not addressable, so it checks copies.
func (p *plan) values(v reflect.Value) *Error {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) })
	for _, key := range keys {
		value := reflect.New(v.Type().Elem()).Elem()
		value.Set(v.MapIndex(key))
		if err := p.elem.object(value); err != nil {
			return err.in("[" + key.String() + "]")
		}
	}
	return nil
}
