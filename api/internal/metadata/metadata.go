// Package metadata has the rules for the metadata of objects that only the server may set: of a new one [FillSystemFields], of an update
// [KeepSystemFields], of a write of the status alone [KeepForStatus].
package metadata

import (
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/internal/refusal"
)

// FillSystemFields discards the fields of a new object that a client may not set, and sets
// those that the server sets. counts: the kind has generations.
// Upstream: apiserver registry/rest BeforeCreate, v1.37.
func FillSystemFields(obj call.Object, now metav1.Time, counts bool) {
	obj.SetCreationTimestamp(now)
	obj.SetDeletionTimestamp(nil)
	obj.SetDeletionGracePeriodSeconds(nil)
	obj.SetSelfLink("")
	if counts {
		obj.SetGeneration(1)
	}
}

// CheckNewVersion refuses a new object with a resourceVersion. One that is no number is ignored.
// Upstream: apiserver storage/etcd3 store.Create, v1.37: an error without a code of
// its own, which therefore is an internal one.
func CheckNewVersion(obj call.Object) error {
	version, err := strconv.ParseUint(obj.GetResourceVersion(), 10, 64)
	if err == nil && version != 0 {
		return refusal.Internal("resourceVersion should not be set on objects to be created")
	}
	return nil
}

// KeepSystemFields sets the fields of an update that only the server may set. Some values of the
// client's that differ are ignored, others are left for validation to refuse.
// Upstream: apiserver registry/rest BeforeUpdate, and ValidateObjectMetaUpdate, v1.37.
func KeepSystemFields(obj, old call.Object) {
	if obj.GetUID() == "" {
		obj.SetUID(old.GetUID())
	}
	obj.SetResourceVersion(old.GetResourceVersion())
	obj.SetGeneration(old.GetGeneration())
	obj.SetCreationTimestamp(old.GetCreationTimestamp())
	if old.GetDeletionTimestamp() != nil {
		obj.SetDeletionTimestamp(old.GetDeletionTimestamp())
	}
	if obj.GetDeletionGracePeriodSeconds() == nil {
		obj.SetDeletionGracePeriodSeconds(old.GetDeletionGracePeriodSeconds())
	}
}

// KeepForStatus gives obj the metadata of old that a write of the status leaves as it is. fields has their names, as "metadata.labels", or
// "metadata" for all.
// Upstream: apimachinery meta/v1 ResetObjectMetaForStatus, v0.37.
func KeepForStatus(obj, old call.Object, fields []string) {
	keeps := func(field string) bool {
		return slices.Contains(fields, "metadata") || slices.Contains(fields, "metadata."+field)
	}
	if keeps("deletionTimestamp") {
		obj.SetDeletionTimestamp(old.GetDeletionTimestamp())
	}
	if keeps("labels") {
		obj.SetLabels(old.GetLabels())
	}
	if keeps("annotations") {
		obj.SetAnnotations(old.GetAnnotations())
	}
	if keeps("finalizers") {
		obj.SetFinalizers(old.GetFinalizers())
	}
	if keeps("ownerReferences") {
		obj.SetOwnerReferences(old.GetOwnerReferences())
	}
}

// HasEmpty reports whether an unstructured object has empty lists or maps in its metadata. What is applied is stored with them, and shown without.
// Upstream: apiextensions-apiserver schema/objectmeta SetObjectMeta, v0.37.2, is called for what is decoded.
func HasEmpty(obj call.Object) bool {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return false
	}
	metadata, _ := u.Object["metadata"].(map[string]any)
	for _, field := range []string{"labels", "annotations", "finalizers", "ownerReferences"} {
		switch value := metadata[field].(type) {
		case map[string]any:
			ok = len(value) == 0
		case []any:
			ok = len(value) == 0
		default:
			ok = false
		}
		if ok {
			return true
		}
	}
	return false
}
