package statefulset

import (
	"cmp"
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
)

// updateStatefulSet creates missing pods, deletes surplus ones, and replaces outdated ones, in this order. With
// OrderedReady it stops after the first action, and at the first pod that must be waited for: the pod's next change
// queues the set again.
// Upstream: stateful_set_control.go updateStatefulSet, v1.36.
func (c *controller) updateStatefulSet(ctx context.Context, set *appsv1.StatefulSet, pods []*v1.Pod) error {
	replicas, condemned := sortPods(set, pods)
	first, end := ordinals(set)
	for ordinal := first; ordinal < end; ordinal++ {
		wait, err := c.processReplica(ctx, set, ordinal, replicas[ordinal])
		if err != nil || wait && monotonic(set) {
			return err
		}
	}
	for _, pod := range condemned {
		if c.claimsMatchRetentionPolicy(set, pod) {
			continue
		}
		if err := c.updatePodClaimForRetentionPolicy(ctx, set, pod); err != nil {
			return err
		}
	}
	unhealthy := firstUnhealthy(condemned)
	for _, pod := range condemned {
		wait, err := c.processCondemned(ctx, set, pod, unhealthy)
		if err != nil || wait && monotonic(set) {
			return err
		}
	}
	return c.rollingUpdate(ctx, set, replicas)
}

// monotonic reports whether the set does one thing at a time.
// Upstream: stateful_set_utils.go allowsBurst, v1.36.
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

// firstUnhealthy returns the condemned pod with the lowest ordinal that is unhealthy, nil if all are healthy.
func firstUnhealthy(condemned []*v1.Pod) *v1.Pod {
	for _, pod := range slices.Backward(condemned) {
		if !isRunningAndReady(pod) || pod.DeletionTimestamp != nil {
			return pod
		}
	}
	return nil
}

// processReplica creates a replica's pod, or deletes one that has ended so that it can be created again. It reports
// whether the next replica has to wait.
// Upstream: stateful_set_control.go processReplica, v1.36.
func (c *controller) processReplica(ctx context.Context, set *appsv1.StatefulSet, ordinal int64, pod *v1.Pod) (wait bool, err error) {
	switch {
	case pod == nil:
		pod = newStatefulPod(set, ordinal)
		if c.podClaimIsStale(set, pod) {
			return true, nil // as upstream: the deletion of the claim does not queue the set again
		}
		return true, c.createStatefulPod(ctx, set, pod)
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
	if pod.DeletionTimestamp != nil || !isRunningAndAvailable(pod, set.Spec.MinReadySeconds, c.env.Now()) {
		wait = true
	}
	if wait && monotonic(set) || c.claimsMatchRetentionPolicy(set, pod) {
		return wait, nil
	}
	return wait, c.updateStatefulPod(ctx, set, pod)
}

// processCondemned deletes a surplus pod, and reports whether the next has to wait. With one thing at a time an
// unhealthy pod is deleted only if none below it is unhealthy, too.
// Upstream: stateful_set_control.go processCondemned, v1.36.
func (c *controller) processCondemned(ctx context.Context, set *appsv1.StatefulSet, pod, unhealthy *v1.Pod) (wait bool, err error) {
	available := isRunningAndAvailable(pod, set.Spec.MinReadySeconds, c.env.Now())
	if pod.DeletionTimestamp != nil || monotonic(set) && !available && pod != unhealthy {
		return true, nil
	}
	return true, c.deleteStatefulPod(ctx, set, pod)
}

// rollingUpdate deletes the highest pod that was created from an older template, if all above it are healthy. It
// will be created from the new template.
// Upstream: the end of stateful_set_control.go updateStatefulSet, v1.36.
func (c *controller) rollingUpdate(ctx context.Context, set *appsv1.StatefulSet, replicas map[int64]*v1.Pod) error {
	if set.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType {
		return nil
	}
	first, end := ordinals(set)
	if rolling := set.Spec.UpdateStrategy.RollingUpdate; rolling != nil && rolling.Partition != nil {
		first += int64(*rolling.Partition)
	}
	for ordinal := end - 1; ordinal >= first; ordinal-- {
		pod := replicas[ordinal]
		switch {
		case pod == nil || pod.DeletionTimestamp != nil:
			return nil
		case pod.Labels[appsv1.ControllerRevisionHashLabelKey] != revisionOf(set):
			return c.deleteStatefulPod(ctx, set, pod)
		case !isRunningAndAvailable(pod, set.Spec.MinReadySeconds, c.env.Now()):
			return nil
		}
	}
	return nil
}
