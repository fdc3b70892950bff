package replicaset

import (
	"context"
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/internal/workload"
)

// burstReplicas is the number of pods that are created or deleted in one go.
// Upstream: replica_set.go BurstReplicas, v1.37.
const burstReplicas = 500

// manageReplicas creates the pods that are missing, or deletes those that are too many.
// Upstream: replica_set.go manageReplicas, v1.37.
func (c *controller[T]) manageReplicas(ctx context.Context, key string, obj T, active []*v1.Pod) error {
	set := c.kind.view(obj)
	switch missing := int(replicas(set)) - len(active); {
	case missing > 0:
		return c.create(ctx, key, obj, min(missing, burstReplicas))
	case missing < 0:
		return c.delete(ctx, key, obj, podsToDelete(active, c.related(set), min(-missing, burstReplicas), c.env.Now()))
	}
	return nil
}

// create creates n pods. In a namespace that is being deleted it is no error that none can be created.
func (c *controller[T]) create(ctx context.Context, key string, obj T, n int) error {
	c.expectations.Expect(key, n)
	made, err := workload.SlowStart(n, func(int) error {
		err := c.control.Create(ctx, obj, workload.PodFromTemplate(&c.kind.view(obj).Spec.Template, obj, c.kind.GroupVersionKind))
		if apierrors.HasStatusCause(err, v1.NamespaceTerminatingCause) {
			return nil
		}
		return err
	})
	if made < n {
		c.expectations.CreationObserved(key, n-made)
	}
	return err
}

// delete deletes pods. One that is gone is no error.
func (c *controller[T]) delete(ctx context.Context, key string, obj T, pods []*v1.Pod) error {
	uids := make([]types.UID, len(pods))
	for i, pod := range pods {
		uids[i] = pod.UID
	}
	c.expectations.Expect(key, 0, uids...)
	var errs []error
	for _, pod := range pods {
		if err := c.control.Delete(ctx, obj, pod); err != nil {
			c.expectations.DeletionObserved(key, pod.UID)
			if !apierrors.IsNotFound(err) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// related returns the pods of all ReplicaSets with the same controller, which is their Deployment: those on the node of such a pod count when it is
// chosen which pods go. Pods of a ReplicaSet without a Deployment have none.
// Upstream: replica_set.go getIndirectlyRelatedPods, v1.37.
func (c *controller[T]) related(set *appsv1.ReplicaSet) (pods []*v1.Pod) {
	owner := metav1.GetControllerOfNoCopy(set)
	if owner == nil {
		return nil
	}
	for _, sibling := range c.sets.ByIndex(workload.ByOwner, string(owner.UID)) {
		pods = append(pods, c.pods.ByIndex(workload.ByOwner, string(sibling.GetUID()))...)
	}
	return pods
}
