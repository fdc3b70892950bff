package storagesim_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/internal/rigs/clustertest"
	"github.com/storagesim/storagesim/storagesimtest"
	"github.com/storagesim/storagesim/trace"
)

// taintsSeen returns the keys of a node's taints after each write of it.
func taintsSeen(c *storagesim.Cluster, name string) *[][]string {
	seen := &[][]string{}
	c.Engine().Server().OnWrite(func(w trace.Write) {
		if node, ok := w.New.(*v1.Node); ok && node.Name == name && w.Err == nil && w.New != w.Old {
			keys := []string{}
			for _, t := range node.Spec.Taints {
				keys = append(keys, t.Key)
			}
			*seen = append(*seen, keys)
		}
	})
	return seen
}

// Upstream: plugin/pkg/admission/nodetaint and node_lifecycle_controller.go
// doNoScheduleTaintingPass, v1.37; seen in the recording startup_kubelets_register.
func TestANewNodeIsTaintedUntilItIsReady(t *testing.T) {
	c, err := storagesim.New(storagesim.Config{NoNodes: true})
	require.NoError(t, err)
	defer c.Close()
	seen := taintsSeen(c, "late")
	require.NoError(t, c.AddNode(storagesim.Node{Name: "late"}))
	require.NoError(t, c.Settle())
	notReady := []string{v1.TaintNodeNotReady}
	assert.Equal(t, [][]string{notReady, notReady, {}}, *seen, "registered, ready, and then free of the taint")

	assert.EqualError(t, c.AddNode(storagesim.Node{Name: "late"}), `Node.Name: there is a node called "late" already`)
	assert.ErrorContains(t, c.AddNode(storagesim.Node{Name: "Late"}), `Node.Name: "Late" is not a node name`)
}

func TestWithoutTheNodeLifecycleControllerANewNodeHasNoTaint(t *testing.T) {
	c, err := storagesim.New(storagesim.Config{Only: []string{storagesim.Scheduler}})
	require.NoError(t, err)
	defer c.Close()
	node, err := c.Client().CoreV1().Nodes().Get(context.Background(), "node-1", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Empty(t, node.Spec.Taints)
	assert.NotContains(t, c.Engine().Actors(), storagesim.NodeLifecycle)
}

func TestACordonedNodeIsTaintedAndKeepsItsOtherTaints(t *testing.T) {
	own := v1.Taint{Key: "mine", Value: "x", Effect: v1.TaintEffectNoSchedule}
	c, err := storagesim.New(storagesim.Config{Nodes: []storagesim.Node{{Name: "a", Taints: []v1.Taint{own}}}})
	require.NoError(t, err)
	defer c.Close()
	nodes := c.Client().CoreV1().Nodes()
	patch := func(sub, data string) *v1.Node {
		t.Helper()
		var subs []string
		if sub != "" {
			subs = append(subs, sub)
		}
		_, err := nodes.Patch(context.Background(), "a", types.StrategicMergePatchType, []byte(data), metav1.PatchOptions{}, subs...)
		require.NoError(t, err)
		require.NoError(t, c.Settle())
		node, err := nodes.Get(context.Background(), "a", metav1.GetOptions{})
		require.NoError(t, err)
		return node
	}
	node := patch("", `{"spec":{"unschedulable":true}}`)
	require.Len(t, node.Spec.Taints, 2)
	assert.Equal(t, own, node.Spec.Taints[0])
	assert.Equal(t, v1.TaintNodeUnschedulable, node.Spec.Taints[1].Key)
	assert.NotNil(t, node.Spec.Taints[1].TimeAdded)
	node = patch("status", `{"status":{"conditions":[{"type":"NetworkUnavailable","status":"True"}]}}`)
	assert.Len(t, node.Spec.Taints, 3)
	assert.Equal(t, []v1.Taint{own}, patch("", `{"spec":{"unschedulable":false},"status":{}}`).Spec.Taints[:1])
	node = patch("status", `{"status":{"conditions":[{"type":"NetworkUnavailable","status":"False"}]}}`)
	assert.Equal(t, []v1.Taint{own}, node.Spec.Taints)
}

func TestAStoppedKubeletDoesNothingForItsPodsUntilItStarts(t *testing.T) {
	c, err := storagesim.New(storagesim.Config{})
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.Stop("kubelet/node-1"))
	require.NoError(t, c.Apply(`
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: c, image: nginx}]}
`))
	require.NoError(t, c.Settle())
	pod, err := c.Pod("web")
	require.NoError(t, err)
	assert.Equal(t, "node-1", pod.Spec.NodeName)
	assert.Equal(t, v1.PodPending, pod.Status.Phase)
	require.NoError(t, c.Start("kubelet/node-1"))
	require.NoError(t, c.Settle())
	pod, err = c.Pod("web")
	require.NoError(t, err)
	assert.Equal(t, v1.PodRunning, pod.Status.Phase)
	assert.Contains(t, c.Story(), "kubelet/node-1  is stopped")
}

func TestNoNodesAndAnEmptyListAreTheSameAndNoNodesMeansNone(t *testing.T) {
	for _, nodes := range [][]storagesim.Node{nil, {}, storagesim.Nodes()} {
		require.Equal(t, []string{"node/node-1"}, storagesimtest.New(t, storagesim.Config{Nodes: nodes}).Lab().Machines())
	}
	c := storagesimtest.New(t, storagesim.Config{NoNodes: true})
	require.Empty(t, c.Lab().Machines())
	c.AddNode(storagesim.Node{Name: "late"})
	require.Equal(t, []string{"node/late"}, c.Lab().Machines())
	_, err := storagesim.New(storagesim.Config{NoNodes: true, Nodes: storagesim.Nodes("a")})
	require.ErrorContains(t, err, "Config.NoNodes: true, and there are 1 Nodes")
}

// BenchmarkIdleNodes lets ten minutes pass in which nothing happens but that nodes say that
// they are alive: each renews its lease every 10 s, and reports its status every 5 minutes.
func BenchmarkIdleNodes(b *testing.B) {
	for _, nodes := range []int{1, 300, 5_000} {
		b.Run(fmt.Sprint(nodes), func(b *testing.B) {
			nodes := clustertest.BenchSize(nodes)
			names := make([]string, nodes)
			for i := range names {
				names[i] = fmt.Sprintf("node-%04d", i)
			}
			c, err := storagesim.New(storagesim.Config{Nodes: storagesim.Nodes(names...), Disks: storagesim.MemoryDisks})
			clustertest.Must(b, err)
			defer func() { _ = c.Close() }()
			const idle = 10 * time.Minute
			for b.Loop() {
				clustertest.Must(b, c.RunFor(idle))
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/(idle.Seconds()/10)/float64(nodes), "µs/renewal")
		})
	}
}

// Upstream: pkg/controller/podgc gc_controller.go gcOrphaned, v1.37.
func TestThePodsOfADeletedNodeStayWhenTheClusterIsAtRestAndGoWithTime(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Apply("{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, image: busybox, command: [sleep, 1d]}]}}")
	c.Settle()
	pods, nodes := c.Client().CoreV1().Pods("default"), c.Client().CoreV1().Nodes()
	deleted := c.Now()
	require.NoError(t, nodes.Delete(context.Background(), "node-1", metav1.DeleteOptions{}))
	c.Settle()
	_, err := pods.Get(context.Background(), "a", metav1.GetOptions{})
	require.NoError(t, err, "the pod garbage collector has not looked yet")
	c.RunUntil(func() bool {
		_, err := pods.Get(context.Background(), "a", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	took := c.Now().Sub(deleted)
	assert.GreaterOrEqual(t, took, 40*time.Second)
	assert.LessOrEqual(t, took, time.Minute)
}
