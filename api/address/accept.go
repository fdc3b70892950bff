package address

import (
	"fmt"
	"reflect"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/internal/refusal"
	"github.com/storagesim/storagesim/api/registry"
	"github.com/storagesim/storagesim/internal/quantity"
)

// Accept checks that what came with a request is an object of the resource, belongs to
// the namespace of the request and has no quantity that nothing can compute with. warn, if it is not nil, is called with what the client is to be told.
func (a Address) Accept(in runtime.Object, warn func(text string)) (call.Object, error) {
	obj, ok := in.(call.Object)
	if !ok || reflect.TypeOf(in) != reflect.PointerTo(a.Kind.Type) {
		return nil, apierrors.NewBadRequest(typeMismatch(a.Kind, in))
	}
	if u, ok := in.(*unstructured.Unstructured); ok {
		if err := checkKind(a.Kind.GVK, u); err != nil {
			return nil, err
		}
		if err := call.CanonicalMetadata(u); err != nil {
			gvk := a.Kind.GVK
			return nil, apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", gvk.Kind, gvk.Version, gvk.Kind, err))
		}
	}
	a.Kind.Label(obj)
	obj.SetOwnerReferences(a.distinctOwners(obj.GetOwnerReferences(), warn))
	switch {
	case !a.Kind.Namespaced:
		obj.SetNamespace("")
	case obj.GetNamespace() == "":
		obj.SetNamespace(a.Namespace)
	case obj.GetNamespace() != a.Namespace:
		return nil, refusal.Namespace()
	}
	if err := quantity.CheckObject(obj); err != nil {
		return nil, refusal.Quantity(a.Kind.GVK.GroupKind(), a.Name, err)
	}
	return obj, nil
}

// checkKind refuses an unstructured object that says it is of another kind.
// Upstream: apiextensions-apiserver registry/customresource customResourceValidator.ValidateTypeMeta, v1.37.2.
func checkKind(want schema.GroupVersionKind, u *unstructured.Unstructured) error {
	is := u.GroupVersionKind()
	if is.Empty() {
		return nil // a client in the process need not say it
	}
	var errs field.ErrorList
	if is.Kind != want.Kind {
		errs = append(errs, field.Invalid(field.NewPath("kind"), is.Kind, "must be "+want.Kind))
	}
	if is.GroupVersion() != want.GroupVersion() {
		errs = append(errs, field.Invalid(field.NewPath("apiVersion"), u.GetAPIVersion(), "must be "+want.GroupVersion().String()))
	}
	if len(errs) == 0 {
		return nil
	}
	return refusal.Invalid(is.GroupKind(), u.GetName(), errs)
}

// distinctOwners returns the owners without duplicates, and warns of these.
// Upstream: apiserver endpoints/handlers dedupOwnerReferencesAndAddWarning, v1.37.
func (a Address) distinctOwners(owners []metav1.OwnerReference, warn func(text string)) []metav1.OwnerReference {
	kept, repeated := call.DistinctOwners(owners)
	if len(repeated) > 0 && warn != nil {
		when := ""
		if a.Verb == "patch" {
			when = " after mutating admission happens"
		}
		warn(fmt.Sprintf(".metadata.ownerReferences contains duplicate entries%s; API server dedups owner references in 1.20+, and may reject such "+
			"requests as early as 1.24; please fix your requests; duplicate UID(s) observed: %s", when, strings.Join(repeated, ", ")))
	}
	return kept
}

func typeMismatch(k *registry.Entry, in runtime.Object) string {
	if in == nil || reflect.ValueOf(in).IsNil() {
		return "there is no object in the request: a " + k.GVK.Kind + " is expected"
	}
	return reflect.TypeOf(in).Elem().Name() + " cannot be handled as a " + k.GVK.Kind
}
