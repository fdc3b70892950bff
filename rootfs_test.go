package storagesim_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
	c.RunFor(43 * time.Second) // of which it had 30 to end
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

// Upstream: kuberuntime_container.go convertToKubeContainerStatus and getTerminationMessage, v1.37.2.
func TestTheMessageOfAContainerIsWhatItWroteToItsTerminationLog(t *testing.T) {
	const fallback = "terminationMessagePolicy: FallbackToLogsOnError, "
	for name, of := range map[string]struct{ command, field, want string }{
		"well":             {"echo done > /dev/termination-log", "", "done\n"},
		"badly":            {"echo printed; echo why > /var/log/end; exit 3", "terminationMessagePath: /var/log/end, ", "why\n"},
		"silent":           {"echo printed; exit 3", "", ""},
		"silent-later":     {"echo printed; sleep 5; exit 3", "", ""},
		"log":              {"echo one; echo two; exit 3", fallback, "one\ntwo\n"},
		"log-later":        {"echo one; sleep 5; echo two; exit 3", fallback, "one\ntwo\n"},
		"log-of-success":   {"echo one", fallback, ""},
		"file-before-log":  {"echo one; echo why > /dev/termination-log; exit 3", fallback, "why\n"},
		"lines":            {"seq 1 100; exit 3", fallback, lines(21, 100)},
		"bytes":            {"seq 100000 100400; exit 3", fallback, lines(100321, 100400)},
		"long-lines":       {"printf %03000d 0; exit 3", fallback, strings.Repeat("0", 2048)},
		"end-of-long-file": {"printf %05000d 0 > /dev/termination-log; echo y >> /dev/termination-log", "", strings.Repeat("0", 4094) + "y\n"},
	} {
		c := storagesimtest.New(t, storagesim.Config{})
		c.Apply(`{apiVersion: v1, kind: Pod, metadata: {name: ` + name + `}, spec: {restartPolicy: Never, containers: [{name: c, image: busybox, ` + of.field +
			`command: [sh, -c, "` + of.command + `"]}]}}`)
		c.Settle()
		require.Equal(t, of.want, containerStatus(c, name).State.Terminated.Message, name)
	}
}

// What a program has written for its end is told before what it has printed.
func TestExplainTellsTheMessageOfAContainerBeforeItsLog(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Apply(`{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {restartPolicy: Never, containers: [
  {name: writes, image: busybox, command: [sh, -c, "echo reading; echo no such key > /dev/termination-log; exit 3"]},
  {name: prints, image: busybox, command: [sh, -c, "echo no such file; exit 3"]}]}}`)
	c.Settle()
	why := c.Explain("pod/web")
	require.Contains(t, why, "container writes exited with 3: Error: no such key")
	require.Contains(t, why, "container prints exited with 3: Error: no such file")
}

func lines(from, to int) string {
	var text strings.Builder
	for n := from; n <= to; n++ {
		fmt.Fprintln(&text, n)
	}
	return text.String()
}

// Upstream: status_manager.go normalizeStatus, v1.37.2.
func TestTheMessagesOfAPodShareTwelveKilobytes(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	container := func(name string) string {
		return `{name: ` + name + `, image: busybox, command: [sh, -c, "printf %04000d 0 > /dev/termination-log"]}`
	}
	c.Apply(`{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {restartPolicy: Never, initContainers: [` + container("i") + `],
  containers: [` + container("a") + `, ` + container("b") + `, ` + container("c") + `]}}`)
	c.Settle()
	for _, s := range slices.Concat(c.Pod("web").Status.ContainerStatuses, c.Pod("web").Status.InitContainerStatuses) {
		require.Len(t, s.State.Terminated.Message, 12<<10/4, s.Name)
	}
}

// A command that cannot be run has no log: its message is the runtime's, whatever the policy says.
func TestTheMessageOfAContainerThatCouldNotBeStartedSaysWhy(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Apply(`{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {restartPolicy: Never, containers: [{name: c, image: busybox,
  command: [nothing-like-that]}]}}`)
	c.Apply(`{apiVersion: v1, kind: Pod, metadata: {name: sh}, spec: {restartPolicy: Never, containers: [{name: c, image: busybox,
  command: [sh, -c, nothing-like-that]}]}}`)
	c.Settle()
	require.Contains(t, containerStatus(c, "web").State.Terminated.Message,
		`exec: "nothing-like-that": executable file not found in $PATH; this simulation has no such program`)
	require.Empty(t, containerStatus(c, "sh").State.Terminated.Message)
	said, _ := eventsOf(t, c, "sh", "Failed")
	require.Equal(t, []string{"Error: container c has ended with exit code 127: sh: nothing-like-that: not found"}, said)
}

func TestAWorkingDirectoryInAVolumeThatIsReadOnlyCannotBeMade(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Apply(`{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {volumes: [{name: v, emptyDir: {}}], containers: [{name: c, image: busybox,
  workingDir: /v/app, command: [sleep, infinity], volumeMounts: [{name: v, mountPath: /v, readOnly: true}]}]}}`)
	c.Settle()
	require.Equal(t, "StartError", containerStatus(c, "web").LastTerminationState.Terminated.Reason)
	require.Contains(t, containerStatus(c, "web").LastTerminationState.Terminated.Message, "mkdir /v/app: read-only file system")
}

// As upstream's tests of storage reach a node.
func TestAPrivilegedPodEntersItsNode(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Apply(`{apiVersion: v1, kind: Pod, metadata: {name: host}, spec: {nodeName: node-1,
  containers: [
    {name: a, image: busybox, command: [sleep, infinity], securityContext: {privileged: true}, volumeMounts: [{name: root, mountPath: /rootfs}]},
    {name: b, image: busybox, command: [sleep, infinity], volumeMounts: [{name: root, mountPath: /rootfs}]}],
  volumes: [{name: root, hostPath: {path: /}}]}}`)
	c.Settle()
	c.RequireRunning("host")
	uid := string(c.Pod("host").UID)
	requireExec(t, c, "/var/lib/kubelet/pods\n", "host", "a", "nsenter", "--mount=/rootfs/proc/1/ns/mnt", "--", "sh", "-c",
		"test -d /var/lib/kubelet/pods/"+uid+" && find /var/lib/kubelet -maxdepth 1 -name pods")
	requireExec(t, c, "nsenter: reassociate to namespaces failed: operation not permitted; the container is not privileged\n",
		"host", "b", "nsenter", "--mount=/rootfs/proc/1/ns/mnt", "--", "ls")
}
