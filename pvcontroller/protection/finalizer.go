package protection

import (
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/control"
)

// isDeletionCandidate: the object is being deleted and waits for the finalizer.
// Upstream: pkg/controller/volume/protectionutil IsDeletionCandidate, v1.36.
func isDeletionCandidate(obj metav1.Object, finalizer string) bool {
	return obj.GetDeletionTimestamp() != nil && slices.Contains(obj.GetFinalizers(), finalizer)
}

// needToAddFinalizer: the object is not being deleted and is not protected.
// Upstream: pkg/controller/volume/protectionutil NeedToAddFinalizer, v1.36.
func needToAddFinalizer(obj metav1.Object, finalizer string) bool {
	return obj.GetDeletionTimestamp() == nil && !slices.Contains(obj.GetFinalizers(), finalizer)
}

// without is the list without the finalizer.
func without(finalizers []string, finalizer string) []string {
	return slices.DeleteFunc(slices.Clone(finalizers), func(f string) bool { return f == finalizer })
}

// with is the list with the finalizer at its end.
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

// waitForCaches waits until all caches have had their first list.
// Upstream: cache.WaitForCacheSync, which polls as often.
func waitForCaches(ctx context.Context, env control.Env, synced func() bool) error {
	if synced() {
		return nil
	}
	return env.Poll(ctx, 100*time.Millisecond, 0, func(context.Context) (bool, error) { return synced(), nil })
}
