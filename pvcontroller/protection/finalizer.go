package protection

import (
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// isDeletionCandidate: the object is being deleted and waits for the finalizer.
// Upstream: pkg/controller/util/protectionutil IsDeletionCandidate, v1.37.
func isDeletionCandidate(obj metav1.Object, finalizer string) bool {
	return obj.GetDeletionTimestamp() != nil && slices.Contains(obj.GetFinalizers(), finalizer)
}

// needToAddFinalizer: the object is not being deleted and is not protected.
// Upstream: pkg/controller/util/protectionutil NeedToAddFinalizer, v1.37.
func needToAddFinalizer(obj metav1.Object, finalizer string) bool {
	return obj.GetDeletionTimestamp() == nil && !slices.Contains(obj.GetFinalizers(), finalizer)
}

// without returns the list without the finalizer.
func without(finalizers []string, finalizer string) []string {
	return slices.DeleteFunc(slices.Clone(finalizers), func(f string) bool { return f == finalizer })
}

// with returns the list with the finalizer at its end.
func with(finalizers []string, finalizer string) []string {
	return append(slices.Clone(finalizers), finalizer)
}

// ignoreNotFound: an object that is gone needs no change.
func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
