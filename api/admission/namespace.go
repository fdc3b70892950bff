package admission

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/api/registry"
)

// Namespace refuses new objects in a namespace that does not exist or is being deleted.
// Upstream: admission/plugin/namespace/lifecycle Lifecycle.Admit, v1.37.
func Namespace(r Reader, kind *registry.Entry, namespace, name string) error {
	if !kind.Namespaced {
		return nil
	}
	found, ok := r.Get(registry.Namespaces, namespace)
	if !ok {
		return apierrors.NewNotFound(registry.Namespaces.GroupResource(), namespace)
	}
	if ns := found.(*v1.Namespace); ns.Status.Phase != v1.NamespaceTerminating {
		return nil
	}
	err := apierrors.NewForbidden(kind.GVR.GroupResource(), name,
		fmt.Errorf("unable to create new content in namespace %s because it is being terminated", namespace))
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
		Type: v1.NamespaceTerminatingCause, Message: fmt.Sprintf("namespace %s is being terminated", namespace), Field: "metadata.namespace",
	})
	return err
}
