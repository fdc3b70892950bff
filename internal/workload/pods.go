package workload

import (
	"context"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/podstatus"
)

// PodFromTemplate returns a new pod of the owner. The API server completes its name.
// Upstream: controller_utils.go GetPodFromTemplate, v1.37.
func PodFromTemplate(template *v1.PodTemplateSpec, owner control.Object, kind schema.GroupVersionKind) *v1.Pod {
	prefix := owner.GetName() + "-"
	if len(validation.NameIsDNSSubdomain(prefix, true)) > 0 {
		prefix = owner.GetName()
	}
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: owner.GetNamespace(), GenerateName: prefix, Labels: maps.Clone(template.Labels), Annotations: maps.Clone(template.Annotations),
			Finalizers: slices.Clone(template.Finalizers), OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, kind)},
		},
		Spec: *template.Spec.DeepCopy(),
	}
}

// Pods creates and deletes pods of an owner, with events about the owner.
// Upstream: controller_utils.go RealPodControl, v1.37.
type Pods struct {
	Env      control.Env
	Recorder control.Recorder
}

// Create creates a pod. In a namespace that is being deleted a failure makes no event.
func (p Pods) Create(ctx context.Context, owner control.Object, pod *v1.Pod) error {
	made, err := p.Env.Client().CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
	switch {
	case err == nil:
		p.Recorder.Eventf(owner, v1.EventTypeNormal, "SuccessfulCreate", "Created pod: %v", made.Name)
	case !apierrors.HasStatusCause(err, v1.NamespaceTerminatingCause):
		p.Recorder.Eventf(owner, v1.EventTypeWarning, "FailedCreate", "Error creating: %v", err)
	}
	return err
}

// Delete deletes a pod.
func (p Pods) Delete(ctx context.Context, owner control.Object, pod *v1.Pod) error {
	err := p.Env.Client().CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{})
	switch {
	case err == nil:
		p.Recorder.Eventf(owner, v1.EventTypeNormal, "SuccessfulDelete", "Deleted pod: %v", pod.Name)
	case !apierrors.IsNotFound(err):
		p.Recorder.Eventf(owner, v1.EventTypeWarning, "FailedDelete", "Error deleting: %v", err)
	}
	return err
}

// SlowStart calls f for 0, 1 and so on up to n-1, in batches of 1, 2, 4 and so on. After a batch in which a call failed it stops. It returns the number of
// calls that did not fail. Objects that cannot be created, since a quota is used up, then cost few requests.
// Upstream: pkg/controller/replicaset slowStartBatch, v1.37.
func SlowStart(n int, f func(i int) error) (done int, err error) {
	at := 0
	for batch := 1; at < n; batch *= 2 {
		var errs []error
		for range min(batch, n-at) {
			if err := f(at); err != nil {
				errs = append(errs, err)
			} else {
				done++
			}
			at++
		}
		if len(errs) > 0 {
			return done, errs[0]
		}
	}
	return done, nil
}

// IsActive reports whether a pod has neither ended nor is being deleted.
// Upstream: controller_utils.go IsPodActive, v1.37.
func IsActive(pod *v1.Pod) bool { return !HasEnded(pod) && pod.DeletionTimestamp == nil }

// IsTerminating reports whether a pod is being deleted and has not ended yet.
// Upstream: controller_utils.go IsPodTerminating, v1.37.
func IsTerminating(pod *v1.Pod) bool { return !HasEnded(pod) && pod.DeletionTimestamp != nil }

// HasEnded reports whether a pod has Succeeded or Failed.
func HasEnded(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
}

// IsAvailable reports whether a pod has been ready for so many seconds.
// Upstream: api/v1/pod IsPodAvailable, v1.37.
func IsAvailable(pod *v1.Pod, minReadySeconds int32, now time.Time) bool {
	since, ready := podstatus.ReadySince(pod)
	return ready && (minReadySeconds == 0 || !since.IsZero() && !since.Add(time.Duration(minReadySeconds)*time.Second).After(now))
}

// Later queues a key once d has passed. Settling does not wait for it: it is for a look at whether something has gone wrong.
func Later(env control.Env, queue control.Queue, key string, d time.Duration) {
	env.Go("look at "+key+" later", func(ctx context.Context) {
		if env.Sleep(control.InBackground(ctx), d) == nil {
			queue.Add(key)
		}
	})
}
