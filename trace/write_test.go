package trace

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/storagesim/storagesim/internal/seedtest"
)

func TestAWriteTellsTheConditionsThatAreNew(t *testing.T) {
	condition := func(kind, status, message string) map[string]any {
		return map[string]any{"type": kind, "status": status, "reason": "Why", "message": message}
	}
	was := []any{condition("PodScheduled", "False", "no room"), condition("Ready", "False", "")}
	for name, tt := range map[string]struct {
		is   []any
		want string
	}{
		"another status":  {[]any{condition("PodScheduled", "True", ""), was[1]}, "conditions = [PodScheduled=True (Why)]"},
		"another message": {[]any{condition("PodScheduled", "False", "no disk"), was[1]}, "conditions = [PodScheduled=False (Why)]"},
		"both":            {[]any{condition("PodScheduled", "False", "no disk"), condition("Ready", "True", "")}, "conditions = [Ready=True (Why)]"},
		"one less":        {was[:1], "condition Ready removed"},
		"two less":        {[]any{}, "condition PodScheduled removed, condition Ready removed"},
		"one for another": {[]any{was[0], condition("Bound", "True", "")}, "conditions = [Bound=True (Why)], condition Ready removed"},
	} {
		t.Run(name, func(t *testing.T) {
			change := FieldChange{Path: []string{"conditions"}, Value: tt.is, old: was}
			assert.Equal(t, tt.want, change.String())
		})
	}
}

func TestALogThatCutsALargeObjectStillTellsWhichConditionWent(t *testing.T) {
	of := func(conditions ...v1.PersistentVolumeClaimConditionType) *v1.PersistentVolumeClaim {
		pvc := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data", Annotations: map[string]string{"pad": strings.Repeat("x", 2*largeObject)}}}
		for _, kind := range conditions {
			pvc.Status.Conditions = append(pvc.Status.Conditions, v1.PersistentVolumeClaimCondition{Type: kind, Status: v1.ConditionTrue})
		}
		return pvc
	}
	log := New(100, 1<<30)
	log.Add(Entry{Record: Write{
		Verb: "patch", Subresource: "status", Kind: "PersistentVolumeClaim", Name: "data",
		Old: of(v1.PersistentVolumeClaimFileSystemResizePending, "Unused"), New: of("Unused"),
	}})
	assert.Equal(t, "patches pvc data status: condition FileSystemResizePending removed", log.Tail(1)[0].Record.String())
}

// A write holds the version before too, so that the log must know whether that one is large. It forgets objects that are small again or gone.
func TestALogKnowsOfObjectsAsLongAsTheyAreLarge(t *testing.T) {
	log := New(100, 1<<30)
	of := func(size int) *v1.ConfigMap {
		return &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "m"}, Data: map[string]string{"pad": strings.Repeat("x", size)}}
	}
	last := func() Write { return log.Tail(1)[0].Record.(Write) }
	add := func(w Write) {
		w.Kind, w.Name, w.Verb = "ConfigMap", "m", "update"
		log.Add(Entry{Record: w})
	}
	small, large, smaller, gone := of(10), of(2*largeObject), of(20), of(2*largeObject)
	add(Write{New: small})
	require.Same(t, small, last().New, "a small object is kept whole")
	add(Write{Old: small, New: large})
	require.Len(t, log.large, 1)
	require.IsType(t, &metav1.PartialObjectMetadata{}, last().New)
	add(Write{Old: large, New: smaller})
	require.Empty(t, log.large, "it is small again")
	require.IsType(t, &metav1.PartialObjectMetadata{}, last().Old, "the version before is large")
	add(Write{Old: smaller, New: small})
	require.Same(t, smaller, last().Old)
	add(Write{Old: small, New: gone})
	add(Write{Old: gone, Last: gone})
	require.Empty(t, log.large, "it is gone")
	require.IsType(t, &metav1.PartialObjectMetadata{}, last().Last)
}

func TestTheChangesOfAWriteAreThoseOfTheWholeObjects(t *testing.T) {
	seedtest.Each(t, 300, func(t testing.TB, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 3))
		kinds := []runtime.Object{&v1.Pod{}, &v1.Pod{}, &v1.Node{}, &v1.ConfigMap{}, &v1.PersistentVolume{}, &v1.PersistentVolumeClaim{}, &v1.Event{}, &v1.Service{}}
		old := kinds[rng.IntN(len(kinds))].DeepCopyObject()
		fill(rng, reflect.ValueOf(old).Elem(), 0)
		new := old.DeepCopyObject()
		for range rng.IntN(4) {
			fields := reflect.ValueOf(new).Elem()
			part := fields.Field(1 + rng.IntN(fields.NumField()-1))
			if part.Kind() == reflect.Struct {
				part = part.Field(rng.IntN(part.NumField()))
			}
			fill(rng, part, 1)
		}
		if pod, ok := new.(*v1.Pod); ok {
			pod.Status.ObservedGeneration = rng.Int64N(3)
			for i := range pod.Status.Conditions {
				pod.Status.Conditions[i].ObservedGeneration = rng.Int64N(3)
			}
		}
		require.Equal(t, diff(nil, toMap(old), toMap(new), nil), Write{Old: old, New: new}.Changes())
	})
}

// fill gives a value random contents.
func fill(rng *rand.Rand, v reflect.Value, depth int) {
	switch p := v.Addr().Interface().(type) {
	case *resource.Quantity:
		*p = resource.MustParse([]string{"0", "1Gi", "100m"}[rng.IntN(3)])
		return
	case *metav1.Time:
		*p = metav1.Time{Time: []time.Time{{}, time.Unix(1e9, 0), time.Unix(1e9, 0).UTC()}[rng.IntN(3)]}
		return
	case *metav1.MicroTime:
		*p = metav1.NewMicroTime(time.Unix(int64(1e9+rng.IntN(2)), 1000))
		return
	case *metav1.FieldsV1:
		p.SetRawString(`{"f:a":{}}`)
		return
	case *intstr.IntOrString:
		*p = []intstr.IntOrString{intstr.FromInt32(1), intstr.FromString("a")}[rng.IntN(2)]
		return
	}
	v.SetZero()
	if depth > 1 && rng.IntN(depth) > 0 {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString([]string{"", "a", "b", "c/d.e"}[rng.IntN(4)])
	case reflect.Bool:
		v.SetBool(rng.IntN(2) == 0)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(rng.Int64N(3))
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(rng, v.Field(i), depth+1)
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(rng, v.Elem(), depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), rng.IntN(3), 3))
		for i := range v.Len() {
			fill(rng, v.Index(i), depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range rng.IntN(3) {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			key.SetString([]string{"a", "b", "c"}[rng.IntN(3)])
			fill(rng, value, depth)
			v.SetMapIndex(key, value)
		}
	}
}

// toMap and diff compare JSON types, the simple way to which Changes is compared.

func toMap(obj runtime.Object) map[string]any {
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil
	}
	if metadata, ok := m["metadata"].(map[string]any); ok {
		for _, f := range []string{"resourceVersion", "generation", "managedFields", "creationTimestamp"} {
			delete(metadata, f)
		}
	}
	if status, ok := m["status"].(map[string]any); ok {
		dropObserved(status)
		conditions, _ := status["conditions"].([]any)
		for _, c := range conditions {
			dropObserved(c)
			if m, ok := c.(map[string]any); ok {
				delete(m, "lastHeartbeatTime")
			}
		}
	}
	delete(m, "kind")
	delete(m, "apiVersion")
	return m
}

func dropObserved(v any) {
	if m, ok := v.(map[string]any); ok {
		delete(m, "observedGeneration")
	}
}

func diff(path []string, old, new map[string]any, out []FieldChange) []FieldChange {
	var keys []string
	for k := range old {
		keys = append(keys, k)
	}
	for k := range new {
		if _, both := old[k]; !both {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		at := append(slices.Clone(path), k)
		was, had := old[k]
		is, has := new[k]
		wasMap, a := was.(map[string]any)
		isMap, b := is.(map[string]any)
		switch {
		case !has:
			out = append(out, FieldChange{Path: at, Removed: true, old: was})
		case !had && b && (k == "annotations" || k == "labels"):
			out = diff(at, nil, isMap, out) // each key counts, also the first
		case !had:
			out = append(out, FieldChange{Path: at, Value: is})
		case a && b:
			out = diff(at, wasMap, isMap, out)
		case !reflect.DeepEqual(was, is):
			out = append(out, FieldChange{Path: at, Value: is, old: was})
		}
	}
	return out
}

// Below NarrowWidth an actor has a line of its own, and no line is wider than asked for, except one of a single word.
func TestANarrowStoryGivesTheActorALineOfItsOwn(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	entries := []Entry{
		{Time: start, Actor: "user", Record: Event{About: Ref{Kind: "Pod", Namespace: "default", Name: "web"}, Type: "Normal", Reason: "A", Message: "first"}},
		{Time: start, Actor: "persistent-volume-binder",
			Record: Event{About: Ref{Kind: "Pod", Namespace: "default", Name: "web"}, Type: "Normal", Reason: "B", Message: "the second message is longer"}},
		{Time: start, Actor: "persistent-volume-binder",
			Record: Event{About: Ref{Kind: "Pod", Namespace: "default", Name: "web"}, Type: "Normal", Reason: "C", Message: "x"}},
		{Time: start.Add(time.Second), Actor: "persistent-volume-binder",
			Record: Event{About: Ref{Kind: "Pod", Namespace: "default", Name: "web"}, Type: "Normal", Reason: "D", Message: "x"}},
	}
	require.Equal(t, `  0:00:00  user
    says of pod default/web: Normal A:
      first
           persistent-volume-binder
    says of pod default/web: Normal B:
      the second message is longer
    says of pod default/web: Normal C: x
  0:00:01  persistent-volume-binder
    says of pod default/web: Normal D: x
`, Tell(entries, Telling{Width: 40}))
	for _, width := range []int{20, 60, 99} {
		for line := range strings.Lines(Tell(entries, Telling{Width: width})) {
			require.LessOrEqual(t, len(line)-1, max(width, len("           persistent-volume-binder")), line)
		}
	}
	require.Contains(t, Tell(entries, Telling{Width: 100}), "  0:00:00  user                      says of pod")
}

// Seconds stand below seconds, and actors below actors, also where some times have a fraction.
func TestTimesWithAFractionKeepTheirColumns(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(after time.Duration) Entry {
		return Entry{Time: start.Add(after), Actor: "x", Record: Write{Verb: "create", Name: "a", Kind: "Node"}}
	}
	require.Equal(t, `  0:00:00      x  creates node a
               x  creates node a
  0:00:01.500  x  creates node a
 12:00:02      x  creates node a
`, Tell([]Entry{at(0), at(0), at(1500 * time.Millisecond), at(12*time.Hour + 2*time.Second)}, Telling{Start: start}))
	require.Equal(t, "  0:00:00  x  creates node a\n", Tell([]Entry{at(0)}, Telling{Start: start}))
}
