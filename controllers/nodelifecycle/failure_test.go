package nodelifecycle_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/storagesimtest"
	"github.com/storagesim/storagesim/trace"
)

const kubelet1 = "kubelet/node-1"

// failing returns a cluster of two nodes with the pod web on node-1, which runs.
func failing(t *testing.T, seed uint64) *storagesimtest.Cluster {
	t.Helper()
	c := storagesimtest.New(t, storagesim.Config{Nodes: storagesim.Nodes("node-1", "node-2"), Disks: storagesim.MemoryDisks, Seed: seed})
	c.Apply(podOn("web", "node-1", ""))
	c.Settle()
	require.Equal(t, v1.PodRunning, c.Pod("web").Status.Phase)
	return c
}

// podOn returns a pod for that node, with more in its spec.
func podOn(name, node, more string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  nodeSelector: {kubernetes.io/hostname: %s}
  containers: [{name: c, image: busybox, command: [sleep, infinity]}]
%s`, name, node, more)
}

func node(t *testing.T, c *storagesimtest.Cluster, name string) *v1.Node {
	t.Helper()
	node, err := c.Client().CoreV1().Nodes().Get(context.Background(), name, metav1.GetOptions{})
	require.NoError(t, err)
	return node
}

// taints returns the taints of a node, as kubectl prints them.
func taints(node *v1.Node) string {
	var list []string
	for _, t := range node.Spec.Taints {
		list = append(list, strings.TrimPrefix(t.Key, "node.kubernetes.io/")+":"+string(t.Effect))
	}
	return strings.Join(list, " ")
}

// statuses returns the conditions of a node.
func statuses(node *v1.Node) map[v1.NodeConditionType]v1.ConditionStatus {
	all := map[v1.NodeConditionType]v1.ConditionStatus{}
	for _, c := range node.Status.Conditions {
		all[c.Type] = c.Status
	}
	return all
}

func isReady(pod *v1.Pod) v1.ConditionStatus {
	for _, c := range pod.Status.Conditions {
		if c.Type == v1.PodReady {
			return c.Status
		}
	}
	return "none"
}

// gone reports whether there is no such pod any more.
func gone(t *testing.T, c *storagesimtest.Cluster, name string) bool {
	t.Helper()
	_, err := c.Client().CoreV1().Pods("default").Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		require.True(t, apierrors.IsNotFound(err), "%v", err)
	}
	return err != nil
}

func TestAKubeletRenewsTheLeaseOfItsNodeEveryTenSeconds(t *testing.T) {
	c := failing(t, 0)
	lease := func() time.Time {
		lease, err := c.Client().CoordinationV1().Leases(v1.NamespaceNodeLease).Get(context.Background(), "node-1", metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, "node-1", *lease.Spec.HolderIdentity)
		require.EqualValues(t, 40, *lease.Spec.LeaseDurationSeconds)
		require.Equal(t, node(t, c, "node-1").UID, lease.OwnerReferences[0].UID)
		return lease.Spec.RenewTime.Time
	}
	before, told := lease(), len(c.Trace().Records())
	c.RunFor(10 * time.Second)
	assert.Equal(t, 10*time.Second, lease().Sub(before))
	c.Stop(kubelet1)
	c.RunFor(30 * time.Second)
	assert.Equal(t, 10*time.Second, lease().Sub(before), "of a kubelet that is dead it stays as it is")
	c.Start(kubelet1)
	c.Settle()
	assert.Equal(t, 40*time.Second, lease().Sub(before), "a kubelet that starts renews it at once")
	for _, r := range c.Trace().Records()[told:] {
		if w, ok := r.Record.(trace.Write); ok {
			assert.NotEqual(t, "Lease", w.Kind, "signs of life are no part of a story")
		}
	}
}

func TestSignsOfLifeLeaveTheClusterAtRestAndTheStoryAsItIs(t *testing.T) {
	c := failing(t, 0)
	now, story := c.Now(), c.Story()
	c.Settle()
	assert.Equal(t, now, c.Now())
	c.RunFor(time.Hour)
	assert.Equal(t, story, c.Story())
	for _, condition := range node(t, c, "node-1").Status.Conditions {
		assert.LessOrEqual(t, c.Now().Sub(condition.LastHeartbeatTime.Time), 5*time.Minute, "%s is reported again", condition.Type)
		assert.Greater(t, condition.LastHeartbeatTime.Sub(condition.LastTransitionTime.Time), 50*time.Minute, "%s did not change", condition.Type)
	}
}

func TestANodeThatHasBeenSilentForTheGracePeriodIsUnknownAndItsPodsAreNotReady(t *testing.T) {
	c := failing(t, 0)
	c.Stop(kubelet1)
	c.RunFor(45 * time.Second)
	require.Equal(t, v1.ConditionTrue, statuses(node(t, c, "node-1"))[v1.NodeReady])
	c.RunFor(20 * time.Second)
	lost := node(t, c, "node-1")
	for kind, status := range statuses(lost) {
		assert.Equal(t, v1.ConditionUnknown, status, kind)
	}
	assert.Equal(t, "NodeStatusUnknown", lost.Status.Conditions[0].Reason)
	assert.Equal(t, "Kubelet stopped posting node status.", lost.Status.Conditions[0].Message)
	assert.Equal(t, "unreachable:NoSchedule unreachable:NoExecute", taints(lost))
	assert.Equal(t, v1.ConditionFalse, isReady(c.Pod("web")))
	assert.Equal(t, v1.PodRunning, c.Pod("web").Status.Phase, "nobody knows better")
	assert.Equal(t, "", taints(node(t, c, "node-2")))
	assert.Contains(t, c.Story(), "says of node node-1: Normal NodeNotReady: Node node-1 status is now: NodeNotReady")
	assert.Contains(t, c.Story(), "says of pod default/web: Warning NodeNotReady: Node is not ready")

	c.Start(kubelet1)
	c.RunFor(6 * time.Second)
	assert.Equal(t, v1.ConditionTrue, statuses(node(t, c, "node-1"))[v1.NodeReady])
	assert.Equal(t, "", taints(node(t, c, "node-1")))
	assert.Equal(t, v1.ConditionTrue, isReady(c.Pod("web")), "its kubelet is back")
	assert.Nil(t, c.Pod("web").DeletionTimestamp)
	c.RunFor(10 * time.Minute)
	assert.Nil(t, c.Pod("web").DeletionTimestamp, "the node was back in time")
}

func TestAPodIsEvictedFromADeadNodeWhenItsTolerationIsOverAndStaysUntilTheKubeletIsBack(t *testing.T) {
	c := failing(t, 0)
	c.Apply(podOn("brief", "node-1", `  tolerations: [{key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 20}]`))
	c.Apply(podOn("loyal", "node-1", `  tolerations: [{operator: Exists}]`))
	c.Settle()
	c.Stop(kubelet1)
	c.RunFor(70 * time.Second)
	assert.Nil(t, c.Pod("brief").DeletionTimestamp)
	c.RunFor(20 * time.Second)
	require.NotNil(t, c.Pod("brief").DeletionTimestamp)
	assert.Nil(t, c.Pod("web").DeletionTimestamp)
	c.RunFor(4 * time.Minute)
	assert.Nil(t, c.Pod("web").DeletionTimestamp)
	c.RunFor(time.Minute)
	web := c.Pod("web")
	require.NotNil(t, web.DeletionTimestamp, "300 s are over")
	last := web.Status.Conditions[len(web.Status.Conditions)-1]
	assert.Equal(t, v1.DisruptionTarget, last.Type)
	assert.Equal(t, "DeletionByTaintManager", last.Reason)
	assert.Contains(t, c.Story(), "says of pod default/web: Normal TaintManagerEviction: Marking for deletion Pod default/web")
	c.RunFor(time.Hour)
	assert.NotNil(t, c.Pod("web").DeletionTimestamp, "it stays Terminating: nobody ends it")
	assert.Nil(t, c.Pod("loyal").DeletionTimestamp)

	c.Start(kubelet1)
	c.RunFor(time.Minute)
	assert.True(t, gone(t, c, "web"))
	assert.True(t, gone(t, c, "brief"))
	assert.Equal(t, v1.ConditionTrue, isReady(c.Pod("loyal")))
}

func TestAPodOnANodeThatIsOutOfServiceIsDeletedByThePodGarbageCollector(t *testing.T) {
	c := failing(t, 0)
	c.Stop(kubelet1)
	c.RunFor(65 * time.Second)
	patch := `[{"op": "add", "path": "/spec/taints/-", "value": {"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"}}]`
	_, err := c.Client().CoreV1().Nodes().Patch(context.Background(), "node-1", types.JSONPatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(t, err)
	var failed bool
	c.Engine().Server().OnWrite(func(w trace.Write) {
		pod, ok := w.New.(*v1.Pod)
		failed = failed || ok && w.Actor == storagesim.PodGC && pod.Status.Phase == v1.PodFailed
	})
	c.RunFor(time.Second)
	require.NotNil(t, c.Pod("web").DeletionTimestamp, "evicted at once: nothing tolerates this taint")
	assert.Contains(t, c.Story(), "TaintManagerEviction: Cancelling deletion of Pod default/web")
	c.RunFor(20 * time.Second)
	assert.True(t, gone(t, c, "web"))
	assert.True(t, failed, "it failed before it was deleted")
}

// The kubelet is back before the garbage collector acts.
func TestAKubeletThatComesBackToATaintedNodeRefusesThePodThatIsToEnd(t *testing.T) {
	c := failing(t, 0)
	c.Stop(kubelet1)
	c.RunFor(65 * time.Second)
	patch := `[{"op": "add", "path": "/spec/taints/-", "value": {"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"}}]`
	_, err := c.Client().CoreV1().Nodes().Patch(context.Background(), "node-1", types.JSONPatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(t, err)
	c.RunFor(time.Second)
	require.NotNil(t, c.Pod("web").DeletionTimestamp)
	var status *v1.PodStatus
	c.Engine().Server().OnWrite(func(w trace.Write) {
		if pod, ok := w.New.(*v1.Pod); ok && w.Actor == kubelet1 && status == nil {
			status = pod.Status.DeepCopy()
		}
	})
	c.Start(kubelet1)
	c.RunFor(5 * time.Second)
	assert.Contains(t, c.Story(),
		"says of pod default/web: Warning TaintToleration: Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate")
	require.NotNil(t, status)
	assert.Equal(t, v1.PodFailed, status.Phase)
	assert.Equal(t, "TaintToleration", status.Reason)
	assert.Equal(t, "Pod was rejected: Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate", status.Message)
	assert.Empty(t, status.PodIP)
	assert.Empty(t, status.ContainerStatuses)
	require.Len(t, status.Conditions, 1, "the kubelet's own go")
	assert.Equal(t, v1.DisruptionTarget, status.Conditions[0].Type)
	assert.True(t, gone(t, c, "web"))
}

func TestAKubeletThatStartsAgainRefusesAPodThatItsNodeDoesNotTakeAnyMore(t *testing.T) {
	c := failing(t, 0)
	here := strings.Replace(podOn("here", "node-1", "  nodeName: node-1"), "kubernetes.io/hostname: node-1", "disk: fast", 1)
	c.Apply(here)
	c.RunFor(10 * time.Second)
	require.Equal(t, v1.PodFailed, c.Pod("here").Status.Phase)
	require.Equal(t, "Pod was rejected: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector", c.Pod("here").Status.Message)
	nodes := c.Client().CoreV1().Nodes()
	label := func(value string) {
		_, err := nodes.Patch(context.Background(), "node-1", types.MergePatchType,
			[]byte(`{"metadata": {"labels": {"disk": `+value+`}}, "spec": {"unschedulable": true}}`), metav1.PatchOptions{})
		require.NoError(t, err)
	}
	label(`"fast"`)
	c.Delete("pod/here")
	c.RunFor(10 * time.Second)
	c.Apply(here)
	c.RunFor(10 * time.Second)
	require.Equal(t, v1.PodRunning, c.Pod("here").Status.Phase)
	label("null")
	c.RunFor(time.Minute)
	require.Equal(t, v1.PodRunning, c.Pod("here").Status.Phase, "only a kubelet that sees the pod for the first time looks")

	c.Crash(kubelet1)
	c.RunFor(10 * time.Second)
	require.Equal(t, v1.PodFailed, c.Pod("here").Status.Phase)
	require.Contains(t, c.Story(),
		"says of pod default/here: Warning NodeAffinity: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector")
	require.Contains(t, c.Story(), "says of node node-1: Normal NodeNotSchedulable: Node node-1 status is now: NodeNotSchedulable")
	require.Equal(t, v1.PodRunning, c.Pod("web").Status.Phase)
	c.Delete("pod/here")
	c.RunFor(10 * time.Second)
	require.True(t, gone(t, c, "here"))
	c.RequireNoLeaks()
}

func TestAPodOfANodeThatIsReadyIsNotCollectedThoughTheNodeIsOutOfService(t *testing.T) {
	c := failing(t, 0)
	c.Inject(engine.Fault{Actor: kubelet1, Verb: "delete", Resource: "pods", Times: -1, Err: apierrors.NewInternalError(errors.New("injected"))})
	patch := `{"spec": {"taints": [{"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}]}}`
	_, err := c.Client().CoreV1().Nodes().Patch(context.Background(), "node-1", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(t, err)
	c.RunFor(2 * time.Minute)
	assert.NotNil(t, c.Pod("web").DeletionTimestamp)
}

func TestThePodsOfANodeThatIsDeletedAreCollectedAfterTheQuarantine(t *testing.T) {
	c := failing(t, 0)
	c.Stop(kubelet1)
	require.NoError(t, c.Client().CoreV1().Nodes().Delete(context.Background(), "node-1", metav1.DeleteOptions{}))
	c.Settle()
	for _, get := range []func() error{
		func() error {
			_, err := c.Client().CoordinationV1().Leases(v1.NamespaceNodeLease).Get(context.Background(), "node-1", metav1.GetOptions{})
			return err
		},
		func() error {
			_, err := c.Client().StorageV1().CSINodes().Get(context.Background(), "node-1", metav1.GetOptions{})
			return err
		},
	} {
		assert.True(t, apierrors.IsNotFound(get()), "what the node owns goes with it")
	}
	c.RunFor(39 * time.Second)
	assert.False(t, gone(t, c, "web"), "the node might appear")
	c.RunFor(41 * time.Second)
	assert.True(t, gone(t, c, "web"))
	assert.Contains(t, c.Story(), "DisruptionTarget=True (DeletionByPodGC)")

	c.Start(kubelet1)
	c.Settle()
	assert.Equal(t, v1.ConditionTrue, statuses(node(t, c, "node-1"))[v1.NodeReady], "its kubelet registers it again")
	c.RequireNoLeaks()
}

// A kubelet registers its node when it starts, and only then. Upstream:
// kubelet_node_status.go registerWithAPIServer, v1.37.
func TestAKubeletWhoseNodeIsDeletedEndsThePodsThatAreTakenFromItAndDoesNotRegisterAgain(t *testing.T) {
	c := failing(t, 0)
	require.NoError(t, c.Client().CoreV1().Nodes().Delete(context.Background(), "node-1", metav1.DeleteOptions{}))
	c.RunFor(10 * time.Minute)
	assert.True(t, gone(t, c, "web"))
	_, err := c.Client().CoreV1().Nodes().Get(context.Background(), "node-1", metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err))
	_, err = c.Client().CoordinationV1().Leases(v1.NamespaceNodeLease).Get(context.Background(), "node-1", metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err), "a lease without a node is not made")
	c.RequireNoLeaks()
}

// Upstream: node_lifecycle_controller.go handleDisruption, v1.37.
func TestWhereNoNodeIsLeftNobodyIsEvicted(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks})
	c.Apply(podOn("web", "node-1", ""))
	c.Settle()
	c.Stop(kubelet1)
	c.RunFor(time.Hour)
	assert.Equal(t, "unreachable:NoSchedule", taints(node(t, c, "node-1")))
	assert.Equal(t, v1.ConditionFalse, isReady(c.Pod("web")))
	assert.Nil(t, c.Pod("web").DeletionTimestamp)
}

// Upstream: node_lifecycle_controller.go doNoExecuteTaintingPass, v1.37: one node in 10 s.
func TestNodesThatAreLostTogetherAreTaintedOneAfterTheOther(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Nodes: storagesim.Nodes("a", "b", "c", "d", "e", "f"), Disks: storagesim.MemoryDisks})
	for _, name := range []string{"a", "b", "c"} {
		c.Stop("kubelet/" + name)
	}
	tainted := func() (n int) {
		for _, name := range []string{"a", "b", "c"} {
			if strings.Contains(taints(node(t, c, name)), "NoExecute") {
				n++
			}
		}
		return n
	}
	c.RunFor(61 * time.Second)
	assert.Equal(t, 1, tainted())
	c.RunFor(10 * time.Second)
	assert.Equal(t, 2, tainted())
	c.RunFor(10 * time.Second)
	assert.Equal(t, 3, tainted())
}

// Upstream: node_lifecycle_controller.go ReducedQPSFunc, v1.37.
func TestWhereMostNodesOfASmallClusterAreLostNobodyIsEvicted(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Nodes: storagesim.Nodes("a", "b", "c", "d"), Disks: storagesim.MemoryDisks})
	for _, name := range []string{"a", "b", "c"} {
		c.Stop("kubelet/" + name)
	}
	c.RunFor(10 * time.Minute)
	for _, name := range []string{"a", "b", "c"} {
		assert.Equal(t, "unreachable:NoSchedule", taints(node(t, c, name)))
	}
}

func TestAPodThatTerminatesOnNoNodeIsCollected(t *testing.T) {
	c := failing(t, 0)
	c.Apply(strings.Replace(podOn("held", "nowhere", ""), "metadata: {", "metadata: {finalizers: [example.com/held], ", 1))
	c.Settle()
	require.NoError(t, c.Client().CoreV1().Pods("default").Delete(context.Background(), "held", metav1.DeleteOptions{}))
	c.RunFor(20 * time.Second)
	assert.Equal(t, v1.PodFailed, c.Pod("held").Status.Phase, "the finalizer keeps it")
}

// Upstream: kubelet.go Run starts the lease and the node's status beside the pods' sources,
// v1.37. Only what ends and unmounts waits for those.
func TestAKubeletThatReceivesNoPodsForAnHourKeepsItsNodeReady(t *testing.T) {
	c := failing(t, 0)
	c.Hold(kubelet1, "pods")
	c.Crash(kubelet1)
	c.RunFor(time.Hour)
	lease, err := c.Client().CoordinationV1().Leases(v1.NamespaceNodeLease).Get(context.Background(), "node-1", metav1.GetOptions{})
	require.NoError(t, err)
	require.LessOrEqual(t, c.Now().Sub(lease.Spec.RenewTime.Time), 10*time.Second)
	assert.Equal(t, v1.ConditionTrue, statuses(node(t, c, "node-1"))[v1.NodeReady])
	assert.Equal(t, "", taints(node(t, c, "node-1")))
	assert.Equal(t, v1.ConditionTrue, isReady(c.Pod("web")))
	c.Release(kubelet1, "pods")
	c.Settle()
	assert.Equal(t, v1.PodRunning, c.Pod("web").Status.Phase)
}

func TestATaintThatIsWrittenAgainDeviates(t *testing.T) {
	c := failing(t, 0)
	c.Stop(kubelet1)
	c.RunFor(time.Minute)
	require.Empty(t, c.Trace().Deviations(), "each taint was written at once")

	c = failing(t, 0)
	c.Inject(engine.Fault{Actor: storagesim.NodeLifecycle, Verb: "patch", Resource: "nodes", Err: apierrors.NewInternalError(errors.New("injected"))})
	c.Stop(kubelet1)
	c.RunFor(2 * time.Minute)
	require.Len(t, c.Trace().Deviations(), 1)
	require.Equal(t, trace.TaintRepeated, c.Trace().Deviations()[0].Situation)
	require.Equal(t, "node-1", c.Trace().Deviations()[0].About.Name)
}
