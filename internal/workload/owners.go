package workload

import (
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/podstatus"
)

// Owners queues the ReplicaSets or DaemonSets whose pods change, and notes what the cache of pods shows.
type Owners[T control.Object] struct {
	// Cache holds the owners, which are of this Kind.
	Cache        *control.Cache[T]
	Kind         string
	Queue        control.Queue
	Expectations *Expectations
	// Selector returns the selector of an owner, and MinReadySeconds the time for which its pods must be ready.
	Selector        func(T) *metav1.LabelSelector
	MinReadySeconds func(T) int32
}

// Handler returns what the cache of pods calls.
func (o *Owners[T]) Handler() control.Handler[*v1.Pod] {
	return control.Handler[*v1.Pod]{Add: o.addPod, Update: o.updatePod, Delete: o.deletePod}
}

// addPod queues the owner of a new pod, or those that might adopt it.
// Upstream: replica_set.go addPod, v1.37, and daemon_controller.go addPod, v1.37.
func (o *Owners[T]) addPod(pod *v1.Pod) {
	key, owned := KeyOfOwner(o.Cache, o.Kind, pod)
	switch {
	case pod.DeletionTimestamp != nil: // of a controller that has just started
		o.deletePod(pod)
	case owned:
		o.Expectations.CreationObserved(key, 1)
		o.Queue.Add(key)
	case metav1.GetControllerOfNoCopy(pod) == nil:
		o.enqueueSelecting(pod)
	}
}

// updatePod queues the owners of a pod, the one that it had and those that might adopt it. A pod that becomes ready is looked at
// again when it has been so for long enough.
// Upstream: replica_set.go updatePod, v1.37, and daemon_controller.go updatePod, v1.37.
func (o *Owners[T]) updatePod(old, pod *v1.Pod) {
	relabelled, moved := !labels.Equals(old.Labels, pod.Labels), Moved(old, pod)
	if pod.DeletionTimestamp != nil {
		o.deletePod(pod)
		if relabelled { // it may have had another owner
			o.deletePod(old)
		}
		return
	}
	if key, owned := KeyOfOwner(o.Cache, o.Kind, old); moved && owned {
		o.Queue.Add(key)
	}
	if key, owned := KeyOfOwner(o.Cache, o.Kind, pod); owned {
		o.Queue.Add(key)
		owner, _ := o.Cache.Get(key)
		if seconds := o.MinReadySeconds(owner); seconds > 0 && !podstatus.IsReady(old) && podstatus.IsReady(pod) {
			o.Queue.AddAfter(key, time.Duration(seconds)*time.Second+time.Second)
		}
	} else if metav1.GetControllerOfNoCopy(pod) == nil && (relabelled || moved) {
		o.enqueueSelecting(pod)
	}
}

// deletePod queues the owner of a pod that is gone, or being deleted.
// Upstream: replica_set.go deletePod, v1.37, and daemon_controller.go deletePod, v1.37.
func (o *Owners[T]) deletePod(pod *v1.Pod) {
	if key, owned := KeyOfOwner(o.Cache, o.Kind, pod); owned {
		o.Expectations.DeletionObserved(key, pod.UID)
		o.Queue.Add(key)
	}
}

func (o *Owners[T]) enqueueSelecting(pod *v1.Pod) {
	for _, key := range Selecting(o.Cache, pod, o.Selector) {
		o.Queue.Add(key)
	}
}
