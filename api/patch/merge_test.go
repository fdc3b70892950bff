package patch

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/registry"
	"github.com/storagesim/storagesim/internal/seedtest"
)

// One seed is an object and a JSON merge patch made for another object of its kind, in half of the seeds spoilt by nulls, unknown
// fields, keys that are directives elsewhere and values of the wrong type.
func TestAMergePatchGivesWhatTheLibraryGivesForTheWholeObject(t *testing.T) {
	var direct, nulls atomic.Int64
	tried := seedtest.Each(t, 600, func(t testing.TB, seed uint64) {
		g := &patchMaker{rand.New(rand.NewPCG(seed, 6))}
		kind := g.kind()
		old, patch := unlabelled(g.object(kind)), g.mergePatch(kind) // a stored object does not say its kind
		target := &Target{Kind: kind}
		if kind.Status.Exists() && g.chance(2) {
			target.Sub = "status"
		}
		before, err := json.Marshal(old)
		require.NoError(t, err)
		want, wantErr := target.patchJSON(old, patch, mergePatch)
		got, merged := target.mergedFields(old, patch)
		unchanged, _ := json.Marshal(old)
		require.Equal(t, string(before), string(unchanged), "the stored object was changed")
		if !merged {
			return
		}
		require.NoError(t, wantErr, "merged, but the library refuses %s", patch)
		require.Equal(t, asJSON(target, old, unlabelled(want)), asJSON(target, old, unlabelled(got)), "%s", patch)
		direct.Add(1)
		if strings.Contains(string(patch), "null") {
			nulls.Add(1)
		}
	})
	require.Greater(t, int(direct.Load()), tried/4, "many patches are merged without the library")
	require.Greater(t, int(nulls.Load()), tried/20, "also such that remove something")
}

// What the library drops, decodes in another way or answers with an error is left to it.
func TestWhatAMergePatchMayMeanOtherwiseIsLeftToTheLibrary(t *testing.T) {
	kinds := map[string]*registry.Entry{}
	for _, k := range registry.New().Entries() {
		kinds[k.GVR.Resource] = k
	}
	for _, tt := range []struct {
		resource, patch string
		left            bool
	}{
		{"pods", `{"metadata":{"labels":{"a":"b","c":null},"finalizers":["x"]}}`, false},
		{"pods", `{"metadata":{"labels":null,"ownerReferences":[{"uid":"u","controller":true}]}}`, false},
		{"pods", `{"spec":{"activeDeadlineSeconds":5,"securityContext":{"runAsUser":1,"fsGroup":null}}}`, false},
		{"pods", `{"status":{"startTime":"2026-01-01T00:00:00Z","conditions":[{"type":"Ready","status":"True"}]}}`, false},
		{"persistentvolumeclaims", `{"status":{"capacity":{"storage":"2Gi"},"phase":"Bound"}}`, false},
		{"pods", `{"metadata":{"finalizers":["x",null]}}`, true},
		{"pods", `{"spec":{"activeDeadlineSeconds":5.0}}`, true},
		{"pods", `{"spec":{"containers":[{"name":"a","ports":[{"containerPort":80.0}]}]}}`, true},
		{"pods", `{"spec":{"$setElementOrder/containers":[{"name":"a"}]}}`, true},
		{"pods", `{"metadata":{"$patch":"replace"}}`, true},
		{"pods", `{"metadata":{"labels":{"a":1}}}`, true},
		{"pods", `{"metadata":{"labels":["a"]}}`, true},
		{"pods", `{"metadata":{"Labels":{"a":"b"}}}`, true},
		{"pods", `{"kind":"Pod"}`, true},
		{"pods", `{"unknown":null}`, true},
		{"pods", `null`, true},
		{"pods", `[]`, true},
		{"persistentvolumes", `{"spec":{"hostPath":{"path":"/x"}}}`, true}, // a field of an embedded struct
		{"persistentvolumeclaims", `{"status":{"capacity":{"storage":5}}}`, true},
		{"persistentvolumeclaims", `{"status":{"capacity":{"storage":"1e9999"}}}`, true},
	} {
		target := &Target{Kind: kinds[tt.resource]}
		_, merged := target.mergedFields(target.Kind.NewObject(), []byte(tt.patch))
		require.Equal(t, tt.left, !merged, tt.patch)
	}
	for _, target := range []*Target{{Kind: kinds["pods"], Strict: true}, {Kind: kinds["pods"], Warn: func(string) {}}} {
		_, merged := target.mergedFields(&v1.Pod{}, []byte(`{"metadata":{"labels":{"a":"b"}}}`))
		require.False(t, merged, "the client wants to know of unknown and repeated fields")
	}
}

// The values that a patch names take the place of others, and all else stays.
func TestAMergePatchOfAFieldLeavesTheOthers(t *testing.T) {
	kinds := registry.New()
	kind, _ := kinds.Lookup(v1.SchemeGroupVersion.WithResource("persistentvolumeclaims"))
	old := &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "data", Labels: map[string]string{"a": "1", "b": "2"}, Finalizers: []string{"x", "y"}},
		Status:     v1.PersistentVolumeClaimStatus{Capacity: v1.ResourceList{"storage": resource.MustParse("1Gi")}},
	}
	got, err := (&Target{Kind: kind, Name: "data"}).Patched(old, types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"a":null,"c":"3"},"finalizers":["z"]},"status":{"capacity":{"storage":"2Gi"}}}`), nil)
	require.NoError(t, err)
	claim := got.(*v1.PersistentVolumeClaim)
	require.Equal(t, map[string]string{"b": "2", "c": "3"}, claim.Labels)
	require.Equal(t, []string{"z"}, claim.Finalizers)
	require.Equal(t, "2Gi", claim.Status.Capacity.Storage().String())
	require.Equal(t, map[string]string{"a": "1", "b": "2"}, old.Labels)
	require.Equal(t, "1Gi", old.Status.Capacity.Storage().String())
}

// mergePatch returns a JSON merge patch between two random objects, or a spoilt one.
func (g *patchMaker) mergePatch(k *registry.Entry) []byte {
	base := g.object(k)
	changed := base.DeepCopyObject().(call.Object)
	g.change(reflect.ValueOf(changed).Elem())
	from, _ := json.Marshal(base)
	to, _ := json.Marshal(changed)
	patch, _ := jsonpatch.CreateMergePatch(from, to)
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

// unlabelled returns the object without its kind, which is written by the caller.
func unlabelled(obj call.Object) call.Object {
	obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	return obj
}
