package daemonset_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/internal/podstatus"
	"github.com/storagesim/storagesim/internal/seedtest"
	"github.com/storagesim/storagesim/internal/workload"
	"github.com/storagesim/storagesim/storagesimtest"
	"github.com/storagesim/storagesim/trace"
)

var ctx = context.Background()

type cluster struct{ *storagesimtest.Cluster }

func newCluster(t testing.TB, seed uint64, nodes int) cluster {
	t.Helper()
	names := make([]string, nodes)
	for i := range names {
		names[i] = fmt.Sprintf("node-%d", i+1)
	}
	return cluster{storagesimtest.New(t, storagesim.Config{Seed: seed, Disks: storagesim.MemoryDisks, Nodes: storagesim.Nodes(names...)})}
}

// agent returns the manifest of a DaemonSet, with more of its spec and of its pods'.
func agent(more, pod string) string {
	return `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
` + more + `
  template:
    metadata: {labels: {app: agent}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: c, image: "busybox:1", command: [sleep, "3600"]}]
` + pod
}

func (c cluster) set() *appsv1.DaemonSet {
	c.T.Helper()
	set, err := c.Client().AppsV1().DaemonSets("default").Get(ctx, "agent", metav1.GetOptions{})
	require.NoError(c.T, err)
	return set
}

func (c cluster) image(image string) {
	c.T.Helper()
	patch := `{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"` + image + `"}]}}}}`
	_, err := c.Client().AppsV1().DaemonSets("default").Patch(ctx, "agent", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(c.T, err)
}

func (c cluster) patchNode(name, patch string) {
	c.T.Helper()
	_, err := c.Client().CoreV1().Nodes().Patch(ctx, name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(c.T, err)
}

func (c cluster) pods() []v1.Pod {
	c.T.Helper()
	list, err := c.Client().CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
	require.NoError(c.T, err)
	return list.Items
}

// on returns "node image" of each pod that is not being deleted, sorted.
func (c cluster) on() (places []string) {
	c.T.Helper()
	for _, pod := range c.pods() {
		if pod.DeletionTimestamp == nil {
			places = append(places, pod.Spec.NodeName+" "+pod.Spec.Containers[0].Image)
		}
	}
	slices.Sort(places)
	return places
}

func (c cluster) revisions() []appsv1.ControllerRevision {
	c.T.Helper()
	list, err := c.Client().AppsV1().ControllerRevisions("default").List(ctx, metav1.ListOptions{})
	require.NoError(c.T, err)
	slices.SortFunc(list.Items, func(a, b appsv1.ControllerRevision) int { return workload.ByRevision(&a, &b) })
	return list.Items
}

func (c cluster) events(reason string) (list []string) {
	for _, entry := range c.Trace().Records() {
		if e, ok := entry.Record.(trace.Event); ok && e.Reason == reason {
			list = append(list, e.Message)
		}
	}
	return list
}

// counts returns the numbers of the status: desired, current, misscheduled, ready, updated, available, unavailable.
func (c cluster) counts() []int32 {
	s := c.set().Status
	return []int32{s.DesiredNumberScheduled, s.CurrentNumberScheduled, s.NumberMisscheduled, s.NumberReady, s.UpdatedNumberScheduled, s.NumberAvailable,
		s.NumberUnavailable}
}

func TestEachNodeHasOnePodThatItsAffinityNames(t *testing.T) {
	c := newCluster(t, 0, 3)
	c.Apply(agent("", `      affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: `+
		`kubernetes.io/hostname, operator: NotIn, values: [node-2]}]}]}}}`))
	c.Settle()
	require.Equal(t, []string{"node-1 busybox:1", "node-3 busybox:1"}, c.on())
	require.Equal(t, []int32{2, 2, 0, 2, 2, 2, 0}, c.counts())
	set := c.set()
	require.Equal(t, set.Generation, set.Status.ObservedGeneration)
	require.Equal(t, "1", set.Annotations[appsv1.DeprecatedTemplateGeneration])
	for _, pod := range c.pods() {
		require.Regexp(t, "^agent-.{5}$", pod.Name)
		require.True(t, metav1.IsControlledBy(&pod, set))
		terms := pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
		require.Equal(t, []v1.NodeSelectorTerm{{MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn,
			Values: []string{pod.Spec.NodeName}}}}}, terms)
		require.Equal(t, "1", pod.Labels["pod-template-generation"])
		require.Equal(t, workload.ComputeHash(&set.Spec.Template, nil), pod.Labels[appsv1.ControllerRevisionHashLabelKey])
		var tolerated []string
		for _, toleration := range pod.Spec.Tolerations {
			require.Equal(t, v1.TolerationOpExists, toleration.Operator)
			require.Nil(t, toleration.TolerationSeconds)
			tolerated = append(tolerated, strings.TrimPrefix(toleration.Key, "node.kubernetes.io/")+":"+string(toleration.Effect))
		}
		require.Equal(t, []string{
			"not-ready:NoExecute", "unreachable:NoExecute", "disk-pressure:NoSchedule", "memory-pressure:NoSchedule", "pid-pressure:NoSchedule",
			"unschedulable:NoSchedule",
		}, tolerated)
	}
	require.Len(t, c.events("SuccessfulCreate"), 2)
	require.Regexp(t, "^Created pod: agent-.{5}$", c.events("SuccessfulCreate")[0])
}

func TestAHostNetworkPodToleratesANodeWithoutNetworkToo(t *testing.T) {
	c := newCluster(t, 0, 1)
	c.Apply(agent("", "      hostNetwork: true\n      tolerations: [{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, "+
		"tolerationSeconds: 5}]"))
	c.Settle()
	tolerations := c.pods()[0].Spec.Tolerations
	require.Equal(t, v1.Toleration{Key: "node.kubernetes.io/not-ready", Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute}, tolerations[0],
		"without an end")
	require.Equal(t, v1.Toleration{Key: "node.kubernetes.io/network-unavailable", Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoSchedule},
		tolerations[len(tolerations)-1])
}

func TestACordonedNodeHasItsPodAndATaintedOneHasNone(t *testing.T) {
	c := newCluster(t, 0, 3)
	c.patchNode("node-1", `{"spec":{"unschedulable":true}}`)
	c.patchNode("node-2", `{"spec":{"taints":[{"key":"gpu","effect":"NoSchedule"}]}}`)
	c.Settle()
	c.Apply(agent("", ""))
	c.Settle()
	require.Equal(t, []string{"node-1 busybox:1", "node-3 busybox:1"}, c.on())
	require.Equal(t, []int32{2, 2, 0, 2, 2, 2, 0}, c.counts())
}

func TestAPodStaysBesideATaintForNewPodsAndGoesForOneThatEvicts(t *testing.T) {
	c := newCluster(t, 0, 2)
	c.Apply(agent("", ""))
	c.Settle()
	c.patchNode("node-2", `{"spec":{"taints":[{"key":"gpu","effect":"NoSchedule"}]}}`)
	c.Settle()
	require.Equal(t, []string{"node-1 busybox:1", "node-2 busybox:1"}, c.on())
	require.Equal(t, []int32{2, 2, 0, 2, 2, 2, 0}, c.counts(), "no pod is missing there, none must go: upstream does not count anew")
	c.Delete("pod/" + c.pods()[slices.IndexFunc(c.pods(), func(pod v1.Pod) bool { return pod.Spec.NodeName == "node-1" })].Name)
	c.Settle()
	require.Equal(t, []int32{1, 1, 1, 1, 1, 1, 0}, c.counts())
	c.patchNode("node-2", `{"spec":{"taints":[{"key":"gpu","effect":"NoExecute"}]}}`)
	c.Settle()
	require.Equal(t, []string{"node-1 busybox:1"}, c.on())
	require.Equal(t, []int32{1, 1, 0, 1, 1, 1, 0}, c.counts())
}

func TestPodsComeAndGoWithTheNodesThatTheyFit(t *testing.T) {
	c := newCluster(t, 0, 2)
	c.Apply(agent("", "      nodeSelector: {disk: ssd}"))
	c.Settle()
	require.Empty(t, c.on(), "a DaemonSet for no node")
	require.Equal(t, []int32{0, 0, 0, 0, 0, 0, 0}, c.counts())
	c.patchNode("node-1", `{"metadata":{"labels":{"disk":"ssd"}}}`)
	c.Settle()
	require.Equal(t, []string{"node-1 busybox:1"}, c.on())
	require.NoError(t, c.Cluster.Cluster.AddNode(storagesim.Node{Name: "node-3", Labels: map[string]string{"disk": "ssd"}}))
	c.Settle()
	require.Equal(t, []string{"node-1 busybox:1", "node-3 busybox:1"}, c.on())
	c.patchNode("node-1", `{"metadata":{"labels":{"disk":null}}}`)
	c.Settle()
	require.Equal(t, []string{"node-3 busybox:1"}, c.on())
	require.Len(t, c.events("SuccessfulDelete"), 1)
}

func TestAnUnscheduledPodForANodeThatIsGoneIsDeleted(t *testing.T) {
	c := newCluster(t, 0, 2)
	c.Stop(storagesim.Scheduler)
	c.Apply(agent("", ""))
	c.Settle()
	require.Len(t, c.on(), 2)
	require.NoError(t, c.Client().CoreV1().Nodes().Delete(ctx, "node-2", metav1.DeleteOptions{}))
	c.image("busybox:2")
	c.Settle()
	require.Equal(t, []string{" busybox:2"}, c.on())
}

func TestARollingUpdateOfADaemonSetKeepsItsLimitsInEveryOrder(t *testing.T) {
	limits := []struct {
		surge, unavailable string
		most, least        int // pods that are not being deleted; nodes with a ready pod
	}{{"0", "1", 4, 3}, {"0", "50%", 4, 2}, {"1", "0", 5, 4}, {"50%", "0", 6, 4}}
	seedtest.Each(t, 24, func(t testing.TB, seed uint64) {
		limit := limits[seed%uint64(len(limits))]
		c := newCluster(t, seed, 4)
		c.Apply(agent(fmt.Sprintf("  updateStrategy: {rollingUpdate: {maxSurge: %s, maxUnavailable: %s}}\n", limit.surge, limit.unavailable), ""))
		c.Settle()
		c.image("busybox:2")
		for range 4000 {
			on, ready := map[string]int{}, map[string]bool{}
			all := 0
			for _, pod := range c.pods() {
				if pod.DeletionTimestamp == nil {
					all++
					on[pod.Spec.NodeName]++
					ready[pod.Spec.NodeName] = ready[pod.Spec.NodeName] || podstatus.IsReady(&pod)
				}
			}
			delete(ready, "")
			served := 0
			for _, is := range ready {
				if is {
					served++
				}
			}
			require.LessOrEqual(t, all, limit.most)
			require.GreaterOrEqual(t, served, limit.least)
			stepped, err := c.Engine().Step()
			require.NoError(t, err)
			if !stepped {
				break
			}
		}
		c.Settle()
		require.Equal(t, []string{"node-1 busybox:2", "node-2 busybox:2", "node-3 busybox:2", "node-4 busybox:2"}, c.on())
		require.Equal(t, []int32{4, 4, 0, 4, 4, 4, 0}, c.counts())
		set := c.set()
		require.Equal(t, set.Generation, set.Status.ObservedGeneration)
		require.Equal(t, "2", set.Annotations[appsv1.DeprecatedTemplateGeneration])
		require.Len(t, c.revisions(), 2)
	})
}

func TestOnDeleteReplacesAPodWhenAUserDeletesIt(t *testing.T) {
	c := newCluster(t, 0, 2)
	c.Apply(agent("  updateStrategy: {type: OnDelete}\n", ""))
	c.Settle()
	c.image("busybox:2")
	c.Settle()
	require.Equal(t, []string{"node-1 busybox:1", "node-2 busybox:1"}, c.on())
	require.EqualValues(t, 0, c.set().Status.UpdatedNumberScheduled)
	c.Delete("pod/" + c.pods()[0].Name)
	c.Settle()
	require.EqualValues(t, 1, c.set().Status.UpdatedNumberScheduled)
}

// kubectl rollout undo sends the data of an older ControllerRevision as a strategic merge patch.
func TestAnOlderTemplateOfADaemonSetComesBackWithANewRevision(t *testing.T) {
	c := newCluster(t, 0, 1)
	c.Apply(agent("  revisionHistoryLimit: 1\n", ""))
	c.Settle()
	first := c.revisions()[0]
	require.Equal(t, "agent-"+first.Labels[appsv1.ControllerRevisionHashLabelKey], first.Name)
	c.image("busybox:2")
	c.Settle()
	_, err := c.Client().AppsV1().DaemonSets("default").Patch(ctx, "agent", types.StrategicMergePatchType, first.Data.Raw, metav1.PatchOptions{})
	require.NoError(t, err)
	c.Settle()
	require.Equal(t, []string{"node-1 busybox:1"}, c.on())
	revisions := c.revisions()
	require.Len(t, revisions, 2)
	require.Equal(t, first.Name, revisions[1].Name)
	require.EqualValues(t, 3, revisions[1].Revision)
	c.image("busybox:3")
	c.Settle()
	require.Len(t, c.revisions(), 2, "one old revision is kept")
}

func TestTwoRevisionsOfOneTemplateBecomeOne(t *testing.T) {
	c := newCluster(t, 0, 2)
	c.Apply(agent("", ""))
	c.Settle()
	twin := c.revisions()[0]
	twin.ObjectMeta = metav1.ObjectMeta{Name: "agent-twin", Labels: map[string]string{"app": "agent"}}
	twin.Revision = 7
	_, err := c.Client().AppsV1().ControllerRevisions("default").Create(ctx, &twin, metav1.CreateOptions{})
	require.NoError(t, err)
	c.Delete("pod/" + c.pods()[0].Name) // another look
	c.Settle()
	revisions := c.revisions()
	require.Len(t, revisions, 1)
	require.Equal(t, "agent-twin", revisions[0].Name)
	for _, pod := range c.pods() {
		require.Equal(t, "agent-twin", pod.Labels[appsv1.ControllerRevisionHashLabelKey])
	}
	require.EqualValues(t, 2, c.set().Status.UpdatedNumberScheduled)
}

func TestADaemonSetsPodIsAvailableOnceItHasBeenReadyForLong(t *testing.T) {
	c := newCluster(t, 0, 1)
	c.Apply(agent("  minReadySeconds: 30\n", ""))
	c.RunFor(20 * time.Second)
	require.Equal(t, []int32{1, 1, 0, 1, 1, 0, 1}, c.counts())
	c.RunFor(20 * time.Second)
	require.Equal(t, []int32{1, 1, 0, 1, 1, 1, 0}, c.counts())
}

func TestPodsAndRevisionsOfADaemonSetThatWasOrphanedAreAdopted(t *testing.T) {
	c := newCluster(t, 0, 2)
	c.Apply(agent("", ""))
	c.Settle()
	before := c.pods()
	orphan := metav1.DeletePropagationOrphan
	require.NoError(t, c.Client().AppsV1().DaemonSets("default").Delete(ctx, "agent", metav1.DeleteOptions{PropagationPolicy: &orphan}))
	c.Settle()
	require.Nil(t, metav1.GetControllerOf(&c.pods()[0]))
	c.Apply(agent("", ""))
	c.Settle()
	require.Len(t, c.pods(), 2)
	for i, pod := range c.pods() {
		require.Equal(t, before[i].UID, pod.UID)
		require.True(t, metav1.IsControlledBy(&pod, c.set()))
	}
	require.Len(t, c.revisions(), 1)
	require.True(t, metav1.IsControlledBy(&c.revisions()[0], c.set()))
}

func TestAFailedPodOfADaemonSetIsReplacedLessAndLessOften(t *testing.T) {
	c := newCluster(t, 0, 1)
	c.Apply(agent("", ""))
	c.Settle()
	fail := func() {
		pod := c.pods()[0]
		pod.Status.Phase = v1.PodFailed
		_, err := c.Client().CoreV1().Pods("default").UpdateStatus(ctx, &pod, metav1.UpdateOptions{})
		require.NoError(t, err)
		c.RunFor(100 * time.Millisecond)
	}
	first := c.pods()[0].Name
	fail()
	require.Equal(t, []string{"Found failed daemon pod default/" + first + " on node node-1, will try to kill it"}, c.events("FailedDaemonPod"))
	second := c.pods()[0].Name
	require.NotEqual(t, first, second)
	fail()
	require.Len(t, c.events("FailedDaemonPod"), 1, "one a second")
	c.RunFor(2 * time.Second)
	require.Len(t, c.events("FailedDaemonPod"), 2)
	fail()
	c.RunFor(time.Second)
	require.Len(t, c.events("FailedDaemonPod"), 2, "then one in two seconds")
	c.RunFor(2 * time.Second)
	require.Len(t, c.events("FailedDaemonPod"), 3)
}

func TestADaemonSetWhoseSelectorDoesNotMatchIsRefused(t *testing.T) {
	c := newCluster(t, 0, 1)
	err := c.Cluster.Cluster.Apply(strings.Replace(agent("", ""), "matchLabels: {app: agent}", "matchLabels: {app: other}", 1))
	require.ErrorContains(t, err, "`selector` does not match template `labels`")
	c.Settle()
	require.Empty(t, c.revisions())
}

func TestDeletingADaemonSetDeletesAll(t *testing.T) {
	c := newCluster(t, 0, 2)
	c.Apply(agent("", ""))
	c.Settle()
	c.Delete("ds/agent")
	c.Settle()
	require.Empty(t, c.pods())
	require.Empty(t, c.revisions())
}

func TestThereIsNoStepInAClusterWithoutDaemonSets(t *testing.T) {
	c := newCluster(t, 0, 2)
	c.Settle()
	follows, err := c.Engine().Follows(storagesim.DaemonSets)
	require.NoError(t, err)
	require.Len(t, follows, 1)
	for _, entry := range c.Trace().Records() {
		require.NotEqual(t, storagesim.DaemonSets, entry.Actor)
	}
}
