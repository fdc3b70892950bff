package kubelet

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// shouldRestart reports whether a container that ended so is started again: by the first of its rules that fits, else by its own policy, else by that of its
// pod. A rule that is to restart all containers restarts this one with them.
//
// Upstream: pkg/api/v1/pod/util.go ContainerShouldRestart, v1.37.2.
func shouldRestart(pod *v1.Pod, c *v1.Container, exitCode int32) bool {
	policy := string(pod.Spec.RestartPolicy)
	if c.RestartPolicy != nil {
		if slices.ContainsFunc(c.RestartPolicyRules, func(rule v1.ContainerRestartRule) bool { return fits(rule, exitCode) }) {
			return true // each action restarts it
		}
		policy = string(*c.RestartPolicy)
	}
	switch policy {
	case string(v1.RestartPolicyNever):
		return false
	case string(v1.RestartPolicyOnFailure):
		return exitCode != 0
	}
	return true
}

// fits reports whether a rule is about an exit code.
//
// Upstream: pkg/api/v1/pod/util.go FindMatchingContainerRestartRule, v1.37.2.
func fits(rule v1.ContainerRestartRule, exitCode int32) bool {
	if rule.ExitCodes == nil {
		return false
	}
	among := slices.Contains(rule.ExitCodes.Values, exitCode)
	return among == (rule.ExitCodes.Operator == v1.ContainerRestartRuleOnExitCodesOpIn)
}

// restartsUnhealthy reports whether a container that is killed because of its probe is started again. How it ends is not known then, so its rules do not count.
//
// Upstream: kuberuntime_manager.go computePodActions, v1.37.2.
func restartsUnhealthy(pod *v1.Pod, c *v1.Container) bool {
	if c.RestartPolicy != nil {
		return *c.RestartPolicy != v1.ContainerRestartPolicyNever
	}
	return pod.Spec.RestartPolicy != v1.RestartPolicyNever
}
