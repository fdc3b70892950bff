package statefulset

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/workload"
)

// hashLabel is the label of a ControllerRevision with the hash in its name.
// Upstream: pkg/controller/history ControllerRevisionHashLabel, v1.37.
const hashLabel = "controller.kubernetes.io/hash"

// versions are the templates that a set has had.
type versions struct {
	// current is the one that all pods had when the last update was complete, update the present one. Both are the same object unless an update is under way.
	current, update *appsv1.ControllerRevision
	// all holds those that there were as the set was looked at, the oldest first.
	all []*appsv1.ControllerRevision
	// collisions counts the names that another template had taken.
	collisions int32
	// currentTemplate is the template of current.
	currentTemplate *v1.PodTemplateSpec
}

// getStatefulSetRevisions returns the templates of the set. It makes a ControllerRevision of a new template, and gives an older
// one that is back the highest number. Of a set that is being deleted it makes none.
// Upstream: stateful_set_control.go getStatefulSetRevisions, stateful_set.go adoptOrphanRevisions, v1.37.
func (c *controller) getStatefulSetRevisions(ctx context.Context, set *appsv1.StatefulSet) (*versions, error) {
	v := &versions{}
	if set.Status.CollisionCount != nil {
		v.collisions = *set.Status.CollisionCount
	}
	var err error
	if v.all, err = c.claimRevisions(ctx, set); err != nil {
		return nil, err
	}
	slices.SortFunc(v.all, workload.ByRevision)
	next, err := newRevision(set, v)
	if err != nil {
		return nil, err
	}
	if v.update, err = c.storeRevision(ctx, set, v, next); err != nil {
		return nil, err
	}
	v.current = v.update
	for _, revision := range v.all {
		if revision.Name == set.Status.CurrentRevision {
			v.current = revision
		}
	}
	v.currentTemplate, err = templateIn(v.current)
	return v, err
}

// claimRevisions returns the ControllerRevisions of the set, which adopts those that have lost their owner.
func (c *controller) claimRevisions(ctx context.Context, set *appsv1.StatefulSet) ([]*appsv1.ControllerRevision, error) {
	selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
	if err != nil {
		return nil, err
	}
	return workload.Claim(ctx, workload.Owner{
		Env: c.env, Object: set, Kind: appsv1.SchemeGroupVersion.WithKind(controllerKind), Selector: selector,
		Resource: workload.ControllerRevisions(), What: "ControllerRevision",
		Fresh: func(ctx context.Context) (control.Object, error) {
			return c.client.AppsV1().StatefulSets(set.Namespace).Get(ctx, set.Name, metav1.GetOptions{})
		},
	}, c.revisions)
}

// newRevision returns the ControllerRevision of the present template, which has the next number.
// Upstream: stateful_set_utils.go newRevision, nextRevision, history NewControllerRevision, v1.37.
func newRevision(set *appsv1.StatefulSet, v *versions) (*appsv1.ControllerRevision, error) {
	patch, err := workload.TemplatePatch(set)
	if err != nil {
		return nil, err
	}
	number := int64(1)
	if n := len(v.all); n > 0 {
		number = v.all[n-1].Revision + 1
	}
	labels := maps.Clone(set.Spec.Template.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	hash := hashRevision(patch, v.collisions)
	labels[hashLabel] = hash
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: set.Namespace, Name: revisionName(set, hash), Labels: labels, Annotations: maps.Clone(set.Annotations),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind(controllerKind))},
		},
		Data: runtime.RawExtension{Raw: patch}, Revision: number,
	}, nil
}

// revisionName returns the name of a set's ControllerRevision.
// Upstream: history ControllerRevisionName, v1.37.
func revisionName(set *appsv1.StatefulSet, hash string) string {
	const most = 223
	return set.Name[:min(len(set.Name), most)] + "-" + hash
}

// hashRevision returns the hash of what a ControllerRevision keeps.
// Upstream: history HashControllerRevision, v1.37.
func hashRevision(data []byte, collisions int32) string {
	hash := fnv.New32()
	hash.Write(data)
	hash.Write([]byte(strconv.Itoa(int(collisions))))
	return workload.SafeEncode(hash.Sum32())
}

// storeRevision returns the stored revision of the present template: the latest one, an older one with a new number, or a new one.
func (c *controller) storeRevision(ctx context.Context, set *appsv1.StatefulSet, v *versions,
	next *appsv1.ControllerRevision) (*appsv1.ControllerRevision, error) {
	for i, revision := range slices.Backward(v.all) {
		if !bytes.Equal(revision.Data.Raw, next.Data.Raw) {
			continue
		}
		if i == len(v.all)-1 {
			return revision, nil
		}
		again := revision.DeepCopy()
		again.Revision = next.Revision
		return c.client.AppsV1().ControllerRevisions(set.Namespace).Update(ctx, again, metav1.UpdateOptions{})
	}
	if set.DeletionTimestamp != nil {
		return next, nil
	}
	return c.createControllerRevision(ctx, set, v, next)
}

// createControllerRevision creates a revision. If another template has its name, it takes another one.
// Upstream: history CreateControllerRevision, v1.37.
func (c *controller) createControllerRevision(ctx context.Context, set *appsv1.StatefulSet, v *versions,
	next *appsv1.ControllerRevision) (*appsv1.ControllerRevision, error) {
	client := c.client.AppsV1().ControllerRevisions(set.Namespace)
	for {
		made, err := client.Create(ctx, next, metav1.CreateOptions{})
		if !apierrors.IsAlreadyExists(err) {
			return made, err
		}
		exists, err := client.Get(ctx, next.Name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		if bytes.Equal(exists.Data.Raw, next.Data.Raw) { // the cache does not show it yet
			return exists, nil
		}
		v.collisions++
		next.Name = revisionName(set, hashRevision(next.Data.Raw, v.collisions))
	}
}

// templateIn returns the template that a revision keeps.
// Upstream: stateful_set_utils.go ApplyRevision, v1.37.
func templateIn(revision *appsv1.ControllerRevision) (*v1.PodTemplateSpec, error) {
	var set appsv1.StatefulSet
	if err := json.Unmarshal(revision.Data.Raw, &set); err != nil {
		return nil, fmt.Errorf("ControllerRevision %s/%s keeps no template: %w", revision.Namespace, revision.Name, err)
	}
	return &set.Spec.Template, nil
}

// newVersionedStatefulSetPod returns the pod of a replica: below the partition of a rolling update of the template before the update, else of the present one.
// Upstream: stateful_set_utils.go newVersionedStatefulSetPod, v1.37.
func newVersionedStatefulSetPod(set *appsv1.StatefulSet, v *versions, ordinal int64) *v1.Pod {
	first, _ := ordinals(set)
	if set.Spec.UpdateStrategy.RollingUpdate != nil && ordinal < first+partition(set) {
		return newStatefulPod(set, v.currentTemplate, v.current.Name, ordinal)
	}
	return newStatefulPod(set, &set.Spec.Template, v.update.Name, ordinal)
}

// truncateHistory deletes the oldest revisions beyond spec.revisionHistoryLimit; a negative limit keeps all. Those that pods
// have, and the two that the status names, stay and do not count.
// Upstream: stateful_set_control.go truncateHistory, v1.37.
func (c *controller) truncateHistory(ctx context.Context, set *appsv1.StatefulSet, pods []*v1.Pod, v *versions) error {
	if limit := set.Spec.RevisionHistoryLimit; limit == nil || *limit < 0 { // the API server takes a negative number
		return nil
	}
	live := map[string]bool{v.current.Name: true, v.update.Name: true}
	for _, pod := range pods {
		live[pod.Labels[appsv1.ControllerRevisionHashLabelKey]] = true
	}
	history := slices.DeleteFunc(slices.Clone(v.all), func(revision *appsv1.ControllerRevision) bool { return live[revision.Name] })
	for _, revision := range history[:max(len(history)-int(*set.Spec.RevisionHistoryLimit), 0)] {
		if err := c.client.AppsV1().ControllerRevisions(set.Namespace).Delete(ctx, revision.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}
