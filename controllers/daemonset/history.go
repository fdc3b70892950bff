package daemonset

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/internal/semantic"
	"github.com/storagesim/storagesim/internal/workload"
)

// constructHistory returns the ControllerRevision of the present template, which it makes if there is none, and the others. The
// present one has the highest number.
// Upstream: update.go constructHistory, v1.37.
func (l *look) constructHistory(ctx context.Context) (current *appsv1.ControllerRevision, old []*appsv1.ControllerRevision, err error) {
	owner, err := l.owner()
	if err != nil {
		return nil, nil, err
	}
	owner.Resource, owner.What = workload.ControllerRevisions(), "ControllerRevision"
	revisions, err := workload.Claim(ctx, owner, l.revisions)
	if err != nil {
		return nil, nil, err
	}
	patch, err := workload.TemplatePatch(l.set)
	if err != nil {
		return nil, nil, err
	}
	var same []*appsv1.ControllerRevision
	last := int64(0)
	for _, revision := range revisions {
		if revision, err = l.withHash(ctx, revision); err != nil {
			return nil, nil, err
		}
		if bytes.Equal(patch, revision.Data.Raw) {
			same = append(same, revision)
		} else {
			old, last = append(old, revision), max(last, revision.Revision)
		}
	}
	if len(same) == 0 {
		current, err = l.snapshot(ctx, patch, last+1)
		return current, old, err
	}
	if current, err = l.dedup(ctx, same); err != nil || current.Revision > last {
		return current, old, err
	}
	next := current.DeepCopy()
	next.Revision = last + 1
	_, err = l.client.AppsV1().ControllerRevisions(l.set.Namespace).Update(ctx, next, metav1.UpdateOptions{})
	return current, old, err
}

// withHash gives a revision that lacks it the label that its pods have: its own name.
func (l *look) withHash(ctx context.Context, revision *appsv1.ControllerRevision) (*appsv1.ControllerRevision, error) {
	if _, has := revision.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]; has {
		return revision, nil
	}
	next := revision.DeepCopy()
	metav1.SetMetaDataLabel(&next.ObjectMeta, appsv1.DefaultDaemonSetUniqueLabelKey, next.Name)
	return l.client.AppsV1().ControllerRevisions(l.set.Namespace).Update(ctx, next, metav1.UpdateOptions{})
}

// dedup returns the newest of the revisions of the present template. It labels the pods of the others with it and deletes the others.
// Upstream: update.go dedupCurHistories, v1.37.
func (l *look) dedup(ctx context.Context, same []*appsv1.ControllerRevision) (*appsv1.ControllerRevision, error) {
	if len(same) == 1 {
		return same[0], nil
	}
	keep := slices.MaxFunc(same, workload.ByRevision)
	hash := keep.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]string{appsv1.DefaultDaemonSetUniqueLabelKey: hash}}})
	if err != nil {
		return nil, err
	}
	pods, err := l.daemonPods(ctx)
	if err != nil {
		return nil, err
	}
	for _, pod := range pods {
		if pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] == hash {
			continue
		}
		if _, err := l.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return nil, err
		}
	}
	for _, revision := range same {
		if revision.Name == keep.Name {
			continue
		}
		if err := l.client.AppsV1().ControllerRevisions(revision.Namespace).Delete(ctx, revision.Name, metav1.DeleteOptions{}); err != nil {
			return nil, err
		}
	}
	return keep, nil
}

// snapshot makes the ControllerRevision of the present template. If another template has its name, the next look takes another hash.
// Upstream: update.go snapshot, v1.37.
func (l *look) snapshot(ctx context.Context, patch []byte, number int64) (*appsv1.ControllerRevision, error) {
	hash := workload.ComputeHash(&l.set.Spec.Template, l.set.Status.CollisionCount)
	labels := maps.Clone(l.set.Spec.Template.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[appsv1.DefaultDaemonSetUniqueLabelKey] = hash
	client := l.client.AppsV1().ControllerRevisions(l.set.Namespace)
	made, err := client.Create(ctx, &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: l.set.Namespace, Name: l.set.Name + "-" + hash, Labels: labels, Annotations: maps.Clone(l.set.Annotations),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(l.set, controllerKind())},
		},
		Data: runtime.RawExtension{Raw: patch}, Revision: number,
	}, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return made, err
	}
	exists, getErr := client.Get(ctx, l.set.Name+"-"+hash, metav1.GetOptions{})
	if getErr != nil {
		return nil, getErr
	}
	if bytes.Equal(patch, exists.Data.Raw) { // the cache does not show it yet
		return exists, nil
	}
	if collision := l.countCollision(ctx); collision != nil {
		return nil, collision
	}
	return nil, err
}

// countCollision notes in the status that the present template needs another hash.
func (l *look) countCollision(ctx context.Context) error {
	fresh, err := l.client.AppsV1().DaemonSets(l.set.Namespace).Get(ctx, l.set.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if !semantic.Equal(fresh.Status.CollisionCount, l.set.Status.CollisionCount) {
		return fmt.Errorf("found a stale collision count of DaemonSet %q while processing; will retry until it is updated", l.set.Name)
	}
	if fresh.Status.CollisionCount == nil {
		fresh.Status.CollisionCount = new(int32)
	}
	*fresh.Status.CollisionCount++
	_, err = l.client.AppsV1().DaemonSets(l.set.Namespace).UpdateStatus(ctx, fresh, metav1.UpdateOptions{})
	return err
}

// cleanupHistory deletes the oldest revisions of which there is no pod, if there are more than spec.revisionHistoryLimit.
// Upstream: update.go cleanupHistory, v1.37.
func (l *look) cleanupHistory(ctx context.Context, old []*appsv1.ControllerRevision) error {
	limit := l.set.Spec.RevisionHistoryLimit
	if limit == nil || len(old) <= int(*limit) {
		return nil
	}
	on, err := l.podsByNode(ctx, true)
	if err != nil {
		return err
	}
	used := map[string]bool{}
	for _, pods := range on {
		for _, pod := range pods {
			used[pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]] = true
		}
	}
	slices.SortFunc(old, workload.ByRevision)
	tooMany := len(old) - int(*limit)
	for _, revision := range old {
		if tooMany == 0 {
			break
		}
		if used[revision.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]] {
			continue
		}
		if err := l.client.AppsV1().ControllerRevisions(revision.Namespace).Delete(ctx, revision.Name, metav1.DeleteOptions{}); err != nil {
			return fmt.Errorf("failed to clean up revisions of DaemonSet: %w", err)
		}
		tooMany--
	}
	return nil
}
