package kubelet_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// A critical pod that names its node, as a static one would: there was no scheduler to make room. Of pods that guarantee nothing those go that
// have what is lacking, and no more of the others than it takes.
func TestAKubeletMakesRoomForACriticalPod(t *testing.T) {
	w := simple(t)
	run := func(name, class string, limits bool, cpu string) v1.PodStatus {
		p := pod(name)
		p.Spec.PriorityClassName = class
		if cpu != "" {
			p.Spec.Containers[0].Resources = requests(v1.ResourceCPU, cpu)
			p.Spec.Containers[0].Resources.Requests[v1.ResourceMemory] = resource.MustParse("1Mi")
			p.Spec.Containers[0].Resources.Limits[v1.ResourceMemory] = resource.MustParse("1Mi")
			if !limits {
				p.Spec.Containers[0].Resources.Limits = nil
			}
		}
		w.create(p)
		w.settle()
		return w.get(name).Status
	}
	require.Equal(t, v1.PodRunning, run("best-effort", "", false, "").Phase)
	require.Equal(t, v1.PodRunning, run("burstable-1", "", false, "1").Phase)
	require.Equal(t, v1.PodRunning, run("burstable-20", "", false, "20").Phase)
	require.Equal(t, v1.PodRunning, run("burstable-3", "", false, "3").Phase)
	require.Equal(t, v1.PodRunning, run("guaranteed", "", true, "40").Phase)
	require.Equal(t, "OutOfcpu", run("usual", "", false, "2").Reason, "the node is full, and the pod not critical")

	require.Equal(t, v1.PodRunning, run("critical", "system-node-critical", false, "2").Phase)
	for _, name := range []string{"best-effort", "burstable-1", "burstable-20", "guaranteed"} {
		require.Equal(t, v1.PodRunning, w.get(name).Status.Phase, name)
	}
	victim := w.get("burstable-3").Status
	require.Equal(t, v1.PodFailed, victim.Phase)
	require.Equal(t, "Preempting", victim.Reason)
	require.Equal(t, "Preempted in order to admit critical pod", victim.Message)
	w.requireEvent("burstable-3", "Preempting", "Preempted in order to admit critical pod")
	i := slices.IndexFunc(victim.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.DisruptionTarget })
	require.GreaterOrEqual(t, i, 0)
	disrupted := victim.Conditions[i]
	require.Equal(t, v1.PodReasonTerminationByKubelet, disrupted.Reason)
	require.Equal(t, "Pod was preempted by Kubelet to accommodate a critical pod.", disrupted.Message)

	too := run("too-large", "system-node-critical", false, "63")
	require.Equal(t, "UnexpectedAdmissionError", too.Reason)
	require.Equal(t, "Pod was rejected: Unexpected error while attempting to recover from admission failure: preemption: error finding a set of pods to preempt: "+
		"no set of running pods found to reclaim resources: [(res: cpu, q: 1000), ]", too.Message, "critical pods do not make room for each other")
}
