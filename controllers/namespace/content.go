package namespace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/storagesim/storagesim/control"
)

// finalizerEstimateSeconds is the time that objects with finalizers are expected to need.
// Upstream: deletion/namespaced_resources_deleter.go, v1.37.
const finalizerEstimateSeconds = 15

// remaining counts the objects that could not be deleted yet.
type remaining struct {
	estimate   int64 // seconds until they are expected to be gone
	objects    map[schema.GroupVersionResource]int
	finalizers map[string]int
}

// add counts the remaining objects of one resource.
func (r *remaining) add(resource schema.GroupVersionResource, objects []control.Object) {
	r.objects[resource] = len(objects)
	for _, obj := range objects {
		for _, finalizer := range obj.GetFinalizers() {
			r.finalizers[finalizer]++
		}
	}
}

// deleteAllContent deletes the namespace's pods and, when they are gone, everything else in it. It writes to the
// namespace's conditions what is left, and returns the seconds that the rest is expected to need.
// Upstream: deletion/namespaced_resources_deleter.go deleteAllContent, v1.37.
func (c *controller) deleteAllContent(ctx context.Context, ns *v1.Namespace) (estimate int64, err error) {
	left := &remaining{objects: map[schema.GroupVersionResource]int{}, finalizers: map[string]int{}}
	var report conditions
	pods := metav1.APIResource{Version: "v1", Name: "pods", Namespaced: true, Verbs: metav1.Verbs{"list", "deletecollection"}}
	podErr := c.deleteAllContentForGroupVersionResource(ctx, pods, ns, left)
	report.contentErrors(podErr)
	if left.objects[control.Pods()] > 0 {
		c.say(ctx, ns, report)
		return left.estimate, podErr
	}
	resources, err := c.objects.Resources(ctx)
	report.discoveryError(err)
	errs := []error{podErr, err}
	control.Shuffle(c.env, resources)
	for _, resource := range resources {
		if !resource.Namespaced || !slices.Contains(resource.Verbs, "delete") || gvr(resource) == control.Pods() {
			continue
		}
		err := c.deleteAllContentForGroupVersionResource(ctx, resource, ns, left)
		report.contentErrors(err)
		errs = append(errs, err)
	}
	report.contentTotals(left)
	c.say(ctx, ns, report)
	return left.estimate, errors.Join(errs...)
}

func gvr(resource metav1.APIResource) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: resource.Group, Version: resource.Version, Resource: resource.Name}
}

// deleteAllContentForGroupVersionResource deletes the objects of one kind, and counts those that remain.
// Upstream: deletion/namespaced_resources_deleter.go, v1.37.
func (c *controller) deleteAllContentForGroupVersionResource(ctx context.Context, r metav1.APIResource, ns *v1.Namespace, left *remaining) error {
	estimate, err := c.estimateGracefulTermination(ctx, gvr(r), ns)
	if err != nil {
		return err
	}
	left.estimate = max(left.estimate, estimate)
	if err := c.deleteCollection(ctx, r, ns.Name); err != nil {
		return err
	}
	if !slices.Contains(r.Verbs, "list") {
		return nil
	}
	objects, err := c.list(ctx, gvr(r), ns.Name)
	if err != nil || len(objects) == 0 {
		return err
	}
	left.add(gvr(r), objects)
	switch {
	case estimate > 0:
	case slices.ContainsFunc(objects, func(obj control.Object) bool { return len(obj.GetFinalizers()) > 0 }):
		left.estimate = max(left.estimate, finalizerEstimateSeconds)
	default:
		return fmt.Errorf("unexpected items still remain in namespace: %s for gvr: %v", ns.Name, gvr(r))
	}
	return nil
}

// deleteCollection deletes the objects of one kind by one request or, if the server does not have that, one by one.
// Upstream: deletion/namespaced_resources_deleter.go deleteCollection and deleteEachItem,
// v1.37.
func (c *controller) deleteCollection(ctx context.Context, r metav1.APIResource, namespace string) error {
	background := metav1.DeletePropagationBackground
	options := metav1.DeleteOptions{PropagationPolicy: &background}
	if slices.Contains(r.Verbs, "deletecollection") {
		return unlessNotServed(c.objects.DeleteCollection(ctx, gvr(r), namespace, options))
	}
	objects, err := c.list(ctx, gvr(r), namespace)
	if err != nil {
		return err
	}
	for _, obj := range objects {
		if err := unlessNotServed(c.objects.Delete(ctx, gvr(r), namespace, obj.GetName(), options)); err != nil {
			return err
		}
	}
	return nil
}

func (c *controller) list(ctx context.Context, resource schema.GroupVersionResource, namespace string) ([]control.Object, error) {
	objects, err := c.objects.List(ctx, resource, namespace)
	return objects, unlessNotServed(err)
}

// unlessNotServed returns nil for the error of a resource that does not exist, or no longer: its objects are gone.
func unlessNotServed(err error) error {
	if apierrors.IsMethodNotSupported(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// estimateGracefulTermination returns the seconds that the objects of a kind may need to end. For pods that is the
// longest of their grace periods, until this time has passed since the deletion of the namespace.
// Upstream: deletion/namespaced_resources_deleter.go estimateGracefulTermination, v1.37.
func (c *controller) estimateGracefulTermination(ctx context.Context, resource schema.GroupVersionResource, ns *v1.Namespace) (estimate int64, _ error) {
	if resource != control.Pods() {
		return 0, nil
	}
	pods, err := c.client.Pods(ns.Name).List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, err
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		grace := pod.Spec.TerminationGracePeriodSeconds
		if grace != nil && pod.Status.Phase != v1.PodSucceeded && pod.Status.Phase != v1.PodFailed {
			estimate = max(estimate, *grace)
		}
	}
	if c.env.Now().Sub(ns.DeletionTimestamp.Time) >= time.Duration(estimate)*time.Second {
		estimate = 0
	}
	return estimate, nil
}
