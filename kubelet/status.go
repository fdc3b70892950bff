package kubelet

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/podstatus"
	"github.com/storagesim/storagesim/internal/semantic"
	"github.com/storagesim/storagesim/internal/typedpatch"
	"github.com/storagesim/storagesim/kubelet/internal/nodestatus"
	"github.com/storagesim/storagesim/kubelet/runtime"
)

// statusManager makes and writes the status of pods.
//
// Upstream: pkg/kubelet/status/status_manager.go, v1.37.
type statusManager struct {
	env     control.Env
	node    *nodestatus.Node
	runtime runtime.Service
}

// now returns the time as the API keeps it, in whole seconds.
func (m *statusManager) now() metav1.Time { return timeOf(m.env.Now()) }

// writeStatus writes a pod's status, if it has changed. r is nil
// before the pod's containers are started. podIsTerminal says that no container
// will be started again.
//
// Upstream: status_manager.go SetPodStatus and syncPod, v1.37.
func (m *statusManager) writeStatus(ctx context.Context, w *podWorker, r *podStatus, podIsTerminal bool) error {
	want := m.generateAPIPodStatus(w, r, podIsTerminal)
	mergePodStatus(w.lastStatus(), want, r)
	return m.patchStatus(ctx, w, want)
}

// writeTerminated writes the status of a pod that has ended, in which only its resources can be others than before: those that nothing keeps any
// more, if it has run in this life of the kubelet and has no cgroup.
//
// Upstream: kubelet.go SyncTerminatedPod, v1.37.2, which knows the pod as it was when it was to end.
func (k *kubelet) writeTerminated(ctx context.Context, w *podWorker) error {
	if !w.ran || w.gone || !k.runtime.Version().HidesResources {
		return nil
	}
	want, pod := w.lastStatus().DeepCopy(), *w.pod
	pod.Status.Phase = v1.PodRunning
	want.Resources = k.status.podResources(&pod, want)
	return k.status.patchStatus(ctx, w, want)
}

// sandboxReady writes that the pod's containers can be started now.
//
// Upstream: kubelet.go OnPodSandboxReady, v1.37.
func (m *statusManager) sandboxReady(ctx context.Context, w *podWorker) error {
	want := w.lastStatus().DeepCopy()
	setCondition(want, v1.PodCondition{Type: v1.PodReadyToStartContainers, Status: v1.ConditionTrue, ObservedGeneration: w.pod.Generation}, m.now())
	want.ObservedGeneration = w.pod.Generation
	return m.patchStatus(ctx, w, want)
}

// writeReadiness writes which of the containers that run, as far as the API knows, are ready now. Nothing else of the status changes.
//
// Upstream: status_manager.go SetContainerReadiness, v1.37.2.
func (k *kubelet) writeReadiness(ctx context.Context, w *podWorker) error {
	r, err := k.podStatus(w)
	if r == nil || w.pod == nil || w.gone || err != nil {
		return err
	}
	want := w.lastStatus().DeepCopy()
	for _, c := range r.all() {
		if s := statusIn(want, c); s != nil && s.State.Running != nil && s.ContainerID == containerID(k.runtime, c.last.ID) {
			s.Started, s.Ready = &c.started, c.ready
		}
	}
	for _, c := range []v1.PodCondition{podReadyCondition(w.pod, want), containersReadyCondition(w.pod, want)} {
		c.ObservedGeneration = w.pod.Generation
		setCondition(want, c, k.status.now())
	}
	return k.status.patchStatus(ctx, w, want)
}

// writeStarted writes which of the containers that run, as far as the API knows, have started by what their startup probes say. Nothing else of the
// status changes: that they are ready is written by the sync that follows.
//
// Upstream: status_manager.go SetContainerStartup, and kubelet.go syncLoopIteration, v1.37.2.
func (k *kubelet) writeStarted(ctx context.Context, w *podWorker, r *podStatus) error {
	want, changed := w.lastStatus().DeepCopy(), false
	for _, c := range r.all() {
		s := statusIn(want, c)
		if s == nil || s.State.Running == nil || s.ContainerID != containerID(k.runtime, c.last.ID) || !hasStartupProbe(w.pod, s.Name) {
			continue
		}
		if s.Started != nil && *s.Started != c.started {
			s.Started, changed = &c.started, true
		}
	}
	if !changed {
		return nil
	}
	return k.status.patchStatus(ctx, w, want)
}

// hasStartupProbe reports whether a container of a pod is said to have started by a probe.
func hasStartupProbe(pod *v1.Pod, name string) bool {
	has := func(c v1.Container) bool { return c.Name == name && c.StartupProbe != nil }
	return slices.ContainsFunc(pod.Spec.Containers, has) || slices.ContainsFunc(pod.Spec.InitContainers, has)
}

// statusIn returns the status of a container that runs, nil if there is none.
func statusIn(s *v1.PodStatus, c containerState) *v1.ContainerStatus {
	if !c.running() {
		return nil
	}
	return statusNamed(s, c.last.Name)
}

// statusNamed returns the status of a container by its name, nil if there is none.
func statusNamed(s *v1.PodStatus, name string) *v1.ContainerStatus {
	for _, list := range [][]v1.ContainerStatus{s.ContainerStatuses, s.InitContainerStatuses} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}

// lastStatus returns the status that was made last, whether it could be written or not, or else that of the pod object.
func (w *podWorker) lastStatus() *v1.PodStatus {
	if w.status != nil {
		return w.status
	}
	return &w.pod.Status
}

// writtenStatus returns the status that was last written, or else that of the pod object.
func (w *podWorker) writtenStatus() *v1.PodStatus {
	if w.written != nil {
		return w.written
	}
	return &w.pod.Status
}

// mergePodStatus keeps a pod out of its terminal phase as long as one of its
// containers may run.
//
// Upstream: status_manager.go mergePodStatus, v1.37.
func mergePodStatus(old, want *v1.PodStatus, r *podStatus) {
	if isTerminal(old.Phase) || !isTerminal(want.Phase) || r == nil || !r.anyRunning() {
		return
	}
	keepPhase(old, want)
}

// keepPhase keeps the phase, and what is said of it.
func keepPhase(old, want *v1.PodStatus) {
	want.Phase, want.Reason, want.Message = old.Phase, old.Reason, old.Message
}

// patchStatus patches the pod with the differences from the status that was last written. If the pod is gone,
// that is no error: the cache will tell. If it cannot be written it is the pod's last status all the same, from which the next one is made.
//
// Upstream: status_manager.go updateStatusInternal and syncPod, pkg/util/pod PatchPodStatus, v1.37.2.
func (m *statusManager) patchStatus(ctx context.Context, w *podWorker, want *v1.PodStatus) error {
	changes := changedStatus(w.writtenStatus(), want)
	w.status = want
	if len(changes) == 0 {
		w.written = want
		return nil
	}
	ctx = typedpatch.In(ctx, typedpatch.Values{"metadata": map[string]any{"uid": string(w.uid)}, "status": changes})
	_, err := m.env.Client().CoreV1().Pods(w.pod.Namespace).
		Patch(ctx, w.pod.Name, types.StrategicMergePatchType, nil, metav1.PatchOptions{}, "status")
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err == nil {
		w.written = want
		w.sent = append(w.sent, want)
	}
	return err
}

// changedStatus returns the strategic merge patch from one status to the other as values, empty if
// nothing differs. A field that is to be removed is null.
func changedStatus(old, want *v1.PodStatus) map[string]any {
	changes := map[string]any{}
	text := func(field, was, is string) {
		switch {
		case was != is && is == "":
			changes[field] = nil
		case was != is:
			changes[field] = is
		}
	}
	value := func(field string, was, is any) {
		if !semantic.Equal(was, is) {
			changes[field] = is
		}
	}
	text("phase", string(old.Phase), string(want.Phase))
	text("reason", old.Reason, want.Reason)
	text("message", old.Message, want.Message)
	text("hostIP", old.HostIP, want.HostIP)
	text("podIP", old.PodIP, want.PodIP)
	value("startTime", old.StartTime, want.StartTime)
	value("observedGeneration", old.ObservedGeneration, want.ObservedGeneration)
	value("initContainerStatuses", old.InitContainerStatuses, want.InitContainerStatuses)
	value("containerStatuses", old.ContainerStatuses, want.ContainerStatuses)
	value("ephemeralContainerStatuses", old.EphemeralContainerStatuses, want.EphemeralContainerStatuses)
	value("allocatedResources", old.AllocatedResources, want.AllocatedResources)
	if !semantic.Equal(old.Resources, want.Resources) {
		changes["resources"] = changedResources(old.Resources, want.Resources)
	}
	if !semantic.Equal(old.HostIPs, want.HostIPs) {
		changes["hostIPs"] = replacing(len(old.HostIPs), want.HostIPs, func(a v1.HostIP) string { return a.IP })
	}
	if !semantic.Equal(old.PodIPs, want.PodIPs) {
		changes["podIPs"] = replacing(len(old.PodIPs), want.PodIPs, func(a v1.PodIP) string { return a.IP })
	}
	changeConditions(changes, old, want)
	return changes
}

// changedResources returns the strategic merge patch of the resources of a pod, in which an amount that goes is null.
func changedResources(old, want *v1.ResourceRequirements) any {
	if old == nil || want == nil {
		return want
	}
	changes := map[string]any{}
	list := func(name string, old, want v1.ResourceList) {
		if semantic.Equal(old, want) {
			return
		}
		if len(want) == 0 {
			changes[name] = nil
			return
		}
		amounts := map[string]any{}
		for name := range old {
			amounts[string(name)] = nil
		}
		for name, amount := range want {
			amounts[string(name)] = amount
		}
		changes[name] = amounts
	}
	list("limits", old.Limits, want.Limits)
	list("requests", old.Requests, want.Requests)
	return changes
}

// replacing returns a list of addresses for a strategic merge patch that replaces the old one, to which it
// would be added otherwise; nil if nothing is wanted.
//
// Upstream: apimachinery strategicpatch CreateTwoWayMergePatch, v0.37.
func replacing[T any](old int, want []T, ip func(T) string) any {
	if len(want) == 0 {
		return nil
	}
	var list []any
	if old > 0 {
		list = append(list, map[string]any{"$patch": "replace"})
	}
	for _, item := range want {
		list = append(list, map[string]any{"ip": ip(item)})
	}
	return list
}

// isOwnDisruption reports whether a condition that others set, too, is the kubelet's.
//
// Upstream: pkg/kubelet/types/pod_status.go PodConditionSharedByKubelet, v1.37.
func isOwnDisruption(c v1.PodCondition) bool {
	return c.Type == v1.DisruptionTarget && c.Reason == v1.PodReasonTerminationByKubelet
}

// changeConditions adds the kubelet's conditions that differ or go, and the order of all conditions if
// it changes.
func changeConditions(changes map[string]any, old, want *v1.PodStatus) {
	list := make([]any, 0, len(want.Conditions))
	inPlace := len(old.Conditions) == len(want.Conditions) // each keeps its index
	for i, c := range want.Conditions {
		inPlace = inPlace && old.Conditions[i].Type == c.Type
		if was := findCondition(old.Conditions, c.Type); (isOwnCondition(c.Type) || isOwnDisruption(c)) && (was == nil || !sameCondition(*was, c)) {
			list = append(list, podstatus.ConditionPatch(c))
		}
	}
	for _, was := range old.Conditions {
		if isOwnCondition(was.Type) && findCondition(want.Conditions, was.Type) == nil {
			list = append(list, map[string]any{"$patch": "delete", "type": string(was.Type)})
		}
	}
	if len(list) == 0 {
		return
	}
	changes["conditions"] = list
	if inPlace {
		return
	}
	changes["$setElementOrder/conditions"] = podstatus.ConditionOrder(want.Conditions)
}

// sameCondition reports whether two conditions are equal; their times may be written in different ways.
func sameCondition(a, b v1.PodCondition) bool {
	sameTimes := a.LastProbeTime.Equal(&b.LastProbeTime) && a.LastTransitionTime.Equal(&b.LastTransitionTime)
	a.LastProbeTime, a.LastTransitionTime = b.LastProbeTime, b.LastTransitionTime
	return sameTimes && a == b
}

func findCondition(conditions []v1.PodCondition, kind v1.PodConditionType) *v1.PodCondition {
	for i := range conditions {
		if conditions[i].Type == kind {
			return &conditions[i]
		}
	}
	return nil
}

// setCondition sets a condition. If its status stays, so does its time.
//
// Upstream: status_manager.go updateLastTransitionTime, v1.37.
func setCondition(s *v1.PodStatus, c v1.PodCondition, now metav1.Time) {
	c.LastTransitionTime = now
	was := findCondition(s.Conditions, c.Type)
	if was == nil {
		s.Conditions = append(s.Conditions, c)
		return
	}
	if was.Status == c.Status {
		c.LastTransitionTime = was.LastTransitionTime
	}
	*was = c
}
