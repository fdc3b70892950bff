package trace

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// statusOf returns a write of the status of pod default/web.
func statusOf(was, is v1.PodStatus) Write {
	meta := metav1.ObjectMeta{Namespace: "default", Name: "web"}
	return Write{
		Verb: "patch", Resource: v1.SchemeGroupVersion.WithResource("pods"), Subresource: "status", Namespace: "default", Name: "web", Kind: "Pod",
		Old: &v1.Pod{ObjectMeta: meta, Status: was}, New: &v1.Pod{ObjectMeta: meta, Status: is},
	}
}

// said returns an event of pod default/web.
func said(reason, message string) Event {
	return Event{About: Ref{Kind: "Pod", Namespace: "default", Name: "web"}, Type: v1.EventTypeNormal, Reason: reason, Message: message}
}

// podIn returns a status with containers a and b.
func podIn(phase v1.PodPhase, ready v1.ConditionStatus, a, b v1.ContainerState) v1.PodStatus {
	return v1.PodStatus{
		Phase: phase, Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: ready}},
		ContainerStatuses: []v1.ContainerStatus{{Name: "a", State: a}, {Name: "b", State: b}},
	}
}

func TestAFoldedStoryTellsAPodsStartInTwoLines(t *testing.T) {
	running := v1.ContainerState{Running: &v1.ContainerStateRunning{}}
	waiting := v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "ContainerCreating"}}
	backOff := v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	pending := podIn(v1.PodPending, v1.ConditionFalse, waiting, waiting)
	up := podIn(v1.PodRunning, v1.ConditionTrue, running, running)
	again := said("Started", "Container started")
	again.Repeated = true
	disrupted := up
	disrupted.Conditions = append([]v1.PodCondition{{Type: v1.DisruptionTarget, Status: v1.ConditionTrue}}, up.Conditions...)
	nominated := pending
	nominated.NominatedNodeName = "node-1"
	var entries []Entry
	for _, r := range []Record{
		statusOf(v1.PodStatus{Phase: v1.PodPending}, nominated), statusOf(nominated, pending),
		said("Scheduled", "assigned"), statusOf(v1.PodStatus{Phase: v1.PodPending}, pending),
		said("Pulling", "image"), said("Pulled", "image"), said("Created", "Container created"), said("Started", "Container started"), again,
		statusOf(pending, up),
		statusOf(up, podIn(v1.PodRunning, v1.ConditionFalse, backOff, running)), again,
		statusOf(podIn(v1.PodRunning, v1.ConditionFalse, backOff, running), up),
		said("FailedMount", "no such directory"), statusOf(up, disrupted), statusOf(up, up),
	} {
		entries = append(entries, Entry{Actor: "kubelet/node-1", Record: r})
	}
	require.Equal(t, `  0:00:00  kubelet/node-1  nominates node-1 for pod default/web
           kubelet/node-1  nominates no node for pod default/web any more
           kubelet/node-1  starts containers a, b of pod default/web
           kubelet/node-1  reports pod default/web Running and ready
           kubelet/node-1  reports pod default/web Running, not ready (a: CrashLoopBackOff)
           kubelet/node-1  reports pod default/web Running and ready
           kubelet/node-1  says of pod default/web: Normal FailedMount: no such directory
           kubelet/node-1  patches pod default/web status: conditions = [DisruptionTarget=True]
`, Tell(entries, Telling{Fold: FoldNoise}))
	require.Contains(t, Tell(entries, Telling{Fold: FoldUpkeep}), "Pulling: image")
	require.Equal(t, Tell(entries, Telling{}), Tell(entries, Telling{Fold: FoldUpkeep}))
}

func TestUpkeepIsToldOnlyUnfolded(t *testing.T) {
	lease := func() runtime.Object {
		return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "leader"}}
	}
	leases := schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	entries := []Entry{
		{Time: time.Unix(0, 0), Actor: "x", Record: Write{Verb: "create", Resource: leases, Kind: "Lease", Namespace: "x", Name: "leader", New: lease()}},
		{Time: time.Unix(0, 0), Actor: "x",
			Record: Write{Verb: "update", Resource: leases, Kind: "Lease", Namespace: "x", Name: "leader", Old: lease(), New: lease()}},
		{Time: time.Unix(0, 0), Actor: "x", Record: Write{Verb: "update", Resource: definitions, Subresource: "status", Kind: "CustomResourceDefinition", Name: "a.b",
			Old: lease(), New: lease()}},
	}
	require.Equal(t, "  0:00:00  x  creates lease x/leader\n", Tell(entries, Telling{Fold: FoldUpkeep}))
	require.Equal(t, "  0:00:00  x  creates lease x/leader\n", Tell(entries, Telling{Fold: FoldNoise}))
	require.Contains(t, Tell(entries, Telling{}), "updates customresourcedefinition a.b status")
}
