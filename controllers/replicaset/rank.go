package replicaset

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/internal/podstatus"
	"github.com/storagesim/storagesim/internal/workload"
)

// podsToDelete returns the n pods that go first.
// Upstream: replica_set.go getPodsToDelete, v1.37.
func podsToDelete(active, related []*v1.Pod, n int, now time.Time) []*v1.Pod {
	if n >= len(active) {
		return active
	}
	on := map[string]int{}
	for _, pod := range related {
		if workload.IsActive(pod) {
			on[pod.Spec.NodeName]++
		}
	}
	ranked := slices.Clone(active)
	slices.SortStableFunc(ranked, func(a, b *v1.Pod) int { return compare(a, b, on, now) })
	return ranked[:n]
}

// compare orders pods by how little is lost with them: pods without a node first, then Pending ones, those that are not ready, those of lower
// deletion cost, those on the node with most of their kind, the latest to be ready, those that restarted most, the youngest. Ages count
// by their order of magnitude.
// Upstream: controller_utils.go ActivePodsWithRanks.Less, v1.37.
func compare(a, b *v1.Pod, on map[string]int, now time.Time) int {
	phases := map[v1.PodPhase]int{v1.PodPending: 0, v1.PodUnknown: 1, v1.PodRunning: 2}
	readyA, isReadyA := podstatus.ReadySince(a)
	readyB, isReadyB := podstatus.ReadySince(b)
	order := cmp.Or(
		compareBool(a.Spec.NodeName != "", b.Spec.NodeName != ""),
		cmp.Compare(phases[a.Status.Phase], phases[b.Status.Phase]),
		compareBool(isReadyA, isReadyB),
		cmp.Compare(deletionCost(a), deletionCost(b)),
		cmp.Compare(on[b.Spec.NodeName], on[a.Spec.NodeName]),
	)
	if order == 0 && isReadyA && isReadyB && !readyA.Equal(readyB) {
		if readyA.IsZero() || readyB.IsZero() {
			return compareBool(!readyA.IsZero(), !readyB.IsZero())
		}
		if order := cmp.Compare(magnitude(now.Sub(readyA)), magnitude(now.Sub(readyB))); order != 0 {
			return order
		}
		return cmp.Compare(a.UID, b.UID)
	}
	if order != 0 {
		return order
	}
	if order := cmp.Compare(restarts(b), restarts(a)); order != 0 {
		return order
	}
	if a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return 0
	}
	return cmp.Or(cmp.Compare(magnitude(now.Sub(a.CreationTimestamp.Time)), magnitude(now.Sub(b.CreationTimestamp.Time))), cmp.Compare(a.UID, b.UID))
}

// magnitude returns the order of magnitude of an age, base 2.
// Upstream: controller_utils.go logarithmicRankDiff, v1.37.
func magnitude(age time.Duration) int64 {
	if age <= 0 {
		return -1
	}
	return int64(math.Log2(float64(age)))
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// deletionCost returns the value of the annotation controller.kubernetes.io/pod-deletion-cost, which the API server has checked.
func deletionCost(pod *v1.Pod) int {
	n, err := strconv.ParseInt(pod.Annotations[v1.PodDeletionCost], 10, 32)
	if err != nil {
		return 0
	}
	return int(n)
}

// restarts returns the largest number of restarts of a container.
func restarts(pod *v1.Pod) (n int32) {
	for _, status := range pod.Status.ContainerStatuses {
		n = max(n, status.RestartCount)
	}
	return n
}
