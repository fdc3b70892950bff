package disruption_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/storagesim/storagesim/controllers/disruption"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/rigs/enginetest"
	"github.com/storagesim/storagesim/trace"
)

var ctx = context.Background()

// cluster is an API server with the controller of budgets and no other actor.
type cluster struct{ *enginetest.Rig }

func newCluster(t testing.TB, cfg engine.Config) cluster {
	t.Helper()
	return cluster{enginetest.New(t, cfg, disruption.ActorName, disruption.New())}
}

var web = map[string]string{"app": "web"}

// set makes a StatefulSet without pods.
func (c cluster) set(replicas int32) *appsv1.StatefulSet {
	c.Helper()
	set, err := c.User.AppsV1().StatefulSets("default").Create(ctx, &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.StatefulSetSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: web}, Template: v1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: web}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: "busybox"}}},
		}},
	}, metav1.CreateOptions{})
	require.NoError(c, err)
	return set
}

// pods makes pods web-FROM and so on that run and are ready. Their controller is owner, nil for none.
func (c cluster) pods(owner *appsv1.StatefulSet, from, n int) {
	c.Helper()
	for i := from; i < from+n; i++ {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("web-%d", i), Labels: web}, Spec: v1.PodSpec{
			NodeName: "node-1", Containers: []v1.Container{{Name: "c", Image: "busybox"}},
		}}
		if owner != nil {
			pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))}
		}
		pod, err := c.User.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{})
		require.NoError(c, err)
		pod.Status.Phase, pod.Status.Conditions = v1.PodRunning, []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}
		_, err = c.User.CoreV1().Pods("default").UpdateStatus(ctx, pod, metav1.UpdateOptions{})
		require.NoError(c, err)
	}
}

// budget makes a budget of the pods web-N with one of the two limits.
func (c cluster) budget(name, minAvailable, maxUnavailable string) {
	c.Helper()
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: web}}}
	for text, field := range map[string]**intstr.IntOrString{minAvailable: &budget.Spec.MinAvailable, maxUnavailable: &budget.Spec.MaxUnavailable} {
		if text != "" {
			limit := intstr.Parse(text)
			*field = &limit
		}
	}
	_, err := c.User.PolicyV1().PodDisruptionBudgets("default").Create(ctx, budget, metav1.CreateOptions{})
	require.NoError(c, err)
}

func (c cluster) status(name string) policyv1.PodDisruptionBudgetStatus {
	c.Helper()
	budget, err := c.User.PolicyV1().PodDisruptionBudgets("default").Get(ctx, name, metav1.GetOptions{})
	require.NoError(c, err)
	return budget.Status
}

func (c cluster) evict(pod string) error {
	return c.User.CoreV1().Pods("default").EvictV1(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: pod}})
}

// standing returns the number of pods that are not being deleted.
func (c cluster) standing() (n int) {
	c.Helper()
	pods, err := c.User.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
	require.NoError(c, err)
	for _, pod := range pods.Items {
		if pod.DeletionTimestamp == nil {
			n++
		}
	}
	return n
}

// events returns the events, reason and message.
func (c cluster) events() (list []string) {
	for _, entry := range c.Engine.Trace().Entries() {
		if e, ok := entry.Record.(trace.Event); ok {
			list = append(list, e.Reason+": "+e.Message)
		}
	}
	return list
}

// semantics 8.5 (1), (2).
func TestABudgetCountsWhatMayGo(t *testing.T) {
	tests := []struct {
		min, max                             string
		replicas                             int32
		ready                                int
		healthy, desired, expected, disrupts int32
	}{
		{min: "2", replicas: 5, ready: 3, healthy: 3, desired: 2, expected: 3, disrupts: 1},
		{min: "3", replicas: 5, ready: 3, healthy: 3, desired: 3, expected: 3},
		{min: "50%", replicas: 5, ready: 3, healthy: 3, desired: 3, expected: 5},
		{min: "50%", replicas: 5, ready: 5, healthy: 5, desired: 3, expected: 5, disrupts: 2},
		{max: "1", replicas: 3, ready: 3, healthy: 3, desired: 2, expected: 3, disrupts: 1},
		{max: "1", replicas: 3, ready: 2, healthy: 2, desired: 2, expected: 3},
		{max: "30%", replicas: 4, ready: 4, healthy: 4, desired: 2, expected: 4, disrupts: 2},
		{max: "9", replicas: 3, ready: 3, healthy: 3, desired: 0, expected: 3, disrupts: 3},
		{min: "0", replicas: 3, ready: 0, healthy: 0, desired: 0, expected: 0},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("min %s max %s of %d, %d ready", tt.min, tt.max, tt.replicas, tt.ready), func(t *testing.T) {
			enginetest.AtEverySeed(t, 10, func(t testing.TB, cfg engine.Config) {
				c := newCluster(t, cfg)
				c.pods(c.set(tt.replicas), 0, tt.ready)
				c.budget("web", tt.min, tt.max)
				c.Settle()
				status := c.status("web")
				require.Equal(t, []int32{tt.healthy, tt.desired, tt.expected, tt.disrupts},
					[]int32{status.CurrentHealthy, status.DesiredHealthy, status.ExpectedPods, status.DisruptionsAllowed})
				require.EqualValues(t, 1, status.ObservedGeneration)
				condition := meta.FindStatusCondition(status.Conditions, policyv1.DisruptionAllowedCondition)
				require.NotNil(t, condition)
				want := map[bool]string{true: "True SufficientPods 1", false: "False InsufficientPods 1"}[tt.disrupts > 0]
				require.Equal(t, want, fmt.Sprintf("%s %s %d", condition.Status, condition.Reason, condition.ObservedGeneration))
			})
		})
	}
}

// semantics 8.5 (3): in every order of events no more pods are evicted than the budget allows.
func TestNoMorePodsAreEvictedThanTheBudgetAllows(t *testing.T) {
	enginetest.AtEverySeed(t, 60, func(t testing.TB, cfg engine.Config) {
		c := newCluster(t, cfg)
		set := c.set(4)
		c.pods(set, 0, 4)
		c.budget("web", "", "2")
		require.True(t, apierrors.IsTooManyRequests(c.evict("web-0")), "the controller has not counted yet")
		c.Settle()
		for round := range 12 {
			_ = c.evict(fmt.Sprintf("web-%d", round%4)) // the budget refuses some
			for range round % 3 {                       // the controller may be some steps behind
				_, err := c.Engine.Step()
				require.NoError(t, err)
			}
			require.GreaterOrEqual(t, c.standing(), 2)
			if round == 6 { // two others take the places of those that went
				require.Equal(t, 2, c.standing())
				c.pods(set, 4, 2)
				c.Settle()
			}
		}
		c.Settle()
		require.Equal(t, 2, c.standing())
		require.Zero(t, c.status("web").DisruptionsAllowed)
		require.Less(t, c.Engine.Now().Sub(engine.Start()), time.Second, "to settle is not to wait for what might go wrong")
	})
}

// semantics 8.5 (4).
func TestAPodThatWasEvictedAndNotDeletedCountsAgainAfterTwoMinutes(t *testing.T) {
	c := newCluster(t, engine.Config{})
	c.pods(c.set(2), 0, 2)
	c.budget("web", "", "1")
	c.Settle()
	budgets := c.User.PolicyV1().PodDisruptionBudgets("default")
	budget, err := budgets.Get(ctx, "web", metav1.GetOptions{})
	require.NoError(t, err)
	budget.Status.DisruptionsAllowed, budget.Status.DisruptedPods = 0,
		map[string]metav1.Time{"web-0": metav1.NewTime(c.Engine.Now()), "gone": metav1.NewTime(c.Engine.Now())}
	_, err = budgets.UpdateStatus(ctx, budget, metav1.UpdateOptions{})
	require.NoError(t, err)
	pod, err := c.User.CoreV1().Pods("default").Get(ctx, "web-0", metav1.GetOptions{})
	require.NoError(t, err)
	pod.Status.Conditions = append(pod.Status.Conditions,
		v1.PodCondition{Type: v1.DisruptionTarget, Status: v1.ConditionTrue, LastTransitionTime: metav1.NewTime(c.Engine.Now())})
	_, err = c.User.CoreV1().Pods("default").UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	require.NoError(t, err)

	require.NoError(t, c.Engine.RunFor(time.Minute))
	status := c.status("web")
	require.EqualValues(t, 1, status.CurrentHealthy)
	require.Len(t, status.DisruptedPods, 1)
	require.Contains(t, status.DisruptedPods, "web-0")
	require.NoError(t, c.Engine.RunFor(61*time.Second))
	status = c.status("web")
	require.EqualValues(t, []int32{2, 1}, []int32{status.CurrentHealthy, status.DisruptionsAllowed})
	require.Empty(t, status.DisruptedPods)
	require.Contains(t, c.events(), "NotDeleted: Pod was expected by PDB default/default to be deleted but it wasn't")
	pod, err = c.User.CoreV1().Pods("default").Get(ctx, "web-0", metav1.GetOptions{})
	require.NoError(t, err)
	last := pod.Status.Conditions[len(pod.Status.Conditions)-1]
	require.Equal(t, v1.DisruptionTarget, last.Type)
	require.Equal(t, v1.ConditionFalse, last.Status)
}

// semantics 8.5 (5).
func TestABudgetWhosePodsCannotBeCountedAllowsNothing(t *testing.T) {
	c := newCluster(t, engine.Config{})
	set := c.set(2)
	c.pods(set, 0, 2)
	c.budget("web", "", "1")
	c.Settle()
	require.EqualValues(t, 1, c.status("web").DisruptionsAllowed)
	orphan := metav1.DeletePropagationOrphan
	require.NoError(t, c.User.AppsV1().StatefulSets("default").Delete(ctx, set.Name, metav1.DeleteOptions{PropagationPolicy: &orphan}))
	fresh, err := c.User.AppsV1().StatefulSets("default").Get(ctx, set.Name, metav1.GetOptions{})
	require.NoError(t, err)
	fresh.Finalizers = nil // the garbage collector does not run here
	_, err = c.User.AppsV1().StatefulSets("default").Update(ctx, fresh, metav1.UpdateOptions{})
	require.NoError(t, err)
	c.pods(set, 2, 1) // a change of a pod makes the controller count again
	c.Settle()
	status := c.status("web")
	require.Zero(t, status.DisruptionsAllowed)
	condition := meta.FindStatusCondition(status.Conditions, policyv1.DisruptionAllowedCondition)
	require.Equal(t, `SyncFailed: found no controllers for pod "web-0"`, condition.Reason+": "+condition.Message)
	require.True(t, apierrors.IsTooManyRequests(c.evict("web-0")))
}

func TestTheControllerSaysWhatItCannotCount(t *testing.T) {
	c := newCluster(t, engine.Config{})
	c.budget("a", "", "1")
	c.Settle()
	require.Equal(t, []string{"NoPods: No matching pods found"}, c.events()[:1])
	c.budget("b", "1", "")
	c.Settle()
	c.pods(nil, 0, 1)
	c.Settle()
	require.Contains(t, c.events(), `MultiplePodDisruptionBudgets: Pod "default"/"web-0" matches multiple PodDisruptionBudgets.  Chose "a" arbitrarily.`)
	require.Contains(t, c.events(), "UnmanagedPods: Pods selected by this PodDisruptionBudget (selector: &LabelSelector{MatchLabels:map[string]string{app: web,},"+
		"MatchExpressions:[]LabelSelectorRequirement{},}) were found to be unmanaged. As a result, the status of the PDB cannot be calculated correctly, "+
		"which may result in undefined behavior. To account for these pods please set \".spec.minAvailable\" field of the PDB to an integer value.")
}

func TestThereIsNoStepInAClusterWithoutBudgets(t *testing.T) {
	c := newCluster(t, engine.Config{})
	c.pods(c.set(1), 0, 1)
	_, waits := c.Engine.NextTimer()
	require.False(t, waits)
	stepped, err := c.Engine.Step()
	require.NoError(t, err)
	require.False(t, stepped)
	follows, err := c.Engine.Follows(disruption.ActorName)
	require.NoError(t, err)
	require.Equal(t, []string{"poddisruptionbudgets"}, follows)
}
