package registry

import (
	"reflect"
	"strings"
	"sync"
)

// Objects of Kubernetes' own kinds are stored as protobuf, which does not tell an empty list from none: a list that JSON always shows
// comes back as null. Bytes in a map that are null come back as empty.

// bareLists says where in a struct lists are that JSON always shows.
type bareLists struct{ fields []bareField }

// bareField is a field that is such a list, or has some in it.
type bareField struct {
	index int
	bare  bool
	bytes bool       // it is a map of bytes
	in    *bareLists // of the struct, or of the elements; nil if there is nothing to do in it
}

var knownBare sync.Map // reflect.Type to *bareLists, nil where there are none; filled when needed

// bareLists returns where in the objects such lists are, nil if there are none.
func (k *Entry) bareLists() *bareLists {
	if !k.protobuf {
		return nil
	}
	return bareListsOf(k.Type)
}

// bareListsOf returns where in a struct of type t such lists are, nil if there are none.
func bareListsOf(t reflect.Type) *bareLists {
	if known, ok := knownBare.Load(t); ok {
		return known.(*bareLists)
	}
	found := findBareLists(t, map[reflect.Type]bool{})
	knownBare.Store(t, found)
	return found
}

// findBareLists does so without the types that are being looked at, which contain t.
func findBareLists(t reflect.Type, within map[reflect.Type]bool) *bareLists {
	if within[t] || t.PkgPath() == "" || !strings.HasPrefix(t.PkgPath(), "k8s.io/api/") {
		return nil
	}
	within[t] = true
	defer delete(within, t)
	var list bareLists
	for i := range t.NumField() {
		f := t.Field(i)
		one := bareField{index: i}
		at := f.Type
		one.bytes = at == reflect.TypeFor[map[string][]byte]()
		if at.Kind() == reflect.Slice {
			_, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			one.bare = at.Elem().Kind() != reflect.Uint8 && !strings.Contains(options, "omitempty") && !strings.Contains(options, "inline")
			at = at.Elem()
		}
		if at.Kind() == reflect.Pointer {
			at = at.Elem()
		}
		if at.Kind() == reflect.Struct {
			one.in = findBareLists(at, within)
		}
		if one.bare || one.bytes || one.in != nil {
			list.fields = append(list.fields, one)
		}
	}
	if len(list.fields) == 0 {
		return nil
	}
	return &list
}

// empty makes each such list that is empty none.
func (l *bareLists) empty(v reflect.Value) {
	for _, one := range l.fields {
		f := v.Field(one.index)
		switch f.Kind() {
		case reflect.Map:
			for _, key := range f.MapKeys() {
				if f.MapIndex(key).IsNil() {
					f.SetMapIndex(key, reflect.ValueOf([]byte{}))
				}
			}
		case reflect.Slice:
			if one.bare && f.Len() == 0 && !f.IsNil() {
				f.SetZero()
			}
			for i := 0; one.in != nil && i < f.Len(); i++ {
				one.in.emptyOf(f.Index(i))
			}
		default:
			one.in.emptyOf(f)
		}
	}
}

// emptyOf does that for a struct, or for one that is pointed to.
func (l *bareLists) emptyOf(v reflect.Value) {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return
		}
		v = v.Elem()
	}
	l.empty(v)
}
