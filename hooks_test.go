package storagesim_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/storagesimtest"
)

// hookedPod returns a pod with a container that runs a script and has these hooks; it stays when it was deleted.
func hookedPod(spec, script, hooks string) string {
	return `{apiVersion: v1, kind: Pod, metadata: {name: web, finalizers: [example.com/look]}, spec: {` + spec + ` containers: [
  {name: c, image: busybox, command: [sh, -c, '` + strings.ReplaceAll(script, "'", "''") + `'], ports: [{name: http, containerPort: 80}], lifecycle: {` + hooks + `}}]}}`
}

// Upstream: kuberuntime_container.go killContainer and executePreStopHook, v1.37.2.
func TestAPreStopHookTakesItsTimeOffTheGracePeriod(t *testing.T) {
	const never, handles = "sleep 100000", `trap "exit 0" TERM; while true; do sleep 1; done`
	for name, of := range map[string]struct {
		spec, script, hook string
		after              int // seconds
		code               int32
		failed             string
	}{
		"a command":                {"", handles, `exec: {command: [sh, -c, "sleep 5; echo hook > /tmp/x"]}`, 5, 0, ""},
		"a command, then the rest": {"", never, `exec: {command: [sleep, "5"]}`, 30, 137, ""},
		"a command that fails":     {"", handles, `exec: {command: [sh, -c, "sleep 5; exit 3"]}`, 5, 0, "PreStopHook failed"},
		"no such command":          {"", handles, `exec: {command: [no-such-program]}`, 1, 0, "PreStopHook failed"},
		"one that takes longer":    {"terminationGracePeriodSeconds: 10,", never, `exec: {command: [sleep, "60"]}`, 12, 137, "PreStopHook failed"},
		"one that never ends":      {"terminationGracePeriodSeconds: 10,", handles, `exec: {command: [tail, -f, /dev/null]}`, 10, 0, "PreStopHook failed"},
		"almost all of the time":   {"terminationGracePeriodSeconds: 10,", never, `exec: {command: [sleep, "9"]}`, 11, 137, ""},
		"its container ends first": {"", "sleep 4; exit 6", `exec: {command: [sleep, "20"]}`, 4, 6, "PreStopHook failed"},
		"sleep":                    {"", handles, "sleep: {seconds: 7}", 7, 0, ""},
		"httpGet":                  {"", handles, "httpGet: {port: http}", 1, 0, ""},
		"a port without a number":  {"", handles, "httpGet: {port: none}", 1, 0, "PreStopHook failed"},
	} {
		t.Run(name, func(t *testing.T) {
			c := storagesimtest.New(t, storagesim.Config{})
			c.Apply(hookedPod(of.spec, of.script, "preStop: {"+of.hook+"}"))
			c.Settle()
			before := c.Now()
			c.Delete("pod/web")
			c.Settle()
			status := containerStatus(c, "web")
			require.Equal(t, of.after, int(endedAfter(t, status, before).Seconds()))
			require.Equal(t, of.code, status.State.Terminated.ExitCode)
			said, _ := eventsOf(t, c, "web", "FailedPreStopHook")
			if of.failed == "" {
				require.Empty(t, said)
				return
			}
			require.Equal(t, []string{of.failed}, said)
		})
	}
}

// Upstream: kuberuntime_manager.go SyncPod, which calls killContainer, v1.37.2.
func TestAPreStopHookIsRunForAContainerThatIsRestarted(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Apply(probedPod("web", `trap "exit 0" TERM; while true; do sleep 1; done`, "livenessProbe: {exec: {command: [\"false\"]}, failureThreshold: 1}, "+
		"lifecycle: {preStop: {exec: {command: [sh, -c, \"sleep 3; echo hook >> /v/x\"]}}}", ""))
	c.RunFor(8 * time.Second)
	requireExec(t, c, "hook\n", "web", "", "cat", "/v/x")
	require.EqualValues(t, 1, containerStatus(c, "web").RestartCount)
}

// Of a pod that was deleted by force the kubelet knows what it has seen last.
func TestAPodThatIsDeletedByForceRunsItsHookForASecond(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Apply(`{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {volumes: [{name: v, hostPath: {path: /kept, type: DirectoryOrCreate}}],
  containers: [{name: c, image: nginx, volumeMounts: [{name: v, mountPath: /v}],
    lifecycle: {preStop: {exec: {command: [sh, -c, "echo one > /v/x; sleep 5; echo two > /v/x"]}}}}]}}`)
	c.Settle()
	require.NoError(t, c.Client().CoreV1().Pods("default").Delete(context.Background(), "web", metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
	before := c.Now()
	_, err := c.Client().CoreV1().Pods("default").Get(context.Background(), "web", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err))
	c.Settle()
	require.Equal(t, time.Second, c.Now().Sub(before))
	require.Equal(t, "one\n", c.Machine("node/node-1").ReadFile("/kept/x"))
	c.RequireNoLeaks()
}

// Upstream: kuberuntime_container.go startContainer, v1.37.2: until the hook has ended nothing is written of the container, and it is not probed.
func TestAContainerIsToldOfWhenItsPostStartHookHasEnded(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Apply(`{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {volumes: [{name: v, emptyDir: {}}], containers: [
  {name: a, image: busybox, command: [sh, -c, "sleep 100000"], volumeMounts: [{name: v, mountPath: /v}],
    readinessProbe: {exec: {command: [sh, -c, "echo probed >> /v/probed"]}, periodSeconds: 1},
    lifecycle: {postStart: {exec: {command: [sh, -c, "sleep 8; ls /v/probed; touch /v/done"]}}}},
  {name: b, image: busybox, command: [sh, -c, "ls /v/done && sleep 100000"], volumeMounts: [{name: v, mountPath: /v}]}]}}`)
	c.RunFor(7 * time.Second)
	require.Equal(t, v1.PodPending, c.Pod("web").Status.Phase)
	require.Equal(t, "ContainerCreating", containerStatus(c, "web").State.Waiting.Reason)
	require.NotContains(t, c.Story(), `runs "sh -c ls /v/done`, "the next container starts after the hook")
	before := c.Now()
	c.Settle()
	require.Less(t, c.Now().Sub(before), 10*time.Second, "no longer than it takes")
	c.RequireRunning("web")
	started := func(i int) time.Time { return c.Pod("web").Status.ContainerStatuses[i].State.Running.StartedAt.Time }
	require.Equal(t, 8*time.Second, started(1).Sub(started(0)))
	require.NotContains(t, c.Story(), "FailedPostStartHook")
	c.Delete("pod/web")
	c.Settle()
	c.RequireNoLeaks()
}

func TestAContainerWhosePostStartHookFailsIsKilled(t *testing.T) {
	for name, hook := range map[string]string{
		"a command": `exec: {command: [sh, -c, "echo out; echo oh >&2; exit 3"]}`, "no such command": "exec: {command: [no-such-program]}",
		"a port without a number": "httpGet: {port: none, path: /x}", "no network": "tcpSocket: {port: 80}",
	} {
		t.Run(name, func(t *testing.T) {
			c := storagesimtest.New(t, storagesim.Config{})
			c.Apply(hookedPod("terminationGracePeriodSeconds: 5,", "sleep 100000", "postStart: {"+hook+"}"))
			c.RunFor(6 * time.Second)
			said, _ := eventsOf(t, c, "web", "FailedPostStartHook")
			require.Equal(t, []string{"PostStartHook failed"}, said)
			said, _ = eventsOf(t, c, "web", "Killing")
			require.Equal(t, []string{"FailedPostStartHook"}, said)
			c.RunFor(time.Minute)
			status := containerStatus(c, "web")
			require.EqualValues(t, 137, status.LastTerminationState.Terminated.ExitCode)
			require.GreaterOrEqual(t, status.RestartCount, int32(2))
			require.Contains(t, c.Story(), "Back-off restarting failed container c in pod web_default(")
		})
	}
	c := storagesimtest.New(t, storagesim.Config{})
	c.Apply(hookedPod("terminationGracePeriodSeconds: 5,", "sleep 100000", `postStart: {exec: {command: [sh, -c, "echo out; echo oh >&2; exit 3"]}}`))
	var waits *v1.ContainerStateWaiting
	c.RunUntil(func() bool {
		for _, s := range c.Pod("web").Status.ContainerStatuses {
			waits = s.State.Waiting
		}
		return waits != nil && waits.Reason == "PostStartHookError"
	})
	require.Equal(t, `Exec lifecycle hook ([sh -c echo out; echo oh >&2; exit 3]) for Container "c" in Pod "web_default(`+string(c.Pod("web").UID)+
		`)" failed - error: command 'sh -c echo out; echo oh >&2; exit 3' exited with 3: oh`+"\n"+`, message: "out\noh\n"`, waits.Message)

	c = storagesimtest.New(t, storagesim.Config{})
	c.Apply(hookedPod("restartPolicy: Never,", "sleep 100000", `postStart: {exec: {command: ["false"]}}`))
	c.Settle()
	require.Equal(t, v1.PodFailed, c.Pod("web").Status.Phase)
	require.EqualValues(t, 137, containerStatus(c, "web").State.Terminated.ExitCode)
}

// Upstream: pkg/kubelet/lifecycle/handlers.go Run, v1.37.2.
func TestAHookThatThereIsNotIsTold(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Apply(hookedPod("terminationGracePeriodSeconds: 5,", "sleep 100000", "postStart: {tcpSocket: {port: 80}}"))
	c.RunUntil(func() bool {
		list := c.Pod("web").Status.ContainerStatuses
		return len(list) > 0 && list[0].State.Waiting != nil && list[0].State.Waiting.Reason == "PostStartHookError"
	})
	require.Regexp(t, `^Cannot run handler: invalid handler: &LifecycleHandler{Exec:nil,HTTPGet:nil,TCPSocket:&TCPSocketAction{`,
		containerStatus(c, "web").State.Waiting.Message)
}

// Upstream: kubelet.go SyncPod, which is not interrupted by the deletion of the pod, v1.37.2.
func TestAPodWhosePostStartHookHangsEndsWithItsContainer(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Apply(hookedPod("", "sleep 900", "postStart: {exec: {command: [sleep, \"100000\"]}}"))
	c.Settle()
	require.Equal(t, "ContainerCreating", containerStatus(c, "web").State.Waiting.Reason)
	c.Delete("pod/web")
	c.RunFor(2 * time.Minute)
	require.NotContains(t, c.Story(), "Killing", "the worker of the pod waits for the hook")
	c.RunFor(15 * time.Minute)
	require.Contains(t, c.Story(), "FailedPostStartHook: PostStartHook failed")
	require.NotNil(t, containerStatus(c, "web").State.Terminated)
}

// A kubelet that is back runs preStop again, and no postStart of what runs.
func TestHooksAndAKubeletThatCrashes(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Apply(hookedPod("", `trap "exit 0" TERM; while true; do sleep 1; done`,
		`postStart: {exec: {command: [sh, -c, "echo start >> /tmp/x; sleep 20; echo started >> /tmp/x"]}}, `+
			`preStop: {exec: {command: [sh, -c, "echo stop >> /tmp/x; sleep 10"]}}`))
	c.RunFor(5 * time.Second)
	c.Crash("kubelet/node-1")
	c.Settle()
	c.RequireRunning("web")
	c.Delete("pod/web")
	c.RunFor(5 * time.Second)
	c.Crash("kubelet/node-1")
	c.RunFor(5 * time.Second)
	requireExec(t, c, "start\nstop\nstop\n", "web", "", "cat", "/tmp/x")
	c.Settle()
	require.EqualValues(t, 0, containerStatus(c, "web").State.Terminated.ExitCode)
}
