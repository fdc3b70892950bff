package kubelet

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/kubelet/runtime"
)

// What a status says while all containers of a pod are restarted, since a rule of one that has ended asks for that.
//
// Upstream: kubelet_pods.go convertToAPIContainerStatuses and status/generate.go GenerateAllContainersRestartingCondition, v1.37.2.
const (
	restartingAllContainers     = "RestartingAllContainers"
	restartingAllMessage        = "The container is removed because RestartAllContainers in place"
	restartAllContainersStarted = "RestartAllContainersStarted"
	restartAllMessage           = "container exited with restart policy rule"
)

// allContainersCouldRestart reports whether a rule of a container restarts all of them.
//
// Upstream: pkg/api/v1/pod/util.go AllContainersCouldRestart, v1.37.2.
func allContainersCouldRestart(pod *v1.Pod) bool {
	restartsAll := func(rule v1.ContainerRestartRule) bool {
		return rule.Action == v1.ContainerRestartRuleActionRestartAllContainers
	}
	return slices.ContainsFunc(slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers), func(c v1.Container) bool {
		return slices.ContainsFunc(c.RestartPolicyRules, restartsAll)
	})
}

// restartsAllContainers reports whether the first rule that fits a container which has ended so restarts all containers of its pod.
//
// Upstream: pkg/api/v1/pod/util.go FindMatchingContainerRestartRule, v1.37.2.
func restartsAllContainers(c *v1.Container, exitCode int32) bool {
	i := slices.IndexFunc(c.RestartPolicyRules, func(rule v1.ContainerRestartRule) bool { return fits(rule, exitCode) })
	return i >= 0 && c.RestartPolicyRules[i].Action == v1.ContainerRestartRuleActionRestartAllContainers
}

// shouldAllContainersRestart reports whether all containers of a pod are to restart: that has begun, or one of them has ended so. old is the pod's
// last status.
//
// Upstream: container/helpers.go ShouldAllContainersRestart, v1.37.2.
func shouldAllContainersRestart(pod *v1.Pod, r *podStatus, old *v1.PodStatus) bool {
	if !allContainersCouldRestart(pod) {
		return false
	}
	if c := findCondition(old.Conditions, v1.AllContainersRestarting); c != nil && c.Status == v1.ConditionTrue {
		return true
	}
	triggers := func(specs []v1.Container, states []containerState, statuses []v1.ContainerStatus) bool {
		for i := range specs {
			if i < len(states) && states[i].ended() && restartsAllContainers(&specs[i], states[i].last.ExitCode) {
				return true
			}
			at := slices.IndexFunc(statuses, func(s v1.ContainerStatus) bool { return s.Name == specs[i].Name })
			if at >= 0 && statuses[at].State.Terminated != nil && restartsAllContainers(&specs[i], statuses[at].State.Terminated.ExitCode) {
				return true
			}
		}
		return false
	}
	var init, containers []containerState
	if r != nil {
		init, containers = r.Init, r.Containers
	}
	return triggers(pod.Spec.InitContainers, init, old.InitContainerStatuses) || triggers(pod.Spec.Containers, containers, old.ContainerStatuses)
}

// restartCleanedUp reports whether the runtime has no container of a pod any more.
//
// Upstream: container/helpers.go AllContainersRestartCleanedUp, v1.37.2.
func restartCleanedUp(r *podStatus) bool {
	return r == nil || !slices.ContainsFunc(r.all(), func(c containerState) bool { return c.last != nil })
}

// allContainersRestartingCondition says whether all containers of a pod are being restarted.
//
// Upstream: status/generate.go GenerateAllContainersRestartingCondition, v1.37.2.
func allContainersRestartingCondition(pod *v1.Pod, r *podStatus, old *v1.PodStatus, phase v1.PodPhase) v1.PodCondition {
	c := v1.PodCondition{Type: v1.AllContainersRestarting, Status: v1.ConditionFalse}
	switch {
	case phase == v1.PodSucceeded:
		c.Reason = podCompleted
	case phase == v1.PodFailed:
		c.Reason = podFailed
	case shouldAllContainersRestart(pod, r, old) && !restartCleanedUp(r):
		c.Status, c.Reason, c.Message = v1.ConditionTrue, restartAllContainersStarted, restartAllMessage
	}
	return c
}

// removedForRestart sets the status of a container that was removed since all are restarted, and reports whether it was.
//
// Upstream: kubelet_pods.go convertToAPIContainerStatuses, v1.37.2.
func removedForRestart(s, was *v1.ContainerStatus, restarting bool) bool {
	if !restarting || was == nil || was.State.Waiting != nil {
		return false
	}
	s.State = v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: restartingAllContainers, Message: restartingAllMessage}}
	s.LastTerminationState = v1.ContainerState{Terminated: &v1.ContainerStateTerminated{
		Reason: restartingAllContainers, Message: restartingAllMessage, ExitCode: statusUnknownExitCode,
	}}
	s.RestartCount = was.RestartCount + 1
	return true
}

// restartAll kills and removes all containers of a pod, the ones whose rules ask for it last, so that the pod begins anew. The next sync comes when the
// runtime was looked at. Settle waits for that, and for what runs then, up to awaitedRestarts times: a pod may do nothing else.
//
// Upstream: kuberuntime_manager.go computePodActions, getContainersToReset and SyncPod, v1.37.2.
func (k *kubelet) restartAll(ctx context.Context, w *podWorker, pod *v1.Pod, r *podStatus) (*podStatus, error) {
	if err := k.status.writeStatus(ctx, w, r, false); ctx.Err() != nil {
		return nil, err
	}
	sourceInit, targetInit := containersToReset(pod.Spec.InitContainers, r.Init)
	sources, targets := containersToReset(pod.Spec.Containers, r.Containers)
	for _, c := range slices.Concat(targets, targetInit, sources, sourceInit) {
		if c.running() {
			none := int64(0)
			err := k.beside(ctx, w, []*containerState{c}, func(ctx context.Context, c *containerState) error {
				return k.killContainer(ctx, pod, c, "killing", nil, &none, nil)
			})
			if err != nil {
				return nil, err
			}
		}
		if err := k.removeContainer(w, c); err != nil {
			return nil, err
		}
	}
	w.waits = nil
	in, now := ctx, k.env.Now()
	if now.Sub(w.restartedAll) > 2*maxRestartBackoff { // as a backoff ends
		w.restartsOfAll = 0
	}
	if w.restartedAll, w.restartsOfAll = now, w.restartsOfAll+1; w.keepsRestarting() {
		in = control.InBackground(ctx)
	}
	if err := k.env.Sleep(in, plegRelistPeriod); err != nil {
		return nil, err
	}
	return k.podStatus(w)
}

// awaitedRestarts is the number of restarts of all containers of a pod, one after the other, that Settle waits for.
const awaitedRestarts = 3

// keepsRestarting reports whether all of the pod's containers were restarted more often than Settle waits for.
func (w *podWorker) keepsRestarting() bool { return w.restartsOfAll > awaitedRestarts }

// removeContainer removes what the runtime knows of a container that has ended, but for the number of the next one.
func (k *kubelet) removeContainer(w *podWorker, c *containerState) error {
	if w.attempts == nil {
		w.attempts = map[string]int32{}
	}
	for _, one := range []*runtime.ContainerStatus{c.before, c.last} {
		if one == nil {
			continue
		}
		w.attempts[one.Name] = one.Attempt + 1
		if err := k.runtime.RemoveContainer(one.ID); err != nil {
			return err
		}
	}
	return nil
}

// containersToReset returns the containers that were started: the sources, whose rules restart all, and the targets, the others.
//
// Upstream: kuberuntime_manager.go getContainersToReset, v1.37.2.
func containersToReset(specs []v1.Container, states []containerState) (sources, targets []*containerState) {
	for i := range states {
		switch c := &states[i]; {
		case c.last == nil:
		case c.ended() && restartsAllContainers(&specs[i], c.last.ExitCode):
			sources = append(sources, c)
		default:
			targets = append(targets, c)
		}
	}
	return sources, targets
}
