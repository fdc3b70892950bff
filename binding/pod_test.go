package binding_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/binding"
)

func TestAPodIsTerminatedOnceNothingOfItRunsOrWill(t *testing.T) {
	running := []v1.ContainerStatus{{State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}}}
	unknown := []v1.ContainerStatus{{}}
	still := []v1.ContainerStatus{
		{State: v1.ContainerState{Waiting: &v1.ContainerStateWaiting{}}},
		{State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{}}},
	}
	for name, test := range map[string]struct {
		status             v1.PodStatus
		deleting, notBeing bool // terminated when being deleted, and when not
	}{
		"pending":                  {v1.PodStatus{Phase: v1.PodPending}, true, false},
		"succeeded":                {v1.PodStatus{Phase: v1.PodSucceeded, ContainerStatuses: running}, true, true},
		"failed":                   {v1.PodStatus{Phase: v1.PodFailed, ContainerStatuses: running}, true, true},
		"running":                  {v1.PodStatus{Phase: v1.PodRunning, ContainerStatuses: running}, false, false},
		"of unknown state":         {v1.PodStatus{Phase: v1.PodRunning, ContainerStatuses: unknown}, false, false},
		"stopped":                  {v1.PodStatus{Phase: v1.PodRunning, ContainerStatuses: still}, true, false},
		"an init container runs":   {v1.PodStatus{Phase: v1.PodPending, InitContainerStatuses: running, ContainerStatuses: still}, false, false},
		"an ephemeral one does so": {v1.PodStatus{Phase: v1.PodRunning, ContainerStatuses: still, EphemeralContainerStatuses: running}, false, false},
	} {
		pod := &v1.Pod{Status: test.status}
		require.Equal(t, test.notBeing, binding.IsPodTerminated(pod), name)
		pod.DeletionTimestamp = &metav1.Time{}
		require.Equal(t, test.deleting, binding.IsPodTerminated(pod), name+", being deleted")
	}
}
