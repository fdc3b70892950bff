package kubelet

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/storagesim/storagesim/internal/workload"
)

// refusal is why a kubelet does not run a pod: the reason of the event, and its message; and of which resource how much is lacking, if that is why.
type refusal struct {
	reason, message string
	lacks           v1.ResourceName
	missing         int64 // of CPU thousandths
}

// The texts of refusals.
//
// Upstream: pkg/kubelet/lifecycle/predicate.go PredicateFailureError and InsufficientResourceError, and pkg/scheduler/framework/plugins
// nodeaffinity ErrReasonPod, nodeports ErrReason and tainttoleration ErrReasonNotMatch, v1.37.
const (
	insufficient   = "Node didn't have enough resource: %s, requested: %d, used: %d, capacity: %d"
	failedAffinity = "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"
	failedPorts    = "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"
	failedTaint    = "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate"
	otherOSLabel   = "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label"
	otherOSField   = "Failed to admit pod as the OS field doesn't match node OS"
)

// admit returns all reasons why a node does not take a pod beside others: that the pod is for another operating system comes first, and alone.
//
// Upstream: predicate.go Admit, rejectPodAdmissionBasedOnOSSelector and rejectPodAdmissionBasedOnOSField, v1.37.2.
func admit(pod *v1.Pod, node *v1.Node, others []*v1.Pod) []refusal {
	if os, says := pod.Labels[v1.LabelOSStable]; says && os != node.Labels[v1.LabelOSStable] {
		return []refusal{{reason: "PodOSSelectorNodeLabelDoesNotMatch", message: otherOSLabel}}
	}
	if pod.Spec.OS != nil && pod.Spec.OS.Name != v1.Linux {
		return []refusal{{reason: "PodOSNotSupported", message: otherOSField}}
	}
	return generalFilter(pod, node, others)
}

// generalFilter returns all reasons why a node does not take a pod beside others. Of taints, only those that end pods matter.
//
// Upstream: predicate.go generalFilter and pkg/scheduler/eventhandlers.go AdmissionCheck, v1.37.
func generalFilter(pod *v1.Pod, node *v1.Node, others []*v1.Pod) []refusal {
	reasons := fitsRequest(pod, node, others)
	if matches, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node); err != nil || !matches {
		reasons = append(reasons, refusal{reason: "NodeAffinity", message: failedAffinity})
	}
	if ports := hostPorts(pod); slices.ContainsFunc(others, func(other *v1.Pod) bool { return clash(ports, hostPorts(other)) }) {
		reasons = append(reasons, refusal{reason: "NodePorts", message: failedPorts})
	}
	for i := range node.Spec.Taints {
		taint := &node.Spec.Taints[i]
		if taint.Effect == v1.TaintEffectNoExecute && !slices.ContainsFunc(pod.Spec.Tolerations, func(t v1.Toleration) bool { return workload.Tolerates(t, taint) }) {
			return append(reasons, refusal{reason: "TaintToleration", message: failedTaint})
		}
	}
	return reasons
}

// fitsRequest returns which resources of a node are too small for a pod beside others: the place for one more pod, then what it asks for.
// A node that does not say what it has refuses nothing, and neither does one that does not know of an extended resource: the cluster may.
//
// Upstream: pkg/scheduler/framework/plugins/noderesources/fit.go fitsRequest and predicate.go removeMissingExtendedResources, v1.37.
func fitsRequest(pod *v1.Pod, node *v1.Node, others []*v1.Pod) (reasons []refusal) {
	has := node.Status.Allocatable
	if pods, says := has[v1.ResourcePods]; says && int64(len(others))+1 > pods.Value() {
		reasons = append(reasons, lack(v1.ResourcePods, 1, int64(len(others)), pods.Value()))
	}
	wants := resource.PodRequests(pod, resource.PodResourcesOptions{})
	for _, name := range inOrder(wants) {
		var used int64
		for _, other := range others {
			used += amountOf(resource.PodRequests(other, resource.PodResourcesOptions{}), name)
		}
		if wanted := amountOf(wants, name); wanted > 0 {
			if _, says := has[name]; says && wanted > amountOf(has, name)-used {
				reasons = append(reasons, lack(name, wanted, used, amountOf(has, name)))
			}
		}
	}
	return reasons
}

// amountOf returns the amount of a resource, of CPU in thousandths.
func amountOf(list v1.ResourceList, name v1.ResourceName) int64 {
	q := list[name]
	if name == v1.ResourceCPU {
		return q.MilliValue()
	}
	return q.Value()
}

// inOrder returns the names of resources as they are looked at: the well-known ones first.
func inOrder(list v1.ResourceList) []v1.ResourceName {
	known := []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage}
	others := slices.DeleteFunc(slices.Sorted(maps.Keys(list)), func(name v1.ResourceName) bool { return slices.Contains(known, name) })
	return append(known, others...)
}

func lack(name v1.ResourceName, requested, used, capacity int64) refusal {
	return refusal{"OutOf" + string(name), fmt.Sprintf(insufficient, name, requested, used, capacity), name, requested - (capacity - used)}
}

// hostPorts returns the ports that a pod's containers take on its node.
//
// Upstream: pkg/scheduler/util GetHostPorts, v1.37.
func hostPorts(pod *v1.Pod) []v1.ContainerPort {
	var list []v1.ContainerPort
	for _, c := range pod.Spec.Containers {
		list = append(list, slices.DeleteFunc(slices.Clone(c.Ports), func(p v1.ContainerPort) bool { return p.HostPort == 0 })...)
	}
	return list
}

// clash reports whether two pods take one port: of one protocol, and on one address, or one of them on all.
//
// Upstream: k8s.io/kube-scheduler/framework HostPortInfo.CheckConflict, v1.37.
func clash(ours, theirs []v1.ContainerPort) bool {
	everywhere := func(address string) bool { return address == "" || address == "0.0.0.0" }
	return slices.ContainsFunc(ours, func(p v1.ContainerPort) bool {
		return slices.ContainsFunc(theirs, func(q v1.ContainerPort) bool {
			return p.HostPort == q.HostPort && p.Protocol == q.Protocol && (p.HostIP == q.HostIP || everywhere(p.HostIP) || everywhere(q.HostIP))
		})
	})
}

// activePods returns the pods that this kubelet has admitted and that have not ended, without one.
//
// Upstream: kubelet_pods.go GetActivePods, v1.37.
func (k *kubelet) activePods(but *podWorker) []*v1.Pod {
	var pods []*v1.Pod
	for _, uid := range slices.Sorted(maps.Keys(k.workers)) {
		if w := k.workers[uid]; w != but && w.considered && !w.rejected && !w.gone && !w.stopped && !w.ended() {
			pods = append(pods, w.pod)
		}
	}
	return pods
}

// A kubelet reads its pods a second after it has begun, and every two seconds it cleans up: it ends what no worker of a pod knows. These
// decide what becomes of a pod that it refuses when it begins.
//
// Upstream: pkg/kubelet/config/apiserver.go WaitForAPIServerSyncPeriod, and kubelet.go housekeepingPeriod, v1.37.
const (
	waitForAPIServerSyncPeriod = time.Second
	housekeepingPeriod         = 2 * time.Second
)

// admitPod decides once, when this life of the kubelet sees a pod for the first time, whether the pod may run here, also
// for one that runs already or is to end. It reports whether it may; leftAlone says whether a pod that may not is looked at later. What the
// kubelet last read of its node says no only if the node, read again, says so, too.
//
// Upstream: kubelet.go HandlePodAdditions and predicate.go Admit, v1.37.
func (k *kubelet) admitPod(ctx context.Context, w *podWorker) (bool, error) {
	if w.considered || w.gone || w.ended() {
		return !w.rejected, nil
	}
	others := k.activePods(w)
	if len(admit(w.pod, k.node.Latest(), others)) > 0 {
		if k.leftAlone(w) > 0 {
			return false, nil
		}
		node, err := k.node.Read(ctx)
		if err != nil {
			return false, err
		}
		if reasons := admit(w.pod, node, others); len(reasons) > 0 {
			why, err := k.handleAdmissionFailure(ctx, w, reasons, others)
			switch {
			case err != nil:
				return false, err
			case why != nil:
				return false, k.refusePod(ctx, w, *why)
			}
		}
	}
	w.considered = true
	k.lookAtVolumes(w)
	return true, nil
}

// leftAlone returns how long nothing is done with a pod that is not admitted: until the kubelet reads its pods, and then, once it is refused, until
// it cleans up for the first time. Until then no worker knows the pod, and its volumes are mounted as those of one that runs.
//
// Upstream: pod_workers.go ShouldPodContainersBeTerminating, before SyncKnownPods, v1.37.
func (k *kubelet) leftAlone(w *podWorker) time.Duration {
	until := waitForAPIServerSyncPeriod
	if w.rejected {
		until = housekeepingPeriod
	}
	if w.gone || w.released {
		return 0
	}
	return k.started.Add(until).Sub(k.env.Now())
}

// lookAtVolumes lets the volumes of a pod that is to end be looked at, now that it is decided whether the pod may run here.
func (k *kubelet) lookAtVolumes(w *podWorker) {
	if w.pod.DeletionTimestamp != nil {
		k.volumes.UpdatePod(w.pod, true, false)
	}
}

// refusePod emits an event, and writes that the pod has failed. Of what it knew of the pod, the status keeps nothing. Its volumes are not
// mounted: no worker knows the pod. Only in a kubelet's first seconds, until it has cleaned up, they are looked at all the same.
//
// Upstream: kubelet.go rejectPod and status_manager.go mergePodStatus, v1.37; desired_state_of_world_populator.go findAndAddNewPods and
// pod_workers.go ShouldPodContainersBeTerminating, v1.37.2.
func (k *kubelet) refusePod(ctx context.Context, w *podWorker, why refusal) error {
	if !w.rejected {
		k.recorder.Event(w.pod, v1.EventTypeWarning, why.reason, why.message)
	}
	w.rejected = true
	if !k.env.Now().Before(k.started.Add(housekeepingPeriod)) {
		k.volumes.ReleasePod(w.uid, true)
	}
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
	unwritten := k.status.patchStatus(ctx, w, want)
	if ctx.Err() != nil {
		return unwritten
	}
	w.considered = true
	k.lookAtVolumes(w)
	return unwritten
}

// endRefusedPod stops what an earlier life has started of a pod that is refused, and gives up its volumes. It writes nothing that was written.
//
// Upstream: kubelet_pods.go HandlePodCleanups, v1.37.
func (k *kubelet) endRefusedPod(ctx context.Context, w *podWorker) error {
	if _, err := k.killPod(ctx, w); err != nil {
		return err
	}
	k.releaseVolumes(w)
	return k.status.patchStatus(ctx, w, w.lastStatus())
}
