package api

import (
	"bytes"
	"reflect"
	"slices"
)

// itemPatch is an item of a list in a patch.
type itemPatch struct {
	key    string
	text   []byte
	fields []fieldPatch
}

// mergeList merges the items of the patch into those of the list that have the same key. It
// is not done where the lists are unusual: with a key twice or none, directives about
// an item, or an order that does not fit.
// Upstream: apimachinery util/strategicpatch mergeSlice and mergePatchIntoOriginal, v0.36.
func (p fieldPatch) mergeList(list reflect.Value) (done bool, err error) {
	t := list.Type().Elem()
	key := fieldsOf(t)[p.key].index
	items, ok := readItems(t, p.key, p.value)
	if !ok || len(items) == 0 {
		return false, nil
	}
	order := items
	if p.order != nil {
		if order, ok = readItems(t, p.key, p.order); !ok || !isInOrder(items, order) {
			return false, nil
		}
	}
	before := make([]string, 0, list.Len()) // keys
	for i := range list.Len() {
		name := list.Index(i).Field(key).String()
		if name == "" || slices.Contains(before, name) {
			return false, nil
		}
		before = append(before, name)
	}
	merged := make(map[string]reflect.Value, len(before)+len(items))
	for i, name := range before {
		merged[name] = list.Index(i)
	}
	for _, item := range items {
		if _, ok := merged[item.key]; !ok {
			if merged[item.key] = reflect.New(t).Elem(); !item.canBeNew() {
				return false, nil
			}
		}
	}
	for _, item := range items {
		if err := mergeFields(merged[item.key], item.fields); err != nil {
			return false, err
		}
	}
	outcome := reflect.MakeSlice(list.Type(), 0, len(merged))
	for _, name := range mergedOrder(before, order) {
		if item, ok := merged[name]; ok {
			outcome = reflect.Append(outcome, item)
		}
	}
	list.Set(outcome)
	return true, nil
}

// readItems are the items of a list in a patch. They must have keys that are texts and that
// differ.
func readItems(t reflect.Type, key string, text []byte) (items []itemPatch, ok bool) {
	ok = jsonItems(text, func(text []byte) bool {
		fields, ok := readPatch(t, text)
		at := slices.IndexFunc(fields, func(p fieldPatch) bool { return p.name == key })
		if !ok || at < 0 || !isPlain(fields[at].value) {
			return false
		}
		value := fields[at].value
		item := itemPatch{string(value[1 : len(value)-1]), text, fields}
		if item.key == "" || slices.ContainsFunc(items, func(other itemPatch) bool { return other.key == item.key }) {
			return false
		}
		items = append(items, item)
		return true
	})
	return items, ok
}

// canBeNew says whether an item that is not in the list yet is what the patch says of its
// fields: without directives, and without nulls but for whole fields.
func (item itemPatch) canBeNew() bool {
	return !bytes.Contains(item.text, []byte(`"$`)) && !slices.ContainsFunc(item.fields, func(p fieldPatch) bool {
		return !isNull(p.value) && bytes.Contains(p.value, []byte("null"))
	})
}

// isInOrder says whether order has all of the items, and in the same order.
func isInOrder(items, order []itemPatch) bool {
	next := 0
	for _, item := range order {
		if next < len(items) && items[next].key == item.key {
			next++
		}
	}
	return next == len(items)
}

// mergedOrder is the keys of both lists: those of order as they are there, and between them
// those that only before has, each in front of the keys that followed it.
// Upstream: apimachinery util/strategicpatch normalizeElementOrder and mergeSortedSlice,
// v0.36.
func mergedOrder(before []string, order []itemPatch) []string {
	var keys []string
	position := func(key string) int { return slices.Index(before, key) }
	left := slices.DeleteFunc(slices.Clone(before), func(key string) bool {
		return slices.ContainsFunc(order, func(item itemPatch) bool { return item.key == key })
	})
	for _, item := range order {
		for len(left) > 0 && position(item.key) >= 0 && position(left[0]) < position(item.key) {
			keys, left = append(keys, left[0]), left[1:]
		}
		keys = append(keys, item.key)
	}
	return append(keys, left...)
}

// replaceList gives the field the list of structs that the text has. There are no nulls and
// no directives in it.
func replaceList(field reflect.Value, text []byte) bool {
	outcome := reflect.MakeSlice(field.Type(), 0, 0)
	ok := jsonItems(text, func(item []byte) bool {
		made := reflect.New(field.Type().Elem()).Elem()
		if item[0] != '{' {
			return false
		}
		done, err := mergeStruct(made, item)
		if done = done && err == nil; done {
			outcome = reflect.Append(outcome, made)
		}
		return done
	})
	if ok {
		field.Set(outcome)
	}
	return ok
}
