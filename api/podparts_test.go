package api_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/fake"
)

// sized returns a pod that asks for a tenth of a CPU.
func sized() *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default"},
		Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: "busybox", Resources: v1.ResourceRequirements{
			Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("100m")},
		}}}},
	}
}

// patchPart patches a part of the pod of sized.
func patchPart(t *testing.T, c kubernetes.Interface, part, patch string) (*v1.Pod, error) {
	t.Helper()
	return c.CoreV1().Pods("default").Patch(t.Context(), "p", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, part)
}

func withSized(t *testing.T) (*api.Server, kubernetes.Interface, *v1.Pod) {
	t.Helper()
	server := api.NewServer(api.Config{})
	c := fake.New(server, "tester")
	pod, err := c.CoreV1().Pods("default").Create(t.Context(), sized(), metav1.CreateOptions{})
	require.NoError(t, err)
	return server, c, pod
}

func TestEphemeralContainersAreAddedAndNeitherChangedNorRemoved(t *testing.T) {
	_, c, before := withSized(t)
	const debugger = `{"name":"d","image":"busybox","targetContainerName":"c"}`
	pod, err := patchPart(t, c, "ephemeralcontainers", `{"metadata":{"labels":{"a":"b"}},"spec":{"nodeName":"elsewhere","ephemeralContainers":[`+debugger+`]}}`)
	require.NoError(t, err)
	require.Len(t, pod.Spec.EphemeralContainers, 1)
	assert.Equal(t, v1.PullAlways, pod.Spec.EphemeralContainers[0].ImagePullPolicy, "its defaults are set")
	assert.Empty(t, pod.Spec.NodeName)
	assert.Empty(t, pod.Labels)
	assert.Equal(t, before.Generation+1, pod.Generation)
	for patch, want := range map[string]string{
		`{"spec":{"ephemeralContainers":[{"name":"d","image":"other"}]}}`: `existing ephemeral containers "d" may not be changed
@@ -1,6 +1,6 @@
 {
  "Name": "d",
- "Image": "busybox",
+ "Image": "other",
  "Command": null,
  "Args": null,
  "WorkingDir": "",
`,
		`{"spec":{"ephemeralContainers":[{"name":"d","$patch":"delete"}]}}`: `existing ephemeral containers "d" may not be removed`,
		`{"spec":{"ephemeralContainers":[{"name":"c","image":"busybox"}]}}`: `spec.ephemeralContainers[0].name: Duplicate value: "c"`,
		`{"spec":{"ephemeralContainers":[{"name":"e","image":"i","targetContainerName":"x"}]}}`: `spec.ephemeralContainers[0].targetContainerName: ` +
			`Not found: "x"`,
		`{"spec":{"ephemeralContainers":[{"name":"e","image":"i","ports":[{"containerPort":80}]}]}}`: `spec.ephemeralContainers[0].ports: Forbidden: ` +
			`cannot be set for an Ephemeral Container`,
	} {
		_, err := patchPart(t, c, "ephemeralcontainers", patch)
		assert.True(t, apierrors.IsInvalid(err), "%s: %v", patch, err)
		assert.ErrorContains(t, err, want)
	}
	update := pod.DeepCopy()
	update.Spec.EphemeralContainers = append(update.Spec.EphemeralContainers,
		v1.EphemeralContainer{EphemeralContainerCommon: v1.EphemeralContainerCommon{Name: "e", Image: "busybox"}})
	_, err = c.CoreV1().Pods("default").Update(t.Context(), update.DeepCopy(), metav1.UpdateOptions{})
	assert.True(t, apierrors.IsInvalid(err), "%v", err)
	pod, err = c.CoreV1().Pods("default").UpdateEphemeralContainers(t.Context(), "p", update, metav1.UpdateOptions{})
	require.NoError(t, err)
	assert.Len(t, pod.Spec.EphemeralContainers, 2)
	_, err = c.CoreV1().Pods("default").UpdateEphemeralContainers(t.Context(), "p", update, metav1.UpdateOptions{})
	assert.True(t, apierrors.IsConflict(err), "%v", err)
}

func TestAPodIsResizedWhileItsClassOfServiceStays(t *testing.T) {
	server, c, before := withSized(t)
	pod, err := patchPart(t, c, "resize", `{"spec":{"nodeName":"elsewhere","containers":[{"name":"c","image":"other","resources":{"requests":{"cpu":"200m"}}}]}}`)
	require.NoError(t, err)
	assert.Equal(t, "200m", pod.Spec.Containers[0].Resources.Requests.Cpu().String())
	assert.Equal(t, "busybox", pod.Spec.Containers[0].Image)
	assert.Empty(t, pod.Spec.NodeName)
	assert.Equal(t, before.Generation+1, pod.Generation)
	for patch, want := range map[string]string{
		`{"spec":{"containers":[{"name":"c","resizePolicy":[{"resourceName":"cpu","restartPolicy":"Perhaps"}]}]}}`: `resizePolicy`,
		`{"spec":{"containers":[{"name":"c",` +
			`"resources":{"requests":{"cpu":null}}}]}}`: "spec.containers[0].resources.requests: Forbidden: " +
			"resource requests cannot be removed",
		`{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"1","memory":"1Gi"},"limits":{"cpu":"1","memory":"1Gi"}}}]}}`: "Pod QOS Class may not " +
			"change as a result of resizing",
		`{"spec":{"containers":[{"name":"c","resources":{"requests":{"ephemeral-storage":"1Gi"}}}]}}`: "spec: Forbidden: " +
			"only cpu and memory resources are mutable",
		`{"spec":{"containers":[{"name":"d","image":"i"}]}}`: "spec.containers: " +
			"Forbidden: containers may not be added or removed on resize",
		`{"spec":{"containers":[{"name":"d","image":"i"},{"name":"c","$patch":"delete"}]}}`: "spec.containers[0].name: Forbidden: containers may not be renamed or " +
			"reordered on resize",
		`{"spec":{"resources":{"requests":{"hugepages-2Mi":"2Mi"}}}}`: "only cpu and memory resources are mutable at pod-level",
	} {
		_, err := patchPart(t, c, "resize", patch)
		assert.True(t, apierrors.IsInvalid(err), "%s: %v", patch, err)
		assert.ErrorContains(t, err, want)
	}
	_, err = c.CoreV1().Pods("default").Patch(t.Context(), "p", types.MergePatchType,
		[]byte(`{"status":{"containerStatuses":[{"name":"c","image":"busybox","imageID":"","ready":true,"restartCount":0,"state":{"running":{}}}]}}`),
		metav1.PatchOptions{}, "status")
	require.NoError(t, err)
	_, err = patchPart(t, c, "resize", `{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"300m"}}}]}}`)
	assert.ErrorContains(t, err, "Pod running on node without support for resize")
	for _, part := range []string{"resize", "ephemeralcontainers"} {
		found, ok := server.Registry().Subresource(v1.SchemeGroupVersion.WithResource("pods"), part)
		assert.True(t, ok)
		assert.Equal(t, metav1.APIResource{Version: "v1", Kind: "Pod", Name: "pods/" + part, Namespaced: true, Verbs: metav1.Verbs{"get", "patch", "update"}}, found)
		obj, err := server.Do(t.Context(),
			api.Request{Verb: "get", Resource: v1.SchemeGroupVersion.WithResource("pods"), Subresource: part, Namespace: "default", Name: "p"})
		require.NoError(t, err)
		assert.IsType(t, (runtime.Object)(&v1.Pod{}), obj)
	}
}
