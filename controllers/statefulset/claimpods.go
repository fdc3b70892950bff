package statefulset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/control"
)

// claimPods returns the pods that belong to the set. It adopts an orphan that the selector matches and that has a
// replica's name, and releases a pod of the set that these are not true of any more. A set that is being deleted
// does neither.
// Upstream: stateful_set.go getPodsForStatefulSet; controller_ref_manager.go ClaimPods and
// ClaimObject, v1.37.
func (c *controller) claimPods(ctx context.Context, set *appsv1.StatefulSet) ([]*v1.Pod, error) {
	selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
	if err != nil {
		return nil, err // the API server accepts no such set
	}
	match := func(pod *v1.Pod) bool {
		_, member := ordinalOf(set, pod)
		return member && selector.Matches(labels.Set(pod.Labels))
	}
	var claimed []*v1.Pod
	var errs []error
	for _, pod := range c.pods.ByIndex(podsByOwner, string(set.UID)) {
		switch {
		case match(pod):
			claimed = append(claimed, pod)
		case set.DeletionTimestamp == nil:
			errs = append(errs, c.releasePod(ctx, set, pod))
		}
	}
	if set.DeletionTimestamp != nil {
		return claimed, errors.Join(errs...)
	}
	for _, pod := range c.pods.ByIndex(podsByOwner, orphansIn(set.Namespace)) {
		if pod.DeletionTimestamp != nil || !match(pod) {
			continue
		}
		adopted, err := c.adoptPod(ctx, set, pod)
		if err == nil {
			claimed = append(claimed, adopted)
		} else if !apierrors.IsNotFound(err) {
			errs = append(errs, err)
		}
	}
	return claimed, errors.Join(errs...)
}

// adoptPod makes the set the controller of the pod, if the set still exists.
// Upstream: controller_ref_manager.go AdoptPod, RecheckDeletionTimestamp, v1.37.
func (c *controller) adoptPod(ctx context.Context, set *appsv1.StatefulSet, pod *v1.Pod) (*v1.Pod, error) {
	fresh, err := c.client.AppsV1().StatefulSets(set.Namespace).Get(ctx, set.Name, metav1.GetOptions{})
	switch {
	case err != nil:
		return nil, fmt.Errorf("can't adopt Pod %s/%s (%s): %s", pod.Namespace, pod.Name, pod.UID, err.Error()) // not %w: a missing set is not a missing pod
	case fresh.UID != set.UID:
		return nil, fmt.Errorf("can't adopt Pod %s/%s (%s): original StatefulSet %s/%s is gone: got uid %s, wanted %s",
			pod.Namespace, pod.Name, pod.UID, set.Namespace, set.Name, fresh.UID, set.UID)
	case fresh.DeletionTimestamp != nil:
		return nil, fmt.Errorf("can't adopt Pod %s/%s (%s): %s/%s has just been deleted at %s",
			pod.Namespace, pod.Name, pod.UID, set.Namespace, set.Name, fresh.DeletionTimestamp)
	}
	return c.patchOwner(ctx, pod, metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind(controllerKind)))
}

// releasePod removes the set from the pod's owners. A pod that is gone, or replaced by another of its name, needs no
// release.
// Upstream: controller_ref_manager.go ReleasePod, v1.37.
func (c *controller) releasePod(ctx context.Context, set *appsv1.StatefulSet, pod *v1.Pod) error {
	_, err := c.patchOwner(ctx, pod, map[string]any{"$patch": "delete", "uid": set.UID})
	if apierrors.IsNotFound(err) || apierrors.IsInvalid(err) {
		return nil
	}
	return err
}

// patchOwner changes one reference of the pod, but not of a later pod of its name.
func (c *controller) patchOwner(ctx context.Context, pod *v1.Pod, ref any) (*v1.Pod, error) {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"ownerReferences": []any{ref}, "uid": pod.UID}})
	if err != nil {
		return nil, err
	}
	return c.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
}

// podsByOwner is an index of pods by the UID of their controller, or by orphansIn.
const podsByOwner = "owner"

// orphansIn returns the index key of the pods of the namespace that have no controller.
func orphansIn(namespace string) string { return "orphans in " + namespace }

// ownerOf returns the keys of the pod in the index.
func ownerOf(pod *v1.Pod) []string {
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		return []string{string(owner.UID)}
	}
	return []string{orphansIn(pod.Namespace)}
}

// podUpdated queues the sets that the pod belongs to or belonged to and, if it is an orphan, those that might adopt
// it.
// Upstream: stateful_set.go updatePod, v1.37.
func (c *controller) podUpdated(old, pod *v1.Pod) {
	was, is := metav1.GetControllerOfNoCopy(old), metav1.GetControllerOfNoCopy(pod)
	moved := was != nil && (is == nil || is.UID != was.UID)
	if moved {
		c.enqueueSetOf(old)
	}
	if is != nil {
		c.enqueueSetOf(pod)
	} else if moved || !labels.Equals(old.Labels, pod.Labels) {
		c.enqueueSetsFor(pod)
	}
}

// podAdded queues the set that the pod belongs to or, if it is an orphan, those that might adopt it.
// Upstream: stateful_set.go addPod, v1.37.
func (c *controller) podAdded(pod *v1.Pod) {
	if c.enqueueSetOf(pod); metav1.GetControllerOfNoCopy(pod) == nil && pod.DeletionTimestamp == nil {
		c.enqueueSetsFor(pod)
	}
}

// enqueueSetsFor queues all sets whose selector matches the pod.
// Upstream: stateful_set.go getStatefulSetsForPod, v1.37.
func (c *controller) enqueueSetsFor(pod *v1.Pod) {
	for set := range c.sets.All() {
		selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
		if err == nil && set.Namespace == pod.Namespace && !selector.Empty() && selector.Matches(labels.Set(pod.Labels)) {
			c.queue.Add(control.Key(set))
		}
	}
}
