package address

import (
	"errors"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/internal/refusal"
	"github.com/storagesim/storagesim/api/store"
)

// errModified has the text of upstream's OptimisticLockErrorMsg.
var errModified = errors.New("the object has been modified; please apply your changes to the latest version and try again")

// Modified returns the conflict of an update that is based on another version of the object.
func (a Address) Modified() error { return a.Conflict(errModified) }

// WrongUID returns the conflict of an update for an object with another UID.
// Upstream: apiserver storage Preconditions.Check, v1.37.
func (a Address) WrongUID(asked, is types.UID) error {
	return a.OtherThan("UID", string(asked), string(is))
}

// OtherThan returns the conflict of a request for an object with another value of a field.
func (a Address) OtherThan(field, asked, is string) error {
	return a.unlike(fmt.Sprintf("Precondition failed: %s in precondition: %v, %s in object meta: %v", field, asked, field, is))
}

// unlike returns the conflict for a stored object that is not as the request says.
// Upstream: apiserver storage NewInvalidObjError, v1.37.2.
func (a Address) unlike(message string) error {
	return a.Conflict(fmt.Errorf("StorageError: invalid object, Code: 4, Key: %s, ResourceVersion: 0, AdditionalErrorMsg: %s", a.storageKey(), message))
}

// storageKey returns the key of the object in etcd, as messages name it: those of a dry run leave out its prefix.
// Upstream: apiserver registry/generic/registry dryrun.go, v1.37.2.
func (a Address) storageKey() string {
	key := a.Kind.StorageKey(store.KeyOf(a.Namespace, a.Name))
	if a.DryRun {
		return key
	}
	return "/registry" + key
}

// CheckVersion refuses an update that is based on an older version of the object. Without a
// resourceVersion it is accepted, where the kind allows that. A UID is a
// precondition of an update; in a patch it is a field that cannot change.
func (a Address) CheckVersion(old, obj call.Object) error {
	if uid := obj.GetUID(); uid != "" && uid != old.GetUID() && a.Verb != "patch" {
		return a.WrongUID(uid, old.GetUID())
	}
	rv := obj.GetResourceVersion()
	if rv == "" || rv == "0" {
		if !a.Kind.Conditional {
			return nil
		}
		return apierrors.NewInvalid(schema.GroupKind{Group: a.Kind.GVR.Group, Kind: a.Kind.GVR.Resource}, a.Name, field.ErrorList{
			field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update"),
		})
	}
	if _, err := strconv.ParseUint(rv, 10, 64); err != nil {
		return refusal.Internal(err.Error())
	}
	if rv != old.GetResourceVersion() {
		return a.Modified()
	}
	return nil
}

// OtherOwner returns the conflict of a patch of a form with the UID of another object.
// Upstream: pkg/registry/apps/deployment/storage scaleUpdatedObjectInfo.UpdatedObject, v1.37.2.
func (a Address) OtherOwner(asked, is types.UID) error {
	resource := schema.GroupResource{Group: a.Kind.GVR.Group, Resource: a.Kind.GVR.Resource + "/" + a.Sub}
	return apierrors.NewConflict(resource, a.Name, fmt.Errorf("Precondition failed: UID in precondition: %v, UID in object meta: %v", asked, is))
}

// CheckDeletion refuses the deletion of an object that is not as the preconditions say. That the conflict names the kind and not the resource
// is upstream's. Upstream: rest.BeforeDelete, v1.37.
func (a Address) CheckDeletion(old call.Object, p *metav1.Preconditions) error {
	var err error
	switch {
	case p == nil:
		return nil
	case a.Kind.BeforeDelete != nil: // registry/customresourcedefinition REST.Delete
		return a.CheckMarking(old, p, "precondition failed")
	case p.UID != nil && *p.UID != old.GetUID():
		err = fmt.Errorf("the UID in the precondition (%s) does not match the UID in record (%s). "+
			"The object might have been deleted and then recreated", *p.UID, old.GetUID())
	case p.ResourceVersion != nil && *p.ResourceVersion != old.GetResourceVersion():
		err = fmt.Errorf("the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). "+
			"The object might have been modified", *p.ResourceVersion, old.GetResourceVersion())
	default:
		return nil
	}
	return apierrors.NewConflict(schema.GroupResource{Group: a.Kind.GVK.Group, Resource: a.Kind.GVK.Kind}, a.Name, err)
}

// CheckMarking checks preconditions, as CheckDeletion does, with the words for namespaces and for kinds whose deletion begins with a step of
// their own. failed says that a precondition failed, as the kind writes it.
func (a Address) CheckMarking(old call.Object, p *metav1.Preconditions, failed string) error {
	switch {
	case p != nil && p.UID != nil && *p.UID != old.GetUID():
		return a.Conflict(fmt.Errorf("%s: UID in precondition: %v, UID in object meta: %v", failed, *p.UID, old.GetUID()))
	case p != nil && p.ResourceVersion != nil && *p.ResourceVersion != old.GetResourceVersion():
		return a.Conflict(fmt.Errorf("%s: ResourceVersion in precondition: %v, ResourceVersion in object meta: %v",
			failed, *p.ResourceVersion, old.GetResourceVersion()))
	}
	return nil
}

// CheckUnsafe refuses a deletion that is for objects which cannot be read: there are none here.
// Upstream: apiserver registry/generic/registry corruptObjectDeleter.Delete, v1.37.
func (a Address) CheckUnsafe(opts metav1.DeleteOptions) error {
	if unsafely := opts.IgnoreStoreReadErrorWithClusterBreakingPotential; unsafely == nil || !*unsafely {
		return nil
	}
	return a.unlike("unsafe deletion is not allowed because the object is decodable from storage")
}

// CheckStripped refuses a deletion that asks for a version, if the object is only held by finalizers that the deletion takes away. Upstream takes
// them away in an update that it gives up, and goes on with an empty object in place of the outcome: its version is compared, which is empty, and a
// dry run answers with it.
// Upstream: registry/generic/registry Store.Delete and updateForGracefulDeletionAndFinalizers (errDeleteNow), v1.37.2.
func (a Address) CheckStripped(old call.Object, p *metav1.Preconditions) error {
	if len(old.GetFinalizers()) == 0 || p == nil || p.ResourceVersion == nil {
		return nil
	}
	return a.unlike("Precondition failed: ResourceVersion in precondition: , ResourceVersion in object meta: " + old.GetResourceVersion())
}
