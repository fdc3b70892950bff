package scheduler

import (
	"reflect"
	"slices"

	v1 "k8s.io/api/core/v1"
	podresource "k8s.io/component-helpers/resource"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/semantic"
)

// action is a change of an object. Several can be or-ed.
// Upstream: kube-scheduler framework ActionType, v1.37.
type action int

const (
	added action = 1 << iota
	deleted
	updateNodeAllocatable
	updateNodeLabel
	// updateNodeTaint is a change of taints, or the end of a cordon.
	updateNodeTaint
	updatePodScaleDown
	updatePodToleration
	// updated is any other update of a pod, and any update of what is neither a pod nor
	// a node.
	updated
)

// clusterEvent is a change that might make a pod schedulable.
// Upstream: framework.ClusterEvent with the objects its hints get, v1.37.
type clusterEvent struct {
	resource string // as resourceOf names it
	action   action
	// old is nil if the object is new, new is nil if it is gone.
	old, new control.Object
}

// resourceOf returns the name of a Go type, which names its resource well enough: "Node".
func resourceOf(t reflect.Type) string { return t.Elem().Name() }

// eventsOf returns the events that the change of an object is: one for each respect in
// which a node has changed, and none if it has changed in none that matters.
// Upstream: scheduler/eventhandlers.go, v1.37.
func eventsOf(old, obj control.Object) []clusterEvent {
	event := func(a action) clusterEvent {
		known := obj
		if known == nil {
			known = old
		}
		return clusterEvent{resourceOf(reflect.TypeOf(known)), a, old, obj}
	}
	switch {
	case old == nil:
		return []clusterEvent{event(added)}
	case obj == nil:
		return []clusterEvent{event(deleted)}
	}
	actions := []action{updated}
	switch obj := obj.(type) {
	case *v1.Node:
		actions = nodeSchedulingPropertiesChange(old.(*v1.Node), obj)
	case *v1.Pod:
		actions = podSchedulingPropertiesChange(old.(*v1.Pod), obj)
	}
	var events []clusterEvent
	for _, a := range actions {
		events = append(events, event(a))
	}
	return events
}

// Upstream: framework/events.go NodeSchedulingPropertiesChange, v1.37.
func nodeSchedulingPropertiesChange(old, node *v1.Node) []action {
	var actions []action
	for _, change := range []struct {
		is     bool
		action action
	}{
		{old.Spec.Unschedulable && !node.Spec.Unschedulable, updateNodeTaint},
		{!semantic.Equal(old.Status.Allocatable, node.Status.Allocatable), updateNodeAllocatable},
		{!semantic.Equal(old.Labels, node.Labels), updateNodeLabel},
		{!semantic.Equal(old.Spec.Taints, node.Spec.Taints), updateNodeTaint},
	} {
		if change.is {
			actions = append(actions, change.action)
		}
	}
	return actions
}

// sameRequests says at little cost, as of most changes, that the pod needs what it did.
func sameRequests(old, pod *v1.Pod) bool {
	same := func(a, b v1.Container) bool { return sameList(a.Resources.Requests, b.Resources.Requests) }
	has := func(a, b v1.ContainerStatus) bool {
		return a.Name == b.Name && sameList(a.AllocatedResources, b.AllocatedResources) && semantic.Equal(a.Resources, b.Resources)
	}
	return slices.EqualFunc(old.Spec.Containers, pod.Spec.Containers, same) &&
		slices.EqualFunc(old.Spec.InitContainers, pod.Spec.InitContainers, same) &&
		semantic.Equal(old.Spec.Resources, pod.Spec.Resources) &&
		slices.EqualFunc(old.Status.ContainerStatuses, pod.Status.ContainerStatuses, has) &&
		slices.EqualFunc(old.Status.InitContainerStatuses, pod.Status.InitContainerStatuses, has) &&
		semantic.Equal(old.Status.Resources, pod.Status.Resources) && sameList(old.Status.AllocatedResources, pod.Status.AllocatedResources) &&
		podresource.IsPodResizeInfeasible(old) == podresource.IsPodResizeInfeasible(pod)
}

// Upstream: framework/events.go PodSchedulingPropertiesChange, v1.37.
func podSchedulingPropertiesChange(old, pod *v1.Pod) []action {
	var actions []action
	if !sameRequests(old, pod) && podRequest(pod).lessThan(podRequest(old)) {
		actions = append(actions, updatePodScaleDown)
	}
	if len(pod.Spec.Tolerations) != len(old.Spec.Tolerations) {
		actions = append(actions, updatePodToleration)
	}
	if len(actions) == 0 {
		return []action{updated}
	}
	return actions
}
