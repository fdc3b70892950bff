package gaps

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Gap is an entry of the register: fields that a cluster acts on and the simulation does not.
type Gap struct {
	// Kinds lists the kinds that have the fields.
	Kinds []string
	// Fields holds paths of JSON names from the top of the object. Items of lists have no element in
	// a path, keys of maps have. An entry without fields is about the whole kind.
	Fields []string
	// Unless lists values of the fields that ask for nothing, such as the defaults.
	Unless []string
	// Images narrows an entry about images to these: the last part of a name, without tag and digest.
	Images []string
	// Quiet leaves the entry to an event that says it where it matters: no object uses it.
	Quiet bool
	// Cluster says what a cluster does, as the rest of a sentence that begins with "a cluster".
	Cluster string
	// Here says what happens here, as the rest of a sentence that begins with "here".
	Here string
}

// Sentence returns what a cluster does and what happens here.
func (g *Gap) Sentence() string { return "a cluster " + g.Cluster + "; here " + g.Here }

// Use is an entry that an object uses.
type Use struct {
	*Gap
	// Paths holds the fields that are set, with the names of list items:
	// "spec.containers[web].livenessProbe". It is empty if the entry is about the whole kind.
	Paths []string
}

// templates holds, for each kind that has a template of pods, the field with the template.
var templates = map[string]string{
	"StatefulSet": "spec.template", "Deployment": "spec.template", "DaemonSet": "spec.template", "ReplicaSet": "spec.template",
	"ReplicationController": "spec.template", "Job": "spec.template", "CronJob": "spec.jobTemplate.spec.template", "PodTemplate": "template",
}

// HasTemplate reports whether objects of a kind are made with the template of a pod in them. What
// holds for the template holds for the pods that a controller makes of it.
func HasTemplate(kind string) bool { return templates[kind] != "" }

// Of returns the entries that an object uses, in the order of the register. obj is a pointer to a
// struct of k8s.io/api; objects of other types have no entries, also if their kind has the same name.
// An entry about the whole kind stands alone.
func Of(kind string, obj any) []Use {
	root := roots()[kind]
	if root == nil || !strings.HasPrefix(reflect.Indirect(reflect.ValueOf(obj)).Type().PkgPath(), "k8s.io/api/") {
		return nil
	}
	if len(root.gaps) > 0 {
		return []Use{{Gap: root.gaps[0]}}
	}
	var f finder
	f.find(reflect.ValueOf(obj), root)
	slices.SortStableFunc(f.uses, func(a, b Use) int { return cmp.Compare(slices.Index(register, a.Gap), slices.Index(register, b.Gap)) })
	return f.uses
}

// node is a field on the way to the fields of entries.
type node struct {
	name  string
	below []*node
	gaps  []*Gap // about this very field
}

func (n *node) child(name string) *node {
	for _, c := range n.below {
		if c.name == name {
			return c
		}
	}
	n.below = append(n.below, &node{name: name})
	return n.below[len(n.below)-1]
}

// roots returns the fields of all entries by kind.
var roots = sync.OnceValue(func() map[string]*node {
	all := map[string]*node{}
	add := func(kind, path string, g *Gap) {
		if all[kind] == nil {
			all[kind] = &node{}
		}
		n := all[kind]
		for name := range strings.SplitSeq(path, ".") {
			if name != "" {
				n = n.child(name)
			}
		}
		n.gaps = append(n.gaps, g)
	}
	for _, g := range register {
		if g.Quiet {
			continue
		}
		for _, kind := range g.Kinds {
			if len(g.Fields) == 0 {
				add(kind, "", g)
			}
			for _, path := range g.Fields {
				add(kind, path, g)
				if kind == "Pod" {
					for of, at := range templates {
						add(of, at+"."+path, g)
					}
				}
			}
		}
	}
	return all
})

// finder collects the entries that an object uses.
type finder struct {
	uses []Use
	path []string // the way to the value that is looked at
}

// find looks at a value and the fields below it.
func (f *finder) find(v reflect.Value, n *node) {
	set := false // a pointer to zero is set, but one to an empty text is not
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return
		}
		v = v.Elem()
		set = v.Kind() != reflect.String
	}
	if !set && isZero(v) {
		return
	}
	for _, g := range n.gaps {
		if g.asks(v) {
			f.note(g)
		}
	}
	if len(n.below) == 0 {
		return
	}
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			f.below("["+nameOf(v.Index(i), i)+"]", v.Index(i), &node{below: n.below})
		}
	case reflect.Map:
		for _, c := range n.below {
			if item := v.MapIndex(reflect.ValueOf(c.name).Convert(v.Type().Key())); item.IsValid() {
				f.below(c.name, item, c)
			}
		}
	case reflect.Struct:
		for _, c := range n.below {
			if field, ok := fieldOf(v, c.name); ok {
				f.below(c.name, field, c)
			}
		}
	}
}

// below visits the value that has this name inside the present one.
func (f *finder) below(name string, v reflect.Value, n *node) {
	f.path = append(f.path, name)
	f.find(v, n)
	f.path = f.path[:len(f.path)-1]
}

// asks reports whether a value of one of the entry's fields asks for something.
func (g *Gap) asks(v reflect.Value) bool {
	if len(g.Images) > 0 {
		return slices.Contains(g.Images, imageOf(v.String()))
	}
	return len(g.Unless) == 0 || !slices.Contains(g.Unless, fmt.Sprint(v.Interface()))
}

// imageOf returns the last part of an image's name: "node-disk-manager" of "docker.io/openebs/node-disk-manager:1.8.0".
func imageOf(image string) string {
	image, _, _ = strings.Cut(image, "@")
	name, _, _ := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
	return name
}

func isZero(v reflect.Value) bool {
	if v.Kind() == reflect.Slice || v.Kind() == reflect.Map {
		return v.Len() == 0
	}
	return v.IsZero()
}

func (f *finder) note(g *Gap) {
	path := strings.ReplaceAll(strings.Join(f.path, "."), ".[", "[")
	for i := range f.uses {
		if f.uses[i].Gap == g {
			f.uses[i].Paths = append(f.uses[i].Paths, path)
			return
		}
	}
	f.uses = append(f.uses, Use{Gap: g, Paths: []string{path}})
}

// nameOf returns the name of a list's item, or its index if it has none.
func nameOf(item reflect.Value, i int) string {
	if item.Kind() == reflect.Struct {
		if name, ok := fieldOf(item, "name"); ok && name.String() != "" {
			return name.String()
		}
	}
	return strconv.Itoa(i)
}

// fieldOf returns the field of a struct that has a JSON name.
func fieldOf(v reflect.Value, name string) (reflect.Value, bool) {
	index, ok := indexOf(v.Type(), name)
	if !ok {
		return reflect.Value{}, false
	}
	return v.FieldByIndex(index), true
}

// indexes keeps the answers of findIndex by fieldKey: a pod has few fields that matter, but there are
// many pods.
var indexes sync.Map

type fieldKey struct {
	of   reflect.Type
	name string
}

func indexOf(t reflect.Type, name string) ([]int, bool) {
	key := fieldKey{t, name}
	if known, ok := indexes.Load(key); ok {
		return known.([]int), known.([]int) != nil
	}
	index := findIndex(t, name)
	indexes.Store(key, index)
	return index, index != nil
}

// findIndex returns the index of the field with a JSON name, also in embedded structs; nil if there
// is none.
func findIndex(t reflect.Type, name string) []int {
	for i := range t.NumField() {
		field := t.Field(i)
		tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case tag == name:
			return []int{i}
		case tag == "" && field.Anonymous && field.Type.Kind() == reflect.Struct:
			if below := findIndex(field.Type, name); below != nil {
				return append([]int{i}, below...)
			}
		}
	}
	return nil
}
