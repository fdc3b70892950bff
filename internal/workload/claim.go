package workload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/control"
)

// ByOwner is the name of the index of objects by the UID of their controller, or by OrphansIn.
const ByOwner = "owner"

// OrphansIn returns the index key of the objects of the namespace that have no controller.
func OrphansIn(namespace string) string { return "orphans in " + namespace }

// OwnerKeys returns the keys of an object in the index ByOwner.
func OwnerKeys[T control.Object](obj T) []string {
	if owner := metav1.GetControllerOfNoCopy(obj); owner != nil {
		return []string{string(owner.UID)}
	}
	return []string{OrphansIn(obj.GetNamespace())}
}

// Owner is an object that may have others: a ReplicaSet, of pods, or a Deployment, of ReplicaSets.
type Owner struct {
	Env control.Env
	// Object is the owner as the cache has it, of this kind.
	Object   control.Object
	Kind     schema.GroupVersionKind
	Selector labels.Selector
	// Fresh reads the owner from the API server.
	Fresh func(ctx context.Context) (control.Object, error)
	// Resource is that of the objects that belong to it, and What the word for one of them in messages: "Pod".
	Resource schema.GroupVersionResource
	What     string
	// Finalizers get those objects that the owner adopts.
	Finalizers []string
	// Looks says which objects the owner adopts and releases, nil for all.
	Looks func(control.Object) bool
}

// Claim returns the objects of the cache that belong to the owner. It adopts orphans that the selector matches, and releases objects that it does
// not match any more. An owner that is being deleted does neither.
// Upstream: controller_ref_manager.go ClaimPods, ClaimReplicaSets, ClaimObject, v1.37.
func Claim[T control.Object](ctx context.Context, owner Owner, cache *control.Cache[T]) ([]T, error) {
	goes := owner.Object.GetDeletionTimestamp() != nil
	matches := func(obj T) bool { return owner.Selector.Matches(labels.Set(obj.GetLabels())) }
	looks := func(obj T) bool { return owner.Looks == nil || owner.Looks(obj) }
	var claimed []T
	var errs []error
	for _, obj := range cache.ByIndex(ByOwner, string(owner.Object.GetUID())) {
		switch {
		case matches(obj):
			claimed = append(claimed, obj)
		case !goes && looks(obj):
			errs = append(errs, owner.release(ctx, obj))
		}
	}
	if goes {
		return claimed, errors.Join(errs...)
	}
	for _, obj := range cache.ByIndex(ByOwner, OrphansIn(owner.Object.GetNamespace())) {
		if obj.GetDeletionTimestamp() != nil || !matches(obj) || !looks(obj) {
			continue
		}
		adopted, err := owner.adopt(ctx, obj)
		if err == nil {
			claimed = append(claimed, adopted.(T))
		} else if !apierrors.IsNotFound(err) {
			errs = append(errs, err)
		}
	}
	return claimed, errors.Join(errs...)
}

// adopt makes the owner the controller of an object, if the owner still exists.
// Upstream: controller_ref_manager.go AdoptPod, RecheckDeletionTimestamp, v1.37.
func (o Owner) adopt(ctx context.Context, obj control.Object) (control.Object, error) {
	fail := func(format string, args ...any) (control.Object, error) {
		return nil, fmt.Errorf("can't adopt %s %s/%s (%s): "+format, append([]any{o.What, obj.GetNamespace(), obj.GetName(), obj.GetUID()}, args...)...)
	}
	fresh, err := o.Fresh(ctx)
	switch {
	case err != nil:
		return fail("%s", err.Error()) // not %w: a missing owner is not a missing object
	case fresh.GetUID() != o.Object.GetUID():
		return fail("original %s %s/%s is gone: got uid %s, wanted %s", o.Kind.Kind, o.Object.GetNamespace(), o.Object.GetName(), fresh.GetUID(), o.Object.GetUID())
	case fresh.GetDeletionTimestamp() != nil:
		return fail("%s/%s has just been deleted at %s", o.Object.GetNamespace(), o.Object.GetName(), fresh.GetDeletionTimestamp())
	}
	more := map[string]any{}
	if len(o.Finalizers) > 0 {
		more["finalizers"] = o.Finalizers
	}
	return o.patch(ctx, obj, metav1.NewControllerRef(o.Object, o.Kind), more)
}

// release removes the owner from an object. One that is gone, or replaced by another of its name, needs no release.
// Upstream: controller_ref_manager.go ReleasePod, v1.37.
func (o Owner) release(ctx context.Context, obj control.Object) error {
	more := map[string]any{}
	if len(o.Finalizers) > 0 {
		more["$deleteFromPrimitiveList/finalizers"] = o.Finalizers
	}
	_, err := o.patch(ctx, obj, map[string]any{"$patch": "delete", "uid": o.Object.GetUID()}, more)
	if apierrors.IsNotFound(err) || apierrors.IsInvalid(err) {
		return nil
	}
	return err
}

// patch changes one reference of the object, but not of a later object of its name.
func (o Owner) patch(ctx context.Context, obj control.Object, ref any, more map[string]any) (control.Object, error) {
	more["ownerReferences"], more["uid"] = []any{ref}, obj.GetUID()
	patch, err := json.Marshal(map[string]any{"metadata": more})
	if err != nil {
		return nil, err
	}
	return o.Env.Objects().Patch(ctx, o.Resource, obj.GetNamespace(), obj.GetName(), types.StrategicMergePatchType, patch, "")
}

// Selecting returns the keys of the objects of the cache, in the namespace of obj, whose selector matches its labels: those that may adopt it.
// Upstream: client-go listers GetPodReplicaSets and its like, v1.37.
func Selecting[T control.Object](cache *control.Cache[T], obj control.Object, selectorOf func(T) *metav1.LabelSelector) (keys []string) {
	for owner := range cache.All() {
		if owner.GetNamespace() != obj.GetNamespace() {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(selectorOf(owner))
		if err == nil && !selector.Empty() && selector.Matches(labels.Set(obj.GetLabels())) {
			keys = append(keys, control.Key(owner))
		}
	}
	return keys
}

// KeyOfOwner returns the key of the object of the cache that controls obj, if obj has a controller of that kind and the cache has it.
// Upstream: resolveControllerRef of each controller, v1.37.
func KeyOfOwner[T control.Object](cache *control.Cache[T], kind string, obj control.Object) (key string, ok bool) {
	ref := metav1.GetControllerOfNoCopy(obj)
	if ref == nil || ref.Kind != kind {
		return "", false
	}
	owner, found := cache.Get(obj.GetNamespace() + "/" + ref.Name)
	if !found || owner.GetUID() != ref.UID {
		return "", false
	}
	return control.Key(owner), true
}

// Moved reports whether the object has another controller than before, or none any more.
func Moved(old, obj control.Object) bool {
	was, is := metav1.GetControllerOfNoCopy(old), metav1.GetControllerOfNoCopy(obj)
	return (was == nil) != (is == nil) || was != nil && was.UID != is.UID
}
