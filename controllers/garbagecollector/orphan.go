package garbagecollector

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/control"
)

// attemptToOrphanItem removes an owner from its dependents, which stay, and then lets the owner go.
// Upstream: garbagecollector.go attemptToOrphanWorker, v1.37.
func (c *controller) attemptToOrphanItem(ctx context.Context, item string) error {
	k, owner, found := c.object(item)
	if !found {
		return nil
	}
	var errs []error
	for _, dependent := range c.dependentsOf(owner.GetUID()) {
		dependentKind, obj, found := c.object(dependent)
		if !found {
			continue
		}
		err := c.removeOwners(ctx, dependentKind, obj, []metav1.OwnerReference{{UID: owner.GetUID()}})
		if err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return c.removeFinalizer(ctx, k, owner, metav1.FinalizerOrphanDependents)
}

// removeFinalizer removes a finalizer of the garbage collector from the latest version of an owner. A conflict is
// retried like any error.
// Upstream: operations.go removeFinalizer, v1.37.
func (c *controller) removeFinalizer(ctx context.Context, k *kind, owner control.Object, finalizer string) error {
	latest, err := k.get(ctx, owner.GetNamespace(), owner.GetName())
	if apierrors.IsNotFound(err) || err == nil && latest.GetUID() != owner.GetUID() {
		return nil
	}
	if err != nil {
		return err
	}
	rest := slices.DeleteFunc(slices.Clone(latest.GetFinalizers()), func(f string) bool { return f == finalizer })
	if len(rest) == len(latest.GetFinalizers()) {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": latest.GetResourceVersion(), "finalizers": rest}})
	if err != nil {
		return err
	}
	err = k.patch(ctx, owner.GetNamespace(), owner.GetName(), types.MergePatchType, patch)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
