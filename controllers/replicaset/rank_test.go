package replicaset

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// pod returns a pod on a node that has been ready for so long, and is as old.
func pod(name, node string, ready time.Duration, change ...func(*v1.Pod)) *v1.Pod {
	since := metav1.NewTime(now().Add(-ready))
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), CreationTimestamp: since}}
	p.Spec.NodeName, p.Status.Phase = node, v1.PodRunning
	p.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue, LastTransitionTime: since}}
	for _, f := range change {
		f(p)
	}
	return p
}

func now() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

func unready(p *v1.Pod) { p.Status.Conditions[0].Status = v1.ConditionFalse }

func cost(n string) func(*v1.Pod) {
	return func(p *v1.Pod) { p.Annotations = map[string]string{v1.PodDeletionCost: n} }
}

func restarted(n int32) func(*v1.Pod) {
	return func(p *v1.Pod) {
		p.Status.ContainerStatuses = []v1.ContainerStatus{{RestartCount: 0}, {RestartCount: n}}
	}
}

func aged(d time.Duration) func(*v1.Pod) {
	return func(p *v1.Pod) { p.CreationTimestamp = metav1.NewTime(now().Add(-d)) }
}

// Upstream: controller_utils.go ActivePodsWithRanks.Less, v1.37. Each row has two pods that differ in what it says; a goes first.
func TestThePodWithWhichLeastIsLostGoesFirst(t *testing.T) {
	const hour = time.Hour
	for why, tt := range map[string]struct {
		a, b    *v1.Pod
		related []*v1.Pod
	}{
		"without a node, although the other is not ready": {a: pod("a", "", hour), b: pod("b", "n", hour, unready)},
		"Pending": {a: pod("a", "n", hour, unready, func(p *v1.Pod) { p.Status.Phase = v1.PodPending }),
			b: pod("b", "n", hour, unready, cost("-9"))},
		"not ready, although it costs more":            {a: pod("a", "n", hour, unready, cost("9")), b: pod("b", "n", hour)},
		"of lower deletion cost, although it is older": {a: pod("a", "n", 9*hour, cost("-1")), b: pod("b", "n", hour)},
		"a cost that is no number is 0":                {a: pod("a", "n", hour), b: pod("b", "n", 9*hour, cost("1"))},
		"on the node with more of its kind": {a: pod("a", "full", 9*hour), b: pod("b", "n", hour),
			related: []*v1.Pod{pod("x", "full", hour), pod("y", "full", hour), pod("z", "n", hour)}},
		"pods that have ended do not count there": {a: pod("a", "n", hour), b: pod("b", "m", 9*hour),
			related: []*v1.Pod{pod("x", "m", hour, func(p *v1.Pod) { p.Status.Phase = v1.PodFailed })}},
		"ready for less long, by the order of magnitude":  {a: pod("a", "n", hour), b: pod("b", "n", 9*hour)},
		"of one order of magnitude the UID decides":       {a: pod("a", "n", 70*time.Minute), b: pod("b", "n", 65*time.Minute)},
		"that restarted more often, if both are as ready": {a: pod("a", "n", hour, restarted(2), aged(9*hour)), b: pod("b", "n", hour, restarted(1))},
		"younger, if all else is equal":                   {a: pod("a", "n", hour, unready, aged(hour)), b: pod("b", "n", hour, unready, aged(9*hour))},
		"younger, and of one order of magnitude by their UID": {a: pod("a", "n", hour, unready, aged(70*time.Minute)),
			b: pod("b", "n", hour, unready, aged(65*time.Minute))},
	} {
		t.Run(why, func(t *testing.T) {
			related := append([]*v1.Pod{tt.a, tt.b}, tt.related...)
			for _, active := range [][]*v1.Pod{{tt.a, tt.b}, {tt.b, tt.a}} {
				require.Equal(t, "a", podsToDelete(active, related, 1, now())[0].Name)
			}
		})
	}
}

func TestAllPodsGoIfAsManyAreToGo(t *testing.T) {
	active := []*v1.Pod{pod("a", "n", time.Hour), pod("b", "", time.Hour)}
	var names []string
	for _, p := range podsToDelete(active, active, 5, now()) {
		names = append(names, p.Name)
	}
	require.Equal(t, "a b", strings.Join(names, " "))
}
