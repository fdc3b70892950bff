package kubelet_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/trace"
)

// restartingAll returns a pod whose container a restarts all containers when it ends with 42.
func restartingAll(first string) *v1.Pod {
	p := running("all", first)
	never := v1.ContainerRestartPolicyNever
	a := &p.Spec.Containers[0]
	a.Name, a.RestartPolicy = "a", &never
	a.RestartPolicyRules = []v1.ContainerRestartRule{{
		Action:    v1.ContainerRestartRuleActionRestartAllContainers,
		ExitCodes: &v1.ContainerRestartRuleOnExitCodes{Operator: v1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{42}},
	}}
	beside := func(name, script string) v1.Container {
		return v1.Container{Name: name, Image: "busybox", Command: []string{"sh", "-c", script}, VolumeMounts: a.VolumeMounts}
	}
	p.Spec.RestartPolicy = v1.RestartPolicyNever
	p.Spec.InitContainers = []v1.Container{beside("i", "echo i >> /data/log")}
	p.Spec.Containers = append(p.Spec.Containers, beside("b", "echo b >> /data/log; sleep 100000"), beside("c", "echo c >> /data/log; exit 3"))
	return p
}

// Upstream: kuberuntime_manager.go SyncPod and kubelet_pods.go convertToAPIContainerStatuses, v1.37.2.
func TestARuleRestartsAllContainersOfAPod(t *testing.T) {
	w := simple(t)
	w.create(restartingAll("echo a >> /data/log; sleep 5; if test -e /data/again; then sleep 100000; fi; touch /data/again; exit 42"))
	w.settle()
	require.NoError(t, w.e.RunFor(20*time.Second))
	require.Equal(t, "i\na\nb\nc\ni\na\nb\nc\n", w.onDisk("/srv/log"), "from the beginning, init containers too")
	p := w.get("all")
	require.Equal(t, v1.PodRunning, p.Status.Phase)
	for _, s := range append(p.Status.InitContainerStatuses, p.Status.ContainerStatuses...) {
		require.EqualValues(t, 1, s.RestartCount, s.Name)
		require.Equal(t, "RestartingAllContainers", s.LastTerminationState.Terminated.Reason, s.Name)
		require.EqualValues(t, 137, s.LastTerminationState.Terminated.ExitCode, s.Name)
	}
	require.EqualValues(t, 3, p.Status.ContainerStatuses[2].State.Terminated.ExitCode, "which its policy does not restart")
	var course []string
	for _, entry := range w.e.Trace().Entries() {
		write, ok := entry.Record.(trace.Write)
		if !ok || write.Subresource != "status" {
			continue
		}
		if written, ok := write.New.(*v1.Pod); ok {
			for _, c := range written.Status.Conditions {
				is := string(c.Status) + " " + c.Reason
				if c.Type == v1.AllContainersRestarting && (len(course) == 0 || course[len(course)-1] != is) {
					course = append(course, is)
				}
				require.False(t, c.Type == v1.PodInitialized && c.Status != v1.ConditionTrue && len(course) > 1, "it stays initialized")
			}
		}
	}
	require.Equal(t, []string{"False ", "True RestartAllContainersStarted", "False "}, course)
	w.requireEvent("all", "Killing", "killing")
}

// Such a pod has no backoff: upstream's kubelet looks at its containers once a second.
func TestAPodThatRestartsAllItsContainersAtOnceKeepsNothingFromSettling(t *testing.T) {
	w := simple(t)
	w.create(restartingAll("echo a >> /data/log; exit 42"))
	w.settle()
	before := strings.Count(w.onDisk("/srv/log"), "a")
	require.NoError(t, w.e.RunFor(time.Minute))
	more := strings.Count(w.onDisk("/srv/log"), "a") - before
	require.Greater(t, more, 10)
	require.LessOrEqual(t, more, 60)
	w.delete("all")
	require.NoError(t, w.e.RunFor(2*time.Minute))
	require.True(t, w.gone("all"))
	w.requireNothingLeft()
}

// The API knows that it has begun.
func TestAKubeletThatCrashesWhileItRestartsAllContainersGoesOn(t *testing.T) {
	w := simple(t)
	w.create(restartingAll("echo a >> /data/log; sleep 5; if test -e /data/again; then sleep 100000; fi; touch /data/again; exit 42"))
	require.NoError(t, w.e.RunFor(6*time.Second))
	require.Contains(t, w.trace(), "AllContainersRestarting=True")
	require.NoError(t, w.e.Crash(actor))
	require.NoError(t, w.e.RunFor(30*time.Second))
	require.Equal(t, "i\na\nb\nc\ni\na\nb\nc\n", w.onDisk("/srv/log"))
	require.Equal(t, v1.PodRunning, w.get("all").Status.Phase)
}
