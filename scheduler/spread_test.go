package scheduler_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/internal/drain"
	"github.com/storagesim/storagesim/internal/rigs/clustertest"
	"github.com/storagesim/storagesim/storagesimtest"
)

// zones returns a cluster with these nodes, "name" or "name/zone".
func zones(t *testing.T, seed uint64, nodes ...string) *storagesimtest.Cluster {
	t.Helper()
	var list []storagesim.Node
	for _, node := range nodes {
		name, zone, zoned := strings.Cut(node, "/")
		n := storagesim.Node{Name: name}
		if zoned {
			n.Labels = map[string]string{v1.LabelTopologyZone: zone}
		}
		list = append(list, n)
	}
	return storagesimtest.New(t, storagesim.Config{Nodes: list, Disks: storagesim.MemoryDisks, Seed: seed})
}

// labelled returns n pods with the label app, and more in their specs.
func labelled(app string, n int, spec string) string {
	var pods []string
	for i := range n {
		pods = append(pods, fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s-%d, labels: {app: %s}}
spec:
  containers: [{name: c, image: busybox}]
%s`, app, i, app, spec))
	}
	return strings.Join(pods, "\n---\n")
}

func TestTheReplicasOfAStatefulSetSpreadOverNodes(t *testing.T) {
	for seed := range uint64(10) {
		c := zones(t, seed, "a", "b", "c")
		c.Apply(`
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 6
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: c, image: busybox}]}
`)
		c.RunFor(time.Minute)
		assert.Equal(t, map[string]int{"a": 2, "b": 2, "c": 2}, clustertest.PerNode(t, c.Client()), "seed %d", seed)
	}
}

// The zone with more nodes gets the odd pod, on a node that has none yet.
func TestThePodsOfAServiceSpreadOverZonesAndNodes(t *testing.T) {
	for seed := range uint64(10) {
		c := zones(t, seed, "a1/a", "a2/a", "a3/a", "b1/b")
		c.Apply("apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {app: web}, ports: [{port: 80}]}")
		c.Settle()
		for i := range 3 {
			c.Apply(strings.ReplaceAll(labelled("web", 1, ""), "web-0", fmt.Sprintf("web-%d", i)))
			c.Settle()
		}
		counts := clustertest.PerNode(t, c.Client())
		assert.Equal(t, 1, counts["b1"], "%v, seed %d", counts, seed)
		assert.Len(t, counts, 3, "%v, seed %d", counts, seed)
	}
}

// Without a service or a controller a pod has no default constraints. Then only the requests
// that a pod counts for spread them, as far as they make a difference of one percent.
func TestTwoEqualPodsWithoutAnOwnerGoToTwoEmptyNodesOfOrdinarySize(t *testing.T) {
	for seed := range uint64(10) {
		small := v1.ResourceList{v1.ResourceCPU: resource.MustParse("4"), v1.ResourceMemory: resource.MustParse("16Gi"), v1.ResourcePods: resource.MustParse("110")}
		nodes := []storagesim.Node{{Name: "a", Capacity: small}, {Name: "b", Capacity: small}}
		c := storagesimtest.New(t, storagesim.Config{Nodes: nodes, Disks: storagesim.MemoryDisks, Seed: seed})
		c.Apply(labelled("web", 2, ""))
		c.Settle()
		assert.Equal(t, map[string]int{"a": 1, "b": 1}, clustertest.PerNode(t, c.Client()), "seed %d", seed)
	}
}

const spreadHard = `  topologySpreadConstraints:
  - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}%s}
`

func TestAPodThatWouldMakeTheSpreadTooUnevenWaitsUntilAnotherGoes(t *testing.T) {
	for seed := range uint64(10) {
		c := zones(t, seed, "a/a", "b/b", "none")
		c.Apply(labelled("web", 2, fmt.Sprintf(spreadHard, "")))
		c.Settle()
		assert.Equal(t, map[string]int{"a": 1, "b": 1}, clustertest.PerNode(t, c.Client()), "seed %d", seed)
		_, err := drain.Node(t.Context(), c.Client(), "b", drain.Options{Force: true})
		require.NoError(t, err)
		c.Settle()
		c.Apply(strings.ReplaceAll(labelled("web", 1, fmt.Sprintf(spreadHard, "")), "web-0", "late"))
		c.Settle()
		assert.Contains(t, c.Explain("pod/late"), "0/3 nodes are available: 1 node(s) didn't match pod topology spread constraints, 1 node(s) didn't match pod "+
			"topology spread constraints (missing required label), 1 node(s) were unschedulable")
		c.Delete("pod/" + slices.Sorted(maps.Keys(podsOn(t, c, "a")))[0])
		c.RunFor(30 * time.Second)
		assert.Equal(t, "a", c.Pod("late").Spec.NodeName, "seed %d", seed)
	}
}

// podsOn returns the names of a node's pods.
func podsOn(t *testing.T, c *storagesimtest.Cluster, node string) map[string]bool {
	t.Helper()
	pods, err := c.Client().CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	names := map[string]bool{}
	for _, pod := range pods.Items {
		if pod.Spec.NodeName == node {
			names[pod.Name] = true
		}
	}
	return names
}

func TestFewerDomainsThanMinDomainsCountAsOneThatIsEmpty(t *testing.T) {
	c := zones(t, 0, "a/a", "b/b")
	c.Apply(labelled("web", 3, fmt.Sprintf(spreadHard, ", minDomains: 3")))
	c.Settle()
	assert.Equal(t, map[string]int{"a": 1, "b": 1, "": 1}, clustertest.PerNode(t, c.Client()))
	c.AddNode(storagesim.Node{Name: "c", Labels: map[string]string{v1.LabelTopologyZone: "c"}})
	c.RunFor(time.Minute)
	assert.Equal(t, map[string]int{"a": 1, "b": 1, "c": 1}, clustertest.PerNode(t, c.Client()), "the new node woke it up")
}

func TestATaintedNodeCountsForTheSpreadUnlessThePodSaysOtherwise(t *testing.T) {
	for policy, want := range map[string]map[string]int{"": {"a": 1, "": 1}, ", nodeTaintsPolicy: Honor": {"a": 2}} {
		c := zones(t, 0, "a/a", "b/b")
		_, err := drain.Node(t.Context(), c.Client(), "b", drain.Options{})
		require.NoError(t, err)
		c.Settle()
		c.RunFor(time.Minute) // the controller turns the cordon into a taint
		c.Apply(labelled("web", 2, fmt.Sprintf(spreadHard, policy)))
		c.Settle()
		assert.Equal(t, want, clustertest.PerNode(t, c.Client()), policy)
	}
}
