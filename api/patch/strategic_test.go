package patch

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	kjson "sigs.k8s.io/json"

	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/registry"
	"github.com/storagesim/storagesim/internal/seedtest"
)

// patchOf returns the maker of a seed, what its patch is sent to, the object there, and the patch.
func patchOf(seed uint64) (*patchMaker, *Target, call.Object, []byte) {
	g := &patchMaker{rand.New(rand.NewPCG(seed, 5))}
	kind := g.kind()
	old, patch := g.object(kind), g.patch(kind)
	target := &Target{Kind: kind}
	if kind.Status.Exists() && g.chance(2) {
		target.Sub = "status"
	}
	return g, target, old, patch
}

// One seed is an object and a patch made for another object of its kind: with the orders,
// deletions and replacements that kubectl writes, and in half of the seeds spoilt by
// directives, nulls, unknown fields and values of the wrong type.
func TestAStrategicPatchGivesWhatTheLibraryGivesForTheWholeObject(t *testing.T) {
	var refused atomic.Int64
	tried := seedtest.Each(t, 300, func(t testing.TB, seed uint64) {
		_, target, old, patch := patchOf(seed)
		before, err := json.Marshal(old)
		require.NoError(t, err)

		got, err := target.strategicPatch(old, patch, nil)
		want, wantErr := byLibrary(target, old, patch)
		require.Equal(t, wantErr == nil, err == nil, "the library says %v, the server %v of %s", wantErr, err, patch)
		unchanged, _ := json.Marshal(old)
		require.Equal(t, string(before), string(unchanged), "the stored object was changed")
		if err != nil {
			refused.Add(1)
			return
		}
		if got := asJSON(target, old, got); !libraryGives(target, old, patch, got, want) {
			t.Fatalf("the patch %s gives %s, which should be %s", patch, got, want)
		}
	})
	require.LessOrEqual(t, int(refused.Load()), tried/2, "most patches can be applied")
}

// A patch of a seed as in the test above as values, some of them of their field's own type, does what it does as JSON.
func TestAPatchAsValuesDoesWhatItDoesAsJSON(t *testing.T) {
	var byValues, refused atomic.Int64
	tried := seedtest.Each(t, 1000, func(t testing.TB, seed uint64) {
		g, target, old, patch := patchOf(seed)
		var values map[string]any
		if kjson.UnmarshalCaseSensitivePreserveInts(patch, &values) != nil || values == nil {
			return // no component sends that
		}
		g.giveTypes(target.Kind.Type, values)
		data, err := json.Marshal(values)
		require.NoError(t, err)
		before, err := json.Marshal(old)
		require.NoError(t, err)

		if _, merged := target.strategicallyMerged(old, values, merger{typed: true}); merged {
			byValues.Add(1)
		}
		got, err := target.strategicPatch(old, nil, values)
		want, wantErr := target.strategicPatch(old, data, nil)
		require.Equal(t, wantErr == nil, err == nil, "as JSON: %v, as values: %v of %s", wantErr, err, data)
		unchanged, _ := json.Marshal(old)
		require.Equal(t, string(before), string(unchanged), "the stored object was changed")
		again, _ := json.Marshal(values)
		require.Equal(t, string(data), string(again), "the patch was changed")
		if err != nil {
			refused.Add(1)
			return
		}
		require.JSONEq(t, asJSON(target, old, want), asJSON(target, old, got), "%s", data)
	})
	require.Greater(t, int(byValues.Load()), tried/10, "many patches need no JSON")
	require.LessOrEqual(t, int(refused.Load()), tried/2, "most patches can be applied")
}

// giveTypes puts values of the fields' own types into a patch of a struct, where they say the same.
func (g *patchMaker) giveTypes(of reflect.Type, patch map[string]any) {
	for key, value := range patch {
		about, known := fieldsOf(of)[key]
		if !known {
			continue
		}
		t := of.Field(about.index).Type
		text, _ := json.Marshal(value)
		typed := reflect.New(t)
		special := t.Kind() == reflect.Map && !isPlain(value)
		if value != nil && !special && g.chance(2) && kjson.UnmarshalCaseSensitivePreserveInts(text, typed.Interface()) == nil {
			if again, _ := json.Marshal(typed.Interface()); string(again) == string(text) {
				patch[key] = typed.Elem().Interface()
				continue
			}
		}
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		switch value := value.(type) {
		case map[string]any:
			if t.Kind() == reflect.Struct {
				g.giveTypes(t, value)
			}
		case []any:
			for _, item := range value {
				if item, ok := item.(map[string]any); ok && t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct {
					g.giveTypes(t.Elem(), item)
				}
			}
		}
	}
}

// A patch that sets a list and takes items out of it has one outcome here, the one in
// which they are taken out last.
func TestItemsAreTakenOutOfAListLast(t *testing.T) {
	kinds := registry.New().Entries()
	at := slices.IndexFunc(kinds, func(k *registry.Entry) bool { return k.GVK.Kind == "ConfigMap" })
	target := &Target{Kind: kinds[at]}
	old := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Finalizers: []string{"a", "b"}}}
	for patch, want := range map[string][]string{
		`{"metadata":{"$deleteFromPrimitiveList/finalizers":["b","c"],"finalizers":["c","d"]}}`: {"d", "a"},
		`{"metadata":{"$deleteFromPrimitiveList/finalizers":null,"finalizers":["c","d"]}}`:      nil,
	} {
		for range 20 {
			got, err := target.strategicPatch(old, []byte(patch), nil)
			require.NoError(t, err)
			require.Equal(t, want, got.GetFinalizers(), patch)
		}
	}
}

// loud is a struct that JSON shows in another form.
type loud struct {
	A string `json:"a"`
}

func (l *loud) UnmarshalJSON(text []byte) error {
	l.A = strings.ToUpper(string(text))
	return nil
}

// No kind of Kubernetes has such fields, but those of other schemes may.
func TestFieldsThatJSONOmitsOrDecodesInTheirOwnWayAreMergedByTheLibrary(t *testing.T) {
	type deep struct {
		A string `json:"a"`
	}
	type inner struct {
		Deep deep `json:"deep"`
	}
	type outer struct {
		Inner inner `json:"inner,omitzero"`
		Word  loud  `json:"word"`
	}
	for text, want := range map[string]outer{
		`{"inner":{"deep":{"$patch":"replace","a":"x"}}}`: {}, // the library finds nothing to replace
		`{"word":{"a":"x"}}`:                              {Word: loud{`{"A":"X"}`}},
	} {
		var patch map[string]any
		require.NoError(t, json.Unmarshal([]byte(text), &patch))
		var got outer
		require.NoError(t, merger{}.mergeStruct(reflect.ValueOf(&got).Elem(), patch))
		require.Equal(t, want, got, text)
	}
}

// libraryGives reports whether the outcome is one of the library's. Those of a patch that
// sets a list and takes items out of it differ from call to call, since the library walks
// the patch in the order of Go's maps.
func libraryGives(target *Target, old call.Object, patch []byte, got, want string) bool {
	for range 50 {
		if got == want {
			return true
		}
		want, _ = byLibrary(target, old, patch)
	}
	return false
}

// byLibrary returns the outcome as JSON. It converts the whole object to maps, as a real API
// server does.
func byLibrary(target *Target, old call.Object, patch []byte) (text string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the library panics: %v", p)
		}
	}()
	var patchMap map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(patch, &patchMap); err != nil {
		return "", err
	}
	before, err := runtime.DefaultUnstructuredConverter.ToUnstructured(old)
	if err != nil {
		return "", err
	}
	obj := target.Kind.NewObject()
	after, err := strategicpatch.StrategicMergeMapPatch(before, patchMap, obj)
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(after)
	if err == nil {
		err = json.Unmarshal(data, obj)
	}
	if err != nil {
		return "", err
	}
	return asJSON(target, old, obj), nil
}

// asJSON returns the outcome with the spec that a status update keeps.
func asJSON(target *Target, old, obj call.Object) string {
	if target.Sub == "status" && target.Kind.Spec.Exists() {
		target.Kind.Spec.Keep(obj, old)
	}
	text, err := json.Marshal(obj)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// patchMaker makes random objects of few names, so that items of lists meet.
type patchMaker struct{ *rand.Rand }

func (g *patchMaker) chance(oneIn int) bool { return g.IntN(oneIn) == 0 }

func (g *patchMaker) kind() *registry.Entry {
	var list []*registry.Entry
	for _, k := range registry.New().Entries() {
		switch k.NewObject().(type) {
		case *v1.Pod, *v1.Node, *v1.PersistentVolume, *v1.PersistentVolumeClaim, *v1.ConfigMap, *v1.Event, *appsv1.Deployment:
			list = append(list, k)
		}
	}
	slices.SortFunc(list, func(a, b *registry.Entry) int { return strings.Compare(a.GVK.Kind, b.GVK.Kind) })
	if g.chance(2) {
		return list[slices.IndexFunc(list, func(k *registry.Entry) bool { return k.GVK.Kind == "Pod" })]
	}
	return list[g.IntN(len(list))]
}

func (g *patchMaker) object(k *registry.Entry) call.Object {
	obj := k.NewObject()
	g.fill(reflect.ValueOf(obj).Elem(), 0)
	text, _ := json.Marshal(obj)
	obj = k.NewObject() // as it comes in: without pointers to times that are null
	_ = json.Unmarshal(text, obj)
	return obj
}

// fill gives the value random contents.
func (g *patchMaker) fill(v reflect.Value, depth int) {
	switch p := v.Addr().Interface().(type) {
	case *resource.Quantity:
		*p = resource.MustParse([]string{"0", "1Gi", "100m", "5"}[g.IntN(4)])
		return
	case *metav1.Time:
		if g.chance(2) {
			*p = metav1.NewTime(time.Unix(int64(1e9+g.IntN(3)), 0).UTC())
		}
		return
	case *metav1.MicroTime:
		*p = metav1.NewMicroTime(time.Unix(int64(1e9+g.IntN(3)), 1000).UTC())
		return
	case *metav1.FieldsV1:
		p.SetRawString(`{"f:a":{}}`)
		return
	case *intstr.IntOrString:
		*p = []intstr.IntOrString{intstr.FromInt32(1), intstr.FromString("a")}[g.IntN(2)]
		return
	}
	if depth > 0 && g.chance(2+depth) && v.Kind() != reflect.String {
		return
	}
	g.fillKind(v, depth)
}

func (g *patchMaker) fillKind(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString([]string{"", "a", "b", "c", "d/e"}[g.IntN(5)])
	case reflect.Bool:
		v.SetBool(g.chance(2))
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(int64(g.IntN(3)))
	case reflect.Uint8:
		v.SetUint(uint64(g.IntN(3)))
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				g.fill(v.Field(i), depth+1)
				g.name(v.Field(i), v.Type().Field(i).Tag.Get("patchMergeKey"))
			}
		}
	case reflect.Pointer:
		if depth < 7 {
			v.Set(reflect.New(v.Type().Elem()))
			g.fill(v.Elem(), depth+1)
		}
	case reflect.Slice:
		if depth < 7 {
			v.Set(reflect.MakeSlice(v.Type(), g.IntN(4), 4))
			for i := range v.Len() {
				g.fill(v.Index(i), depth+1)
			}
			// Where a list has a word twice, the library's outcome depends on the list's
			// capacity, because it sorts lists in place that may share memory.
			if list, ok := v.Addr().Interface().(*[]string); ok {
				slices.Sort(*list)
				*list = slices.Compact(*list)
				g.Shuffle(len(*list), func(i, j int) { (*list)[i], (*list)[j] = (*list)[j], (*list)[i] })
			}
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range g.IntN(3) {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			g.fill(key, depth)
			g.fill(value, depth+1)
			v.SetMapIndex(key, value)
		}
	}
}

// name gives most lists whose items have a key keys that differ.
func (g *patchMaker) name(list reflect.Value, key string) {
	if key == "" || g.chance(5) {
		return
	}
	names := g.Perm(5)
	for i := range list.Len() {
		if f, ok := fieldsOf(list.Type().Elem())[key]; ok && list.Index(i).Field(f.index).Kind() == reflect.String {
			list.Index(i).Field(f.index).SetString(string(rune('a' + names[i])))
		}
	}
}

// patch returns one between two random objects, or a spoilt one.
func (g *patchMaker) patch(k *registry.Entry) []byte {
	for {
		base := g.object(k)
		changed := base.DeepCopyObject().(call.Object)
		g.change(reflect.ValueOf(changed).Elem())
		from, _ := json.Marshal(base)
		to, _ := json.Marshal(changed)
		patch, err := strategicpatch.CreateTwoWayMergePatch(from, to, k.NewObject())
		if err != nil {
			continue // a list names something twice
		}
		if g.chance(2) {
			return patch
		}
		var tree map[string]any
		_ = json.Unmarshal(patch, &tree)
		for range 1 + g.IntN(3) {
			g.spoil(tree)
		}
		patch, _ = json.Marshal(tree)
		return patch
	}
}

// change fills some fields anew, at some depth.
func (g *patchMaker) change(v reflect.Value) {
	for i := range v.NumField() {
		f := v.Field(i)
		switch {
		case !v.Type().Field(i).IsExported() || !g.chance(3):
		case f.Kind() == reflect.Struct && !g.chance(3):
			g.change(f)
		default:
			g.fill(f, 1)
			g.name(f, v.Type().Field(i).Tag.Get("patchMergeKey"))
		}
	}
}

// spoil puts something unusual somewhere in the patch.
func (g *patchMaker) spoil(tree map[string]any) {
	keys := slices.Sorted(maps.Keys(tree))
	if len(keys) > 0 && !g.chance(3) {
		switch below := tree[keys[g.IntN(len(keys))]].(type) {
		case map[string]any:
			g.spoil(below)
			return
		case []any:
			if len(below) > 0 {
				if item, ok := below[g.IntN(len(below))].(map[string]any); ok {
					g.spoil(item)
					return
				}
			}
		}
	}
	key := []string{"$patch", "$patch", "$retainKeys", "$setElementOrder/conditions", "$deleteFromPrimitiveList/finalizers", "unknown", "spec", "status",
		"metadata", "name", "type"}
	if len(keys) > 0 {
		key = append(key, keys...)
	}
	at := key[g.IntN(len(key))]
	value := []any{nil, nil, "replace", "delete", "merge", map[string]any{}, []any{"a"}, []any{map[string]any{"type": "a"}}, "x", 1, true,
		map[string]any{"a": nil, "b": "c"}}
	tree[at] = value[g.IntN(len(value))]
	if g.chance(3) {
		delete(tree, at)
	}
}
