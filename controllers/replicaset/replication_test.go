package replicaset_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/controllers/replicaset"
	"github.com/storagesim/storagesim/storagesimtest"
	"github.com/storagesim/storagesim/trace"
)

var ctx = context.Background()

const web = `
apiVersion: v1
kind: ReplicationController
metadata: {name: web}
spec:
  replicas: 2
  selector: {app: web}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{name: c, image: "busybox:1", command: [sleep, infinity]}]
`

type cluster struct{ *storagesimtest.Cluster }

func newCluster(t *testing.T, only ...string) cluster {
	t.Helper()
	return cluster{storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks, Nodes: storagesim.Nodes("node-1", "node-2"), Only: only})}
}

func (c cluster) rc() *v1.ReplicationController {
	c.T.Helper()
	rc, err := c.Client().CoreV1().ReplicationControllers("default").Get(ctx, "web", metav1.GetOptions{})
	require.NoError(c.T, err)
	return rc
}

// pods returns the pods that are not being deleted, with the kind of their controller.
func (c cluster) pods() map[string]string {
	c.T.Helper()
	list, err := c.Client().CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
	require.NoError(c.T, err)
	kinds := map[string]string{}
	for i := range list.Items {
		if pod := &list.Items[i]; pod.DeletionTimestamp == nil {
			kinds[pod.Name] = ""
			if owner := metav1.GetControllerOf(pod); owner != nil {
				kinds[pod.Name] = owner.APIVersion + " " + owner.Kind + " " + owner.Name
			}
		}
	}
	return kinds
}

func (c cluster) patch(patch string) {
	c.T.Helper()
	_, err := c.Client().CoreV1().ReplicationControllers("default").Patch(ctx, "web", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(c.T, err)
}

// Upstream: replication_controller.go NewReplicationManager, v1.37.2.
func TestAReplicationControllerKeepsItsPods(t *testing.T) {
	c := newCluster(t)
	c.Apply(web)
	c.Settle()
	require.Len(t, c.pods(), 2)
	for _, owner := range c.pods() {
		require.Equal(t, "v1 ReplicationController web", owner)
	}
	require.Equal(t, v1.ReplicationControllerStatus{Replicas: 2, FullyLabeledReplicas: 2, ReadyReplicas: 2, AvailableReplicas: 2, ObservedGeneration: 1},
		c.rc().Status)
	made := 0
	for _, e := range c.Trace().Records() {
		if event, ok := e.Record.(trace.Event); ok && event.Reason == "SuccessfulCreate" {
			require.Equal(t, "ReplicationController replication-controller", event.About.Kind+" "+e.Actor)
			made++
		}
	}
	require.Equal(t, 2, made)

	sets := c.Client().CoreV1().ReplicationControllers("default")
	scale, err := sets.GetScale(ctx, "web", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, "app=web", scale.Status.Selector)
	scale.Spec.Replicas = 3
	_, err = sets.UpdateScale(ctx, "web", scale, metav1.UpdateOptions{})
	require.NoError(t, err)
	c.Settle()
	require.Len(t, c.pods(), 3)
	c.patch(`{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"busybox:2","command":["sleep","infinity"]}]}}}}`)
	c.Settle()
	require.Len(t, c.pods(), 3, "a new template makes no new pods")
	c.patch(`{"spec":{"replicas":1}}`)
	c.Settle()
	require.Len(t, c.pods(), 1)
	require.EqualValues(t, 1, c.rc().Status.ReadyReplicas)
}

// kubectl asks for deletion in the background; a client that asks for nothing leaves the pods, and a later controller of the same selector takes them.
// Upstream: registry/core/replicationcontroller DefaultGarbageCollectionPolicy, v1.37.2.
func TestAReplicationControllerLeavesItsPodsAndAnotherTakesThem(t *testing.T) {
	c := newCluster(t)
	c.Apply(web)
	c.Settle()
	before := c.pods()
	require.NoError(t, c.Client().CoreV1().ReplicationControllers("default").Delete(ctx, "web", metav1.DeleteOptions{}))
	c.Settle()
	for name := range before {
		require.Contains(t, c.pods(), name)
		require.Empty(t, c.pods()[name])
	}
	c.Apply(web)
	c.Settle()
	require.Equal(t, before, c.pods())

	background := metav1.DeletePropagationBackground
	require.NoError(t, c.Client().CoreV1().ReplicationControllers("default").Delete(ctx, "web", metav1.DeleteOptions{PropagationPolicy: &background}))
	c.Settle()
	require.Empty(t, c.pods())
}

func TestABudgetCountsThePodsThatAReplicationControllerShouldHave(t *testing.T) {
	c := newCluster(t)
	c.Apply(web + "---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web}\nspec: {maxUnavailable: 1, selector: {matchLabels: {app: web}}}\n")
	c.Settle()
	budget, err := c.Client().PolicyV1().PodDisruptionBudgets("default").Get(ctx, "web", metav1.GetOptions{})
	require.NoError(t, err)
	require.EqualValues(t, 2, budget.Status.ExpectedPods)
	require.EqualValues(t, 1, budget.Status.DisruptionsAllowed)
}

// A quota that refuses the second pod is told in an event and in the status.
func TestAReplicationControllerThatCannotMakeAPodSaysSo(t *testing.T) {
	c := newCluster(t)
	c.Apply("apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: one}\nspec: {hard: {pods: 1}}\n")
	c.Settle()
	c.Apply(web)
	c.RunFor(time.Second)
	require.Len(t, c.rc().Status.Conditions, 1)
	cond := c.rc().Status.Conditions[0]
	require.Equal(t, "ReplicaFailure FailedCreate", string(cond.Type)+" "+cond.Reason)
	require.Contains(t, cond.Message, "exceeded quota: one, requested: pods=1, used: pods=1, limited: pods=1")
	text := c.Explain("rc/default/web")
	require.Contains(t, text, "replicationcontroller default/web has 1 of 2 pods, 1 of them ready")
	require.Contains(t, text, "exceeded quota: one")

	require.NoError(t, c.Client().CoreV1().ResourceQuotas("default").Delete(ctx, "one", metav1.DeleteOptions{}))
	c.RunFor(time.Minute)
	require.Empty(t, c.rc().Status.Conditions)
	require.Len(t, c.pods(), 2)
}

func TestWithoutItsControllerAReplicationControllerMakesNothing(t *testing.T) {
	c := newCluster(t, storagesim.Scheduler, storagesim.ReplicaSets)
	c.Apply(web)
	c.Settle()
	require.Empty(t, c.pods())
	text := c.Explain("rc/default/web")
	require.Contains(t, text, replicaset.ReplicationActorName)

	_, err := c.Client().CoreV1().ReplicationControllers("default").Get(ctx, "other", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err))
}

// lone returns a pod without an owner, on a node.
func lone(name, node, command string) string {
	return `
apiVersion: v1
kind: Pod
metadata: {name: ` + name + `, labels: {app: web}}
spec: {nodeName: ` + node + `, restartPolicy: Never, terminationGracePeriodSeconds: 0, containers: [{name: c, image: "busybox:1", command: [` + command + `]}]}
`
}

// Upstream: replica_set.go syncReplicaSet, which claims active pods only, and getIndirectlyRelatedPods, v1.37.2.
func TestPodsThatHaveEndedAreNotAdopted(t *testing.T) {
	c := newCluster(t)
	c.Apply(lone("ended", "node-1", "'false'"))
	c.Settle()
	c.Apply(web)
	c.Settle()
	require.Len(t, c.pods(), 3)
	require.Empty(t, c.pods()["ended"])
}

// Pods of no Deployment go by their age, not by the crowd on their node.
// Upstream: replica_set.go getReplicaSetsWithSameController, v1.37.2.
func TestPodsOfNoDeploymentDoNotCountTheirNodesPods(t *testing.T) {
	c := newCluster(t)
	c.Apply(lone("a", "node-1", "sleep, infinity"), lone("b", "node-1", "sleep, infinity"))
	c.RunFor(time.Hour)
	c.Apply(lone("young", "node-2", "sleep, infinity"))
	c.Settle()
	c.Apply(web)
	c.Settle()
	names := c.pods()
	require.Len(t, names, 2)
	require.NotContains(t, names, "young")
}

func TestAPodOfAReplicationControllerCountsOnceItHasBeenReadyForLong(t *testing.T) {
	c := newCluster(t)
	c.Apply(strings.Replace(web, "spec:", "spec:\n  minReadySeconds: 10", 1))
	c.RunFor(9 * time.Second)
	require.EqualValues(t, 2, c.rc().Status.ReadyReplicas)
	require.Zero(t, c.rc().Status.AvailableReplicas)
	c.RunFor(2 * time.Second)
	require.EqualValues(t, 2, c.rc().Status.AvailableReplicas)
}
