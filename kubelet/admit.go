package kubelet

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/storagesim/storagesim/internal/workload"
)

// refusal is why a kubelet does not run a pod: the reason of the event, and its message.
type refusal struct{ reason, message string }

// The texts of refusals.
//
// Upstream: pkg/kubelet/lifecycle/predicate.go PredicateFailureError, and pkg/scheduler/framework/plugins nodeaffinity
// ErrReasonPod and tainttoleration ErrReasonNotMatch, v1.37.
const (
	failedAffinity = "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"
	failedTaint    = "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate"
)

// generalFilter returns why a node does not take a pod, nil if it does. Of taints, only those that end pods matter.
//
// Upstream: predicate.go generalFilter, v1.37.
func generalFilter(pod *v1.Pod, node *v1.Node) *refusal {
	if matches, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node); err != nil || !matches {
		return &refusal{"NodeAffinity", failedAffinity}
	}
	for i := range node.Spec.Taints {
		taint := &node.Spec.Taints[i]
		if taint.Effect == v1.TaintEffectNoExecute && !slices.ContainsFunc(pod.Spec.Tolerations, func(t v1.Toleration) bool { return workload.Tolerates(t, taint) }) {
			return &refusal{"TaintToleration", failedTaint}
		}
	}
	return nil
}

// admitPod decides once, when this life of the kubelet sees a pod for the first time, whether the pod may run here, also
// for one that runs already or is to end. It reports whether it may. What the kubelet last read of its node says no only if the node, read again, says so, too.
//
// Upstream: kubelet.go HandlePodAdditions and predicate.go Admit, v1.37.
func (k *kubelet) admitPod(ctx context.Context, w *podWorker) (bool, error) {
	if w.considered || w.gone || w.ended() {
		return !w.rejected, nil
	}
	if generalFilter(w.pod, k.node.Latest()) != nil {
		node, err := k.node.Read(ctx)
		if err != nil {
			return false, err
		}
		if why := generalFilter(w.pod, node); why != nil {
			return false, k.refusePod(ctx, w, *why)
		}
	}
	w.considered = true
	return true, nil
}

// refusePod emits an event, and writes that the pod has failed. Of what it knew of the pod, the status keeps nothing.
//
// Upstream: kubelet.go rejectPod and status_manager.go mergePodStatus, v1.37.
func (k *kubelet) refusePod(ctx context.Context, w *podWorker, why refusal) error {
	if !w.rejected {
		k.recorder.Event(w.pod, v1.EventTypeWarning, why.reason, why.message)
	}
	w.rejected = true
	old := w.lastStatus()
	want := &v1.PodStatus{
		Phase: v1.PodFailed, Reason: why.reason, Message: "Pod was rejected: " + why.message,
		QOSClass: old.QOSClass, StartTime: old.StartTime, ObservedGeneration: w.pod.Generation,
		Conditions: slices.DeleteFunc(slices.Clone(old.Conditions), func(c v1.PodCondition) bool { return isOwnCondition(c.Type) }),
	}
	if want.StartTime == nil {
		now := k.status.now()
		want.StartTime = &now
	}
	if err := k.status.patchStatus(ctx, w, want); err != nil {
		return err
	}
	w.considered = true
	return nil
}

// endRefusedPod stops what an earlier life has started of a pod that is refused, and gives up its volumes. It writes nothing.
//
// Upstream: kubelet_pods.go HandlePodCleanups, v1.37.
func (k *kubelet) endRefusedPod(w *podWorker) error {
	if _, err := k.killPod(w); err != nil {
		return err
	}
	k.releaseVolumes(w)
	return nil
}
