package tainteviction

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/podstatus"
	"github.com/storagesim/storagesim/trace"
)

// Limit and waits for a deletion that fails.
// Upstream: taint_eviction.go retries and deletePodHandler, v1.37.
const (
	retries    = 5
	retryPause = 10 * time.Millisecond
)

// eviction is the planned deletion of a pod.
// Upstream: timed_workers.go TimedWorker, v1.37.
type eviction struct {
	created   time.Time
	immediate bool // the deletion began at once, and cannot be cancelled
	cancelled bool
}

// addWork plans the deletion of a pod, unless that is planned already.
// Upstream: timed_workers.go AddWork, v1.37.
func (c *controller) addWork(pod *v1.Pod, created time.Time, left time.Duration) {
	key := control.Key(pod)
	if c.evictions[key] != nil {
		return
	}
	work := &eviction{created: created, immediate: left <= 0}
	c.evictions[key] = work
	if !work.immediate {
		c.env.Trace(trace.Decision{
			About: trace.RefOf("Pod", pod), Text: "stays on node " + pod.Spec.NodeName + " for another " + left.String() +
				": it tolerates the node's taints for so long",
		})
	}
	c.env.Go("evict "+key, func(ctx context.Context) {
		if !work.immediate && c.env.Sleep(control.InBackground(ctx), left) != nil || work.cancelled {
			return
		}
		c.deletePod(ctx, key)
		if c.evictions[key] == work {
			delete(c.evictions, key)
		}
	})
}

// cancelWorkWithEvent cancels a planned deletion and emits an event.
// Upstream: taint_eviction.go cancelWorkWithEvent, and timed_workers.go CancelWork, v1.37.
func (c *controller) cancelWorkWithEvent(key string) {
	work := c.evictions[key]
	if work == nil {
		return
	}
	delete(c.evictions, key)
	if work.immediate {
		return
	}
	work.cancelled = true
	c.recorder.Eventf(podRef(key), v1.EventTypeNormal, "TaintManagerEviction", "Cancelling deletion of Pod %s", key)
}

// deletePod deletes a pod. After several failures it gives up.
// Upstream: taint_eviction.go deletePodHandler, v1.37.
func (c *controller) deletePod(ctx context.Context, key string) {
	c.recorder.Eventf(podRef(key), v1.EventTypeNormal, "TaintManagerEviction", "Marking for deletion Pod %s", key)
	for range retries {
		if c.addConditionAndDeletePod(ctx, key) == nil || c.env.Sleep(ctx, retryPause) != nil {
			return
		}
	}
}

// addConditionAndDeletePod adds the reason to the pod's conditions, and deletes the pod.
// Upstream: taint_eviction.go addConditionAndDeletePod, v1.37.
func (c *controller) addConditionAndDeletePod(ctx context.Context, key string) error {
	namespace, name := control.SplitKey(key)
	pod, err := c.client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	err = podstatus.Patch(ctx, c.client, pod, podstatus.Change{Condition: &v1.PodCondition{
		Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: "DeletionByTaintManager", Message: "Taint manager: deleting due to NoExecute taint",
	}}, metav1.NewTime(c.env.Now()))
	if err != nil {
		return err
	}
	return c.client.CoreV1().Pods(namespace).Delete(ctx, name, metav1.DeleteOptions{})
}
