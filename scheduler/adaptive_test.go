package scheduler

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Upstream: schedule_one_test.go TestNumFeasibleNodesToFind, v1.37.
func TestTheLargerTheClusterTheSmallerThePartOfItThatIsLookedAt(t *testing.T) {
	for _, tt := range []struct{ percentage, nodes, want int }{
		{0, 10, 10}, {40, 10, 10}, {0, 99, 99}, {0, 100, 100}, {0, 1000, 420}, {40, 1000, 400}, {0, 6000, 300}, {40, 6000, 2400},
		{0, 5000, 500}, {0, 100_000, 5000}, {1, 1000, 100}, {100, 1000, 1000},
	} {
		assert.Equal(t, tt.want, numFeasibleNodesToFind(tt.percentage, tt.nodes), "%d%% of %d", tt.percentage, tt.nodes)
	}
}

// largeCluster has nodes n-0000 and so on, of which those fit that fits says.
func largeCluster(nodes int, fits func(i int) bool) *scheduler {
	var objects []runtime.Object
	for i := range nodes {
		objects = append(objects, testNode(fmt.Sprintf("n-%04d", i), func(n *v1.Node) { n.Spec.Unschedulable = !fits(i) }))
	}
	s := stillScheduler(Config{}, objects)
	s.env = quietEnv{}
	return s
}

// searched names the first and the last node that fits for a pod, and how many do.
func searched(t *testing.T, s *scheduler, pod *v1.Pod) string {
	t.Helper()
	c := newCycle(pod, &queuedPod{})
	require.True(t, s.plugins.runPreFilterPlugins(c).is(success))
	nodes, st := s.findNodesThatFitPod(c)
	require.True(t, st.is(success))
	if len(nodes) == 0 {
		return fmt.Sprintf("none of %d", len(c.diagnosis.nodes))
	}
	return fmt.Sprintf("%s to %s, %d, not %d", nodes[0].node.Name, nodes[len(nodes)-1].node.Name, len(nodes), len(c.diagnosis.nodes))
}

// Upstream: schedule_one_test.go TestFairEvaluationForNodes, v1.37.
func TestTheNextSearchBeginsWhereTheLastOneEnded(t *testing.T) {
	s := largeCluster(1000, func(int) bool { return true })
	assert.Equal(t, "n-0000 to n-0419, 420, not 0", searched(t, s, testPod("a")))
	assert.Equal(t, "n-0420 to n-0839, 420, not 0", searched(t, s, testPod("b")))
	assert.Equal(t, "n-0840 to n-0259, 420, not 0", searched(t, s, testPod("c")))

	s = largeCluster(1000, func(i int) bool { return i%2 == 1 })
	assert.Equal(t, "n-0001 to n-0839, 420, not 420", searched(t, s, testPod("a")), "those that do not fit are passed over")
	assert.Equal(t, "n-0841 to n-0679, 420, not 420", searched(t, s, testPod("b")))

	s = largeCluster(1000, func(i int) bool { return i < 3 })
	assert.Equal(t, "n-0000 to n-0002, 3, not 997", searched(t, s, testPod("a")), "if too few fit, all are looked at")
	assert.Equal(t, "n-0000 to n-0002, 3, not 997", searched(t, s, testPod("b")))

	s = largeCluster(50, func(int) bool { return true })
	assert.Equal(t, "n-0000 to n-0049, 50, not 0", searched(t, s, testPod("a")))
	named := testPod("named")
	named.Spec.Affinity = required(v1.NodeSelectorTerm{MatchFields: []v1.NodeSelectorRequirement{
		{Key: metav1.ObjectNameField, Operator: v1.NodeSelectorOpIn, Values: []string{"n-0007"}},
	}})
	assert.Equal(t, "n-0007 to n-0007, 1, not 0", searched(t, s, named))
	assert.Equal(t, "n-0001 to n-0000, 50, not 0", searched(t, s, testPod("b")), "one node has been looked at in between")
}

func TestAPodThatFitsNowhereIsTriedOnEveryNode(t *testing.T) {
	s := largeCluster(1000, func(int) bool { return false })
	assert.Equal(t, "none of 1000", searched(t, s, testPod("a")))
}

// Upstream: backend/cache/node_tree.go list, v1.37.
func TestASearchThatEndsEarlyHasSeenAllZones(t *testing.T) {
	in := func(zone string) func(*v1.Node) {
		return func(n *v1.Node) { n.Labels[v1.LabelTopologyZone] = zone }
	}
	s := stillScheduler(Config{}, []runtime.Object{
		testNode("n-1", in("a")), testNode("n-2", in("a")), testNode("n-3", in("a")), testNode("n-4", in("b")), testNode("n-5", in("c")), testNode("n-6", in("c")),
	})
	names := func() (list []string) {
		for _, n := range s.cluster.list() {
			list = append(list, n.node.Name)
		}
		return list
	}
	assert.Equal(t, []string{"n-1", "n-4", "n-5", "n-2", "n-6", "n-3"}, names())
	s.cluster.setNode(testNode("n-2", in("b")))
	assert.Equal(t, []string{"n-1", "n-2", "n-5", "n-3", "n-4", "n-6"}, names())
	s.cluster.dropNode(testNode("n-1"))
	assert.Equal(t, []string{"n-2", "n-3", "n-5", "n-4", "n-6"}, names())
}
