package api_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/api/fake"
)

// hugeQuantities take minutes or all memory to parse, compare or print.
var hugeQuantities = []string{"1e2147483648", "1e-2147483648", "0e2147483647", "1E+99999999999", "1" + strings.Repeat("0", 1<<20)}

// listing has another client list claims until the test ends, and says how often it did.
func listing(t *testing.T, c kubernetes.Interface) *atomic.Int64 {
	var lists atomic.Int64
	lctx, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for lctx.Err() == nil {
			if _, err := c.CoreV1().PersistentVolumeClaims("").List(lctx, metav1.ListOptions{}); err == nil {
				lists.Add(1)
			}
		}
	}()
	t.Cleanup(func() { stop(); <-ended })
	return &lists
}

func TestAHugeQuantityIsRefusedInEveryKindOfPatchWhileOthersList(t *testing.T) {
	s, c := newServer()
	_, err := c.CoreV1().PersistentVolumeClaims("default").Create(ctx, claim("data"), metav1.CreateOptions{})
	require.NoError(t, err)
	lists := listing(t, fake.New(s, "other"))
	object := func(q string) string { return `{"spec":{"resources":{"requests":{"storage":` + q + `}}}}` }
	kinds := map[string]func(q string) (types.PatchType, string){
		"merge":     func(q string) (types.PatchType, string) { return types.MergePatchType, object(q) },
		"strategic": func(q string) (types.PatchType, string) { return types.StrategicMergePatchType, object(q) },
		"json": func(q string) (types.PatchType, string) {
			return types.JSONPatchType, `[{"op":"replace","path":"/spec/resources/requests/storage","value":` + q + `}]`
		},
		"json, by way of an annotation": func(q string) (types.PatchType, string) {
			return types.JSONPatchType, `[{"op":"add","path":"/metadata/annotations","value":{"a":` + q + `}},
				{"op":"copy","from":"/metadata/annotations/a","path":"/spec/resources/requests/storage"}]`
		},
		"apply": func(q string) (types.PatchType, string) {
			return types.ApplyPatchType, `{"apiVersion":"v1","kind":"PersistentVolumeClaim",` + object(q)[1:]
		},
	}
	for kind, patch := range kinds {
		for _, text := range hugeQuantities {
			t.Run(kind, func(t *testing.T) {
				pt, data := patch(`"` + text + `"`)
				_, err := c.CoreV1().PersistentVolumeClaims("default").Patch(ctx, "data", pt, []byte(data), metav1.PatchOptions{FieldManager: "me"})
				require.True(t, apierrors.IsInvalid(err), "%s: %v", kind, err)
				if len(text) < 20 {
					assert.EqualError(t, err, `PersistentVolumeClaim "data" is invalid: spec.resources.requests[storage]: Invalid value: "`+text+
						`": the exponent of a quantity must be from -999 to 999`, kind)
				} else {
					assert.ErrorContains(t, err, "a quantity must have at most 1000 characters", kind)
				}
			})
		}
		t.Run(kind+" with an escape", func(t *testing.T) {
			pt, data := patch(`"1\u00652147483648"`)
			_, err := c.CoreV1().PersistentVolumeClaims("default").Patch(ctx, "data", pt, []byte(data), metav1.PatchOptions{FieldManager: "me"})
			require.True(t, apierrors.IsInvalid(err), "%s: %v", kind, err)
		})
		t.Run(kind+" with the field twice", func(t *testing.T) {
			pt, data := patch(`"1e-2147483648"`)
			data = strings.Replace(data, `"storage":`, `"storage":"1Gi","storage":`, 1)
			_, err := c.CoreV1().PersistentVolumeClaims("default").Patch(ctx, "data", pt, []byte(data), metav1.PatchOptions{FieldManager: "me"})
			require.Error(t, err, kind)
			data = strings.Replace(strings.Replace(data, `requests`, `limits`, 1), `"1Gi","storage":"1e-2147483648"`, `"1e-2147483648","storage":"1Gi"`, 1)
			_, _ = c.CoreV1().PersistentVolumeClaims("default").Patch(ctx, "data", pt, []byte(data), metav1.PatchOptions{FieldManager: "me"})
		})
		t.Run(kind+" with a bare number", func(t *testing.T) {
			pt, data := patch(`1e2147483648`)
			_, err := c.CoreV1().PersistentVolumeClaims("default").Patch(ctx, "data", pt, []byte(data), metav1.PatchOptions{FieldManager: "me"})
			require.Error(t, err, kind)
		})
	}
	assert.Positive(t, lists.Load())
}

func TestAHugeQuantityOfAnObjectIsRefusedWhileOthersList(t *testing.T) {
	s, c := newServer()
	listing(t, fake.New(s, "other"))
	huge := resource.MustParse("1e2147483646")
	t.Run("create", func(t *testing.T) {
		bad := claim("data")
		bad.Spec.Resources.Requests[v1.ResourceStorage] = huge
		_, err := c.CoreV1().PersistentVolumeClaims("default").Create(ctx, bad, metav1.CreateOptions{})
		require.EqualError(t, err, `PersistentVolumeClaim "data" is invalid: spec.resources.requests[storage]: Invalid value: "1e2147483646": `+
			`the exponent of a quantity must be from -999 to 999`)
		_, err = c.StorageV1().CSIStorageCapacities("default").Create(ctx, &storagev1.CSIStorageCapacity{
			ObjectMeta: metav1.ObjectMeta{Name: "c"}, StorageClassName: "fast", Capacity: &huge}, metav1.CreateOptions{})
		require.True(t, apierrors.IsInvalid(err), "%v", err)
	})
	t.Run("update", func(t *testing.T) {
		got, err := c.CoreV1().PersistentVolumeClaims("default").Create(ctx, claim("data"), metav1.CreateOptions{})
		require.NoError(t, err)
		got.Spec.Resources.Requests[v1.ResourceStorage] = huge
		_, err = c.CoreV1().PersistentVolumeClaims("default").Update(ctx, got, metav1.UpdateOptions{})
		require.True(t, apierrors.IsInvalid(err), "%v", err)
		got.Status.Capacity = v1.ResourceList{v1.ResourceStorage: huge}
		_, err = c.CoreV1().PersistentVolumeClaims("default").UpdateStatus(ctx, got, metav1.UpdateOptions{})
		require.True(t, apierrors.IsInvalid(err), "%v", err)
	})
}

// What looks like a huge quantity may stand where none is expected: in an annotation, in
// the data of a ConfigMap, in a parameter of a class.
func TestTextThatLooksLikeAHugeQuantityIsAllowedElsewhere(t *testing.T) {
	_, c := newServer()
	t.Run("a class", func(t *testing.T) {
		_, err := c.StorageV1().StorageClasses().Create(ctx, &storagev1.StorageClass{
			ObjectMeta: metav1.ObjectMeta{Name: "fast"}, Provisioner: "example.com/x", Parameters: map[string]string{"size": "1e2147483648"}}, metav1.CreateOptions{})
		require.NoError(t, err)
	})
	_, err := c.CoreV1().PersistentVolumeClaims("default").Create(ctx, claim("data"), metav1.CreateOptions{})
	require.NoError(t, err)
	t.Run("an annotation", func(t *testing.T) {
		got, err := c.CoreV1().PersistentVolumeClaims("default").Patch(ctx, "data", types.MergePatchType,
			[]byte(`{"metadata":{"annotations":{"size":"1e2147483648"}}}`), metav1.PatchOptions{})
		require.NoError(t, err)
		assert.Equal(t, "1e2147483648", got.Annotations["size"])
	})
	createMap(t, c, configMap("a"))
	t.Run("data", func(t *testing.T) {
		_, err := c.CoreV1().ConfigMaps("default").Patch(ctx, "a", types.StrategicMergePatchType, []byte(`{"data":{"size":"1e-2147483648"}}`), metav1.PatchOptions{})
		require.NoError(t, err)
	})
}

// The size of huge pages is in the name of a resource.
func TestAHugePageOfHugeSizeIsRefused(t *testing.T) {
	_, c := newServer()
	p := pod("web")
	p.Spec.Containers[0].Resources.Limits = v1.ResourceList{"hugepages-1e-2147483648": resource.MustParse("1")}
	t.Run("create", func(t *testing.T) {
		_, err := c.CoreV1().Pods("default").Create(ctx, p, metav1.CreateOptions{})
		require.True(t, apierrors.IsInvalid(err), "%v", err)
	})
}

// A patch is read without the lock. If the object changes meanwhile, the patch is applied
// to what is there then.
func TestPatchesAtTheSameTimeAreAllApplied(t *testing.T) {
	_, c := newServer()
	m := configMap("a")
	m.Data = map[string]string{}
	createMap(t, c, m)
	const clients, patches = 8, 50
	failed := make(chan error, clients)
	for i := range clients {
		go func() {
			var err error
			for j := range patches {
				key := string(rune('a'+i)) + "-" + string(rune('0'+j%10)) + string(rune('0'+j/10))
				if _, e := c.CoreV1().ConfigMaps("default").Patch(ctx, "a", types.MergePatchType, []byte(`{"data":{"`+key+`":"x"}}`), metav1.PatchOptions{}); e != nil {
					err = e
				}
			}
			failed <- err
		}()
	}
	for range clients {
		require.NoError(t, <-failed)
	}
	got, err := c.CoreV1().ConfigMaps("default").Get(ctx, "a", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Len(t, got.Data, clients*patches)
}
