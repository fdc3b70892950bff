package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	mib            = 1 << 20
	tooLarge       = "etcdserver: request is too large"
	entityTooLarge = "Request entity too large: limit is 3145728"
)

// deployment returns an object that may be as large as etcd allows.
func deployment(name string, bytes int) *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: v1.PodSpec{
			Containers: []v1.Container{{Name: "web", Image: "busybox", Env: []v1.EnvVar{{Name: "A", Value: strings.Repeat("a", bytes)}}}},
		}},
	}}
}

// requireTooLarge checks what is said of an object of that many bytes, all but some hundred.
func requireTooLarge(t *testing.T, err error, bytes int) {
	t.Helper()
	status, ok := err.(apierrors.APIStatus)
	require.True(t, ok, "%v", err)
	got := status.Status()
	switch {
	case bytes > 3*mib:
		assert.Equal(t, entityTooLarge, got.Message)
		assert.True(t, apierrors.IsRequestEntityTooLargeError(err))
		assert.EqualValues(t, http.StatusRequestEntityTooLarge, got.Code)
	case bytes > 2*mib:
		assert.Regexp(t, `^rpc error: code = ResourceExhausted desc = trying to send message larger than max \(\d{7} vs\. 2097152\)$`, got.Message)
		assert.EqualValues(t, http.StatusInternalServerError, got.Code)
		assert.Empty(t, got.Reason)
	default:
		assert.Equal(t, tooLarge, got.Message)
		assert.EqualValues(t, http.StatusInternalServerError, got.Code)
		assert.Empty(t, got.Reason)
	}
}

var tooManyBytes = []int{1600 << 10, 2200 << 10, 3200 << 10}

func TestAnObjectThatIsTooLargeIsNotCreated(t *testing.T) {
	_, c := newServer()
	apps := c.AppsV1().Deployments("default")
	for _, bytes := range tooManyBytes {
		_, err := apps.Create(ctx, deployment("web", bytes), metav1.CreateOptions{})
		requireTooLarge(t, err, bytes)
	}
	_, err := apps.Get(ctx, "web", metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err))
	_, err = apps.Create(ctx, deployment("web", 1500<<10), metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = apps.Create(ctx, deployment("other", 1600<<10), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	require.NoError(t, err, "a dry run does not reach etcd")
}

// Of a ConfigMap, validation counts the data, after the body was read.
func TestAConfigMapOfMoreThanAMebibyteIsInvalid(t *testing.T) {
	_, c := newServer()
	m := configMap("a")
	m.Data = map[string]string{"a": strings.Repeat("a", mib+1)}
	_, err := c.CoreV1().ConfigMaps("default").Create(ctx, m, metav1.CreateOptions{})
	assert.True(t, apierrors.IsInvalid(err), "%v", err)
	m.Data["a"] = strings.Repeat("a", 3*mib)
	_, err = c.CoreV1().ConfigMaps("default").Create(ctx, m, metav1.CreateOptions{})
	requireTooLarge(t, err, 3*mib+1)
	m.Data["a"] = strings.Repeat("<", mib) // as JSON, each is six bytes long
	_, err = c.CoreV1().ConfigMaps("default").Create(ctx, m, metav1.CreateOptions{})
	requireTooLarge(t, err, 6*mib)
	m.Data["a"] = strings.Repeat("a", mib)
	_, err = c.CoreV1().ConfigMaps("default").Create(ctx, m, metav1.CreateOptions{})
	require.NoError(t, err)
}

func TestAnObjectDoesNotBecomeTooLargeByAnUpdate(t *testing.T) {
	_, c := newServer()
	apps := c.AppsV1().Deployments("default")
	small, err := apps.Create(ctx, deployment("web", 1), metav1.CreateOptions{})
	require.NoError(t, err)
	for _, bytes := range tooManyBytes {
		large := small.DeepCopy()
		large.Spec = deployment("web", bytes).Spec
		_, err := apps.Update(ctx, large, metav1.UpdateOptions{})
		requireTooLarge(t, err, bytes)
		large = small.DeepCopy()
		large.Status.Conditions = []appsv1.DeploymentCondition{{Type: "A", Status: v1.ConditionTrue, Message: strings.Repeat("a", bytes)}}
		_, err = apps.UpdateStatus(ctx, large, metav1.UpdateOptions{})
		requireTooLarge(t, err, bytes)
	}
	got, err := apps.Get(ctx, "web", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, small, got)
}

func TestAnObjectDoesNotBecomeTooLargeByAPatch(t *testing.T) {
	_, c := newServer()
	apps := c.AppsV1().Deployments("default")
	small, err := apps.Create(ctx, deployment("web", 1), metav1.CreateOptions{})
	require.NoError(t, err)
	status := func(bytes int) string {
		return `"status":{"conditions":[{"type":"A","status":"True","message":"` + strings.Repeat("a", bytes) + `"}]}}`
	}
	for _, bytes := range tooManyBytes {
		value := strings.Repeat("a", bytes)
		for pt, patch := range map[types.PatchType]string{
			types.JSONPatchType:           `[{"op":"replace","path":"/spec/template/spec/containers/0/env/0/value","value":"` + value + `"}]`,
			types.MergePatchType:          `{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"x","env":[{"name":"A","value":"` + value + `"}]}]}}}}`,
			types.StrategicMergePatchType: `{"spec":{"template":{"spec":{"containers":[{"name":"web","env":[{"name":"A","value":"` + value + `"}]}]}}}}`,
			types.ApplyPatchType: `{"apiVersion":"apps/v1","kind":"Deployment","spec":{"template":{"spec":{"containers":[{"name":"web",
				"image":"busybox","env":[{"name":"A","value":"` + value + `"}]}]}}}}`,
		} {
			options := metav1.PatchOptions{}
			if pt == types.ApplyPatchType && bytes == tooManyBytes[1] {
				continue // it takes seconds
			}
			if pt == types.ApplyPatchType {
				force := true
				options = metav1.PatchOptions{FieldManager: "me", Force: &force}
			}
			_, err := apps.Patch(ctx, "web", pt, []byte(patch), options)
			requireTooLarge(t, err, bytes)
		}
		for _, pt := range []types.PatchType{types.MergePatchType, types.StrategicMergePatchType} {
			_, err := apps.Patch(ctx, "web", pt, []byte("{"+status(bytes)), metav1.PatchOptions{}, "status")
			requireTooLarge(t, err, bytes)
		}
	}
	got, err := apps.Get(ctx, "web", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, small, got)
}

// A large object grows by small patches, too.
func TestTheWholeObjectCountsNotThePatch(t *testing.T) {
	_, c := newServer()
	apps := c.AppsV1().Deployments("default")
	_, err := apps.Create(ctx, deployment("web", 1500<<10), metav1.CreateOptions{})
	require.NoError(t, err)
	patch := []byte(`{"metadata":{"annotations":{"a":"` + strings.Repeat("a", 50<<10) + `"}}}`)
	_, err = apps.Patch(ctx, "web", types.MergePatchType, patch, metav1.PatchOptions{})
	requireTooLarge(t, err, 1550<<10)
}

// Upstream: apiserver endpoints/handlers isTooLargeError and what is done then, v1.37.
func TestManagedFieldsAreDroppedWhereTheObjectIsTooLargeWithThem(t *testing.T) {
	_, c := newServer()
	apps := c.AppsV1().Deployments("default")
	config, err := json.Marshal(deployment("web", 1))
	require.NoError(t, err)
	config = []byte(`{"apiVersion":"apps/v1","kind":"Deployment",` + string(config[1:]))
	got, err := apps.Patch(ctx, "web", types.ApplyPatchType, config, metav1.PatchOptions{FieldManager: "me"})
	require.NoError(t, err)
	require.NotEmpty(t, got.ManagedFields)
	room := 1536<<10 - got.Size()
	patch := `{"spec":{"template":{"spec":{"containers":[{"name":"web","env":[{"name":"A","value":"` + strings.Repeat("a", room+100) + `"}]}]}}}}`
	got, err = apps.Patch(ctx, "web", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(t, err)
	assert.Empty(t, got.ManagedFields)
	assert.LessOrEqual(t, got.Size(), 1536<<10)
}

// Thirty copies that double an annotation would take all memory.
func TestCopiesOfAJSONPatchAreLimited(t *testing.T) {
	_, c := newServer()
	m := configMap("a")
	m.Data = map[string]string{"a": strings.Repeat("a", 1000)}
	createMap(t, c, m)
	ops := make([]string, 30)
	for i := range ops {
		ops[i] = `{"op":"copy","from":"/data","path":"/data/` + string(rune('b'+i)) + `"}`
	}
	t.Run("a patch of copies", func(t *testing.T) {
		_, err := c.CoreV1().ConfigMaps("default").Patch(ctx, "a", types.JSONPatchType, []byte("["+strings.Join(ops, ",")+"]"), metav1.PatchOptions{})
		assert.True(t, apierrors.IsInvalid(err), "%v", err)
		assert.ErrorContains(t, err, "the server rejected our request due to an error in our request")
	})
}
