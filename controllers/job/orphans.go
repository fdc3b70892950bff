package job

import (
	"context"
	"encoding/json"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/workload"
)

// enqueueOrphan queues a pod that waits for a Job which will not count it any more.
func (c *controller) enqueueOrphan(pod *v1.Pod) {
	if isTracked(pod) {
		c.orphans.Add(control.Key(pod))
	}
}

// enqueueOrphansOf queues all such pods of a Job that is finished or gone.
// Upstream: job_controller.go enqueueLabelSelector, syncOrphanPodsBySelector, v1.37.
func (c *controller) enqueueOrphansOf(job *batchv1.Job) {
	selector, err := metav1.LabelSelectorAsSelector(job.Spec.Selector)
	if err != nil {
		return // the API server accepts no such Job
	}
	for _, key := range []string{string(job.UID), workload.OrphansIn(job.Namespace)} {
		for _, pod := range c.pods.ByIndex(workload.ByOwner, key) {
			if selector.Matches(labels.Set(pod.Labels)) {
				c.enqueueOrphan(pod)
			}
		}
	}
}

// syncOrphanPod lets a pod go, unless a Job has adopted it.
// Upstream: job_controller.go handleSingleOrphanPod, v1.37.
func (c *controller) syncOrphanPod(ctx context.Context, key string) error {
	pod, found := c.pods.Get(key)
	if !found {
		return nil
	}
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		if owner.Kind != kind || owner.APIVersion != batchv1.SchemeGroupVersion.String() {
			return nil
		}
		if jobKey, owned := workload.KeyOfOwner(c.jobs, kind, pod); owned {
			if job, _ := c.jobs.Get(jobKey); isManagedElsewhere(job) || !isFinished(job) {
				return nil
			}
		}
	}
	if err := c.removeFinalizer(ctx, pod); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return nil
}

// removeFinalizer removes the finalizer with which a pod waits to be counted, if it has it.
// Upstream: job_controller.go removeTrackingFinalizerPatch, v1.37.
func (c *controller) removeFinalizer(ctx context.Context, pod *v1.Pod) error {
	if !isTracked(pod) {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"$deleteFromPrimitiveList/finalizers": []string{batchv1.JobTrackingFinalizer}}})
	if err != nil {
		return err
	}
	_, err = c.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	return err
}
