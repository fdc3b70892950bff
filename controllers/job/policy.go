package job

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
)

// failureOf returns the first rule of spec.podFailurePolicy that a failed pod matches, and what matched: "Container c for pod ...
// failed with exit code 42" or "Pod ... has condition DisruptionTarget". It returns -1 if no rule matches.
// Upstream: pod_failure_policy.go matchPodFailurePolicy, v1.37.
func failureOf(policy *batchv1.PodFailurePolicy, pod *v1.Pod) (rule int, what string) {
	if policy == nil {
		return -1, ""
	}
	for i := range policy.Rules {
		switch r := &policy.Rules[i]; {
		case r.OnExitCodes != nil:
			if c := matchOnExitCodes(&pod.Status, r.OnExitCodes); c != nil {
				return i, fmt.Sprintf("Container %s for pod %s/%s failed with exit code %d", c.Name, pod.Namespace, pod.Name, c.State.Terminated.ExitCode)
			}
		default:
			if c := matchOnPodConditions(&pod.Status, r.OnPodConditions); c != nil {
				return i, fmt.Sprintf("Pod %s/%s has condition %s", pod.Namespace, pod.Name, c.Type)
			}
		}
	}
	return -1, ""
}

// matchOnExitCodes returns the first container, init containers last, that has ended with a code that the rule means; nil if none has.
// Upstream: pod_failure_policy.go matchOnExitCodes, getMatchingContainerFromList, v1.37.
func matchOnExitCodes(status *v1.PodStatus, on *batchv1.PodFailurePolicyOnExitCodesRequirement) *v1.ContainerStatus {
	for _, list := range [][]v1.ContainerStatus{status.ContainerStatuses, status.InitContainerStatuses} {
		for i := range list {
			ended := list[i].State.Terminated
			if ended == nil || ended.ExitCode == 0 || on.ContainerName != nil && *on.ContainerName != list[i].Name {
				continue
			}
			if slices.Contains(on.Values, ended.ExitCode) == (on.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn) {
				return &list[i]
			}
		}
	}
	return nil
}

// matchOnPodConditions returns the first condition of the pod that the rule names; nil if it has none.
// Upstream: pod_failure_policy.go matchOnPodConditions, v1.37.
func matchOnPodConditions(status *v1.PodStatus, on []batchv1.PodFailurePolicyOnPodConditionsPattern) *v1.PodCondition {
	for i := range status.Conditions {
		c := &status.Conditions[i]
		if slices.ContainsFunc(on, func(p batchv1.PodFailurePolicyOnPodConditionsPattern) bool {
			return p.Type == c.Type && p.Status == c.Status
		}) {
			return c
		}
	}
	return nil
}

// actionOf returns what becomes of a failed pod by the Job's policy: Count where no rule says anything else.
func (l *look) actionOf(pod *v1.Pod) batchv1.PodFailurePolicyAction {
	policy := l.job.Spec.PodFailurePolicy
	if rule, _ := failureOf(policy, pod); rule >= 0 {
		return policy.Rules[rule].Action
	}
	return batchv1.PodFailurePolicyActionCount
}

// counts reports whether a failed pod counts for the limits: no rule says that it is ignored.
// Upstream: job_controller.go nonIgnoredFailedPodsCount, v1.37.
func (l *look) counts(pod *v1.Pod) bool {
	return l.actionOf(pod) != batchv1.PodFailurePolicyActionIgnore
}

// failJobMessage says which pod's failure ends the Job at once by a rule of its policy; "" if none does.
// Upstream: job_controller.go getFailJobMessage, v1.37.
func (l *look) failJobMessage() string {
	policy := l.job.Spec.PodFailurePolicy
	for _, pod := range l.pods {
		if !l.hasFailed(pod) {
			continue
		}
		if rule, what := failureOf(policy, pod); rule >= 0 && policy.Rules[rule].Action == batchv1.PodFailurePolicyActionFailJob {
			return fmt.Sprintf("%s matching FailJob rule at index %d", what, rule)
		}
	}
	return ""
}
