package namespace_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/controllers/namespace"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/rigs/enginetest"
)

var ctx = context.Background()

// cluster has a namespace "team" and the controller.
type cluster struct{ *enginetest.Rig }

func newCluster(t testing.TB, cfg engine.Config) *cluster {
	t.Helper()
	c := &cluster{enginetest.New(t, cfg, namespace.ActorName, namespace.New())}
	_, err := c.User.CoreV1().Namespaces().Create(ctx, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	c.Settle()
	return c
}

func (c *cluster) config(name string, finalizers ...string) error {
	_, err := c.User.CoreV1().ConfigMaps("team").Create(ctx, &v1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: finalizers},
	}, metav1.CreateOptions{})
	return err
}

func (c *cluster) delete() {
	c.Helper()
	require.NoError(c, c.User.CoreV1().Namespaces().Delete(ctx, "team", metav1.DeleteOptions{}))
}

// namespace returns the namespace, nil if it is gone.
func (c *cluster) namespace() *v1.Namespace {
	c.Helper()
	ns, err := c.User.CoreV1().Namespaces().Get(ctx, "team", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(c, err)
	return ns
}

// condition returns the reason and the message of a condition that is True, "" if it is not.
func (c *cluster) condition(name v1.NamespaceConditionType) string {
	c.Helper()
	for _, condition := range c.namespace().Status.Conditions {
		if condition.Type == name && condition.Status == v1.ConditionTrue {
			return condition.Reason + ": " + condition.Message
		}
	}
	return ""
}

func (c *cluster) pod() {
	c.Helper()
	_, err := c.User.CoreV1().Pods("team").Create(ctx, &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       v1.PodSpec{NodeName: "node-1", Containers: []v1.Container{{Name: "c", Image: "busybox"}}},
	}, metav1.CreateOptions{})
	require.NoError(c, err)
}

func (c *cluster) endPod() {
	c.Helper()
	require.NoError(c, c.User.CoreV1().Pods("team").Delete(ctx, "web", *metav1.NewDeleteOptions(0)))
}

func TestANamespaceThatIsDeletedGoesWithAllThatIsInItFiveSecondsLater(t *testing.T) {
	enginetest.AtEverySeed(t, 10, func(t testing.TB, cfg engine.Config) {
		c := newCluster(t, cfg)
		require.NoError(t, c.config("settings"))
		_, err := c.User.StorageV1().CSIStorageCapacities("team").List(ctx, metav1.ListOptions{})
		require.NoError(t, err)
		_, err = c.User.CoreV1().ConfigMaps("default").Create(ctx, &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "other"}}, metav1.CreateOptions{})
		require.NoError(t, err)
		c.delete()
		require.Equal(t, v1.NamespaceTerminating, c.namespace().Status.Phase)
		require.NoError(t, c.Engine.RunFor(5*time.Second-time.Millisecond))
		require.NotNil(t, c.namespace())
		require.NoError(t, c.Engine.RunFor(time.Millisecond))
		require.Nil(t, c.namespace())
		_, err = c.User.CoreV1().ConfigMaps("team").Get(ctx, "settings", metav1.GetOptions{})
		require.True(t, apierrors.IsNotFound(err), "%v", err)
		_, err = c.User.CoreV1().ConfigMaps("default").Get(ctx, "other", metav1.GetOptions{})
		require.NoError(t, err, "other namespaces keep theirs")
	})
}

func TestNothingNewComesIntoANamespaceThatIsBeingDeleted(t *testing.T) {
	c := newCluster(t, engine.Config{})
	c.delete()
	err := c.config("late")
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	require.True(t, apierrors.HasStatusCause(err, v1.NamespaceTerminatingCause), "%v", err)
	c.Settle()
	require.True(t, apierrors.IsNotFound(c.config("later")), "the namespace is gone")
}

func TestPodsEndBeforeAnythingElseInTheirNamespaceIsDeleted(t *testing.T) {
	c := newCluster(t, engine.Config{})
	c.pod()
	require.NoError(t, c.config("settings"))
	c.delete()
	c.Settle()
	pod, err := c.User.CoreV1().Pods("team").Get(ctx, "web", metav1.GetOptions{})
	require.NoError(t, err)
	require.NotNil(t, pod.DeletionTimestamp)
	settings, err := c.User.CoreV1().ConfigMaps("team").Get(ctx, "settings", metav1.GetOptions{})
	require.NoError(t, err)
	require.Nil(t, settings.DeletionTimestamp)
	c.endPod()
	require.NoError(t, c.Engine.RunFor(time.Minute))
	require.Nil(t, c.namespace())
}

func TestAPodThatOutlivesItsGracePeriodIsAnErrorInTheConditions(t *testing.T) {
	c := newCluster(t, engine.Config{})
	c.pod()
	c.delete()
	require.NoError(t, c.Engine.RunFor(time.Minute))
	require.Equal(t, "ContentDeletionFailed: Failed to delete all resource types, 1 remaining: "+
		"unexpected items still remain in namespace: team for gvr: /v1, Resource=pods", c.condition(v1.NamespaceDeletionContentFailure))
	c.endPod()
	require.NoError(t, c.Engine.RunFor(2*time.Minute))
	require.Nil(t, c.namespace())
}

func TestAnObjectWithAFinalizerHoldsItsNamespaceAndTheConditionsSaySo(t *testing.T) {
	enginetest.AtEverySeed(t, 10, func(t testing.TB, cfg engine.Config) {
		c := newCluster(t, cfg)
		require.NoError(t, c.config("held", "example.com/hold"))
		c.delete()
		c.Settle() // although the controller tries again and again
		require.Equal(t, "SomeResourcesRemain: Some resources are remaining: configmaps. has 1 resource instances",
			c.condition(v1.NamespaceContentRemaining))
		require.Equal(t, "SomeFinalizersRemain: Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances",
			c.condition(v1.NamespaceFinalizersRemaining))
		require.Empty(t, c.condition(v1.NamespaceDeletionContentFailure))
		require.NoError(t, c.Engine.RunFor(time.Hour))
		require.NotNil(t, c.namespace())
		_, err := c.User.CoreV1().ConfigMaps("team").Patch(ctx, "held", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		require.NoError(t, err)
		require.NoError(t, c.Engine.RunFor(10*time.Second))
		require.Nil(t, c.namespace())
	})
}

func TestAKindThatCannotBeDeletedIsNamedInTheConditionsAndTriedAgain(t *testing.T) {
	c := newCluster(t, engine.Config{})
	require.NoError(t, c.config("settings"))
	require.NoError(t, c.Engine.Inject(engine.Fault{
		Actor: namespace.ActorName, Verb: "deletecollection", Resource: "configmaps", Times: 1, Err: apierrors.NewInternalError(context.DeadlineExceeded),
	}))
	c.delete()
	require.NoError(t, c.Engine.RunFor(5*time.Second))
	require.Contains(t, c.condition(v1.NamespaceDeletionContentFailure), "ContentDeletionFailed: Failed to delete all resource types, 1 remaining: Internal error")
	c.Settle()
	require.Nil(t, c.namespace())
}

func TestOtherFinalizersKeepANamespaceThatIsEmpty(t *testing.T) {
	c := newCluster(t, engine.Config{})
	ns := c.namespace()
	ns.Spec.Finalizers = append(ns.Spec.Finalizers, "example.com/hold")
	_, err := c.User.CoreV1().Namespaces().Finalize(ctx, ns, metav1.UpdateOptions{})
	require.NoError(t, err)
	c.delete()
	c.Settle()
	require.Equal(t, []v1.FinalizerName{"example.com/hold"}, c.namespace().Spec.Finalizers)
}

func TestACrashAtAnyMomentDoesNotKeepANamespace(t *testing.T) {
	for steps := 1; ; steps++ {
		c := newCluster(t, engine.Config{})
		require.NoError(t, c.config("settings"))
		c.delete()
		require.NoError(t, c.Engine.RunFor(5*time.Second-time.Millisecond))
		for range steps {
			_, err := c.Engine.Step()
			require.NoError(t, err)
		}
		ended := c.namespace() == nil
		require.NoError(t, c.Engine.Crash(namespace.ActorName))
		c.Settle()
		require.Nil(t, c.namespace())
		if ended {
			break
		}
	}
}
