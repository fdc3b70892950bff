package deployment

import (
	"cmp"
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// cleanup deletes the oldest of the ReplicaSets without pods, if there are more than spec.revisionHistoryLimit.
// Upstream: sync.go cleanupDeployment, v1.37.
func (r *rollout) cleanup(ctx context.Context, old []*appsv1.ReplicaSet) error {
	if r.d.Spec.RevisionHistoryLimit == nil {
		return nil
	}
	alive := slices.DeleteFunc(slices.Clone(old), func(set *appsv1.ReplicaSet) bool { return set.DeletionTimestamp != nil })
	tooMany := len(alive) - int(*r.d.Spec.RevisionHistoryLimit)
	if tooMany <= 0 {
		return nil
	}
	slices.SortFunc(alive, func(a, b *appsv1.ReplicaSet) int {
		return cmp.Or(cmp.Compare(revision(a.Annotations), revision(b.Annotations)), byAge(a, b))
	})
	for _, set := range alive[:tooMany] {
		if set.Status.Replicas != 0 || wanted(set) != 0 || set.Generation > set.Status.ObservedGeneration {
			continue
		}
		err := r.client.AppsV1().ReplicaSets(set.Namespace).Delete(ctx, set.Name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}
