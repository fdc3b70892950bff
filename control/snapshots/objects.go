package snapshots

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/control"
)

// Objects are those of one type: a Store that follows them, and a Client whose writes the Store gets to
// know at once. What fails leaves the object as it was, and the error says which.
type Objects[T any, P Pointer[T]] struct {
	*Store[T, P]
	API Client[T, P]
}

func objectsOf[T any, P Pointer[T]](env control.Env, resource schema.GroupVersionResource) Objects[T, P] {
	return Objects[T, P]{newStore[T, P](env, resource), Client[T, P]{Objects: env.Objects(), Resource: resource}}
}

// UpdateError is what a refused write is called.
//
// Upstream: external-snapshotter pkg/common-controller/snapshot_controller.go newControllerUpdateError, v8.7.
func UpdateError(name string, err error) error {
	return fmt.Errorf("snapshot controller failed to update %s on API server: %w", name, err)
}

// wrote notes what a write returned.
func (o Objects[T, P]) wrote(obj, updated P, err error) (P, error) {
	if err != nil {
		return obj, UpdateError(control.Key(obj), err)
	}
	o.Take(updated)
	return updated, nil
}

// Patch changes an object by steps of a JSON patch.
func (o Objects[T, P]) Patch(ctx context.Context, obj P, ops ...Op) (P, error) {
	updated, err := o.API.Patch(ctx, obj, ops...)
	return o.wrote(obj, updated, err)
}

// Update replaces an object.
func (o Objects[T, P]) Update(ctx context.Context, obj P) (P, error) {
	updated, err := o.API.Update(ctx, obj)
	return o.wrote(obj, updated, err)
}

// Annotate gives an object an annotation with the value "yes", unless it has it.
//
// Upstream: snapshot_controller.go setAnnVolumeSnapshotBeingCreated and its like, v8.7.
func (o Objects[T, P]) Annotate(ctx context.Context, obj P, annotation string) (P, error) {
	if _, has := obj.GetAnnotations()[annotation]; has {
		return obj, nil
	}
	annotations := map[string]string{}
	maps.Copy(annotations, obj.GetAnnotations())
	annotations[annotation] = "yes"
	return o.Patch(ctx, obj, Op{Op: "replace", Path: "/metadata/annotations", Value: annotations})
}

// RemoveAnnotation takes an annotation away, if it is there.
//
// Upstream: snapshot_controller.go removeAnnVolumeSnapshotBeingCreated, v8.7.
func (o Objects[T, P]) RemoveAnnotation(ctx context.Context, obj P, annotation string) (P, error) {
	if _, has := obj.GetAnnotations()[annotation]; !has {
		return obj, nil
	}
	return o.Patch(ctx, obj, Op{Op: "remove", Path: "/metadata/annotations/" + strings.ReplaceAll(annotation, "/", "~1")})
}

// AddContentFinalizer adds a finalizer by a patch, unless it is there or the object is being deleted, and says whether it did.
//
// Upstream: snapshot_controller.go addContentFinalizer and util.go NeedToAddContentFinalizer, v8.7.
func (o Objects[T, P]) AddContentFinalizer(ctx context.Context, obj P, finalizer string) (bool, error) {
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

// AddFinalizers adds the first finalizers by an update, others by a patch.
//
// Upstream: snapshot_controller.go addSnapshotFinalizer, v8.7.
func (o Objects[T, P]) AddFinalizers(ctx context.Context, obj P, wanted ...string) error {
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

// RemoveContentFinalizer removes a finalizer by a patch, if it is there.
//
// Upstream: external-snapshotter pkg/sidecar-controller/snapshot_controller.go removeContentFinalizer, v8.7.
func (o Objects[T, P]) RemoveContentFinalizer(ctx context.Context, obj P, finalizer string) error {
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

// refersTo says whether a reference is to an object: name, namespace and UID agree.
func refersTo(name, namespace string, uid types.UID, obj metav1.Object) bool {
	return name == obj.GetName() && namespace == obj.GetNamespace() && uid == obj.GetUID()
}
