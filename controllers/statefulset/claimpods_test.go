package statefulset_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/controllers/statefulset"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/seedtest"
	"github.com/storagesim/storagesim/trace"
)

// orphan creates a pod without a controller.
func (c *cluster) orphan(name, app string, owners ...metav1.OwnerReference) *v1.Pod {
	c.Helper()
	pod, err := c.User.CoreV1().Pods("default").Create(ctx, &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": app}, OwnerReferences: owners},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: "busybox"}}},
	}, metav1.CreateOptions{})
	require.NoError(c, err)
	return pod
}

func (c *cluster) relabel(name, app string) {
	c.Helper()
	_, err := c.User.CoreV1().Pods("default").Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"labels":{"app":"`+app+`"}}}`), metav1.PatchOptions{})
	require.NoError(c, err)
}

// controllerOf returns the name of the pod's controller.
func (c *cluster) controllerOf(name string) string {
	c.Helper()
	pod, err := c.User.CoreV1().Pods("default").Get(ctx, name, metav1.GetOptions{})
	require.NoError(c, err)
	if owner := metav1.GetControllerOf(pod); owner != nil {
		return owner.Kind + " " + owner.Name
	}
	return ""
}

// Upstream: controller_ref_manager.go ClaimObject, v1.37.
func TestASetAdoptsTheOrphansThatBearItsNamesAndLabels(t *testing.T) {
	seedtest.Each(t, 10, func(t testing.TB, seed uint64) {
		c := newCluster(t, engine.Config{Policy: engine.Seeded(seed)})
		before := c.orphan("db-0", "db")
		c.orphan("db-1", "other")
		c.orphan("db-x", "db")
		c.orphan("dbs-0", "db")
		c.orphan("db-2", "db", metav1.OwnerReference{APIVersion: "v1", Kind: "ReplicationController", Name: "rc", UID: "u", Controller: new(true)})
		c.apply(3, parallel)
		c.Settle()
		for name, want := range map[string]string{
			"db-0": "StatefulSet db", "db-1": "", "db-x": "", "dbs-0": "", "db-2": "ReplicationController rc",
		} {
			assert.Equal(t, want, c.controllerOf(name), name)
		}
		after, err := c.User.CoreV1().Pods("default").Get(ctx, "db-0", metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, before.UID, after.UID)

		c.relabel("db-1", "db")
		c.Settle()
		assert.Equal(t, "StatefulSet db", c.controllerOf("db-1"), "its labels match now")
		c.orphan("db-3", "db")
		c.Settle()
		assert.Equal(t, "StatefulSet db", c.adoptedBefore("db-3"), "also one beyond its replicas, which is then deleted")
	})
}

// adoptedBefore returns the controller that the pod got, by the trace.
func (c *cluster) adoptedBefore(name string) string {
	c.Helper()
	for _, w := range c.Engine.Trace().Entries() {
		if write, ok := w.Record.(trace.Write); ok && write.Name == name && write.Verb == "patch" {
			if pod, ok := write.New.(*v1.Pod); ok && metav1.GetControllerOf(pod) != nil {
				return metav1.GetControllerOf(pod).Kind + " " + metav1.GetControllerOf(pod).Name
			}
		}
	}
	return ""
}

// Upstream: controller_ref_manager.go ClaimObject, v1.37.
func TestASetReleasesAPodThatItsSelectorDoesNotMatchAnyMore(t *testing.T) {
	c := newCluster(t, engine.Config{})
	c.apply(2, parallel)
	c.Settle()
	c.relabel("db-1", "debugged")
	c.Settle()
	assert.Empty(t, c.controllerOf("db-1"))
	assert.Equal(t, "StatefulSet db", c.controllerOf("db-0"))
	c.relabel("db-1", "db")
	c.Settle()
	assert.Equal(t, "StatefulSet db", c.controllerOf("db-1"), "and takes it back")
}

func TestASetThatIsBeingDeletedAdoptsAndReleasesNobody(t *testing.T) {
	c := newCluster(t, engine.Config{})
	c.apply(1, func(set *appsv1.StatefulSet) { set.Finalizers = []string{"example.com/hold"} })
	c.Settle()
	require.NoError(t, c.User.AppsV1().StatefulSets("default").Delete(ctx, "db", metav1.DeleteOptions{}))
	c.orphan("db-1", "db")
	c.relabel("db-0", "debugged")
	c.Settle()
	assert.Empty(t, c.controllerOf("db-1"))
	assert.Equal(t, "StatefulSet db", c.controllerOf("db-0"))
	assert.NotContains(t, c.Engine.Trace().String(), "can't adopt", "it does not even try")
}

func TestAPodThatIsBeingDeletedIsNotAdopted(t *testing.T) {
	c := newCluster(t, engine.Config{})
	c.orphan("db-0", "db")
	c.patchPod("db-0", `{"metadata":{"finalizers":["example.com/hold"]}}`)
	require.NoError(t, c.User.CoreV1().Pods("default").Delete(ctx, "db-0", metav1.DeleteOptions{}))
	c.apply(1)
	require.NoError(t, c.Engine.RunFor(time.Second))
	assert.Empty(t, c.controllerOf("db-0"))
	c.patchPod("db-0", `{"metadata":{"finalizers":null}}`)
	require.NoError(t, c.Engine.RunFor(time.Hour))
	assert.Equal(t, "StatefulSet db", c.controllerOf("db-0"), "made by the set when the name is free")
}

// The set is read again before it adopts: it may be gone, or replaced by another of its name.
// Upstream: controller_ref_manager.go RecheckDeletionTimestamp, v1.37.
func TestASetThatIsGoneAdoptsNobody(t *testing.T) {
	for _, again := range []bool{false, true} {
		t.Run(fmt.Sprint("made anew: ", again), func(t *testing.T) {
			c := newCluster(t, engine.Config{})
			require.NoError(t, c.Engine.Inject(engine.Fault{Actor: statefulset.ActorName, Verb: "get", Resource: "statefulsets", Delay: time.Minute}))
			c.orphan("db-0", "db")
			first := c.apply(1)
			require.NoError(t, c.Engine.RunFor(time.Second))
			require.Empty(t, c.controllerOf("db-0"), "it is about to look")
			require.NoError(t, c.User.AppsV1().StatefulSets("default").Delete(ctx, "db", metav1.DeleteOptions{}))
			if again {
				c.apply(1)
			}
			c.Settle()
			for _, e := range c.Engine.Trace().Entries() {
				if w, ok := e.Record.(trace.Write); ok && w.Verb == "patch" && w.Name == "db-0" {
					require.NotContains(t, fmt.Sprint(w.New), first.UID)
				}
			}
			if again {
				require.Equal(t, "StatefulSet db", c.controllerOf("db-0"), "the new one adopts it")
			} else {
				require.Empty(t, c.controllerOf("db-0"))
			}
		})
	}
}
