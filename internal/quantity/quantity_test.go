package quantity_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/storagesim/storagesim/internal/quantity"
)

const (
	wrongExponent = "the exponent of a quantity must be from -999 to 999"
	wrongLength   = "a quantity must have at most 1000 characters"
)

func TestTextsThatAreTooExpensiveToParseAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "5Gi": "", "1.5T": "", "1E": "", "1e3": "", "1E3": "", "-1e-3": "", "+1e+999": "", "1e-999": "", "1e0000999": "", "not a quantity": "", "1ee9999": "",
		"1e1000": wrongExponent, "1e-1000": wrongExponent, "1E2147483648": wrongExponent, "1e-2147483648": wrongExponent,
		"0e2147483647": wrongExponent, "1e4294967296": wrongExponent, "1e99999999999999999999": wrongExponent, "1.5e+2147483648": wrongExponent,
		strings.Repeat("9", 1000): "", strings.Repeat("9", 1001): wrongLength, "1" + strings.Repeat("0", 1<<20): wrongLength,
	} {
		if err := quantity.Check(text); want == "" {
			require.NoError(t, err, text)
		} else {
			require.EqualError(t, err, want, text)
		}
		_, err := quantity.Parse(text)
		assert.Equal(t, want != "", err != nil && err.Error() == want, text)
	}
}

func TestOnlyFieldsThatHoldQuantitiesAreChecked(t *testing.T) {
	const huge = "1e2147483648"
	for data, field := range map[string]string{
		`{"spec":{"resources":{"requests":{"storage":"` + huge + `"}}}}`:                                                      "spec.resources.requests[storage]",
		`{"spec":{"resources":{"requests":{"storage":` + huge + `}}}}`:                                                        "spec.resources.requests[storage]",
		`{"spec":{"resources":{"requests":{"storage":" ` + huge + `"}}}}`:                                                     "spec.resources.requests[storage]",
		`{"Spec":{"RESOURCES":{"limits":{"storage":"-1E-99999"}}}}`:                                                           "spec.resources.limits[storage]",
		`{"status":{"capacity":{"a":"1","b":"` + strings.Repeat("1", 2000) + `"}}}`:                                           "status.capacity[b]",
		`{"metadata":{"annotations":{"a":"` + huge + `"},"uid":"1e2147483648-1"},"spec":{"storageClassName":"` + huge + `"}}`: "",
		`{"metadata":{"name":"x"},"spec":{"resources":{"requests":{"storage":"5Gi"}}}}`:                                       "",
		`{"spec":{"resources":{"requests":["` + huge + `"]}}}`:                                                                "",
		`{"spec":{"resources":{"limits":{"storage":"` + huge + `","storage":"5Gi"}}}}`:                                        "spec.resources.limits[storage]",
		`{"spec":{"resources":{"limits":{"storage":"1\u00652147483648"}}}}`:                                                   "spec.resources.limits[storage]",
		`{"other":[[{"a":{"storage":"` + huge + `"}}]],"spec":{"resources":{"limits":{"storage":{"a":["` + huge + `"]}}}}}`:   "",
		`{"spec":"` + huge + `"}`: "",
		`["` + huge + `"]`:        "",
		`{"spec":{"resources":{"requests":{"storage":"` + huge: "",
	} {
		err := quantity.CheckJSON([]byte(data), &v1.PersistentVolumeClaim{})
		if field == "" {
			assert.Nil(t, err, data)
			continue
		}
		if assert.NotNil(t, err, data) {
			assert.Equal(t, field, err.Field, data)
			assert.LessOrEqual(t, len(err.Value), 60)
		}
	}
	assert.Nil(t, quantity.CheckJSON([]byte(`{"data":{"a":"`+huge+`"}}`), &v1.ConfigMap{}))
}

func TestQuantitiesOfObjectsAreFoundWhereverTheyAre(t *testing.T) {
	huge := resource.MustParse("1e2147483646")
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{},
		{Resources: v1.ResourceRequirements{Limits: v1.ResourceList{"cpu": resource.MustParse("1"), "memory": huge}}}}}}
	err := quantity.CheckObject(pod)
	require.NotNil(t, err)
	require.EqualError(t, err, `spec.containers[1].resources.limits[memory]: "1e2147483646": `+wrongExponent)
	pod = &v1.Pod{Spec: v1.PodSpec{Volumes: []v1.Volume{{VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{SizeLimit: &huge}}}}}}
	err = quantity.CheckObject(pod)
	require.NotNil(t, err)
	assert.Equal(t, "spec.volumes[0].emptyDir.sizeLimit", err.Field)
	capacity := &storagev1.CSIStorageCapacity{Capacity: &huge}
	require.NotNil(t, quantity.CheckObject(capacity))
	assert.Nil(t, quantity.CheckObject(&v1.ConfigMap{Data: map[string]string{"a": "1e2147483646"}}))
	assert.Nil(t, quantity.CheckObject((*v1.Pod)(nil)))
	assert.Nil(t, quantity.CheckObject(nil))
}

func TestWhatPassesAsTextPassesAsAnObject(t *testing.T) {
	for _, text := range []string{
		"0", "5Gi", "100m", "1.5Gi", "-3", "0.1n", "1e999", "-1e999", "1e-999", "0e999", "0e-999", "0." + strings.Repeat("0", 990) + "e-999",
		strings.Repeat("9", 1000), strings.Repeat("9", 996) + "e999", strings.Repeat("9", 998) + "Ei", "0." + strings.Repeat("9", 998),
	} {
		q, err := quantity.Parse(text)
		require.NoError(t, err, text)
		require.Nil(t, quantity.CheckObject(&v1.EmptyDirVolumeSource{SizeLimit: &q}), text)
		_ = q.String()
	}
	for _, text := range []string{"1e2147483646", "0e2147483647", "1e1000"} {
		q := resource.MustParse(text)
		assert.NotNil(t, quantity.CheckObject(&v1.EmptyDirVolumeSource{SizeLimit: &q}), text)
	}
	made := resource.NewScaledQuantity(1, 1<<31-1)
	assert.NotNil(t, quantity.CheckObject(&v1.EmptyDirVolumeSource{SizeLimit: made}))
}

// Each kind of the API has a plan, and JSON and objects are checked alike.
func TestEveryKindCanBeChecked(t *testing.T) {
	for gvk := range scheme.Scheme.AllKnownTypes() {
		obj, err := scheme.Scheme.New(gvk)
		require.NoError(t, err)
		assert.Nil(t, quantity.CheckObject(obj), gvk)
		assert.Nil(t, quantity.CheckJSON([]byte(`{"a":"1e9999"}`), obj), gvk)
	}
}

func BenchmarkCheckObject(b *testing.B) {
	for _, obj := range []any{
		&v1.PersistentVolumeClaim{Spec: v1.PersistentVolumeClaimSpec{Resources: v1.VolumeResourceRequirements{
			Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse("5Gi")},
		}}},
		&v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{}, {}}, Volumes: []v1.Volume{{}, {}}}},
	} {
		b.Run(reflect.TypeOf(obj).Elem().Name(), func(b *testing.B) {
			for b.Loop() {
				_ = quantity.CheckObject(obj)
			}
		})
	}
}

func BenchmarkCheckJSON(b *testing.B) {
	claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data", Namespace: "default", UID: "0b6de6a1-5e54-4c6e-b7d6-7a3a3f5e4c21"}}
	data, err := json.Marshal(claim)
	require.NoError(b, err)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		_ = quantity.CheckJSON(data, claim)
	}
}
