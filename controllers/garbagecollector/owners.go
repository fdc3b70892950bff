package garbagecollector

import (
	"context"
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/control"
)

// unblockCircle makes the object stop blocking its owners if one of its own dependents waits, too: they might wait
// for each other.
// Upstream: garbagecollector.go attemptToDeleteItem, v1.37.
func (c *controller) unblockCircle(ctx context.Context, k *kind, obj control.Object) error {
	if !slices.ContainsFunc(c.dependentsOf(obj.GetUID()), c.isDeletingDependents) {
		return nil
	}
	var changes []any
	refs := slices.Clone(obj.GetOwnerReferences())
	for i := range refs {
		if blocks(refs[i]) {
			refs[i].BlockOwnerDeletion = new(false)
			changes = append(changes, refs[i])
		}
	}
	if len(changes) == 0 {
		return nil
	}
	return c.patchOwners(ctx, k, obj, changes, refs) // the deletion then meets a conflict, and is retried
}

// removeOwners removes references to owners.
// Upstream: controller_ref_manager.go GenerateDeleteOwnerRefStrategicMergeBytes, v1.37.
func (c *controller) removeOwners(ctx context.Context, k *kind, obj control.Object, gone []metav1.OwnerReference) error {
	var changes []any
	for _, ref := range gone {
		changes = append(changes, map[string]any{"$patch": "delete", "uid": ref.UID})
	}
	left := slices.DeleteFunc(slices.Clone(obj.GetOwnerReferences()), func(ref metav1.OwnerReference) bool {
		return slices.ContainsFunc(gone, func(other metav1.OwnerReference) bool { return other.UID == ref.UID })
	})
	return c.patchOwners(ctx, k, obj, changes, left)
}

// patchOwners changes the object's references, but not those of a later object of its name. Custom kinds have no
// strategic merge: all references are written, on condition that the object has not changed.
// Upstream: patch.go patch, v1.37.
func (c *controller) patchOwners(ctx context.Context, k *kind, obj control.Object, changes []any, all []metav1.OwnerReference) error {
	how, metadata := types.StrategicMergePatchType, map[string]any{"uid": obj.GetUID(), "ownerReferences": changes}
	if k.custom {
		how, metadata = types.MergePatchType, map[string]any{"resourceVersion": obj.GetResourceVersion(), "uid": obj.GetUID(), "ownerReferences": all}
	}
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return err
	}
	return k.patch(ctx, obj.GetNamespace(), obj.GetName(), how, patch)
}
