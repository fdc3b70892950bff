package scheduler

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
)

func used(s *scheduler, node string) (pods, milliCPU int64) {
	info := s.cluster.infos[node]
	return info.pods, info.requested.milliCPU
}

func TestAnAssumedPodCountsUntilItIsSeenBoundOrGivenBack(t *testing.T) {
	s := stillScheduler(Config{}, []runtime.Object{testNode("node-1")})
	pod := asking(withPort(testPod("web", "data"), 80, ""), "2", "1Gi")
	counted := func() {
		t.Helper()
		pods, cpu := used(s, "node-1")
		assert.EqualValues(t, 1, pods)
		assert.EqualValues(t, 2000, cpu)
		assert.Equal(t, map[string]int{"default/data": 1}, s.cluster.claimUsers)
		assert.Len(t, s.cluster.infos["node-1"].ports, 1)
	}
	free := func() {
		t.Helper()
		pods, cpu := used(s, "node-1")
		assert.Zero(t, pods)
		assert.Zero(t, cpu)
		assert.Empty(t, s.cluster.claimUsers)
		assert.Empty(t, s.cluster.infos["node-1"].ports)
		assert.Empty(t, s.cluster.placed)
	}

	s.cluster.assume(pod, "node-1")
	counted()
	s.cluster.setPod(pod)
	counted() // old news of the pod without a node
	assert.True(t, s.giveBack(&cycle{pod: pod, node: "node-1"}))
	free()
	assert.True(t, s.giveBack(&cycle{pod: pod, node: "node-1"}), "it was forgotten when it was deleted")

	s.cluster.assume(pod, "node-1")
	bound := on(pod.DeepCopy(), "node-1")
	s.cluster.setPod(bound)
	assert.False(t, s.cluster.isAssumed(pod.UID))
	counted()
	assert.False(t, s.giveBack(&cycle{pod: pod, node: "node-1"}))
	counted() // the answer was lost, but it is bound
	ended := bound.DeepCopy()
	ended.Status.Phase = v1.PodSucceeded
	s.cluster.setPod(ended)
	free()
}

func TestAPodThatIsResizedCountsForTheMostOfWhatItAsksForAndHas(t *testing.T) {
	s := stillScheduler(Config{}, []runtime.Object{testNode("node-1")})
	counts := func(pod *v1.Pod, want int64) {
		t.Helper()
		s.cluster.setPod(pod)
		pods, cpu := used(s, "node-1")
		assert.EqualValues(t, 1, pods)
		assert.Equal(t, want, cpu)
	}
	pod := on(asking(testPod("web", "data"), "2", "1Gi"), "node-1")
	counts(pod, 2000)
	pod = asking(pod.DeepCopy(), "500m", "1Gi")
	counts(pod, 500) // its node has not looked at it yet

	has := func(cpu string) v1.ResourceList { return v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)} }
	pod = pod.DeepCopy()
	pod.Status.ContainerStatuses = []v1.ContainerStatus{{Name: pod.Spec.Containers[0].Name, AllocatedResources: has("1"),
		Resources: &v1.ResourceRequirements{Requests: has("2")}}}
	counts(pod, 2000)
	pod = asking(pod.DeepCopy(), "3", "1Gi")
	counts(pod, 3000)
	pod = pod.DeepCopy()
	pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodResizePending, Status: v1.ConditionTrue, Reason: v1.PodReasonInfeasible}}
	counts(pod, 2000) // it never gets what it asks for
	pod = pod.DeepCopy()
	pod.Status.Phase = v1.PodSucceeded
	s.cluster.setPod(pod)
	pods, cpu := used(s, "node-1")
	assert.Zero(t, pods)
	assert.Zero(t, cpu)
}

func TestOldNewsOfABoundPodDoesNotQueueItAgain(t *testing.T) {
	s := stillScheduler(Config{}, []runtime.Object{testNode("node-1")})
	s.cfg.SchedulerName = "default-scheduler"
	s.queue, _ = newHandQueue(t)
	pod := testPod("web")
	s.podAdded(pod)
	entry := popped(t, s.queue)
	s.cluster.assume(pod, "node-1")
	s.queue.done(entry)

	labelled := pod.DeepCopy()
	labelled.Labels = map[string]string{"a": "b"}
	s.podUpdated(pod, labelled)
	assert.Empty(t, s.queue.pods)
}

func TestTheNominatedNodeIsTakenIfItStillFits(t *testing.T) {
	pod := testPod("web")
	pod.Status.NominatedNodeName = "node-2"
	s := stillScheduler(Config{}, []runtime.Object{testNode("node-1"), testNode("node-2")})
	c := newCycle(pod, &queuedPod{})
	require.True(t, s.plugins.runPreFilterPlugins(c).is(success))
	nodes, _ := s.findNodesThatFitPod(c)
	require.Len(t, nodes, 1)
	assert.Equal(t, "node-2", nodes[0].node.Name)

	s.cluster.setNode(testNode("node-2", tainted("gpu", v1.TaintEffectNoSchedule)))
	nodes, _ = s.findNodesThatFitPod(c)
	require.Len(t, nodes, 1)
	assert.Equal(t, "node-1", nodes[0].node.Name)
}

func TestANodeThatIsGoneIsNotLookedAtAndCountsItsPodsWhenItComesBack(t *testing.T) {
	s := stillScheduler(Config{}, []runtime.Object{testNode("b"), testNode("a"), testNode("c")})
	names := func() (list []string) {
		for _, info := range s.cluster.nodes {
			list = append(list, info.node.Name)
		}
		return list
	}
	assert.Equal(t, []string{"a", "b", "c"}, names())
	pod := testPod("web")
	pod.Spec.NodeName = "b"
	s.cluster.setPod(pod)

	s.cluster.dropNode(testNode("b"))
	s.cluster.dropNode(testNode("unheard-of"))
	assert.Equal(t, []string{"a", "c"}, names())
	_, exists := s.cluster.node("b")
	assert.False(t, exists)

	s.cluster.setNode(testNode("b"))
	assert.Equal(t, []string{"a", "b", "c"}, names())
	info, exists := s.cluster.node("b")
	require.True(t, exists)
	assert.EqualValues(t, 1, info.pods)
}
