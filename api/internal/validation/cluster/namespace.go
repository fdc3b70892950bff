package cluster

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/validation"
)

// checkNamespaceFinalizers validates who has to empty a namespace before it goes.
// Upstream: core/validation ValidateNamespace, v1.37.
func checkNamespaceFinalizers(p *validation.Problems, finalizers []v1.FinalizerName) {
	for _, f := range finalizers {
		checkNamespaceFinalizer(p, f, validation.SpecPath.Child("finalizers"))
	}
}

// FinalizersOfNamespace says what is wrong with the spec.finalizers that a namespace is given through its subresource finalize.
// Upstream: core/validation ValidateNamespaceFinalizeUpdate, v1.37.2.
func FinalizersOfNamespace(finalizers []v1.FinalizerName) field.ErrorList {
	var p validation.Problems
	for i, f := range finalizers {
		checkNamespaceFinalizer(&p, f, validation.SpecPath.Child("finalizers").Index(i))
	}
	return p.List
}

func checkNamespaceFinalizer(p *validation.Problems, f v1.FinalizerName, at *field.Path) {
	p.Add(apivalidation.ValidateFinalizerName(string(f), at)...)
	if !strings.Contains(string(f), "/") && f != v1.FinalizerKubernetes &&
		f != metav1.FinalizerOrphanDependents && f != metav1.FinalizerDeleteDependents {
		p.Invalid(at, string(f), "name is neither a standard finalizer name nor is it fully qualified")
	}
}

// checkNamespaceStatus validates a status update.
// Upstream: core/validation ValidateNamespaceStatusUpdate, v1.37.
func checkNamespaceStatus(p *validation.Problems, ns, _ *v1.Namespace) {
	at := field.NewPath("status", "Phase")
	switch deleting := ns.DeletionTimestamp != nil; {
	case !deleting && ns.Status.Phase != v1.NamespaceActive:
		p.Invalid(at, ns.Status.Phase, "may only be 'Active' if `deletionTimestamp` is empty")
	case deleting && ns.Status.Phase != v1.NamespaceTerminating:
		p.Invalid(at, ns.Status.Phase, "may only be 'Terminating' if `deletionTimestamp` is not empty")
	}
}
