package kubelet

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"

	"github.com/storagesim/storagesim/control"
)

// What is said of a pod that a kubelet ends in favour of a critical one.
//
// Upstream: pkg/kubelet/preemption/preemption.go, and pkg/kubelet/events PreemptContainer and ExceededGracePeriod, v1.37.2.
const (
	preemptReason  = "Preempting"
	preemptMessage = "Preempted in order to admit critical pod"
	preemptedByIt  = "Pod was preempted by Kubelet to accommodate a critical pod."

	exceededReason  = "ExceededGracePeriod"
	exceededMessage = "Container runtime did not kill the pod within specified grace period."
)

// isCriticalPod reports whether a kubelet makes room for a pod, and evicts it for none that is not.
//
// Upstream: pkg/kubelet/types/pod_update.go IsCriticalPod, v1.37.2, for a pod that the API server knows.
func isCriticalPod(pod *v1.Pod) bool {
	return pod.Spec.Priority != nil && *pod.Spec.Priority >= systemCriticalPriority
}

// handleAdmissionFailure returns why a pod is refused after all. A critical one for which only resources are lacking is not: it returns when pods that
// have them were ended. A scheduler does the same before it gives a pod a node; this is for one that names its node itself.
//
// Upstream: preemption.go HandleAdmissionFailure and evictPodsToFreeRequests, v1.37.2.
func (k *kubelet) handleAdmissionFailure(ctx context.Context, w *podWorker, reasons []refusal, others []*v1.Pod) (*refusal, error) {
	if !isCriticalPod(w.pod) {
		return &reasons[0], nil
	}
	if i := slices.IndexFunc(reasons, func(r refusal) bool { return r.lacks == "" }); i >= 0 {
		return &reasons[i], nil
	}
	requirements := make([]requirement, len(reasons))
	for i, r := range reasons {
		requirements[i] = requirement{r.lacks, r.missing}
	}
	victims, err := getPodsToPreempt(w.pod, others, requirements)
	if err != nil {
		why := "Unexpected error while attempting to recover from admission failure: preemption: error finding a set of pods to preempt: " + err.Error()
		return &refusal{reason: "UnexpectedAdmissionError", message: why}, nil //nolint:nilerr // The pod is refused for it.
	}
	for _, victim := range victims {
		k.recorder.Event(victim, v1.EventTypeWarning, preemptReason, preemptMessage)
		if err := k.killPodNow(ctx, k.workers[victim.UID], &podFailure{reason: preemptReason, message: preemptMessage, disrupts: preemptedByIt}); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// killPodNow ends a pod, and returns when its containers have ended, or have had half as long again as they may take.
//
// Upstream: pod_workers.go killPodNow, v1.37.2.
func (k *kubelet) killPodNow(ctx context.Context, w *podWorker, why *podFailure) error {
	if w.failure == nil {
		w.failure = why
	}
	if w.failure.done == nil {
		w.failure.done = newGate()
	}
	k.podQueue.Add(string(w.uid))
	grace := w.effectiveGracePeriod()
	ended, err := w.failure.done.wait(control.InBackground(ctx), k.env, max(10*time.Second, seconds(grace+grace/2)))
	if err == nil && !ended {
		k.recorder.Event(w.pod, v1.EventTypeWarning, exceededReason, exceededMessage)
	}
	return err
}

// requirement is the amount of a resource that a node lacks, of CPU in thousandths.
type requirement struct {
	name    v1.ResourceName
	missing int64
}

// getPodsToPreempt returns pods that have what is required: of those that guarantee nothing the fewest beside all the others, and so on.
//
// Upstream: preemption.go getPodsToPreempt and sortPodsByQOS, v1.37.2.
func getPodsToPreempt(pod *v1.Pod, others []*v1.Pod, required []requirement) ([]*v1.Pod, error) {
	byQOS := map[v1.PodQOSClass][]*v1.Pod{}
	for _, other := range others {
		if preemptable(pod, other) {
			byQOS[other.Status.QOSClass] = append(byQOS[other.Status.QOSClass], other)
		}
	}
	bestEffort, burstable, guaranteed := byQOS[v1.PodQOSBestEffort], byQOS[v1.PodQOSBurstable], byQOS[v1.PodQOSGuaranteed]
	if left := subtract(required, slices.Concat(bestEffort, burstable, guaranteed)...); len(left) > 0 {
		return nil, noPods(left)
	}
	guaranteed, err := getPodsToPreemptByDistance(guaranteed, subtract(required, slices.Concat(bestEffort, burstable)...))
	if err != nil {
		return nil, err
	}
	burstable, err = getPodsToPreemptByDistance(burstable, subtract(required, slices.Concat(bestEffort, guaranteed)...))
	if err != nil {
		return nil, err
	}
	bestEffort, err = getPodsToPreemptByDistance(bestEffort, subtract(required, slices.Concat(burstable, guaranteed)...))
	return slices.Concat(bestEffort, burstable, guaranteed), err
}

// preemptable reports whether a pod may be ended for another.
//
// Upstream: pkg/kubelet/types/pod_update.go Preemptable, v1.37.2.
func preemptable(preemptor, victim *v1.Pod) bool {
	return !isCriticalPod(victim) || victim.Spec.Priority != nil && *preemptor.Spec.Priority > *victim.Spec.Priority
}

// getPodsToPreemptByDistance takes, again and again, the pod that leaves least to be required, of equal ones the one that requests less.
//
// Upstream: preemption.go getPodsToPreemptByDistance, v1.37.2.
func getPodsToPreemptByDistance(pods []*v1.Pod, required []requirement) (victims []*v1.Pod, err error) {
	pods = slices.Clone(pods)
	for len(required) > 0 {
		if len(pods) == 0 {
			return nil, noPods(required)
		}
		best := 0
		for i, pod := range pods {
			d, least := distance(required, pod), distance(required, pods[best])
			if d < least || d == least && smallerResourceRequest(pod, pods[best]) {
				best = i
			}
		}
		required = subtract(required, pods[best])
		victims = append(victims, pods[best])
		pods[best] = pods[len(pods)-1]
		pods = pods[:len(pods)-1]
	}
	return victims, nil
}

// distance returns how much is required still without a pod: the sum of the squares of the parts of each resource.
//
// Upstream: preemption.go distance, v1.37.2.
func distance(required []requirement, pod *v1.Pod) (sum float64) {
	for _, r := range required {
		if left := float64(r.missing - requestOf(pod, r.name)); left > 0 {
			sum += math.Pow(left/float64(r.missing), 2)
		}
	}
	return sum
}

// subtract returns what is required still without some pods.
//
// Upstream: preemption.go subtract, v1.37.2.
func subtract(required []requirement, pods ...*v1.Pod) (left []requirement) {
	for _, r := range required {
		for _, pod := range pods {
			r.missing -= requestOf(pod, r.name)
		}
		if r.missing > 0 {
			left = append(left, r)
		}
	}
	return left
}

// smallerResourceRequest compares the memory that two pods request, and then the CPU.
//
// Upstream: preemption.go smallerResourceRequest, v1.37.2.
func smallerResourceRequest(a, b *v1.Pod) bool {
	for _, name := range []v1.ResourceName{v1.ResourceMemory, v1.ResourceCPU} {
		if x, y := requestOf(a, name), requestOf(b, name); x != y {
			return x < y
		}
	}
	return true
}

// requestOf returns how much of a resource a pod requests.
//
// Upstream: pkg/api/v1/resource/helpers.go GetResourceRequest, v1.37.2.
func requestOf(pod *v1.Pod, name v1.ResourceName) int64 {
	if name == v1.ResourcePods {
		return 1
	}
	return amountOf(resource.PodRequests(pod, resource.PodResourcesOptions{}), name)
}

func noPods(left []requirement) error {
	var text strings.Builder
	for _, r := range left {
		fmt.Fprintf(&text, "(res: %v, q: %d), ", r.name, r.missing)
	}
	return fmt.Errorf("no set of running pods found to reclaim resources: [%s]", text.String())
}
