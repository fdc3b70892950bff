package address

import (
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/refusal"
	"github.com/storagesim/storagesim/api/registry"
)

// Address says which object a request is about.
type Address struct {
	Verb string
	Kind *registry.Entry
	// Sub is the subresource, "" for the object itself.
	Sub string
	// Namespace is "" for kinds without namespaces.
	Namespace string
	// Name is the name of the object, or the beginning of one that is to be generated.
	Name   string
	DryRun bool
}

// Check refuses an address that does not say which object is meant.
// Upstream: apiserver registry/generic/registry NamespaceKeyFunc, v1.37.2.
func (a Address) Check() error {
	switch wrong := content.IsPathSegmentName(a.Name); {
	case a.Kind.Namespaced && a.Namespace == "":
		return apierrors.NewBadRequest("an empty namespace may not be set when a resource name is provided")
	case a.Name == "":
		return apierrors.NewBadRequest("resource name may not be empty")
	case len(wrong) > 0:
		return apierrors.NewBadRequest(fmt.Sprintf("Name parameter invalid: %q: %s", a.Name, strings.Join(wrong, ";")))
	case a.Sub != "" && !a.Kind.HasPart(a.Sub):
		return a.NoSubresource()
	}
	return nil
}

// NoSubresource returns the error for a subresource that the kind does not have.
func (a Address) NoSubresource() error {
	err := apierrors.NewNotFound(a.Kind.GVR.GroupResource(), a.Name)
	err.ErrStatus.Message = fmt.Sprintf("the server could not find the requested resource: %s has no %s here", a.Kind.GVR.Resource, a.Sub)
	return err
}

// NotFound returns the error for an object that is not there.
func (a Address) NotFound() error {
	return apierrors.NewNotFound(a.Kind.GVR.GroupResource(), a.Name)
}

// Conflict returns the error for an object that is not as the request says.
func (a Address) Conflict(err error) error {
	return apierrors.NewConflict(a.Kind.GVR.GroupResource(), a.Name, err)
}

// Invalid returns the error for an object with these mistakes.
func (a Address) Invalid(errs field.ErrorList) error {
	return refusal.Invalid(a.Kind.GVK.GroupKind(), a.Name, errs)
}
