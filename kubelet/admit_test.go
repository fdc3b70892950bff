package kubelet_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func requests(name v1.ResourceName, amount string) v1.ResourceRequirements {
	list := v1.ResourceList{name: resource.MustParse(amount)}
	return v1.ResourceRequirements{Requests: list, Limits: list}
}

// A pod that names its node goes past the scheduler. Whether there is room the kubelet looks itself.
func TestAKubeletRefusesAPodForWhichThereIsNoRoom(t *testing.T) {
	port := func(p v1.ContainerPort) func(*v1.Container) {
		return func(c *v1.Container) { c.Ports = []v1.ContainerPort{p} }
	}
	asks := func(name v1.ResourceName, amount string) func(*v1.Container) {
		return func(c *v1.Container) { c.Resources = requests(name, amount) }
	}
	for name, row := range map[string]struct {
		first, second   func(*v1.Container)
		reason, message string // of the second pod's refusal
	}{
		"CPU that nobody else wants": {nil, asks(v1.ResourceCPU, "65"), "OutOfcpu",
			"Node didn't have enough resource: cpu, requested: 65000, used: 0, capacity: 64000"},
		"CPU beside another pod": {asks(v1.ResourceCPU, "500m"), asks(v1.ResourceCPU, "63600m"), "OutOfcpu",
			"Node didn't have enough resource: cpu, requested: 63600, used: 500, capacity: 64000"},
		"the last of the CPU": {asks(v1.ResourceCPU, "500m"), asks(v1.ResourceCPU, "63500m"), "", ""},
		"memory": {asks(v1.ResourceMemory, "60Gi"), asks(v1.ResourceMemory, "5Gi"), "OutOfmemory",
			"Node didn't have enough resource: memory, requested: 5368709120, used: 64424509440, capacity: 68719476736"},
		"a resource that nodes do not know of": {nil, asks("example.com/gpu", "1"), "", ""},
		"a port that is taken": {port(v1.ContainerPort{ContainerPort: 80, HostPort: 80}), port(v1.ContainerPort{ContainerPort: 81, HostPort: 80, HostIP: "10.0.0.1"}),
			"NodePorts",
			"Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"},
		"the port of another address": {port(v1.ContainerPort{ContainerPort: 80, HostPort: 80, HostIP: "10.0.0.2"}),
			port(v1.ContainerPort{ContainerPort: 81, HostPort: 80, HostIP: "10.0.0.1"}), "", ""},
		"the port of another protocol": {port(v1.ContainerPort{ContainerPort: 80, HostPort: 80}),
			port(v1.ContainerPort{ContainerPort: 80, HostPort: 80, Protocol: v1.ProtocolUDP}), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := simple(t)
			run := func(name string, change func(*v1.Container)) v1.PodStatus {
				p := pod(name)
				if change != nil {
					change(&p.Spec.Containers[0])
				}
				w.create(p)
				w.settle()
				return w.get(name).Status
			}
			require.Equal(t, v1.PodRunning, run("a", row.first).Phase)
			status := run("b", row.second)
			if row.reason == "" {
				require.Equal(t, v1.PodRunning, status.Phase)
				return
			}
			require.Equal(t, v1.PodFailed, status.Phase)
			require.Equal(t, row.reason, status.Reason)
			require.Equal(t, "Pod was rejected: "+row.message, status.Message)
			w.requireEvent("b", row.reason, row.message)
		})
	}
}

// Upstream: predicate.go Admit, v1.37.2. The label is that of the pod, not its nodeSelector.
func TestAPodForAnotherOperatingSystemIsRefused(t *testing.T) {
	w := simple(t)
	for name, row := range map[string]struct {
		label           string
		os              v1.OSName
		reason, message string
	}{
		"linux":   {label: "linux", os: v1.Linux},
		"windows": {os: v1.Windows, reason: "PodOSNotSupported", message: "Failed to admit pod as the OS field doesn't match node OS"},
		"labeled": {label: "windows", os: v1.Windows, reason: "PodOSSelectorNodeLabelDoesNotMatch",
			message: "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label"},
	} {
		p := pod(name)
		p.Spec.OS = &v1.PodOS{Name: row.os}
		if row.label != "" {
			p.Labels = map[string]string{v1.LabelOSStable: row.label}
		}
		w.create(p)
		w.settle()
		status := w.get(name).Status
		if row.reason == "" {
			require.Equal(t, v1.PodRunning, status.Phase)
			continue
		}
		require.Equal(t, v1.PodFailed, status.Phase)
		require.Equal(t, row.reason, status.Reason)
		require.Equal(t, "Pod was rejected: "+row.message, status.Message)
		w.requireEvent(name, row.reason, row.message)
	}
}

// Upstream: desired_state_of_world_populator.go findAndAddNewPods, v1.37.2: a pod that no worker knows is passed over.
func TestVolumesOfARefusedPodAreNotMounted(t *testing.T) {
	w := simple(t)
	w.boundVolume("data", nil)
	w.settle()
	require.NoError(t, w.e.RunFor(5*time.Second))
	require.NoError(t, w.node.RemoveAll("/disk/data"))
	p := pod("big", claim("data"))
	p.Spec.Containers[0].Resources = requests(v1.ResourceCPU, "65")
	w.create(p)
	w.settle()
	require.Equal(t, "OutOfcpu", w.get("big").Status.Reason)
	require.NoError(t, w.node.MkdirAll("/disk/data", 0o755))
	require.NoError(t, w.e.RunFor(3*time.Minute))
	require.Empty(t, w.mounts())
	require.NotContains(t, w.trace(), "mounts pv-data:", "it could be mounted now")
	require.NotContains(t, w.trace(), "FailedMount")
}
