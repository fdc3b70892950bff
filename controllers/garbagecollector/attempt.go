package garbagecollector

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/trace"
)

// attemptToDeleteItem deletes an object if all its owners are gone, or continues the foreground deletion of one.
// Upstream: garbagecollector.go attemptToDeleteItem, v1.37.
func (c *controller) attemptToDeleteItem(ctx context.Context, item string) error {
	k, obj, found := c.object(item)
	if !found || obj.GetDeletionTimestamp() != nil && !c.isDeletingDependents(item) {
		return nil
	}
	latest, err := k.get(ctx, obj.GetNamespace(), obj.GetName())
	switch {
	case apierrors.IsNotFound(err):
		return nil // the deletion of its last dependent queues it again
	case err != nil:
		return err
	case latest.GetUID() != obj.GetUID():
		return nil
	case c.isDeletingDependents(item):
		return c.processDeletingDependentsItem(ctx, k, obj)
	case len(latest.GetOwnerReferences()) == 0:
		return nil
	}
	solid, dangling, waiting, err := c.classifyReferences(ctx, k, latest)
	switch gone := slices.Concat(dangling, waiting); {
	case err != nil:
		return err
	case len(solid) > 0 && len(gone) > 0:
		return c.removeOwners(ctx, k, latest, gone)
	case len(solid) > 0 || len(gone) == 0:
		return nil
	case len(waiting) > 0 && len(c.dependents[latest.GetUID()]) > 0:
		if err := c.unblockCircle(ctx, k, latest); err != nil {
			return err
		}
		return c.deleteObject(ctx, k, latest, metav1.DeletePropagationForeground, c.why(latest, dangling, waiting))
	}
	return c.deleteObject(ctx, k, latest, policyOf(latest), c.why(latest, dangling, waiting))
}

// policyOf returns the policy with which an object is deleted after its owners.
func policyOf(obj control.Object) metav1.DeletionPropagation {
	switch {
	case slices.Contains(obj.GetFinalizers(), metav1.FinalizerOrphanDependents):
		return metav1.DeletePropagationOrphan
	case slices.Contains(obj.GetFinalizers(), metav1.FinalizerDeleteDependents):
		return metav1.DeletePropagationForeground
	}
	return metav1.DeletePropagationBackground
}

// classifyReferences asks the API server for each owner. Solid owners exist, dangling ones do not, waiting ones are
// being deleted and wait for their dependents. A cluster-scoped object cannot have an owner in a namespace; one that
// names such an owner is left alone.
// Upstream: garbagecollector.go classifyReferences and isDangling, v1.37.
func (c *controller) classifyReferences(ctx context.Context, k *kind, obj control.Object) (solid, dangling, waiting []metav1.OwnerReference, _ error) {
	for _, ref := range obj.GetOwnerReferences() {
		ownerKind, known := c.kindOf(ctx, ref)
		if !known {
			return nil, nil, nil, fmt.Errorf("the garbage collector does not know the kind %s of %s, which owns %s", ref.Kind, ref.APIVersion, k.item(obj))
		}
		if ownerKind.namespaced && !k.namespaced {
			return nil, nil, nil, nil
		}
		owner, err := ownerKind.get(ctx, obj.GetNamespace(), ref.Name)
		switch {
		case apierrors.IsNotFound(err), err == nil && owner.GetUID() != ref.UID:
			dangling = append(dangling, ref)
		case err != nil:
			return nil, nil, nil, err
		case waitsFor(owner, metav1.FinalizerDeleteDependents):
			waiting = append(waiting, ref)
		default:
			solid = append(solid, ref)
		}
	}
	return solid, dangling, waiting, nil
}

// deleteObject deletes the object in the version that was examined. If the object has changed since but its owners
// have not, it is deleted, too.
// Upstream: operations.go deleteObject, v1.37.
func (c *controller) deleteObject(ctx context.Context, k *kind, obj control.Object, policy metav1.DeletionPropagation, why string) error {
	c.env.Trace(trace.Decision{About: trace.RefOf(k.name, obj), Text: why})
	uid, version := obj.GetUID(), obj.GetResourceVersion()
	options := metav1.DeleteOptions{PropagationPolicy: &policy, Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version}}
	err := k.delete(ctx, obj.GetNamespace(), obj.GetName(), options)
	if apierrors.IsConflict(err) {
		live, getErr := k.get(ctx, obj.GetNamespace(), obj.GetName())
		if getErr == nil && live.GetUID() == uid && reflect.DeepEqual(live.GetOwnerReferences(), obj.GetOwnerReferences()) {
			options.Preconditions.ResourceVersion = nil
			err = k.delete(ctx, obj.GetNamespace(), obj.GetName(), options)
		}
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// why says why the object is deleted.
func (c *controller) why(obj control.Object, dangling, waiting []metav1.OwnerReference) string {
	var parts []string
	if len(dangling) > 0 {
		parts = append(parts, "its owner is gone: "+c.names(obj, dangling))
	}
	if len(waiting) > 0 {
		parts = append(parts, "its owner waits until it is gone: "+c.names(obj, waiting))
	}
	return strings.Join(parts, "; ")
}

// names names the owners of an object. They are in its namespace, unless they are of a kind without namespaces, such as a Node.
func (c *controller) names(obj control.Object, refs []metav1.OwnerReference) string {
	var list []string
	for _, ref := range refs {
		owner := trace.Ref{Kind: ref.Kind, Name: ref.Name}
		if k := c.kinds[idOf(ref)]; k == nil || k.namespaced { // a definition may have gone meanwhile
			owner.Namespace = obj.GetNamespace()
		}
		list = append(list, owner.String())
	}
	return strings.Join(list, ", ")
}

// processDeletingDependentsItem removes an owner's finalizer if no dependent blocks the deletion any more.
// Upstream: garbagecollector.go processDeletingDependentsItem, v1.37.
func (c *controller) processDeletingDependentsItem(ctx context.Context, k *kind, obj control.Object) error {
	blocked := false
	for _, dependent := range c.dependentsOf(obj.GetUID()) {
		_, other, found := c.object(dependent)
		if !found || !slices.ContainsFunc(other.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return ref.UID == obj.GetUID() && blocks(ref) }) {
			continue
		}
		blocked = true
		if !c.isDeletingDependents(dependent) {
			c.attemptToDelete.Add(dependent)
		}
	}
	if blocked {
		return nil
	}
	return c.removeFinalizer(ctx, k, obj, metav1.FinalizerDeleteDependents)
}
