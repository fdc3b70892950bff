package kubelet

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// Upstream: kubelet_pods_test.go TestPodPhaseWithRestartAlways and its like, v1.37.
func TestAPodsPhaseIsWhatItsContainersDo(t *testing.T) {
	running := v1.ContainerStatus{State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}}
	waiting := v1.ContainerStatus{State: v1.ContainerState{Waiting: &v1.ContainerStateWaiting{}}}
	ended := func(code int32) v1.ContainerStatus {
		return v1.ContainerStatus{State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ExitCode: code}}}
	}
	again := func(code int32) v1.ContainerStatus {
		return v1.ContainerStatus{State: waiting.State, LastTerminationState: ended(code).State}
	}
	list := func(s ...v1.ContainerStatus) []v1.ContainerStatus { return s }
	const always, onFailure, never = v1.RestartPolicyAlways, v1.RestartPolicyOnFailure, v1.RestartPolicyNever
	for name, c := range map[string]struct {
		policy     v1.RestartPolicy
		init, main []v1.ContainerStatus
		terminal   bool
		want       v1.PodPhase
	}{
		"all run":                               {always, nil, list(running, running), false, v1.PodRunning},
		"one waits":                             {always, nil, list(running, waiting), false, v1.PodPending},
		"one waits to be created again":         {always, nil, list(running, again(1)), false, v1.PodRunning},
		"all wait to be created again":          {always, nil, list(again(0)), false, v1.PodRunning},
		"all have ended and begin again":        {always, nil, list(ended(0)), false, v1.PodRunning},
		"all have ended, at the pod's end":      {always, nil, list(ended(0), ended(0)), true, v1.PodSucceeded},
		"one failed, at the pod's end":          {always, nil, list(ended(0), ended(1)), true, v1.PodFailed},
		"a lost one, at the pod's end":          {always, nil, list(again(137)), true, v1.PodFailed},
		"one waits, at the pod's end":           {always, nil, list(waiting), true, v1.PodPending},
		"all ended well":                        {never, nil, list(ended(0), ended(0)), false, v1.PodSucceeded},
		"one failed for good":                   {never, nil, list(ended(0), ended(1)), false, v1.PodFailed},
		"one failed and one runs":               {never, nil, list(running, ended(1)), false, v1.PodRunning},
		"one failed and is started again":       {onFailure, nil, list(ended(0), ended(1)), false, v1.PodRunning},
		"none failed, on failure":               {onFailure, nil, list(ended(0), ended(0)), false, v1.PodSucceeded},
		"an init container waits":               {always, list(waiting), list(waiting), false, v1.PodPending},
		"an init container runs":                {never, list(ended(0), running), list(waiting), false, v1.PodPending},
		"an init container failed":              {always, list(ended(1)), list(waiting), false, v1.PodPending},
		"an init container failed for good":     {never, list(ended(1)), list(waiting), false, v1.PodFailed},
		"an init container waits to be retried": {onFailure, list(again(1)), list(waiting), false, v1.PodPending},
		"init containers are done":              {always, list(ended(0)), list(running), false, v1.PodRunning},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &v1.Pod{Spec: v1.PodSpec{
				RestartPolicy: c.policy, InitContainers: make([]v1.Container, len(c.init)), Containers: make([]v1.Container, len(c.main)),
			}}
			for i := range c.main {
				c.main[i].Name = fmt.Sprintf("c%d", i)
				pod.Spec.Containers[i].Name = c.main[i].Name
			}
			status := &v1.PodStatus{InitContainerStatuses: c.init, ContainerStatuses: c.main}
			require.Equal(t, c.want, getPhase(pod, status, c.terminal))
		})
	}
}
