package validation

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// InternalForm is a value in the form in which messages show it where a real server prints its own types: they have the fields of the API's
// types, in the same order, but no tags for JSON, so that each field is shown, by the name that it has in Go.
// Upstream: pkg/apis/core types, v1.37.
type InternalForm struct{ Value any }

// MarshalJSON implements json.Marshaler.
func (f InternalForm) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	if err := writeInternal(&out, reflect.ValueOf(f.Value)); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// isInternal reports whether a type has a counterpart without tags: those of the API's groups do, the others' counterparts are themselves.
func isInternal(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && strings.HasPrefix(t.PkgPath(), "k8s.io/api/")
}

// shown returns a value as a message shows it: one that a real server has in a type of its own in that type's form.
func shown(value any) any {
	if value == nil {
		return nil
	}
	t := reflect.TypeOf(value)
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if isInternal(t) && t != reflect.TypeOf(InternalForm{}) {
		return InternalForm{Value: value}
	}
	return value
}

func writeInternal(out *bytes.Buffer, v reflect.Value) error {
	switch t := v.Type(); {
	case t.Kind() == reflect.Pointer && (isInternal(t.Elem())):
		if v.IsNil() {
			out.WriteString("null")
			return nil
		}
		return writeInternal(out, v.Elem())
	case t.Kind() == reflect.Slice && holdsInternal(t.Elem()):
		if v.IsNil() {
			out.WriteString("null")
			return nil
		}
		out.WriteByte('[')
		for i := range v.Len() {
			if i > 0 {
				out.WriteByte(',')
			}
			if err := writeInternal(out, v.Index(i)); err != nil {
				return err
			}
		}
		out.WriteByte(']')
		return nil
	case isInternal(t):
		out.WriteByte('{')
		if err := writeFields(out, v, true); err != nil {
			return err
		}
		out.WriteByte('}')
		return nil
	}
	text, err := json.Marshal(v.Interface())
	out.Write(text)
	return err
}

func holdsInternal(t reflect.Type) bool {
	return isInternal(t) || t.Kind() == reflect.Pointer && isInternal(t.Elem())
}

// writeFields writes the fields of a struct, those of embedded ones among them.
func writeFields(out *bytes.Buffer, v reflect.Value, first bool) error {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.Type == reflect.TypeFor[metav1.TypeMeta]() {
			continue // it is empty inside a server
		}
		if f.Anonymous && !isInternal(f.Type) { // metadata, which keep their tags
			text, err := json.Marshal(v.Field(i).Interface())
			if err != nil {
				return err
			}
			if inner := bytes.TrimSuffix(bytes.TrimPrefix(text, []byte("{")), []byte("}")); len(inner) > 0 {
				separate(out, &first)
				out.Write(inner)
			}
			continue
		}
		if f.Anonymous {
			before := out.Len()
			if err := writeFields(out, v.Field(i), first); err != nil {
				return err
			}
			first = first && out.Len() == before
			continue
		}
		separate(out, &first)
		out.WriteString(`"` + f.Name + `":`)
		if err := writeInternal(out, v.Field(i)); err != nil {
			return err
		}
	}
	return nil
}

func separate(out *bytes.Buffer, first *bool) {
	if !*first {
		out.WriteByte(',')
	}
	*first = false
}
