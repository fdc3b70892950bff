package daemonset

import (
	"context"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/storagesim/storagesim/control"
)

// rollingUpdate deletes pods of older templates, or makes new ones beside them, within the limits of the strategy.
// Upstream: update.go rollingUpdate, updatedDesiredNodeCounts, v1.37.
func (l *look) rollingUpdate(ctx context.Context) error {
	on, err := l.podsByNode(ctx, false)
	if err != nil {
		return err
	}
	desired := 0
	for node := range l.nodes.All() {
		if shouldRun, _ := shouldRunOn(node, l.set, l.tolerations); shouldRun {
			desired++
			on[node.Name] = slices.Clip(on[node.Name]) // an entry also for a node without pods
		}
	}
	names := slices.Sorted(maps.Keys(on))
	control.Shuffle(l.env, names)
	surge, unavailable := limits(l.set, desired)
	if surge == 0 {
		return l.syncNodes(ctx, l.replaceable(names, on, unavailable), nil)
	}
	surplus, lacking, err := l.surge(names, on, surge, desired)
	if err != nil {
		return err
	}
	return l.syncNodes(ctx, surplus, lacking)
}

// limits returns how many nodes may have a second pod, and on how many the pod may be unavailable. If both are 0, the latter is 1.
// Upstream: update.go updatedDesiredNodeCounts, daemonset_util.go SurgeCount, UnavailableCount, v1.37.
func limits(set *appsv1.DaemonSet, desired int) (surge, unavailable int) {
	rolling := set.Spec.UpdateStrategy.RollingUpdate
	if set.Spec.UpdateStrategy.Type != appsv1.RollingUpdateDaemonSetStrategyType || rolling == nil {
		return 0, 0
	}
	surge, unavailable = scaled(rolling.MaxSurge, desired), scaled(rolling.MaxUnavailable, desired)
	if desired > 0 && surge == 0 && unavailable == 0 {
		unavailable = 1
	}
	return surge, unavailable
}

// allowsSurge reports whether a node may have two pods.
// Upstream: daemonset_util.go AllowsSurge, v1.37.
func allowsSurge(set *appsv1.DaemonSet) bool {
	surge, _ := limits(set, 1)
	return surge > 0
}

// scaled returns the number n, or n percent of all, rounded up; 0 for nil.
func scaled(n *intstr.IntOrString, all int) int {
	if n == nil {
		return 0
	}
	value, err := intstr.GetScaledValueFromIntOrPercent(n, all, true)
	if err != nil {
		return 0 // the API server refuses such values
	}
	return value
}

// newAndOld returns the pods of a node of the present and of an older template; nil for one that there is not. ok is false if there are several of one of them.
// Upstream: update.go findUpdatedPodsOnNode, v1.37.
func (l *look) newAndOld(pods []*v1.Pod) (newPod, oldPod *v1.Pod, ok bool) {
	for _, pod := range pods {
		if pod.DeletionTimestamp != nil {
			continue
		}
		of := &oldPod
		if l.isUpdated(pod) {
			of = &newPod
		}
		if *of != nil {
			return nil, nil, false
		}
		*of = pod
	}
	return newPod, oldPod, true
}

// replaceable returns the old pods that go now: all that are not available, and of the others as many as may become unavailable.
// Upstream: update.go rollingUpdate, v1.37.
func (l *look) replaceable(names []string, on map[string][]*v1.Pod, allowed int) []*v1.Pod {
	unavailable := 0
	var broken, candidates []*v1.Pod
	for _, name := range names {
		newPod, oldPod, ok := l.newAndOld(on[name])
		switch {
		case !ok || (newPod == nil) == (oldPod == nil): // the next manage creates or deletes pods there
			unavailable++
		case newPod != nil:
			if !l.isAvailable(newPod) {
				unavailable++
			}
		case !l.isAvailable(oldPod):
			broken = append(broken, oldPod)
			unavailable++
		case unavailable < allowed:
			candidates = append(candidates, oldPod)
		}
	}
	return append(broken, candidates[:min(max(allowed-unavailable, 0), len(candidates))]...)
}

// surge returns the old pods that go now, and the nodes that get a new pod beside the old one: those whose old pod is not available, and of the others
// as many as may have two. A pod on a node that it does not fit any more goes when there are enough others.
// Upstream: update.go rollingUpdate, v1.37.
func (l *look) surge(names []string, on map[string][]*v1.Pod, allowed, desired int) (surplus []*v1.Pod, lacking []string, err error) {
	surging, available := 0, 0
	var misplaced []*v1.Pod
	var candidates []string
	for _, name := range names {
		newPod, oldPod, ok := l.newAndOld(on[name])
		if !ok { // the next manage creates or deletes pods there
			surging++
			continue
		}
		oldAvailable, newAvailable := oldPod != nil && l.isAvailable(oldPod), newPod != nil && l.isAvailable(newPod)
		if oldAvailable || oldPod == nil && newAvailable {
			available++
		}
		fits := true
		if oldPod != nil && newPod == nil {
			if fits, err = l.fits(name); err != nil {
				return nil, nil, err
			}
		}
		switch {
		case oldPod == nil:
		case newPod != nil && newAvailable:
			surplus = append(surplus, oldPod)
		case newPod != nil:
			surging++
		case !fits && oldAvailable:
			misplaced = append(misplaced, oldPod)
		case !fits:
			surplus = append(surplus, oldPod)
		case !oldAvailable:
			lacking = append(lacking, name)
		case surging < allowed:
			candidates = append(candidates, name)
		}
	}
	surplus = append(surplus, misplaced[:min(max(available-desired, 0), len(misplaced))]...)
	return surplus, append(lacking, candidates[:min(max(allowed-surging, 0), len(candidates))]...), nil
}

// fits reports whether the DaemonSet should have a pod on the node of that name. While a pod is on a node that is gone, nothing else is replaced, as upstream.
func (l *look) fits(name string) (bool, error) {
	node, found := l.nodes.Get(name)
	if !found {
		return false, fmt.Errorf("couldn't get node for nodeName %q: node %q not found", name, name)
	}
	shouldRun, _ := shouldRunOn(node, l.set, l.tolerations)
	return shouldRun, nil
}
