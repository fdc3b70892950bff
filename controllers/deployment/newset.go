package deployment

import (
	"context"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/internal/semantic"
	"github.com/storagesim/storagesim/internal/workload"
)

// findNewReplicaSet returns the ReplicaSet of the Deployment's present template, nil if there is none, and all others. If there are several it is the oldest.
// Upstream: deployment_util.go FindNewReplicaSet, FindOldReplicaSets, v1.37.
func (r *rollout) findNewReplicaSet() (newSet *appsv1.ReplicaSet, old []*appsv1.ReplicaSet) {
	slices.SortFunc(r.all, byAge)
	for _, set := range r.all {
		if newSet == nil && equalIgnoreHash(&set.Spec.Template, &r.d.Spec.Template) {
			newSet = set
		} else {
			old = append(old, set)
		}
	}
	return newSet, old
}

// equalIgnoreHash reports whether two templates are equal without the label pod-template-hash.
// Upstream: deployment_util.go EqualIgnoreHash, v1.37.
func equalIgnoreHash(a, b *v1.PodTemplateSpec) bool {
	a, b = a.DeepCopy(), b.DeepCopy()
	delete(a.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	delete(b.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	return semantic.Equal(a, b)
}

// getNewReplicaSet returns the ReplicaSet of the Deployment's present template, with its annotations brought up to date, and the
// others. If there is none it makes one, if create is set.
// Upstream: sync.go getAllReplicaSetsAndSyncRevision, getNewReplicaSet, v1.37.
func (r *rollout) getNewReplicaSet(ctx context.Context, create bool) (newSet *appsv1.ReplicaSet, old []*appsv1.ReplicaSet, err error) {
	newSet, old = r.findNewReplicaSet()
	newRevision := int64(0)
	for _, set := range old {
		newRevision = max(newRevision, revision(set.Annotations))
	}
	newRevision++
	switch {
	case newSet != nil:
		newSet, err = r.adjustNewReplicaSet(ctx, newSet, newRevision)
	case create:
		newSet, err = r.createNewReplicaSet(ctx, old, newRevision)
	}
	return newSet, old, err
}

// adjustNewReplicaSet writes what the newest ReplicaSet lacks, and the Deployment's revision.
func (r *rollout) adjustNewReplicaSet(ctx context.Context, set *appsv1.ReplicaSet, newRevision int64) (*appsv1.ReplicaSet, error) {
	next := set.DeepCopy()
	changed := r.setNewReplicaSetAnnotations(next, newRevision, true)
	if changed || next.Spec.MinReadySeconds != r.d.Spec.MinReadySeconds {
		next.Spec.MinReadySeconds = r.d.Spec.MinReadySeconds
		return r.updateReplicaSet(ctx, next)
	}
	changed = r.setRevision(next.Annotations[revisionAnnotation])
	if r.hasDeadline() && r.condition(appsv1.DeploymentProgressing) == nil {
		r.setCondition(appsv1.DeploymentProgressing, v1.ConditionTrue, foundNewReplicaSet, fmt.Sprintf("Found new replica set %q", set.Name))
		changed = true
	}
	if changed {
		return set, r.writeStatus(ctx)
	}
	return set, nil
}

// updateReplicaSet writes a ReplicaSet, and keeps what the API server has made of it.
func (r *rollout) updateReplicaSet(ctx context.Context, set *appsv1.ReplicaSet) (*appsv1.ReplicaSet, error) {
	next, err := r.client.AppsV1().ReplicaSets(set.Namespace).Update(ctx, set, metav1.UpdateOptions{})
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(r.all, func(other *appsv1.ReplicaSet) bool { return other.UID == next.UID }); i >= 0 {
		r.all[i] = next
	}
	return next, nil
}

// createNewReplicaSet makes the ReplicaSet of the present template. Its name ends in the template's hash. If another template has
// that hash, the Deployment counts the collision, and the next look makes another name.
func (r *rollout) createNewReplicaSet(ctx context.Context, old []*appsv1.ReplicaSet, newRevision int64) (*appsv1.ReplicaSet, error) {
	template := r.d.Spec.Template.DeepCopy()
	hash := workload.ComputeHash(template, r.d.Status.CollisionCount)
	template.Labels = maps.Clone(template.Labels)
	metav1.SetMetaDataLabel(&template.ObjectMeta, appsv1.DefaultDeploymentUniqueLabelKey, hash)
	selector := r.d.Spec.Selector.DeepCopy()
	metav1.AddLabelToSelector(selector, appsv1.DefaultDeploymentUniqueLabelKey, hash)
	set := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: r.d.Namespace, Name: r.d.Name + "-" + hash, Labels: maps.Clone(template.Labels),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(r.d, appsv1.SchemeGroupVersion.WithKind(kind))},
		},
		Spec: appsv1.ReplicaSetSpec{Replicas: new(int32), MinReadySeconds: r.d.Spec.MinReadySeconds, Selector: selector, Template: *template},
	}
	*set.Spec.Replicas = r.newReplicas(append(slices.Clone(old), set), set)
	r.setNewReplicaSetAnnotations(set, newRevision, false)
	made, err := r.client.AppsV1().ReplicaSets(set.Namespace).Create(ctx, set, metav1.CreateOptions{})
	existed := false
	switch {
	case apierrors.IsAlreadyExists(err):
		existed = true
		if made, err = r.sameReplicaSet(ctx, set, err); err != nil {
			return nil, err
		}
	case apierrors.HasStatusCause(err, v1.NamespaceTerminatingCause):
		return nil, err
	case err != nil:
		return nil, r.failedToCreate(ctx, set, err)
	default:
		if n := wanted(set); n > 0 {
			r.recorder.Eventf(r.d, v1.EventTypeNormal, "ScalingReplicaSet", "Scaled up replica set %s from 0 to %d", made.Name, n)
		}
	}
	r.all = append(r.all, made)
	changed := r.setRevision(fmt.Sprint(newRevision))
	if !existed && r.hasDeadline() {
		r.setCondition(appsv1.DeploymentProgressing, v1.ConditionTrue, newReplicaSetCreated, fmt.Sprintf("Created new replica set %q", made.Name))
		changed = true
	}
	if changed {
		return made, r.writeStatus(ctx)
	}
	return made, nil
}

// sameReplicaSet returns the ReplicaSet that has the name of the new one if it is the same: the cache is old. Otherwise it counts
// a collision and returns the error.
func (r *rollout) sameReplicaSet(ctx context.Context, set *appsv1.ReplicaSet, exists error) (*appsv1.ReplicaSet, error) {
	there, err := r.client.AppsV1().ReplicaSets(set.Namespace).Get(ctx, set.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if metav1.IsControlledBy(there, r.d) && equalIgnoreHash(&r.d.Spec.Template, &there.Spec.Template) {
		return there, nil
	}
	if r.d.Status.CollisionCount == nil {
		r.d.Status.CollisionCount = new(int32)
	}
	*r.d.Status.CollisionCount++
	if err := r.writeStatus(ctx); err != nil {
		return nil, err
	}
	return nil, exists
}

// failedToCreate tells that the new ReplicaSet cannot be made, and returns the error.
func (r *rollout) failedToCreate(ctx context.Context, set *appsv1.ReplicaSet, failure error) error {
	msg := fmt.Sprintf("Failed to create new replica set %q: %v", set.Name, failure)
	if r.hasDeadline() {
		r.setCondition(appsv1.DeploymentProgressing, v1.ConditionFalse, failedToCreateReplicaSet, msg)
		_ = r.writeStatus(ctx) // as upstream: the caller returns the failure and is tried again
	}
	r.recorder.Event(r.d, v1.EventTypeWarning, failedToCreateReplicaSet, msg)
	return failure
}

// setRevision notes the revision at the Deployment, and reports whether that changed something. The next write of the status writes it.
// Upstream: deployment_util.go SetDeploymentRevision, v1.37.
func (r *rollout) setRevision(revision string) bool {
	if r.d.Annotations[revisionAnnotation] == revision {
		return false
	}
	metav1.SetMetaDataAnnotation(&r.d.ObjectMeta, revisionAnnotation, revision)
	return true
}

// newReplicas returns the number of pods that the newest ReplicaSet is to have now.
// Upstream: deployment_util.go NewRSNewReplicas, v1.37.
func (r *rollout) newReplicas(all []*appsv1.ReplicaSet, newSet *appsv1.ReplicaSet) int32 {
	if r.d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		return r.desired()
	}
	surge, _ := r.limits()
	room := r.desired() + surge - sumOf(all, wanted)
	if room <= 0 {
		return wanted(newSet)
	}
	return wanted(newSet) + min(room, r.desired()-wanted(newSet))
}
