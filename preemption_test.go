package storagesim_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/provisioner/localpath"
	"github.com/storagesim/storagesim/storagesimtest"
	"github.com/storagesim/storagesim/trace"
)

const priorityClasses = `
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: low}
value: 10
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: middle}
value: 100
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 1000
`

// rankedPod returns a pod of a priority class that asks for CPUs, of which a node has 64, with more fields of its spec.
func rankedPod(name, class string, cpus int, spec string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: %s, labels: {app: %s}}\nspec:\n  priorityClassName: %s\n  %s\n"+
		"  containers: [{name: c, image: nginx, resources: {requests: {cpu: %d}}}]\n", name, name, class, spec, cpus)
}

// podNames returns the names of the pods that run, in order.
func podNames(t *testing.T, c *storagesimtest.Cluster) string {
	list, err := c.Client().CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	var names []string
	for _, pod := range list.Items {
		if pod.Status.Phase == v1.PodRunning {
			names = append(names, pod.Name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// preemptedOf returns what events say of victims, with their names.
func preemptedOf(t *testing.T, c *storagesimtest.Cluster) (said []string) {
	list, err := c.Client().CoreV1().Events("default").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for _, e := range list.Items {
		if e.Reason == "Preempted" {
			said = append(said, e.InvolvedObject.Name+": "+e.Message)
		}
	}
	slices.Sort(said)
	return said
}

// Upstream: preemption/executor.go PreemptPod, preemption.go Preempt, v1.37.
func TestAPodOfHigherPriorityTakesThePlaceOfAnother(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Apply(priorityClasses, rankedPod("victim", "low", 40, ""))
	c.Settle()
	c.Apply(rankedPod("urgent", "high", 40, ""))
	c.Settle()
	require.Equal(t, "urgent", podNames(t, c))
	urgent := c.Pod("urgent")
	require.Equal(t, []string{fmt.Sprintf("victim: Preempted by pod %s on node node-1", urgent.UID)}, preemptedOf(t, c))
	said, _ := eventsOf(t, c, "urgent", "FailedScheduling")
	require.Equal(t, []string{"0/1 nodes are available: 1 Insufficient cpu. preemption: found a potential placement for pod on node node-1, preempting 1 victims"},
		said)
	nominated, condition := false, ""
	for _, r := range c.Trace().Records() {
		w, ok := r.Record.(trace.Write)
		if !ok || w.Kind != "Pod" || w.New == nil {
			continue
		}
		pod := w.New.(*v1.Pod)
		nominated = nominated || pod.Name == "urgent" && pod.Spec.NodeName == "" && pod.Status.NominatedNodeName == "node-1"
		for _, cond := range pod.Status.Conditions {
			if pod.Name == "victim" && cond.Type == v1.DisruptionTarget {
				condition = fmt.Sprintf("%s %s: %s", cond.Status, cond.Reason, cond.Message)
			}
		}
	}
	require.True(t, nominated)
	require.Equal(t, "True PreemptionByScheduler: default-scheduler: preempting to accommodate a higher priority pod", condition)
	require.Contains(t, c.Story(), "has priority 1000 and would fit on node-1 without default/victim (priority 10)")
}

const rankedDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {priorityClassName: low, containers: [{name: c, image: nginx, resources: {requests: {cpu: 40}}}]}
`

// The successor of the victim must not take the place that is kept for the pod, in any order of events.
func TestTheVictimsSuccessorDoesNotTakeThePlace(t *testing.T) {
	for seed := range uint64(30) {
		c := storagesimtest.New(t, storagesim.Config{Seed: seed})
		c.Apply(priorityClasses, rankedDeployment)
		c.RunFor(time.Minute)
		c.Apply(rankedPod("urgent", "high", 40, ""))
		c.RunFor(10 * time.Minute)
		require.Equal(t, "urgent", podNames(t, c), "seed %d", seed)
		require.Len(t, preemptedOf(t, c), 1, "seed %d", seed)
		list, err := c.Client().CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{LabelSelector: "app=web"})
		require.NoError(t, err)
		require.Len(t, list.Items, 1)
		require.Contains(t, list.Items[0].Status.Conditions[0].Message, "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.")
		c.Delete("pod/urgent")
		c.RunFor(time.Minute)
		require.Contains(t, podNames(t, c), "web-", "the place is free again, seed %d", seed)
	}
}

// Upstream: defaultpreemption SelectVictimsOnNode, preemption.go pickOneNodeForPreemption, v1.37.
func TestTheFewestAndLeastImportantPodsGo(t *testing.T) {
	two := []storagesim.Node{{Name: "node-1"}, {Name: "node-2"}}
	on := func(node string) string { return "nodeSelector: {kubernetes.io/hostname: " + node + "}" }
	for name, tt := range map[string]struct {
		pods    []string
		urgent  string
		victims string
	}{
		"one of three, the lowest": {[]string{rankedPod("a", "low", 20, on("node-1")), rankedPod("b", "middle", 20, on("node-1")),
			rankedPod("c", "middle", 20, on("node-1"))},
			rankedPod("urgent", "high", 20, on("node-1")), "a"},
		"two of three": {[]string{rankedPod("a", "low", 20, on("node-1")), rankedPod("b", "middle", 20, on("node-1")),
			rankedPod("c", "low", 20, on("node-1"))}, rankedPod("urgent", "high", 40, on("node-1")), "a c"},
		"the node with the lower ones": {[]string{rankedPod("a", "middle", 60, on("node-1")), rankedPod("b", "low", 60, on("node-2"))},
			rankedPod("urgent", "high", 60, ""), "b"},
		"the node with fewer": {[]string{rankedPod("a", "low", 30, on("node-1")), rankedPod("b", "low", 30, on("node-1")), rankedPod("c", "low", 60, on("node-2"))},
			rankedPod("urgent", "high", 60, ""), "c"},
		"a large one rather than two small": {[]string{rankedPod("a", "low", 10, on("node-1")), rankedPod("b", "low", 10, on("node-1")),
			rankedPod("c", "low", 40, on("node-1"))},
			rankedPod("urgent", "high", 40, on("node-1")), "c"},
		"none of its own priority": {[]string{rankedPod("a", "high", 60, on("node-1")), rankedPod("b", "high", 60, on("node-2"))},
			rankedPod("urgent", "high", 60, ""), ""},
		"none if it is too large in any case": {[]string{rankedPod("a", "low", 60, on("node-1"))}, rankedPod("urgent", "high", 70, ""), ""},
		"one whose anti-affinity keeps it away": {[]string{rankedPod("a", "low", 1,
			on("node-1")+"\n  affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: "+
				"{matchLabels: {app: urgent}}}]}}"), rankedPod("b", "low", 1, on("node-1"))}, rankedPod("urgent", "high", 1, on("node-1")), "a"},
	} {
		t.Run(name, func(t *testing.T) {
			c := storagesimtest.New(t, storagesim.Config{Nodes: two})
			c.Apply(priorityClasses)
			for _, pod := range tt.pods {
				c.Apply(pod)
				c.Settle()
				c.RunFor(time.Second)
			}
			c.Apply(tt.urgent)
			c.Settle()
			var gone []string
			for _, said := range preemptedOf(t, c) {
				gone = append(gone, said[:strings.Index(said, ":")])
			}
			require.Equal(t, tt.victims, strings.Join(gone, " "))
			require.Equal(t, tt.victims != "", strings.Contains(podNames(t, c), "urgent"))
		})
	}
}

// A budget is respected where there is another way, and not where there is none. Upstream: preemption/util.go FilterVictimsWithPDBViolation, v1.37.
func TestPreemptionSparesPodsOfABudgetIfItCan(t *testing.T) {
	budget := "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: a}\nspec: {minAvailable: 1, selector: {matchLabels: {app: a}}}\n"
	for victims, pods := range map[string][]string{
		"b": {rankedPod("a", "low", 60, "nodeSelector: {kubernetes.io/hostname: node-1}"),
			rankedPod("b", "middle", 60, "nodeSelector: {kubernetes.io/hostname: node-2}")},
		"a": {rankedPod("a", "low", 60, "nodeSelector: {kubernetes.io/hostname: node-1}"),
			rankedPod("b", "high", 60, "nodeSelector: {kubernetes.io/hostname: node-2}")},
	} {
		c := storagesimtest.New(t, storagesim.Config{Nodes: []storagesim.Node{{Name: "node-1"}, {Name: "node-2"}}})
		c.Apply(append([]string{priorityClasses, budget}, pods...)...)
		c.Settle()
		c.Apply(rankedPod("urgent", "high", 60, ""))
		c.Settle()
		require.Len(t, preemptedOf(t, c), 1)
		require.True(t, strings.HasPrefix(preemptedOf(t, c)[0], victims+":"), "%s: %v", victims, preemptedOf(t, c))
	}
}

// The holder of a ReadWriteOncePod claim goes. Upstream: volume_restrictions.go RemovePod, v1.37.
func TestTheHolderOfAReadWriteOncePodClaimIsPreempted(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.AddProvisionController(localpath.Controller(localpath.Config{}))
	c.Apply(priorityClasses, "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: made}\nprovisioner: rancher.io/local-path\n"+
		"volumeBindingMode: WaitForFirstConsumer\n",
		"apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {accessModes: [ReadWriteOncePod], storageClassName: made, resources: "+
			"{requests: {storage: 1Gi}}}\n")
	volume := "volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]"
	c.Apply(rankedPod("holder", "low", 1, volume))
	c.Settle()
	c.RequireRunning("holder")
	c.Apply(rankedPod("equal", "low", 1, volume))
	c.Settle()
	said, _ := eventsOf(t, c, "equal", "FailedScheduling")
	require.Contains(t, said[0],
		"ReadWriteOncePod access mode already in-use by another pod. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.")
	c.Apply(rankedPod("urgent", "high", 1, volume))
	c.Settle()
	require.Equal(t, "urgent", podNames(t, c))
	require.Equal(t, []string{fmt.Sprintf("holder: Preempted by pod %s on node node-1", c.Pod("urgent").UID)}, preemptedOf(t, c))
}
