package snapshots

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/storagesim/storagesim/control"
)

// Objects reads and writes the objects of one type. A write by its own methods is in the Store at once; one by API is
// not. A failed write returns the object as it was, and an error that names it.
type Objects[P Object] struct {
	*Store[P]
	API Client[P]
}

func objectsOf[P Object](env control.Env, resource schema.GroupVersionResource) Objects[P] {
	return Objects[P]{newStore[P](env, resource), Client[P]{Objects: env.Objects(), Resource: resource}}
}

// UpdateError wraps the error of a refused write.
//
// Upstream: external-snapshotter pkg/common-controller/snapshot_controller.go newControllerUpdateError, v8.7.
func UpdateError(name string, err error) error {
	return fmt.Errorf("snapshot controller failed to update %s on API server: %w", name, err)
}

// wrote stores the result of a write.
func (o Objects[P]) wrote(obj, updated P, err error) (P, error) {
	if err != nil {
		return obj, UpdateError(control.Key(obj), err)
	}
	o.Take(updated)
	return updated, nil
}

// Patch changes an object by a JSON patch.
func (o Objects[P]) Patch(ctx context.Context, obj P, ops ...Op) (P, error) {
	updated, err := o.API.Patch(ctx, obj, ops...)
	return o.wrote(obj, updated, err)
}

// Update replaces an object.
func (o Objects[P]) Update(ctx context.Context, obj P) (P, error) {
	updated, err := o.API.Update(ctx, obj)
	return o.wrote(obj, updated, err)
}

// Annotate sets an annotation to "yes", unless the object has it.
//
// Upstream: snapshot_controller.go setAnnVolumeSnapshotBeingCreated and its like, v8.7.
func (o Objects[P]) Annotate(ctx context.Context, obj P, annotation string) (P, error) {
	if _, has := obj.GetAnnotations()[annotation]; has {
		return obj, nil
	}
	annotations := map[string]string{}
	maps.Copy(annotations, obj.GetAnnotations())
	annotations[annotation] = "yes"
	return o.Patch(ctx, obj, Op{Op: "replace", Path: "/metadata/annotations", Value: annotations})
}

// RemoveAnnotation removes an annotation, if the object has it.
//
// Upstream: snapshot_controller.go removeAnnVolumeSnapshotBeingCreated, v8.7.
func (o Objects[P]) RemoveAnnotation(ctx context.Context, obj P, annotation string) (P, error) {
	if _, has := obj.GetAnnotations()[annotation]; !has {
		return obj, nil
	}
	return o.Patch(ctx, obj, Op{Op: "remove", Path: "/metadata/annotations/" + strings.ReplaceAll(annotation, "/", "~1")})
}

// AddContentFinalizer adds a finalizer by a patch, unless the object has it or is being deleted. It reports whether it tried.
//
// Upstream: snapshot_controller.go addContentFinalizer and util.go NeedToAddContentFinalizer, v8.7.
func (o Objects[P]) AddContentFinalizer(ctx context.Context, obj P, finalizer string) (bool, error) {
	has := obj.GetFinalizers()
	if obj.GetDeletionTimestamp() != nil || slices.Contains(has, finalizer) {
		return false, nil
	}
	op := Op{Op: "add", Path: "/metadata/finalizers", Value: []string{finalizer}}
	if len(has) > 0 {
		op = Op{Op: "add", Path: "/metadata/finalizers/-", Value: finalizer}
	}
	_, err := o.Patch(ctx, obj, op)
	return true, err
}

// AddFinalizers adds finalizers: by an update if the object has none yet, else by a patch.
//
// Upstream: snapshot_controller.go addSnapshotFinalizer, v8.7.
func (o Objects[P]) AddFinalizers(ctx context.Context, obj P, wanted ...string) error {
	var err error
	if len(obj.GetFinalizers()) == 0 {
		changed := obj.DeepCopyObject().(P)
		changed.SetFinalizers(wanted)
		_, err = o.Update(ctx, changed)
		return err
	}
	var ops []Op
	for _, finalizer := range wanted {
		ops = append(ops, Op{Op: "add", Path: "/metadata/finalizers/-", Value: finalizer})
	}
	_, err = o.Patch(ctx, obj, ops...)
	return err
}

// RemoveContentFinalizer removes a finalizer by a patch, if the object has it.
//
// Upstream: external-snapshotter pkg/sidecar-controller/snapshot_controller.go removeContentFinalizer, v8.7.
func (o Objects[P]) RemoveContentFinalizer(ctx context.Context, obj P, finalizer string) error {
	if !slices.Contains(obj.GetFinalizers(), finalizer) {
		return nil
	}
	var others []string // nil if there are none
	for _, other := range obj.GetFinalizers() {
		if other != finalizer {
			others = append(others, other)
		}
	}
	_, err := o.Patch(ctx, obj, Op{Op: "replace", Path: "/metadata/finalizers", Value: others})
	return err
}
