package clienttest

import (
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	policyv1 "k8s.io/api/policy/v1"
	policyv1beta1 "k8s.io/api/policy/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// deletions are tests of how objects go.
var deletions = []test{
	{"A finalizer keeps an object that is deleted until it is removed", func(c *client) {
		m := configMap("a")
		m.Finalizers = []string{"example.com/hold"}
		made, err := c.maps().Create(c.ctx, m, metav1.CreateOptions{})
		require.NoError(c, err)
		w := c.watch(metav1.ListOptions{ResourceVersion: made.ResourceVersion})
		require.NoError(c, c.maps().Delete(c.ctx, "a", metav1.DeleteOptions{}))
		held := c.get("a")
		assert.NotNil(c, held.DeletionTimestamp)
		held.Finalizers = append(held.Finalizers, "example.com/more")
		_, err = c.maps().Update(c.ctx, held, metav1.UpdateOptions{})
		c.refused(err, metav1.StatusReasonInvalid, "no new finalizers can be added if the object is being deleted")
		held.Finalizers = nil
		_, err = c.maps().Update(c.ctx, held, metav1.UpdateOptions{})
		require.NoError(c, err)
		_, err = c.maps().Get(c.ctx, "a", metav1.GetOptions{})
		c.refused(err, metav1.StatusReasonNotFound)
		assert.NotNil(c, c.sees(w, watch.Modified, "a").DeletionTimestamp)
		c.sees(w, watch.Deleted, "a")
	}},
	{"A deletion may demand a UID and a version", func(c *client) {
		made := c.create("a")
		other, old := types.UID("other"), "1"
		c.refused(c.maps().Delete(c.ctx, "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &other}}), metav1.StatusReasonConflict,
			"the UID in the precondition (other) does not match the UID in record")
		c.refused(c.maps().Delete(c.ctx, "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &old}}),
			metav1.StatusReasonConflict, "the ResourceVersion in the precondition (1) does not match the ResourceVersion in record")
		require.NoError(c, c.maps().Delete(c.ctx, "a", metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &made.UID, ResourceVersion: &made.ResourceVersion},
		}))
	}},
	{"A policy of propagation becomes a finalizer", func(c *client) {
		for policy, want := range map[metav1.DeletionPropagation]string{
			metav1.DeletePropagationForeground: metav1.FinalizerDeleteDependents, metav1.DeletePropagationOrphan: metav1.FinalizerOrphanDependents,
		} {
			name := "by-" + string(want[0])
			c.create(name)
			require.NoError(c, c.maps().Delete(c.ctx, name, metav1.DeleteOptions{PropagationPolicy: &policy}))
			assert.Equal(c, []string{want}, c.get(name).Finalizers)
		}
		c.create("a")
		sometimes := metav1.DeletionPropagation("Sometimes")
		c.refused(c.maps().Delete(c.ctx, "a", metav1.DeleteOptions{PropagationPolicy: &sometimes}), metav1.StatusReasonInvalid, "propagationPolicy")
	}},
	{"A collection is deleted by its selectors", func(c *client) {
		c.create("a", "app", "x")
		c.create("b", "app", "x")
		c.create("c", "app", "y")
		require.NoError(c, c.maps().DeleteCollection(c.ctx, metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}, metav1.ListOptions{LabelSelector: "app"}))
		assert.Equal(c, []string{"a", "b", "c"}, c.names(metav1.ListOptions{}))
		require.NoError(c, c.maps().DeleteCollection(c.ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "app=x", FieldSelector: "metadata.name!=b"}))
		assert.Equal(c, []string{"b", "c"}, c.names(metav1.ListOptions{}))
	}},
	{"An eviction is in the namespace that it names", func(c *client) {
		_, err := c.CoreV1().Pods("default").Create(c.ctx, pod("web"), metav1.CreateOptions{})
		require.NoError(c, err)
		err = c.PolicyV1().Evictions("default").Evict(c.ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "web"}})
		require.EqualError(c, err, "an empty namespace may not be set during creation")
		err = c.PolicyV1beta1().Evictions("default").Evict(c.ctx, &policyv1beta1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "web"}})
		require.EqualError(c, err, "an empty namespace may not be set during creation")
		require.NoError(c, c.PolicyV1().Evictions("other").Evict(c.ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"}}))
		_, err = c.CoreV1().Pods("default").Get(c.ctx, "web", metav1.GetOptions{})
		c.refused(err, metav1.StatusReasonNotFound)
		_, err = c.CoreV1().Pods("default").Create(c.ctx, pod("api"), metav1.CreateOptions{})
		require.NoError(c, err)
		require.NoError(c, c.CoreV1().Pods("default").EvictV1(c.ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "api"}}), "the pods' own call has theirs")
	}},
	{"A pod on a node has its grace period, and an eviction deletes it", func(c *client) {
		p := pod("web")
		p.Spec.NodeName = "n1"
		_, err := c.CoreV1().Pods("default").Create(c.ctx, p, metav1.CreateOptions{})
		require.NoError(c, err)
		require.NoError(c, c.PolicyV1().Evictions("default").Evict(c.ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"}}))
		going, err := c.CoreV1().Pods("default").Get(c.ctx, "web", metav1.GetOptions{})
		require.NoError(c, err)
		require.NotNil(c, going.DeletionGracePeriodSeconds)
		assert.EqualValues(c, 30, *going.DeletionGracePeriodSeconds)
		require.NoError(c, c.CoreV1().Pods("default").Delete(c.ctx, "web", metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
		_, err = c.CoreV1().Pods("default").Get(c.ctx, "web", metav1.GetOptions{})
		c.refused(err, metav1.StatusReasonNotFound)
	}},
}
