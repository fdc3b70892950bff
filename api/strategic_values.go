package api

import (
	"bytes"
	"reflect"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"
)

// fieldPatch is what a patch says of one field of a struct: pieces of the patch's JSON.
type fieldPatch struct {
	*structField
	value  []byte // nil if the patch has only the directives
	order  []byte // $setElementOrder, nil if there is none
	remove []byte // $deleteFromPrimitiveList, nil if there is none
}

const (
	orderDirective  = "$setElementOrder/"
	removeDirective = "$deleteFromPrimitiveList/"
)

// readPatch is what the text of an object, which must be valid JSON, says of the fields of a
// struct of type t. It is not ok if the text says anything of something else, or the same
// thing twice.
func readPatch(t reflect.Type, text []byte) (patch []fieldPatch, ok bool) {
	fields := fieldsOf(t)
	patch = make([]fieldPatch, 0, min(len(fields), 1+bytes.Count(text, []byte(","))))
	ok = jsonMembers(text, func(name, value []byte) bool {
		place := func(p *fieldPatch) *[]byte { return &p.value }
		if after, ok := bytes.CutPrefix(name, []byte(orderDirective)); ok {
			name, place = after, func(p *fieldPatch) *[]byte { return &p.order }
		} else if after, ok := bytes.CutPrefix(name, []byte(removeDirective)); ok {
			name, place = after, func(p *fieldPatch) *[]byte { return &p.remove }
		}
		field, known := fields[string(name)]
		if !known {
			return false
		}
		i := slices.IndexFunc(patch, func(p fieldPatch) bool { return p.index == field.index })
		if i < 0 {
			i, patch = len(patch), append(patch, fieldPatch{structField: field})
		}
		at := place(&patch[i])
		if *at != nil {
			return false
		}
		*at = value
		return true
	})
	return patch, ok
}

// addTo puts what the patch says of the field into a patch of maps.
func (p fieldPatch) addTo(tree map[string]any) error {
	for key, text := range map[string][]byte{p.name: p.value, orderDirective + p.name: p.order, removeDirective + p.name: p.remove} {
		if text == nil {
			continue
		}
		var value any
		if err := kjson.UnmarshalCaseSensitivePreserveInts(text, &value); err != nil {
			return err
		}
		tree[key] = value
	}
	return nil
}

// merge gives a field what the patch says of it, if that takes no conversion to maps. If it is
// not done, the field is as it was; after an error part of it may be changed.
func (p fieldPatch) merge(field reflect.Value) (done bool, err error) {
	switch {
	case p.value == nil || p.remove != nil:
	case p.null && field.Kind() == reflect.Slice && field.IsNil():
	case p.way == byKey && p.value[0] == '[':
		return p.mergeList(field)
	case p.order != nil:
	case isNull(p.value):
		field.SetZero()
		return true, nil
	case p.way == byField && p.value[0] == '{':
		return mergeStruct(field, p.value)
	case p.way == byTexts && p.value[0] == '{':
		return mergeTexts(field, p.value), nil
	case p.way == byReplacing && p.value[0] != '{', p.way == byReplacingText && p.value[0] == '"',
		p.way == byReplacingList && p.value[0] == '[' && !bytes.Contains(p.value, []byte(`"$`)) && !bytes.Contains(p.value, []byte("null")):
		return replace(field, p.value), nil // the conversion of maps allows more
	}
	return false, nil
}

func isNull(value []byte) bool { return string(value) == "null" }

// mergeStruct changes the fields of a struct, or of one that is pointed to, that the text
// names.
func mergeStruct(field reflect.Value, text []byte) (done bool, err error) {
	if field.Kind() == reflect.Pointer {
		if !field.IsNil() {
			return mergeStruct(field.Elem(), text)
		}
		if bytes.Contains(text, []byte(`"$`)) { // a directive may mean something else where there is nothing
			return false, nil
		}
		made := reflect.New(field.Type().Elem())
		if done, err = mergeStruct(made.Elem(), text); done && err == nil {
			field.Set(made)
		}
		return done, err
	}
	patch, ok := readPatch(field.Type(), text)
	if !ok {
		return false, nil
	}
	return true, mergeFields(field, patch)
}

// replace gives the field the value that the text has, if it is strictly one of the
// field's type.
func replace(field reflect.Value, text []byte) bool {
	switch {
	case field.Kind() == reflect.String && isPlain(text):
		field.SetString(string(text[1 : len(text)-1]))
	case field.Kind() == reflect.Bool && string(text) == "true":
		field.SetBool(true)
	case field.Kind() == reflect.Bool && string(text) == "false":
		field.SetBool(false)
	case field.Type() == reflect.TypeFor[metav1.Time]() && isPlain(text):
		moment, err := time.Parse(time.RFC3339, string(text[1:len(text)-1]))
		if err != nil {
			return false
		}
		*field.Addr().Interface().(*metav1.Time) = metav1.Time{Time: moment.Local()}
	case field.Kind() == reflect.Pointer:
		made := reflect.New(field.Type().Elem())
		if !replace(made.Elem(), text) {
			return false
		}
		field.Set(made)
	case field.Kind() == reflect.Slice && field.Type().Elem().Kind() == reflect.Struct:
		return replaceList(field, text)
	default:
		return decodeInto(field, text)
	}
	return true
}
