package statefulset

import (
	"cmp"
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/storagesim/storagesim/internal/workload"
)

// updateStatefulSet creates missing pods, deletes surplus ones, and replaces outdated ones, in this order. With
// OrderedReady it stops after the first action, and at the first pod that must be waited for: the pod's next change
// queues the set again.
// Upstream: stateful_set_control.go updateStatefulSet, v1.37.
func (c *controller) updateStatefulSet(ctx context.Context, set *appsv1.StatefulSet, versions *versions, pods []*v1.Pod) error {
	replicas, condemned := sortPods(set, pods)
	first, end := ordinals(set)
	stop, err := forAll(set, int(end-first), func(i int) (wait bool, err error) {
		ordinal := first + int64(i)
		return c.processReplica(ctx, set, versions, ordinal, replicas[ordinal])
	})
	if stop || err != nil {
		return err
	}
	stop, err = forAll(set, len(condemned), func(i int) (wait bool, err error) {
		if c.claimsMatchRetentionPolicy(set, condemned[i]) {
			return false, nil
		}
		return false, c.updatePodClaimForRetentionPolicy(ctx, set, condemned[i])
	})
	if stop || err != nil {
		return err
	}
	unhealthy := c.firstUnavailable(set, condemned)
	stop, err = forAll(set, len(condemned), func(i int) (wait bool, err error) { return c.processCondemned(ctx, set, condemned[i], unhealthy) })
	if stop || err != nil {
		return err
	}
	return c.updateStatefulSetAfterInvariantEstablished(ctx, set, versions, replicas)
}

// forAll calls f for 0 to n-1. With OrderedReady it stops at the first that must be waited for, which stop says; with Parallel it
// goes on in batches of 1, 2, 4 and so on, and stops after a batch with an error.
// Upstream: stateful_set_control.go runForAll, slowStartBatch, v1.37.
func forAll(set *appsv1.StatefulSet, n int, f func(i int) (wait bool, err error)) (stop bool, err error) {
	if !monotonic(set) {
		_, err := workload.SlowStart(n, func(i int) error {
			_, err := f(i)
			return err
		})
		return false, err
	}
	for i := range n {
		if wait, err := f(i); wait || err != nil {
			return true, err
		}
	}
	return false, nil
}

// monotonic reports whether the set does one thing at a time.
// Upstream: stateful_set_utils.go allowsBurst, v1.37.
func monotonic(set *appsv1.StatefulSet) bool {
	return set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement
}

// sortPods separates the pods of the replicas that the set should have, by ordinal, from the others, highest ordinal
// first.
func sortPods(set *appsv1.StatefulSet, pods []*v1.Pod) (replicas map[int64]*v1.Pod, condemned []*v1.Pod) {
	replicas = map[int64]*v1.Pod{}
	first, end := ordinals(set)
	for _, pod := range pods {
		ordinal, ok := ordinalOf(set, pod)
		switch {
		case !ok: // the owner is right but the name is not: left alone
		case first <= ordinal && ordinal < end:
			replicas[ordinal] = pod
		default:
			condemned = append(condemned, pod)
		}
	}
	slices.SortFunc(condemned, func(a, b *v1.Pod) int {
		x, _ := ordinalOf(set, a)
		y, _ := ordinalOf(set, b)
		return cmp.Compare(y, x)
	})
	return replicas, condemned
}

// firstUnavailable returns the condemned pod with the lowest ordinal that is unavailable, nil if all are available.
// Upstream: stateful_set_control.go updateStatefulSet, stateful_set_utils.go isUnavailable, v1.37.
func (c *controller) firstUnavailable(set *appsv1.StatefulSet, condemned []*v1.Pod) *v1.Pod {
	for _, pod := range slices.Backward(condemned) {
		if pod.DeletionTimestamp != nil || !isAvailable(pod, set.Spec.MinReadySeconds, c.env.Now()) {
			return pod
		}
	}
	return nil
}

// processReplica creates a replica's pod, or deletes one that has ended so that it can be created again, and restores what makes a pod
// the replica's. It reports whether the next replica has to wait.
// Upstream: stateful_set_control.go processReplica, v1.37.
func (c *controller) processReplica(ctx context.Context, set *appsv1.StatefulSet, versions *versions, ordinal int64, pod *v1.Pod) (wait bool, err error) {
	switch {
	case pod == nil:
		pod = newVersionedStatefulSetPod(set, versions, ordinal)
		if c.podClaimIsStale(set, pod) {
			return true, nil // as upstream: the deletion of the claim does not queue the set again
		}
		if err := c.createStatefulPod(ctx, set, pod); err != nil || monotonic(set) {
			return true, err
		}
		if err := c.env.Sleep(ctx, 0); err != nil { // the cache may have heard of the claims' owners by now, or not
			return true, err
		}
	case pod.Status.Phase == v1.PodFailed || pod.Status.Phase == v1.PodSucceeded:
		if pod.DeletionTimestamp == nil {
			err = c.deleteStatefulPod(ctx, set, pod)
		}
		return true, err // the deletion of the pod queues the set again
	case pod.Status.Phase == v1.PodPending:
		if err := c.createMissingPersistentVolumeClaims(ctx, set, ordinal, pod); err != nil {
			return true, err
		}
	}
	if monotonic(set) && (pod.DeletionTimestamp != nil || !isRunningAndAvailable(pod, set.Spec.MinReadySeconds, c.env.Now())) {
		return true, nil
	}
	if identityMatches(pod) && storageMatches(set, ordinal, pod) && c.claimsMatchRetentionPolicy(set, pod) {
		return false, nil
	}
	return false, c.updateStatefulPod(ctx, set, ordinal, pod)
}

// processCondemned deletes a surplus pod, and reports whether the next has to wait. With one thing at a time an
// unhealthy pod is deleted only if none below it is unhealthy, too.
// Upstream: stateful_set_control.go processCondemned, v1.37.
func (c *controller) processCondemned(ctx context.Context, set *appsv1.StatefulSet, pod, unhealthy *v1.Pod) (wait bool, err error) {
	available := isRunningAndAvailable(pod, set.Spec.MinReadySeconds, c.env.Now())
	if pod.DeletionTimestamp != nil || monotonic(set) && !available && pod != unhealthy {
		return true, nil
	}
	return true, c.deleteStatefulPod(ctx, set, pod)
}

// updateStatefulSetAfterInvariantEstablished deletes pods that were created from an older template, highest ordinal
// first, as many as may be unavailable at a time. They will be created from the new one. With Parallel all that are
// unavailable anyway go first, without a limit.
// Upstream: stateful_set_control.go updateStatefulSetAfterInvariantEstablished, v1.37.
func (c *controller) updateStatefulSetAfterInvariantEstablished(ctx context.Context, set *appsv1.StatefulSet, versions *versions,
	replicas map[int64]*v1.Pod) error {
	if set.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType {
		return nil
	}
	var broken, sound []*v1.Pod // from older templates, highest ordinal first
	unavailable, brokenAnywhere := 0, false
	first, end := ordinals(set)
	for ordinal := end - 1; ordinal >= first; ordinal-- {
		pod := replicas[ordinal]
		available := pod != nil && pod.DeletionTimestamp == nil && isRunningAndAvailable(pod, set.Spec.MinReadySeconds, c.env.Now())
		if !available {
			unavailable++
		}
		if pod == nil || pod.DeletionTimestamp != nil || pod.Labels[appsv1.ControllerRevisionHashLabelKey] == versions.update.Name {
			continue
		}
		brokenAnywhere = brokenAnywhere || !available
		switch {
		case ordinal < first+partition(set):
		case available || monotonic(set):
			sound = append(sound, pod)
		default:
			broken = append(broken, pod)
		}
	}
	allowed := maxUnavailable(set) - unavailable
	if allowed <= 0 && (monotonic(set) || !brokenAnywhere) {
		return nil
	}
	for _, pod := range slices.Concat(broken, sound[:min(max(allowed, 0), len(sound))]) {
		if err := c.deleteStatefulPod(ctx, set, pod); err != nil {
			return err
		}
	}
	return nil
}

// partition returns the number of replicas, from the first, that an update leaves alone.
func partition(set *appsv1.StatefulSet) int64 {
	if rolling := set.Spec.UpdateStrategy.RollingUpdate; rolling != nil && rolling.Partition != nil {
		return int64(*rolling.Partition)
	}
	return 0
}

// maxUnavailable returns how many replicas may be unavailable in an update: at least one. A percentage is rounded down.
// Upstream: stateful_set_utils.go getStatefulSetMaxUnavailable, v1.37.
func maxUnavailable(set *appsv1.StatefulSet) int {
	rolling := set.Spec.UpdateStrategy.RollingUpdate
	if rolling == nil || rolling.MaxUnavailable == nil {
		return 1
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(rolling.MaxUnavailable, int(*set.Spec.Replicas), false)
	if err != nil {
		return 1 // the API server refuses such values
	}
	return max(n, 1)
}
