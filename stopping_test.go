package storagesim_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/storagesimtest"
)

// stoppedPod returns a pod that stays when it was deleted.
func stoppedPod(spec, image, script string) string {
	container := "{name: c, image: " + image
	if script != "" {
		container += ", command: [sh, -c, '" + strings.ReplaceAll(script, "'", "''") + "']"
	}
	return "{apiVersion: v1, kind: Pod, metadata: {name: web, finalizers: [example.com/look]}, spec: {" + spec + " containers: [" + container + "}]}}"
}

// Linux: a signal does nothing to the first process of a container that has no handler for it (pid_namespaces(7)). Upstream:
// kuberuntime_container.go killContainer, and phases by exit codes, kubelet_pods.go getPhase, v1.37.2.
func TestAContainerThatIsStoppedEndsAsItsProgramTakesTheSignal(t *testing.T) {
	const handles = `trap "sleep 10; exit 0" TERM; while true; do sleep 1; done`
	for name, of := range map[string]struct {
		spec, image, script string
		code                int32
		phase               v1.PodPhase
	}{
		"no handler":                         {"", "busybox", "sleep 100000", 137, v1.PodFailed},
		"a handler":                          {"", "busybox", handles, 0, v1.PodSucceeded},
		"a handler, in a pod that is to end": {"restartPolicy: Never,", "busybox", handles, 0, v1.PodSucceeded},
		"a handler that is too slow":         {"terminationGracePeriodSeconds: 9,", "busybox", handles, 137, v1.PodFailed},
		"at least two seconds":               {"terminationGracePeriodSeconds: 0,", "busybox", `trap "exit 3" TERM; while true; do sleep 2; done`, 3, v1.PodFailed},
		"as much time as there is":           {"terminationGracePeriodSeconds: 9223372036854775807,", "busybox", handles, 0, v1.PodSucceeded},
		"a handler that never ends": {"terminationGracePeriodSeconds: 9223372036854775807,", "busybox",
			`trap "tail -f /dev/null" TERM; while true; do sleep 1; done`, 137, v1.PodFailed},
		"shared processes":               {"shareProcessNamespace: true,", "busybox", "sleep 100000", 143, v1.PodFailed},
		"processes of the node":          {"hostPID: true,", "busybox", "sleep 100000", 143, v1.PodFailed},
		"a server":                       {"", "nginx", "", 0, v1.PodSucceeded},
		"a server that a script becomes": {"", "nginx", "exec nginx", 0, v1.PodSucceeded},
		"a server beside its script":     {"", "nginx", "nginx; echo over", 137, v1.PodFailed},
		"a program that is to end":       {"restartPolicy: Never,", "example.com/backup", "", 137, v1.PodFailed},
	} {
		t.Run(name, func(t *testing.T) {
			c := storagesimtest.New(t, storagesim.Config{})
			c.Apply(stoppedPod(of.spec, of.image, of.script))
			c.Settle()
			c.RequireRunning("web")
			c.Delete("pod/web")
			c.Settle()
			ended := containerStatus(c, "web").State.Terminated
			require.NotNil(t, ended)
			require.Equal(t, of.code, ended.ExitCode)
			require.Equal(t, map[bool]string{true: "Completed", false: "Error"}[of.code == 0], ended.Reason)
			require.Equal(t, of.phase, c.Pod("web").Status.Phase)
		})
	}
}

// Upstream: container/helpers.go ShouldContainerBeRestarted, which kubelet_pods.go convertToAPIContainerStatuses asks, v1.37.2.
func TestAContainerThatWaitsToBeRestartedHasEndedWhenItsPodIsDeleted(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Apply(stoppedPod("", "busybox", "exit 3"))
	c.Settle()
	require.Equal(t, "CrashLoopBackOff", containerStatus(c, "web").State.Waiting.Reason)
	last := containerStatus(c, "web").LastTerminationState.Terminated
	c.Delete("pod/web")
	c.Settle()
	require.Equal(t, last, containerStatus(c, "web").State.Terminated)
	require.EqualValues(t, 3, last.ExitCode)
}

// Upstream: kuberuntime_container.go setTerminationGracePeriod, v1.37.2.
func TestTheGracePeriodOfAProbeCountsForItsFailureAlone(t *testing.T) {
	const slow = `trap "sleep 8; exit 4" TERM; while true; do sleep 1; done`
	for probe, code := range map[string]int32{
		"livenessProbe: {exec: {command: [\"false\"]}, failureThreshold: 1}":                                    4,
		"livenessProbe: {exec: {command: [\"false\"]}, failureThreshold: 1, terminationGracePeriodSeconds: 5}":  137,
		"startupProbe: {exec: {command: [\"false\"]}, failureThreshold: 1, terminationGracePeriodSeconds: 5}":   137,
		"startupProbe: {exec: {command: [\"false\"]}, failureThreshold: 1, terminationGracePeriodSeconds: 500}": 4,
	} {
		c := storagesimtest.New(t, storagesim.Config{})
		c.Apply(probedPod("web", slow, probe, ""))
		c.RunFor(15 * time.Second)
		require.Equal(t, code, containerStatus(c, "web").LastTerminationState.Terminated.ExitCode, probe)
	}
	c := storagesimtest.New(t, storagesim.Config{})
	c.Apply(probedPod("web", slow, "livenessProbe: {exec: {command: [\"true\"]}, terminationGracePeriodSeconds: 5}", "activeDeadlineSeconds: 20"))
	c.RunFor(30 * time.Second)
	require.EqualValues(t, 4, containerStatus(c, "web").State.Terminated.ExitCode, "it is stopped for another reason")
}

// Upstream: eviction_manager.go immediateEvictionGracePeriodSeconds, v1.37.2.
func TestAPodThatIsEvictedHasHardlyTimeToEnd(t *testing.T) {
	for handler, code := range map[string]int32{"exit 4": 4, "sleep 3; exit 4": 137} {
		c := storagesimtest.New(t, storagesim.Config{})
		c.Apply(`{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {volumes: [{name: v, emptyDir: {sizeLimit: 1Mi}}],
  containers: [{name: c, image: busybox, volumeMounts: [{name: v, mountPath: /v}],
    command: [sh, -c, "trap '` + handler + `' TERM; head -c 3000000 /dev/zero > /v/x; while true; do sleep 1; done"]}]}}`)
		c.Settle()
		require.Equal(t, "Evicted", c.Pod("web").Status.Reason)
		require.Equal(t, code, containerStatus(c, "web").State.Terminated.ExitCode, handler)
	}
}

// What a handler does is done: it writes to the volumes of its pod, and then these are unmounted.
func TestAHandlerWritesToItsVolumeBeforeThatIsUnmounted(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Apply(`{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {volumes: [{name: v, hostPath: {path: /kept, type: DirectoryOrCreate}}],
  containers: [{name: c, image: busybox, volumeMounts: [{name: v, mountPath: /v}],
    command: [sh, -c, "trap 'kill $p; wait $p; echo saved $? > /v/state; exit 0' TERM; sleep 100000 & p=$!; wait $p"]}]}}`)
	c.Settle()
	c.Delete("pod/web")
	c.Settle()
	require.Equal(t, "saved 143\n", c.Machine("node/node-1").ReadFile("/kept/state"))
}
