package storagesim_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/storagesimtest"
)

// requireExec requires the output of a command in a container.
func requireExec(t *testing.T, c *storagesimtest.Cluster, want, pod, container string, argv ...string) {
	t.Helper()
	result, err := c.Cluster.Machine("pod/"+pod).Exec(container, argv...)
	require.NoError(t, err)
	require.Equal(t, want, result.Stdout+result.Stderr)
}

// The example of Kubernetes' own documentation, which has no volumes.
func TestAContainerHasFilesOfItsOwnUntilItIsRestarted(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Apply(`{apiVersion: v1, kind: Pod, metadata: {name: liveness-exec}, spec: {containers: [{name: liveness, image: "registry.k8s.io/busybox:1.27.2",
  args: [/bin/sh, -c, "touch /tmp/healthy; sleep 30; rm -f /tmp/healthy; sleep 600"],
  livenessProbe: {exec: {command: [cat, /tmp/healthy]}, initialDelaySeconds: 5, periodSeconds: 5}}]}}`)
	c.Settle()
	requireExec(t, c, "", "liveness-exec", "", "sh", "-c", "echo mine > /tmp/mine")
	requireExec(t, c, "healthy\nmine\n", "liveness-exec", "", "ls", "/tmp")
	c.RunFor(33 * time.Second)
	require.EqualValues(t, 0, containerStatus(c, "liveness-exec").RestartCount)
	c.RunFor(13 * time.Second)
	require.EqualValues(t, 1, containerStatus(c, "liveness-exec").RestartCount)
	said, _ := eventsOf(t, c, "liveness-exec", "Unhealthy")
	require.Equal(t, []string{"Liveness probe failed: cat: /tmp/healthy: no such file or directory\n"}, said)
	requireExec(t, c, "healthy\n", "liveness-exec", "", "ls", "/tmp")
}

func TestEachContainerOfAPodHasItsOwnRootFileSystem(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Apply(`{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {nodeName: node-1, hostAliases: [{ip: 10.1.2.3, hostnames: [foo.local, bar.local]}],
  initContainers: [{name: init, image: busybox, command: [sh, -c, "mkdir -p /data/db && echo init > /data/db/f && cat /data/db/f"]}],
  containers: [
    {name: a, image: busybox, workingDir: /app/data, command: [sh, -c, "echo a > own; cat own; sleep infinity"]},
    {name: b, image: busybox, command: [sleep, infinity], securityContext: {readOnlyRootFilesystem: true}, volumeMounts: [{name: v, mountPath: /v}]}],
  volumes: [{name: v, emptyDir: {}}]}}`)
	c.Settle()
	c.RequireRunning("web")
	requireExec(t, c, "own\n", "web", "a", "ls", "/app/data")
	requireExec(t, c, "cat: /data/db/f: no such file or directory\n", "web", "a", "cat", "/data/db/f")
	requireExec(t, c, "touch: cannot touch '/tmp/x': read-only file system\n", "web", "b", "touch", "/tmp/x")
	requireExec(t, c, "in\n", "web", "b", "sh", "-c", "echo in > /v/f && cat /v/f")
	requireExec(t, c, "web\n", "web", "a", "cat", "/etc/hostname")
	pod := c.Pod("web")
	requireExec(t, c, pod.Status.PodIP+"\tweb\n\n# Entries added by HostAliases.\n10.1.2.3\tfoo.local\tbar.local\n", "web", "b", "tail", "-n", "4", "/etc/hosts")
	requireExec(t, c, "search default.svc.cluster.local svc.cluster.local cluster.local\n", "web", "b", "head", "-n", "1", "/etc/resolv.conf")
}

// Upstream: kuberuntime_container.go getTerminationMessage, v1.37.
func TestTheMessageOfAContainerIsWhatItWroteToItsTerminationLog(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	pod := func(name, command, field string) string {
		return `{apiVersion: v1, kind: Pod, metadata: {name: ` + name + `}, spec: {restartPolicy: Never, containers: [{name: c, image: busybox, ` + field +
			`command: [sh, -c, "` + command + `"]}]}}`
	}
	c.Apply(pod("well", "echo done > /dev/termination-log", ""))
	c.Apply(pod("badly", "echo printed; echo why > /var/log/end; exit 3", "terminationMessagePath: /var/log/end, "))
	c.Apply(pod("silent", "echo printed; exit 3", ""))
	c.Settle()
	message := func(name string) string { return containerStatus(c, name).State.Terminated.Message }
	require.Equal(t, v1.PodSucceeded, c.Pod("well").Status.Phase)
	require.Equal(t, "done\n", message("well"))
	require.Equal(t, "why\n", message("badly"))
	require.Equal(t, "printed", message("silent"))
}

func TestAWorkingDirectoryInAVolumeThatIsReadOnlyCannotBeMade(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Apply(`{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {volumes: [{name: v, emptyDir: {}}], containers: [{name: c, image: busybox,
  workingDir: /v/app, command: [sleep, infinity], volumeMounts: [{name: v, mountPath: /v, readOnly: true}]}]}}`)
	c.Settle()
	require.Equal(t, "RunContainerError", containerStatus(c, "web").State.Waiting.Reason)
	require.Contains(t, containerStatus(c, "web").State.Waiting.Message, "mkdir /v/app: read-only file system")
}
