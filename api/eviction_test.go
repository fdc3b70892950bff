package api_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/fake"
)

// guarded makes a running, ready pod and a budget that selects it.
func guarded(t *testing.T, c *fake.Clientset, status policyv1.PodDisruptionBudgetStatus) {
	t.Helper()
	pod := podOn("web", "node-1")
	pod.Labels = map[string]string{"app": "web"}
	createPod(t, c, pod)
	_, err := c.CoreV1().Pods("default").Patch(ctx, "web", types.MergePatchType,
		[]byte(`{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`), metav1.PatchOptions{}, "status")
	require.NoError(t, err)
	budget, err := c.PolicyV1().PodDisruptionBudgets("default").Create(ctx, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "budget", Namespace: "default"},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: ptr.To(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	budget.Status = status
	_, err = c.PolicyV1().PodDisruptionBudgets("default").UpdateStatus(ctx, budget, metav1.UpdateOptions{})
	require.NoError(t, err)
}

func evict(c *fake.Clientset, pod string) error {
	return c.CoreV1().Pods("default").EvictV1(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod, Namespace: "default"}})
}

// podRequest returns one that creates a subresource of the pod web.
func podRequest(sub string, obj runtime.Object) api.Request {
	return api.Request{
		Actor: "tester", Verb: "create", Resource: v1.SchemeGroupVersion.WithResource("pods"), Subresource: sub,
		Namespace: "default", Name: "web", Object: obj,
	}
}

func TestAnEvictionAsksTheBudgetOfThePod(t *testing.T) {
	for name, tt := range map[string]struct {
		status      policyv1.PodDisruptionBudgetStatus
		cause       string
		retryAfter  int
		wantAllowed int32
	}{
		"not yet looked at": {policyv1.PodDisruptionBudgetStatus{}, "The disruption budget budget is still being processed by the server.", 10, 0},
		"nothing to spare": {policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, DesiredHealthy: 1, CurrentHealthy: 1},
			"The disruption budget budget needs 1 healthy pods and has 1 currently", 0, 0},
		"one to spare": {policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, DisruptionsAllowed: 2}, "", 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			_, c := newServer()
			guarded(t, c, tt.status)
			err := evict(c, "web")
			pod, getErr := c.CoreV1().Pods("default").Get(ctx, "web", metav1.GetOptions{})
			require.NoError(t, getErr)
			if tt.cause == "" {
				require.NoError(t, err)
				assert.NotNil(t, pod.DeletionTimestamp)
				last := pod.Status.Conditions[len(pod.Status.Conditions)-1]
				assert.Equal(t, [3]string{"DisruptionTarget", "EvictionByEvictionAPI", "Eviction API: evicting"}, [3]string{string(last.Type), last.Reason, last.Message})
				budget, err := c.PolicyV1().PodDisruptionBudgets("default").Get(ctx, "budget", metav1.GetOptions{})
				require.NoError(t, err)
				assert.Equal(t, tt.wantAllowed, budget.Status.DisruptionsAllowed)
				assert.Contains(t, budget.Status.DisruptedPods, "web")
				return
			}
			require.True(t, apierrors.IsTooManyRequests(err), err)
			assert.EqualError(t, err, "Cannot evict pod as it would violate the pod's disruption budget.")
			details := err.(apierrors.APIStatus).Status().Details
			assert.Equal(t, tt.cause, details.Causes[0].Message)
			assert.EqualValues(t, tt.retryAfter, details.RetryAfterSeconds)
			assert.Nil(t, pod.DeletionTimestamp)
		})
	}
}

func TestAnEvictionOrBindingThatNamesAnotherPodIsRefused(t *testing.T) {
	server, c := newServer()
	createPod(t, c, podOn("web", "node-1"))
	_, err := server.Do(ctx, podRequest("eviction", &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "other", Namespace: "default"}}))
	assert.EqualError(t, err, "name in URL does not match name in Eviction object")
	_, err = server.Do(ctx, podRequest("binding", &v1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: "other", Namespace: "default"}, Target: v1.ObjectReference{Kind: "Node", Name: "node-1"},
	}))
	assert.EqualError(t, err, "name in URL does not match name in Binding object")
}

func TestAnUpdateCreatesWhatIsNotThereWhereTheKindAllowsIt(t *testing.T) {
	_, c := newServer()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default"}}
	lease, err := c.CoordinationV1().Leases("default").Update(ctx, lease, metav1.UpdateOptions{})
	require.NoError(t, err)
	assert.NotEmpty(t, lease.UID)
	_, err = c.CoreV1().ConfigMaps("default").Update(ctx, configMap("a"), metav1.UpdateOptions{})
	assert.True(t, apierrors.IsNotFound(err), err)
	lease.Name, lease.ResourceVersion = "b", ""
	_, err = c.CoordinationV1().Leases("default").Update(ctx, lease, metav1.UpdateOptions{})
	assert.ErrorContains(t, err, "StorageError: invalid object, Code: 4, Key: /registry/leases/default/b, ResourceVersion: 0, AdditionalErrorMsg: "+
		"Precondition failed: UID in precondition: ")
}

func TestAPatchWarnsOfFieldsThatTheKindDoesNotHave(t *testing.T) {
	server, c := newServer()
	createPod(t, c, podOn("web", "node-1"))
	for patchType, patch := range map[types.PatchType]string{
		types.MergePatchType: `{"bogus":1}`, types.StrategicMergePatchType: `{"bogus":1}`, types.JSONPatchType: `[{"op":"add","path":"/bogus","value":1}]`,
	} {
		var warned []string
		request := podRequest("", nil)
		request.Verb, request.PatchType, request.Patch = "patch", patchType, []byte(patch)
		request.Warn = func(text string) { warned = append(warned, text) }
		_, err := server.Do(ctx, request)
		require.NoError(t, err)
		assert.Equal(t, []string{`unknown field "bogus"`}, warned)
	}
}

// A pod that is not ready is evicted without asking the budget where its policy is AlwaysAllow.
func TestAnUnhealthyPodIsEvictedAsItsBudgetSays(t *testing.T) {
	for policy, allowed := range map[policyv1.UnhealthyPodEvictionPolicyType]bool{policyv1.IfHealthyBudget: false, policyv1.AlwaysAllow: true} {
		_, c := newServer()
		guarded(t, c, policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 2, DesiredHealthy: 1})
		_, err := c.PolicyV1().PodDisruptionBudgets("default").Patch(ctx, "budget", types.MergePatchType,
			[]byte(`{"spec":{"unhealthyPodEvictionPolicy":"`+string(policy)+`"}}`), metav1.PatchOptions{})
		require.NoError(t, err)
		_, err = c.CoreV1().Pods("default").Patch(ctx, "web", types.MergePatchType,
			[]byte(`{"status":{"conditions":[{"type":"Ready","status":"False"}]}}`), metav1.PatchOptions{}, "status")
		require.NoError(t, err)
		assert.Equal(t, allowed, evict(c, "web") == nil, policy)
	}
}

// A dry run is asked for in the request, in the Eviction, or in both.
func TestTheDryRunOfAnEvictionDeletesNothing(t *testing.T) {
	server, c := newServer()
	createPod(t, c, podOn("web", "node-1"))
	request := podRequest("eviction", &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "web"}})
	request.Write.DryRun = []string{metav1.DryRunAll}
	_, err := server.Do(ctx, request)
	require.NoError(t, err)
	pod, err := c.CoreV1().Pods("default").Get(ctx, "web", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Empty(t, pod.Status.Conditions)
	request.Object = &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "web"}, DeleteOptions: &metav1.DeleteOptions{DryRun: []string{"Other"}}}
	_, err = server.Do(ctx, request)
	assert.ErrorContains(t, err, "Non-matching dry-run options in request and content: [All] and [Other]")
}

// The condition that an eviction sets first gives the pod another version.
func TestAnEvictionMayNameTheVersionOfThePod(t *testing.T) {
	server, c := newServer()
	pod := createPod(t, c, podOn("web", "node-1"))
	eviction := func(version string) error {
		_, err := server.Do(ctx, podRequest("eviction", &policyv1.Eviction{
			ObjectMeta: metav1.ObjectMeta{Name: "web"}, DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &version}},
		}))
		return err
	}
	assert.True(t, apierrors.IsConflict(eviction("1")))
	assert.NoError(t, eviction(pod.ResourceVersion))
}
