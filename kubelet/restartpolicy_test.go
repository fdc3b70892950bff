package kubelet_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// Upstream: pkg/api/v1/pod/util.go ContainerShouldRestart and pkg/kubelet/kubelet_pods.go getPhase, v1.37.2.
func TestAContainerIsRestartedByItsOwnPolicyAndRules(t *testing.T) {
	type rules []v1.ContainerRestartRule
	rule := func(operator v1.ContainerRestartRuleOnExitCodesOperator, codes ...int32) v1.ContainerRestartRule {
		return v1.ContainerRestartRule{
			Action: v1.ContainerRestartRuleActionRestart, ExitCodes: &v1.ContainerRestartRuleOnExitCodes{Operator: operator, Values: codes},
		}
	}
	const always, onFailure, never = v1.RestartPolicyAlways, v1.RestartPolicyOnFailure, v1.RestartPolicyNever
	in, notIn := v1.ContainerRestartRuleOnExitCodesOpIn, v1.ContainerRestartRuleOnExitCodesOpNotIn
	for name, c := range map[string]struct {
		pod      v1.RestartPolicy
		own      v1.RestartPolicy
		rules    rules
		init     bool
		phase    v1.PodPhase
		restarts int32
	}{
		"its pod's":             {pod: onFailure, phase: v1.PodSucceeded, restarts: 1},
		"its pod's, never":      {pod: never, phase: v1.PodFailed},
		"never":                 {pod: always, own: never, phase: v1.PodFailed},
		"on failure":            {pod: never, own: onFailure, phase: v1.PodSucceeded, restarts: 1},
		"a rule":                {pod: never, own: never, rules: rules{rule(in, 2, 3)}, phase: v1.PodSucceeded, restarts: 1},
		"a rule for others":     {pod: never, own: never, rules: rules{rule(in, 2)}, phase: v1.PodFailed},
		"a rule but for some":   {pod: never, own: never, rules: rules{rule(notIn, 3)}, phase: v1.PodFailed},
		"the second rule":       {pod: never, own: never, rules: rules{rule(in, 2), rule(notIn, 0)}, phase: v1.PodSucceeded, restarts: 1},
		"of an init container":  {pod: never, own: onFailure, init: true, phase: v1.PodSucceeded, restarts: 1},
		"never, init container": {pod: onFailure, own: never, init: true, phase: v1.PodFailed},
	} {
		t.Run(name, func(t *testing.T) {
			w := simple(t)
			p := pod("web", emptyDir("tmp"))
			p.Spec.RestartPolicy = c.pod
			tries := p.Spec.Containers[0]
			tries.Command = []string{"sh", "-c", "test -e /tmp/tried && exit 0; touch /tmp/tried; exit 3"}
			if c.own != "" {
				own := v1.ContainerRestartPolicy(c.own)
				tries.RestartPolicy, tries.RestartPolicyRules = &own, c.rules
			}
			if c.init {
				tries.Name = "init"
				p.Spec.InitContainers, p.Spec.Containers[0].Command = []v1.Container{tries}, []string{"true"}
			} else {
				p.Spec.Containers[0] = tries
			}
			w.create(p)
			w.settle()
			require.NoError(t, w.e.RunFor(time.Minute))
			status := w.get("web").Status
			require.Equal(t, c.phase, status.Phase)
			containers := status.ContainerStatuses
			if c.init {
				containers = status.InitContainerStatuses
			}
			require.Equal(t, c.restarts, containers[0].RestartCount)
		})
	}
}

func TestAContainersPolicyIsItsOwnWhateverTheOrderOfItsName(t *testing.T) {
	w := simple(t)
	p := pod("web", emptyDir("tmp"))
	p.Spec.RestartPolicy = v1.RestartPolicyNever
	tries, done := p.Spec.Containers[0], p.Spec.Containers[0]
	onFailure := v1.ContainerRestartPolicyOnFailure
	tries.Name, tries.RestartPolicy, tries.Command = "z", &onFailure, []string{"sh", "-c", "exit 1"}
	done.Name, done.Command = "a", []string{"true"}
	p.Spec.Containers = []v1.Container{tries, done}
	w.create(p)
	w.settle()
	require.NoError(t, w.e.RunFor(time.Minute))
	status := w.get("web").Status
	require.Equal(t, v1.PodRunning, status.Phase, "z is tried again")
	require.Equal(t, "Completed", status.ContainerStatuses[0].State.Terminated.Reason)
	require.Equal(t, "CrashLoopBackOff", status.ContainerStatuses[1].State.Waiting.Reason)
}
