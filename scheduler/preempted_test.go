package scheduler_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/engine"
)

// At whatever step of its binding a pod is preempted, what has been made for it is there when there is room again.
func TestAPodThatIsPreemptedAtAnyStepOfItsBindingGetsItsVolumesInTheEnd(t *testing.T) {
	everyStep(t, func(x *prebind) {
		ctx, pods := context.Background(), x.Client().CoreV1().Pods("default")
		web, chosen := x.pods["default/web"].UID, x.chosen()
		_, err := x.Client().SchedulingV1().PriorityClasses().Create(ctx, &schedulingv1.PriorityClass{
			ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 100,
		}, metav1.CreateOptions{})
		x.Must(err)
		high := newPod("urgent")
		high.Spec.PriorityClassName, high.Spec.NodeSelector = "high", map[string]string{v1.LabelHostname: chosen}
		high.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{
			{LabelSelector: &metav1.LabelSelector{}, TopologyKey: v1.LabelHostname}, // it wants its node for itself
		}}}
		_, err = pods.Create(ctx, high, metav1.CreateOptions{})
		x.Must(err)
		x.RunFor(time.Second)
		if at := x.pods["default/web"]; at != nil && at.Spec.NodeName != "" { // too late: it was deleted
			require.NotNil(x.T, at.DeletionTimestamp)
			x.deletePod("web") // as its kubelet does
			x.Settle()
		}
		require.Equal(x.T, chosen, x.nodeOf("urgent"))
		if x.pods["default/web"] == nil {
			return
		}
		x.RunFor(time.Minute)
		require.Equal(x.T, web, x.pods["default/web"].UID)
		require.Nil(x.T, x.pods["default/web"].DeletionTimestamp)
		x.deletePod("urgent")
		x.settled()
	})
}

// urgent makes a pod of high priority, for the caller to create.
func urgent(t testing.TB, w *world) *v1.Pod {
	t.Helper()
	_, err := w.api.SchedulingV1().PriorityClasses().Create(w.ctx, &schedulingv1.PriorityClass{
		ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 100,
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	pod := newPod("urgent")
	pod.Spec.PriorityClassName = "high"
	return pod
}

// A pod whose volumes are still being made is not deleted for another: its binding ends, and it is tried again. What was written stays written.
// Upstream: preemption/executor.go PreemptPod, schedule_one.go bindingCycle, v1.37.
func TestAPodWhoseVolumesAreBeingBoundIsPreemptedInMemory(t *testing.T) {
	w := newWorld(t, engine.Config{}, node("node-1", roomForOne)).withPVController()
	w.class("dynamic", extProv, wffc) // no provisioner of it is here
	w.claim("data", "5Gi", "dynamic")
	w.pod("web", "data")
	w.settle()
	require.Equal(t, "node-1", w.getClaim("data").Annotations[binding.AnnSelectedNode])
	before := w.getPod("web")
	require.Empty(t, before.Spec.NodeName, "it waits for its volume")

	w.create(urgent(t, w))
	require.NoError(t, w.e.RunFor(time.Millisecond))
	assert.Equal(t, "node-1", w.nodeOf("urgent"), "the binding ends at once, not when it looks again")
	w.settle()
	web := w.getPod("web")
	assert.Equal(t, before.UID, web.UID)
	assert.Nil(t, web.DeletionTimestamp)
	assert.Equal(t, "node-1", w.getClaim("data").Annotations[binding.AnnSelectedNode])
	assert.Contains(t, w.said("web"), "1 Preempted Preempting: Preempted by pod "+string(w.getPod("urgent").UID)+" on node node-1 (in kube-scheduler memory).")
	assert.Contains(t, w.said("web"), `1 FailedScheduling Scheduling: running PreBind plugin "VolumeBinding": preempted by DefaultPreemption`)
	assert.Equal(t, v1.PodReasonUnschedulable, w.condition("web").Reason, "tried again, it finds no room")
}

// Once its volumes are bound, the pod is deleted as any other.
func TestAPodThatIsBoundNextIsPreemptedByItsDeletion(t *testing.T) {
	w := newWorld(t, engine.Config{}, node("node-1", roomForOne)).withPVController()
	w.class("local", "kubernetes.io/no-provisioner", wffc)
	w.volume("disk", "5Gi", "local", "node-1")
	w.claim("data", "5Gi", "local")
	w.pod("web", "data")
	w.settle()
	require.Equal(t, "node-1", w.nodeOf("web"))
	w.create(urgent(t, w))
	w.settle()
	require.NotNil(t, w.getPod("web").DeletionTimestamp)
	w.deletePod("web") // as its kubelet does
	w.settle()
	assert.Equal(t, "node-1", w.nodeOf("urgent"))
	assert.Contains(t, w.said("web"), "1 Preempted Preempting: Preempted by pod "+string(w.getPod("urgent").UID)+" on node node-1")
}
