package rest_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/fake"
)

// managers returns "manager operation subresource" of each entry.
func managers(obj metav1.Object) []string {
	var list []string
	for _, e := range obj.GetManagedFields() {
		list = append(list, e.Manager+" "+string(e.Operation)+" "+e.Subresource)
	}
	return list
}

func shop() *appsv1.Deployment {
	labels := map[string]string{"app": "shop"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: "default"},
		Spec: appsv1.DeploymentSpec{Replicas: new(int32(1)), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "busybox"}}},
		}},
	}
}

func TestWhatComesOverHTTPHasAManagerFromItsFirstWrite(t *testing.T) {
	server := api.NewServer(api.Config{})
	maps := clients(t, handler(server).Config("tester")).CoreV1().ConfigMaps("default")
	made, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string]string{"a": "1", "b": "2"}},
		metav1.CreateOptions{FieldManager: "poster"})
	require.NoError(t, err)
	assert.Equal(t, []string{"poster Update "}, managers(made))

	apply := func(manager, data string, force bool) (*corev1.ConfigMap, error) {
		return maps.Patch(t.Context(), "a", types.ApplyYAMLPatchType, []byte(`{"apiVersion":"v1","kind":"ConfigMap","data":`+data+`}`),
			metav1.PatchOptions{FieldManager: manager, Force: &force})
	}
	_, err = apply("alice", `{"a":"9"}`, false)
	require.EqualError(t, err, `Apply failed with 1 conflict: conflict with "poster" using v1: .data.a`)
	got, err := apply("alice", `{"a":"9"}`, true)
	require.NoError(t, err)
	assert.Equal(t, []string{"alice Apply ", "poster Update "}, managers(got))

	// Also what others write in the process is noted now.
	_, err = fake.New(server, "controller").CoreV1().ConfigMaps("default").Patch(t.Context(), "a", types.MergePatchType, []byte(`{"data":{"b":"3"}}`),
		metav1.PatchOptions{})
	require.NoError(t, err)
	_, err = apply("alice", `{"a":"9","b":"4"}`, false)
	require.EqualError(t, err, `Apply failed with 1 conflict: conflict with "controller" using v1: .data.b`)
}

func TestWhatIsMadeInTheProcessHasNoManagers(t *testing.T) {
	server := api.NewServer(api.Config{})
	_, err := fake.New(server, "user").CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}},
		metav1.CreateOptions{})
	require.NoError(t, err)
	got, err := clients(t, handler(server).Config("tester")).CoreV1().ConfigMaps("default").
		Patch(t.Context(), "a", types.MergePatchType, []byte(`{"data":{"b":"3"}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	assert.Empty(t, got.ManagedFields)
}

func TestAScaleIsAppliedAndNamesItsManagers(t *testing.T) {
	server := api.NewServer(api.Config{})
	shops := clients(t, handler(server).Config("tester")).AppsV1().Deployments("default")
	_, err := shops.Create(t.Context(), shop(), metav1.CreateOptions{FieldManager: "poster"})
	require.NoError(t, err)
	_, err = shops.Patch(t.Context(), "shop", types.MergePatchType, []byte(`{"spec":{"replicas":3}}`), metav1.PatchOptions{FieldManager: "kubectl"},
		"scale")
	require.NoError(t, err)

	apply := func(force bool) error {
		_, err := shops.Patch(t.Context(), "shop", types.ApplyYAMLPatchType,
			[]byte(`{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"shop"},"spec":{"replicas":8}}`),
			metav1.PatchOptions{FieldManager: "alice", Force: &force}, "scale")
		return err
	}
	require.EqualError(t, apply(false),
		`Apply failed with 1 conflict: conflict with "kubectl" with subresource "scale" using autoscaling/v1: .spec.replicas`)
	require.NoError(t, apply(true))
	got, err := shops.Get(t.Context(), "shop", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, int32(8), *got.Spec.Replicas)
	assert.ElementsMatch(t, []string{"poster Update ", "alice Apply scale"}, managers(got))

	_, err = shops.Patch(t.Context(), "shop", types.ApplyYAMLPatchType, []byte(`{"apiVersion":"apps/v1","kind":"Deployment"}`),
		metav1.PatchOptions{FieldManager: "alice"}, "scale")
	require.ErrorContains(t, err, "invalid object type: apps/v1, Kind=Deployment")
}

func BenchmarkCreateAPodOverHTTP(b *testing.B) {
	config := handler(api.NewServer(api.Config{})).Config("tester")
	pods := clients(b, config).CoreV1().Pods("default")
	for b.Loop() {
		_, err := pods.Create(b.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "p"}, Spec: shop().Spec.Template.Spec},
			metav1.CreateOptions{})
		require.NoError(b, err)
	}
}
