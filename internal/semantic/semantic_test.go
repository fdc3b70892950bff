package semantic_test

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/internal/semantic"
)

// maker makes values at random, from so few that many are alike.
type maker struct{ *rand.Rand }

func (m maker) fill(v reflect.Value, depth int) {
	switch v.Type() {
	case reflect.TypeFor[resource.Quantity]():
		v.Set(reflect.ValueOf(resource.MustParse([]string{"0", "1", "1000m", "1Gi", "1024Mi"}[m.IntN(5)])))
		return
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime]():
		at := time.Unix(int64(m.IntN(2)), 0)
		if m.IntN(2) == 0 {
			at = at.UTC()
		}
		v.Field(0).Set(reflect.ValueOf(at))
		return
	case reflect.TypeFor[metav1.FieldsV1]():
		v.Set(reflect.ValueOf(metav1.FieldsV1{Raw: []byte([]string{"{}", `{"f:a":{}}`}[m.IntN(2)])}))
		return
	case reflect.TypeFor[runtime.RawExtension]():
		v.Set(reflect.ValueOf(runtime.RawExtension{Raw: []byte{byte(m.IntN(2))}}))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString([]string{"", "a", "b"}[m.IntN(3)])
	case reflect.Bool:
		v.SetBool(m.IntN(2) == 0)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(int64(m.IntN(2)))
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(uint64(m.IntN(2)))
	case reflect.Pointer:
		if m.IntN(4) == 0 && depth < 9 {
			v.Set(reflect.New(v.Type().Elem()))
			m.fill(v.Elem(), depth+1)
		}
	case reflect.Slice:
		if size := m.IntN(4) - 1; size >= 0 && depth < 9 {
			v.Set(reflect.MakeSlice(v.Type(), size, size))
			for i := range size {
				m.fill(v.Index(i), depth+1)
			}
		}
	case reflect.Map:
		if m.IntN(3) > 0 {
			v.Set(reflect.MakeMap(v.Type()))
			for range m.IntN(3) {
				key, item := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
				m.fill(key, depth+1)
				m.fill(item, depth+1)
				v.SetMapIndex(key, item)
			}
		}
	case reflect.Interface:
		if v.NumMethod() == 0 {
			v.Set(reflect.ValueOf([]any{"a", int64(1), 1.5, true, []any{"a"}, map[string]any{"a": nil}}[m.IntN(6)]))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			m.fill(v.Field(i), depth+1)
		}
	default:
		panic(v.Type().String())
	}
}

// change fills one value somewhere below v anew.
func (m maker) change(v reflect.Value) {
	switch {
	case v.Kind() == reflect.Struct && v.NumField() > 0 && m.IntN(8) > 0:
		if field := v.Field(m.IntN(v.NumField())); field.CanSet() && field.Type() != reflect.TypeFor[time.Time]() {
			m.change(field)
		}
	case v.Kind() == reflect.Pointer && !v.IsNil():
		m.change(v.Elem())
	case v.Kind() == reflect.Slice && v.Len() > 0 && m.IntN(4) > 0:
		m.change(v.Index(m.IntN(v.Len())))
	case v.CanSet():
		m.fill(v, 4)
	}
}

// The library is the judge: of copies, of objects that differ in one value, and of any two.
func TestTwoObjectsAreTheSameIfTheLibrarySaysSo(t *testing.T) {
	m, verdicts := maker{rand.New(rand.NewPCG(1, 2))}, map[bool]int{}
	for range 300 {
		for _, kind := range []any{v1.Pod{}, v1.PodStatus{}, v1.Node{}, v1.PersistentVolume{}, v1.PersistentVolumeClaim{}, storagev1.VolumeAttachment{},
			appsv1.StatefulSet{}, v1.ResourceList{}, map[string]any{}, v1.VolumeNodeAffinity{}, metav1.ObjectMeta{}} {
			one, other := reflect.New(reflect.TypeOf(kind)), reflect.New(reflect.TypeOf(kind))
			m.fill(one.Elem(), 0)
			m.fill(other.Elem(), 4)
			changed := one
			if copied := one.MethodByName("DeepCopy"); copied.IsValid() && reflect.TypeOf(kind).Kind() == reflect.Struct {
				changed = copied.Call(nil)[0]
				m.change(changed.Elem())
			}
			for _, with := range []reflect.Value{one, other, changed} {
				want := equality.Semantic.DeepEqual(one.Interface(), with.Interface())
				require.Equal(t, want, semantic.Equal(one.Interface(), with.Interface()), "%#v\n%#v", one.Interface(), with.Interface())
				verdicts[want]++
			}
		}
	}
	require.Greater(t, verdicts[true], 3000)
	require.Greater(t, verdicts[false], 3000)
}

func TestNothingIsTheSameAsNothing(t *testing.T) {
	require.True(t, semantic.Equal(nil, nil))
	require.False(t, semantic.Equal(nil, &v1.Pod{}))
	require.False(t, semantic.Equal(&v1.Pod{}, (*v1.Pod)(nil)))
	require.False(t, semantic.Equal(&v1.Pod{}, &v1.Node{}))
}

func BenchmarkEqual(b *testing.B) {
	var pod v1.Pod
	maker{rand.New(rand.NewPCG(3, 4))}.fill(reflect.ValueOf(&pod).Elem(), 0)
	other := pod.DeepCopy()
	for name, equal := range map[string]func(a, b any) bool{"library": equality.Semantic.DeepEqual, "here": semantic.Equal} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if !equal(&pod, other) {
					b.Fatal("a copy is another")
				}
			}
		})
	}
}

func TestSameTextsTellsQuantitiesApartThatMeanTheSame(t *testing.T) {
	claim := func(size string) *v1.PersistentVolumeClaim {
		return &v1.PersistentVolumeClaim{Spec: v1.PersistentVolumeClaimSpec{Resources: v1.VolumeResourceRequirements{
			Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse(size)},
		}}}
	}
	require.True(t, semantic.Equal(claim("2Gi"), claim("2147483648")))
	require.False(t, semantic.SameTexts(claim("2Gi"), claim("2147483648")))
	require.True(t, semantic.SameTexts(claim("2Gi"), claim("2048Mi")), "one form is kept of both")
}
