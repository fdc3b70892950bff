package apiserver

import (
	_ "embed"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// objectsText has the objects whose fields are changed.
//
//go:embed testdata/objects.yaml
var objectsText string

// objects returns the valid objects of which the requests are made.
func objects() (list []*unstructured.Unstructured, err error) {
	for document := range strings.SplitSeq(objectsText, "\n---\n") {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &u.Object); err != nil {
			return nil, fmt.Errorf("%w in\n%s", err, document)
		}
		list = append(list, u)
	}
	return list, nil
}

// change is an object in which one field was changed.
type change struct {
	// what names the field and the value.
	what  string
	base  map[string]any
	path  []any
	value any
	// and is a change of another field that is made after it, nil for one alone.
	and *change
}

// absent is the value of a field that is removed.
type absent struct{}

// object returns the changed object.
func (c *change) object() map[string]any {
	out := runtime.DeepCopyJSON(c.base)
	set(out, c.path, c.value)
	if c.and != nil {
		set(out, c.and.path, c.and.value)
	}
	return out
}

// changer makes changes of objects.
type changer struct {
	*catalogue
	list []change
	// depth limits how many objects that are not there are put into one another.
	depth int
}

// changes returns the object with each field below the given ones changed in each way. At most limit of them are chosen, by the seed, and
// beside them pairs of two changes at once.
func (c *catalogue) changes(object map[string]any, s *shape, fields []string, limit, pairs int, seed uint64) []change {
	g := &changer{catalogue: c, depth: 4}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if slices.Contains(fields, name) {
			g.field(object, []any{name}, s.Properties[name], g.depth)
		}
	}
	random, list := rand.New(rand.NewPCG(seed, 1)), g.list
	if len(g.list) > limit {
		chosen := random.Perm(len(g.list))[:limit]
		slices.Sort(chosen)
		list = make([]change, limit)
		for i, at := range chosen {
			list[i] = g.list[at]
		}
	}
	list = slices.Clip(list)
	for range pairs {
		one, other := g.list[random.IntN(len(g.list))], g.list[random.IntN(len(g.list))]
		one.and = &other
		one.what += " and " + other.what
		list = append(list, one)
	}
	return list
}

// add adds a change.
func (g *changer) add(base map[string]any, path []any, value any) {
	g.list = append(g.list, change{what: pathText(path) + "=" + valueText(value), base: base, path: slices.Clone(path), value: value})
}

// field changes a field in each way.
func (g *changer) field(base map[string]any, path []any, s *shape, depth int) {
	s = g.of(s)
	value, there := get(base, path)
	if there {
		g.add(base, path, absent{})
	} else {
		if depth == 0 || s.is("ManagedFieldsEntry") {
			return
		}
		value = g.fill(s, fmt.Sprint(path[len(path)-1]), 0)
		base = runtime.DeepCopyJSON(base)
		set(base, path, value)
		g.add(base, path, value)
		if depth--; s.is(endless) || g.of(s.Items).is(endless) || g.of(s.Values).is(endless) {
			return
		}
	}
	g.inside(base, path, s, value, depth)
}

// endless is the type that holds itself.
const endless = "JSONSchemaProps"

// inside adds changes of the value that base has at path: other values of its type, wrong ones, and changes of its parts.
func (g *changer) inside(base map[string]any, path []any, s *shape, value any, depth int) {
	name := strings.ToLower(fmt.Sprint(path[len(path)-1]))
	each := func(values ...any) {
		for _, v := range values {
			g.add(base, path, v)
		}
	}
	switch {
	case s.is("Quantity"):
		each("0", "-1", "1", "1.5", "100m", "3000Ti", "x", "", int64(5))
	case s.is("IntOrString"):
		each(int64(0), int64(-1), int64(1), int64(70000), "0%", "50%", "101%", "-1%", "x", "", "Bad_Port", strings.Repeat("a", 16))
	case s.Type == "string":
		g.text(name, s, each)
	case s.Type == "integer", s.Type == "number":
		each(int64(0), int64(-1), int64(1), int64(70000), int64(3000000000), "x", 1.5)
	case s.Type == "boolean":
		each(true, false, "x")
	case s.Type == "array":
		list, _ := value.([]any)
		each([]any{}, "x")
		if len(list) == 0 {
			list = []any{g.fill(g.of(s.Items), name, 0)}
			base = runtime.DeepCopyJSON(base)
			set(base, path, list)
		}
		g.add(base, path, append(slices.Clone(list), list[0]))
		for i, item := range list {
			g.inside(base, append(slices.Clone(path), i), g.of(s.Items), item, depth)
		}
	case s.Values != nil:
		m, _ := value.(map[string]any)
		each(map[string]any{}, "x")
		filled := g.fill(g.of(s.Values), "value", 0)
		for _, key := range []string{"", "k", "Bad key!", "a/b/c", "example.com/k", "-a", strings.Repeat("k", 64)} {
			with := maps.Clone(m)
			if with == nil {
				with = map[string]any{}
			}
			with[key] = filled
			g.add(base, path, with)
		}
		for _, key := range slices.Sorted(maps.Keys(m)) {
			g.inside(base, append(slices.Clone(path), key), g.of(s.Values), m[key], depth)
		}
	default:
		each(map[string]any{}, "x")
		g.members(base, path, s, depth)
	}
}

// members changes each field of an object. A member of a union is tried in place of the others and beside them.
func (g *changer) members(base map[string]any, path []any, s *shape, depth int) {
	union := g.union(s)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if name == "managedFields" {
			continue
		}
		at := append(slices.Clone(path), name)
		if _, there := get(base, at); !there && slices.Contains(union, name) {
			g.add(base, at, g.fill(g.of(s.Properties[name]), name, 0)) // beside the other
			alone := runtime.DeepCopyJSON(base)
			for _, other := range union {
				set(alone, append(slices.Clone(path), other), absent{})
			}
			g.field(alone, at, s.Properties[name], depth)
			continue
		}
		g.field(base, at, s.Properties[name], depth)
	}
}

// unions lists, for types of whose fields one is set, the fields that are not of these.
var unions = map[string][]string{
	"Volume": {"name"}, "PersistentVolumeSpec": {
		"accessModes", "capacity", "claimRef", "mountOptions", "nodeAffinity", "persistentVolumeReclaimPolicy",
		"storageClassName", "volumeAttributesClassName", "volumeMode",
	},
	"VolumeProjection": {}, "LifecycleHandler": {}, "EnvVarSource": {}, "VolumeAttachmentSource": {}, "DeviceAttribute": {},
	"Probe": {
		"failureThreshold", "initialDelaySeconds", "periodSeconds", "successThreshold", "terminationGracePeriodSeconds",
		"timeoutSeconds",
	},
	"MetricSpec": {"type"},
}

func (g *changer) union(s *shape) (members []string) {
	others, ok := unions[s.name[strings.LastIndex(s.name, ".")+1:]]
	if !ok {
		return nil
	}
	for name := range s.Properties {
		if !slices.Contains(others, name) {
			members = append(members, name)
		}
	}
	return members
}

// text changes a string.
func (g *changer) text(name string, s *shape, each func(...any)) {
	switch {
	case s.Format == "date-time":
		each("2026-01-02T00:00:00Z", "2026-01-02T00:00:00.123456Z", "x", "")
		return
	case s.Format == "byte":
		each("", "AAA=", "!", "e30=")
		return
	case len(s.Enum) > 0:
		each(s.Enum...)
		each("Bogus", "")
		return
	}
	each("", "b", "Bad_Name!", "a.b", "a/b", strings.Repeat("a", 64), strings.Repeat("a", 260), int64(1))
	switch {
	case strings.Contains(name, "path"):
		each("/a", "../a", "/a/../b", "/a:b")
	case strings.Contains(name, "ip"), strings.Contains(name, "cidr"), strings.Contains(name, "addresses"), strings.Contains(name, "nameservers"),
		strings.Contains(name, "ranges"):
		each("1.2.3.4", "::1", "010.0.0.1", "10.0.0.0/8", "10.0.0.1/8", "fd00::/64", "10.0.0.0/33")
	case strings.Contains(name, "finalizers"):
		each("example.com/f", "foregroundDeletion")
	}
}

// fill returns a value that is as small as the server's documents allow.
func (g *changer) fill(s *shape, name string, depth int) any {
	switch {
	case depth > 8:
		return map[string]any{}
	case s.is("Quantity"):
		return "1"
	case s.is("IntOrString"):
		return int64(1)
	case s.Format == "date-time":
		if s.is("MicroTime") {
			return "2026-01-01T00:00:00.000000Z"
		}
		return "2026-01-01T00:00:00Z"
	case s.Format == "byte":
		return "AAA="
	case len(s.Enum) > 0:
		return s.Enum[0]
	case s.Type == "string":
		return word(name)
	case s.Type == "integer", s.Type == "number":
		return int64(1)
	case s.Type == "boolean":
		return true
	case s.Type == "array":
		return []any{g.fill(g.of(s.Items), name, depth+1)}
	case s.Values != nil:
		return map[string]any{"k": g.fill(g.of(s.Values), "value", depth+1)}
	}
	object := map[string]any{}
	for _, field := range s.Required {
		object[field] = g.fill(g.of(s.Properties[field]), field, depth+1)
	}
	if union := g.union(s); len(union) > 0 {
		first := slices.Min(union)
		object[first] = g.fill(g.of(s.Properties[first]), first, depth+1)
	}
	return object
}

// word returns a good text for a field of a name, as far as a name tells.
func word(name string) string {
	switch low := strings.ToLower(name); {
	case low == "apiversion":
		return "v1"
	case low == "kind":
		return "Pod"
	case low == "uid":
		return "5a0cbb0c-0000-0000-0000-000000000001"
	case low == "fieldpath":
		return "metadata.name"
	case low == "resource":
		return "limits.cpu"
	case low == "path", low == "relativepath", low == "key":
		return "p"
	case strings.HasSuffix(low, "path"):
		return "/p"
	case strings.HasSuffix(low, "cidr"), strings.HasSuffix(low, "cidrs"), strings.HasSuffix(low, "ranges"):
		return "10.1.0.0/16"
	case low == "ip", strings.HasSuffix(low, "ips"), low == "nameservers", low == "addresses":
		return "1.1.1.1"
	case low == "finalizers":
		return "example.com/f"
	case low == "driver":
		return "d.example.com"
	case low == "topologykey":
		return "z"
	case low == "signername":
		return "a.example.com/s"
	}
	return "a"
}

// get returns what is at a path.
func get(value any, path []any) (any, bool) {
	for _, step := range path {
		switch at := step.(type) {
		case string:
			m, _ := value.(map[string]any)
			v, ok := m[at]
			if !ok {
				return nil, false
			}
			value = v
		case int:
			list, _ := value.([]any)
			if at >= len(list) {
				return nil, false
			}
			value = list[at]
		}
	}
	return value, true
}

// set puts a value at a path, whose parents are there.
func set(object map[string]any, path []any, value any) {
	parent, _ := get(object, path[:len(path)-1])
	switch at := path[len(path)-1].(type) {
	case string:
		m, ok := parent.(map[string]any)
		if !ok {
			return
		}
		if value == (any)(absent{}) {
			delete(m, at)
			return
		}
		m[at] = runtime.DeepCopyJSONValue(value)
	case int:
		if list, ok := parent.([]any); ok && at < len(list) {
			list[at] = runtime.DeepCopyJSONValue(value)
		}
	}
}

func pathText(path []any) string {
	var out strings.Builder
	for _, step := range path {
		switch at := step.(type) {
		case string:
			if out.Len() > 0 {
				out.WriteByte('.')
			}
			out.WriteString(at)
		case int:
			fmt.Fprintf(&out, "[%d]", at)
		}
	}
	return out.String()
}

func valueText(value any) string {
	switch v := value.(type) {
	case absent:
		return "absent"
	case string:
		if len(v) > 30 {
			return fmt.Sprintf("%q...(%d)", v[:8], len(v))
		}
		return fmt.Sprintf("%q", v)
	}
	text := fmt.Sprint(value)
	if len(text) > 60 {
		text = text[:60] + "..."
	}
	return text
}
