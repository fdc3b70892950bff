package kubelet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// writeStatus tells the API what became of a pod, if it does not know. r is nil
// before the pod's containers are started.
//
// Upstream: status_manager.go syncPod, v1.36, which also sends a strategic merge
// patch with the UID.
func (k *kubelet) writeStatus(ctx context.Context, w *podWorker, r *podRecord) error {
	if w.status == nil {
		w.status = w.pod.Status.DeepCopy()
	}
	want := k.generateAPIPodStatus(w.pod, w.status, r)
	if w.pastDeadline && !isTerminal(w.status.Phase) {
		want.Phase, want.Reason, want.Message = v1.PodFailed, deadlineReason, deadlineMessage
	}
	changes, differ := changedStatus(w.status, want)
	if !differ {
		return nil
	}
	patch, err := statusPatch(w.uid, changes)
	if err != nil {
		return err
	}
	_, err = k.env.Client().CoreV1().Pods(w.pod.Namespace).
		Patch(ctx, w.pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if apierrors.IsNotFound(err) {
		return nil // the cache will tell
	}
	if err == nil {
		w.status = want
	}
	return err
}

// statusPatch is a strategic merge patch of a pod's status. A condition merges
// into the old one field by field, so what it has no more must be said.
func statusPatch(uid types.UID, changes v1.PodStatus) ([]byte, error) {
	type condition struct {
		v1.PodCondition
		Reason  *string `json:"reason"`
		Message *string `json:"message"`
	}
	type status struct {
		v1.PodStatus
		Conditions []condition `json:"conditions,omitempty"`
	}
	optional := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	s := status{PodStatus: changes}
	for _, c := range changes.Conditions {
		s.Conditions = append(s.Conditions, condition{c, optional(c.Reason), optional(c.Message)})
	}
	return json.Marshal(map[string]any{"metadata": map[string]any{"uid": uid}, "status": s})
}

// changedStatus is the fields of a pod's status that differ, and whether any do.
// Conditions merge by type, so only those that differ are in it.
func changedStatus(old, want *v1.PodStatus) (changes v1.PodStatus, differ bool) {
	if want.Phase != old.Phase {
		changes.Phase = want.Phase
	}
	if want.Reason != old.Reason {
		changes.Reason, changes.Message = want.Reason, want.Message
	}
	if want.HostIP != old.HostIP {
		changes.HostIP, changes.HostIPs = want.HostIP, want.HostIPs
	}
	if want.PodIP != old.PodIP {
		changes.PodIP, changes.PodIPs = want.PodIP, want.PodIPs
	}
	if old.StartTime == nil {
		changes.StartTime = want.StartTime
	}
	for _, c := range want.Conditions {
		if was := findCondition(old.Conditions, c.Type); was == nil || !apiequality.Semantic.DeepEqual(*was, c) {
			changes.Conditions = append(changes.Conditions, c)
		}
	}
	if !apiequality.Semantic.DeepEqual(want.InitContainerStatuses, old.InitContainerStatuses) {
		changes.InitContainerStatuses = want.InitContainerStatuses
	}
	if !apiequality.Semantic.DeepEqual(want.ContainerStatuses, old.ContainerStatuses) {
		changes.ContainerStatuses = want.ContainerStatuses
	}
	return changes, !apiequality.Semantic.DeepEqual(changes, v1.PodStatus{})
}

func findCondition(conditions []v1.PodCondition, kind v1.PodConditionType) *v1.PodCondition {
	for i := range conditions {
		if conditions[i].Type == kind {
			return &conditions[i]
		}
	}
	return nil
}

// generateAPIPodStatus is the status that a pod is to have.
//
// Upstream: kubelet_pods.go generateAPIPodStatus, v1.36.
func (k *kubelet) generateAPIPodStatus(pod *v1.Pod, old *v1.PodStatus, r *podRecord) *v1.PodStatus {
	now := k.now()
	s := old.DeepCopy()
	s.HostIP, s.HostIPs = k.hostIP(), []v1.HostIP{{IP: k.hostIP()}}
	if s.StartTime == nil {
		s.StartTime = &now
	}
	if !isTerminal(s.Phase) { // what has ended does not end otherwise
		s.Phase = getPhase(pod, r)
	}
	initRecords, records := []containerRecord(nil), []containerRecord(nil)
	if r != nil {
		initRecords, records = r.Init, r.Containers
		s.PodIP, s.PodIPs = r.IP, []v1.PodIP{{IP: r.IP}}
	}
	s.InitContainerStatuses = containerStatuses(pod, pod.Spec.InitContainers, initRecords, true)
	s.ContainerStatuses = containerStatuses(pod, pod.Spec.Containers, records, false)
	for _, c := range podConditions(pod, r, s) {
		setCondition(s, c, now)
	}
	return s
}

func isTerminal(phase v1.PodPhase) bool { return phase == v1.PodSucceeded || phase == v1.PodFailed }

// getPhase is the pod's phase by what its containers do.
//
// Upstream: kubelet_pods.go getPhase, v1.36.
func getPhase(pod *v1.Pod, r *podRecord) v1.PodPhase {
	switch {
	case r == nil:
		return v1.PodPending
	case r.initFailed() && pod.Spec.RestartPolicy == v1.RestartPolicyNever:
		return v1.PodFailed
	case neverBegan(r.Init, pod.Spec.InitContainers), neverBegan(r.Containers, pod.Spec.Containers):
		return v1.PodPending
	case r.running(), r.toStart(pod):
		return v1.PodRunning
	case r.failed():
		return v1.PodFailed
	}
	return v1.PodSucceeded
}

// neverBegan says whether one of the containers was never created. One that ran and
// cannot be created again is no such.
func neverBegan(records []containerRecord, containers []v1.Container) bool {
	return len(records) < len(containers) || slices.ContainsFunc(records, func(c containerRecord) bool { return c.lastBegun() == nil })
}

// containerStatuses is one status for each container. An init container that
// ended well counts as ready.
//
// Upstream: kubelet_pods.go convertToAPIContainerStatuses, v1.36.
func containerStatuses(pod *v1.Pod, containers []v1.Container, records []containerRecord, init bool) []v1.ContainerStatus {
	waiting := "ContainerCreating"
	if len(pod.Spec.InitContainers) > 0 {
		waiting = "PodInitializing"
	}
	var list []v1.ContainerStatus
	for i, c := range containers {
		started := false
		s := v1.ContainerStatus{Name: c.Name, Image: c.Image, Started: &started}
		if i < len(records) {
			fillContainerStatus(&s, pod, &records[i])
			s.Ready = s.Ready || init && s.State.Terminated != nil && s.State.Terminated.ExitCode == 0
		} else {
			s.State.Waiting = &v1.ContainerStateWaiting{Reason: waiting}
		}
		list = append(list, s)
	}
	return list
}

// fillContainerStatus says what a container does. One that waits to be created again
// is told by the one that ended.
func fillContainerStatus(s *v1.ContainerStatus, pod *v1.Pod, r *containerRecord) {
	if last := r.Last; last != nil && last.Finished != nil {
		s.LastTerminationState.Terminated = terminated(pod, last)
	}
	if r.Waiting != nil {
		s.State.Waiting = &v1.ContainerStateWaiting{Reason: r.Waiting.Reason, Message: r.Waiting.Message}
		if r = r.Last; r == nil {
			return
		}
	}
	s.ContainerID, s.ImageID, s.RestartCount = containerID(pod, r), s.Image, r.Restarts
	switch {
	case s.State.Waiting != nil:
	case r.Finished == nil:
		running := true
		s.Started, s.Ready = &running, true
		s.State.Running = &v1.ContainerStateRunning{StartedAt: r.Started}
	default:
		s.State.Terminated = terminated(pod, r)
	}
}

func containerID(pod *v1.Pod, r *containerRecord) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s/%d", pod.UID, r.Name, r.Restarts))
	return "containerd://" + hex.EncodeToString(sum[:])
}

// terminated is the state of a container that has ended.
func terminated(pod *v1.Pod, r *containerRecord) *v1.ContainerStateTerminated {
	reason := "Completed"
	if r.ExitCode != 0 {
		reason = "Error"
	}
	return &v1.ContainerStateTerminated{
		ExitCode: r.ExitCode, Reason: reason, Message: r.Message, StartedAt: r.Started, FinishedAt: *r.Finished, ContainerID: containerID(pod, r),
	}
}

// podConditions are the conditions that the kubelet keeps.
//
// Upstream: pkg/kubelet/status/generate.go, v1.36.
func podConditions(pod *v1.Pod, r *podRecord, s *v1.PodStatus) []v1.PodCondition {
	running := r != nil && !r.finished()
	sandbox := v1.PodCondition{Type: v1.PodReadyToStartContainers, Status: boolStatus(running)}
	initialized := v1.PodCondition{Type: v1.PodInitialized, Status: boolStatus(r.initialized() || len(pod.Spec.InitContainers) == 0)}
	if initialized.Status == v1.ConditionFalse {
		initialized.Reason, initialized.Message = "ContainersNotInitialized", "containers with incomplete status: ["+names(pod.Spec.InitContainers)+"]"
	}
	ready := v1.PodCondition{Type: v1.PodReady, Status: v1.ConditionTrue}
	var unready []string
	for _, c := range s.ContainerStatuses {
		if !c.Ready {
			unready = append(unready, c.Name)
		}
	}
	if len(unready) > 0 {
		ready.Status, ready.Reason, ready.Message = v1.ConditionFalse, "ContainersNotReady", "containers with unready status: ["+strings.Join(unready, " ")+"]"
	}
	if s.Phase == v1.PodSucceeded {
		initialized.Reason, ready.Reason, ready.Message = "PodCompleted", "PodCompleted", ""
	}
	containersReady := ready
	containersReady.Type = v1.ContainersReady
	return []v1.PodCondition{sandbox, initialized, ready, containersReady}
}

func names(containers []v1.Container) string {
	list := make([]string, len(containers))
	for i, c := range containers {
		list[i] = c.Name
	}
	return strings.Join(list, " ")
}

func boolStatus(b bool) v1.ConditionStatus {
	if b {
		return v1.ConditionTrue
	}
	return v1.ConditionFalse
}

// setCondition sets a condition; one that only keeps its status keeps its time.
func setCondition(s *v1.PodStatus, c v1.PodCondition, now metav1.Time) {
	c.LastTransitionTime = now
	if was := findCondition(s.Conditions, c.Type); was != nil {
		if was.Status == c.Status {
			c.LastTransitionTime = was.LastTransitionTime
		}
		*was = c
		return
	}
	s.Conditions = append(s.Conditions, c)
}
