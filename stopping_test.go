package storagesim_test

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/podstatus"
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
	const second = `trap "exit 3" TERM; while true; do sleep 2; done`
	const handles = `trap "sleep 10; exit 0" TERM; while true; do sleep 1; done`
	for name, of := range map[string]struct {
		spec, image, script string
		code                int32
		phase               v1.PodPhase
		after               int // seconds
	}{
		"no handler":                         {"", "busybox", "sleep 100000", 137, v1.PodFailed, 30},
		"it ends by itself":                  {"", "busybox", "sleep 25; exit 4", 4, v1.PodFailed, 25},
		"a handler":                          {"", "busybox", handles, 0, v1.PodSucceeded, 11},
		"a handler, in a pod that is to end": {"restartPolicy: Never,", "busybox", handles, 0, v1.PodSucceeded, 11},
		"a handler that is too slow":         {"terminationGracePeriodSeconds: 9,", "busybox", handles, 137, v1.PodFailed, 9},
		"at least two seconds":               {"terminationGracePeriodSeconds: 0,", "busybox", second, 3, v1.PodFailed, 2},
		"as much time as there is":           {"terminationGracePeriodSeconds: 9223372036854775807,", "busybox", handles, 0, v1.PodSucceeded, 11},
		"shared processes":                   {"shareProcessNamespace: true,", "busybox", "sleep 100000", 143, v1.PodFailed, 0},
		"processes of the node":              {"hostPID: true,", "busybox", "sleep 100000", 143, v1.PodFailed, 0},
		"a server":                           {"", "nginx", "", 0, v1.PodSucceeded, 0},
		"a server that a script becomes":     {"", "nginx", "exec nginx", 0, v1.PodSucceeded, 0},
		"a server beside its script":         {"", "nginx", "nginx; echo over", 137, v1.PodFailed, 30},
		"a program that is to end":           {"restartPolicy: Never,", "example.com/backup", "", 137, v1.PodFailed, 30},
	} {
		t.Run(name, func(t *testing.T) {
			c := storagesimtest.New(t, storagesim.Config{})
			c.Apply(stoppedPod(of.spec, of.image, of.script))
			c.Settle()
			c.RequireRunning("web")
			before := c.Now()
			c.Delete("pod/web")
			c.Settle()
			ended := containerStatus(c, "web").State.Terminated
			require.NotNil(t, ended)
			require.Equal(t, of.code, ended.ExitCode)
			require.Equal(t, of.after, int(ended.FinishedAt.Sub(before.Truncate(time.Second)).Seconds()))
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

// endedAfter returns how long after a moment a container of a pod has ended.
func endedAfter(t *testing.T, s v1.ContainerStatus, since time.Time) time.Duration {
	t.Helper()
	require.NotNil(t, s.State.Terminated, s.Name)
	return s.State.Terminated.FinishedAt.Sub(since.Truncate(time.Second))
}

const oneReplica = `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db}, spec: {serviceName: db, selector: {matchLabels: {app: db}},
  volumeClaimTemplates: [{metadata: {name: v}, spec: {accessModes: [ReadWriteOnce], storageClassName: csi, resources: {requests: {storage: 1Gi}}}}],
  template: {metadata: {labels: {app: db}}, spec: {
    containers: [{name: c, image: busybox, command: [sleep, "100000"], volumeMounts: [{name: v, mountPath: /v}]}]}}}}`

// A volume for one node goes to the next pod when the container of the last one has ended, and not before. Upstream: pod_workers.go, v1.37.2.
func TestAVolumeStaysUntilTheContainerOfItsPodHasEnded(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Nodes: storagesim.Nodes("node-1", "node-2")})
	c.InstallCSIDriver(driver.Config{})
	c.Apply("{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: csi}, provisioner: csi.storagesim.io}")
	c.Apply(oneReplica)
	c.Settle()
	first := c.Pod("db-0")
	c.Delete("pod/db-0")
	c.RunFor(29 * time.Second)
	last := c.Pod("db-0")
	require.Equal(t, first.UID, last.UID, "the next one comes when this one is gone")
	require.NotNil(t, last.DeletionTimestamp)
	require.Equal(t, v1.PodRunning, last.Status.Phase)
	require.True(t, last.Status.ContainerStatuses[0].Ready)
	require.NotContains(t, c.Story(), "NodeUnpublishVolume")
	c.Settle()
	require.NotEqual(t, first.UID, c.Pod("db-0").UID)
	c.RequireRunning("db-0")
	story := c.Story()
	ends := strings.Index(story, "has not ended in its grace period, and is killed")
	require.Positive(t, ends)
	require.Less(t, ends, strings.Index(story, "calls NodeUnpublishVolume"))

	// Deleted by force it is replaced at once, and its volume is in use: the next one waits on the other node until the container has ended.
	on := c.Pod("db-0").Spec.NodeName
	other := map[string]string{"node-1": "node-2", "node-2": "node-1"}[on]
	_, err := c.Client().CoreV1().Nodes().Patch(context.Background(), on, types.MergePatchType, []byte(`{"spec": {"unschedulable": true}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	c.Delete("pod/db-0")
	c.RunFor(time.Second)
	require.NoError(t, c.Client().CoreV1().Pods("default").Delete(context.Background(), "db-0", metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
	before := len(c.Story())
	c.RunFor(27 * time.Second)
	require.Equal(t, other, c.Pod("db-0").Spec.NodeName)
	require.Equal(t, v1.PodPending, c.Pod("db-0").Status.Phase)
	require.Contains(t, c.Story()[before:], "Volume is already exclusively attached to one node, waiting on detach before it can be attached to another node")
	require.NotContains(t, c.Story()[before:], "calls NodeUnpublishVolume", "a period that becomes shorter changes nothing")
	c.RunFor(5 * time.Minute)
	c.RequireRunning("db-0")
	c.RequireNoLeaks()
}

// Upstream: pod_workers.go calculateEffectiveGracePeriod and kuberuntime_container.go killContainer, v1.37.2: one second, and at least two.
func TestAPodThatIsDeletedByForceHasTwoSecondsToEnd(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Apply(`{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {volumes: [{name: v, hostPath: {path: /kept, type: DirectoryOrCreate}}],
  containers: [{name: c, image: busybox, volumeMounts: [{name: v, mountPath: /v}],
    command: [sh, -c, "trap 'sleep 1; echo one > /v/x; sleep 5; echo two > /v/x' TERM; while true; do sleep 0.5; done"]}]}}`)
	c.Settle()
	require.NoError(t, c.Client().CoreV1().Pods("default").Delete(context.Background(), "web", metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
	before := c.Now()
	_, err := c.Client().CoreV1().Pods("default").Get(context.Background(), "web", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err))
	c.Settle()
	require.Equal(t, 2*time.Second, c.Now().Sub(before))
	require.Equal(t, "one\n", c.Machine("node/node-1").ReadFile("/kept/x"))
	c.RequireNoLeaks()
}

// Upstream: desired_state_of_world_populator.go findAndAddNewPods, v1.37.2: a kubelet that begins takes the volumes of what may still run for wanted.
func TestAKubeletThatFindsAPodThatEndsLeavesItsVolumesUntilTheContainerHasEnded(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.InstallCSIDriver(driver.Config{})
	c.Apply("{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: csi}, provisioner: csi.storagesim.io}")
	c.Apply(oneReplica)
	c.Settle()
	c.Delete("pod/db-0")
	c.RunFor(5 * time.Second)
	c.Crash("kubelet/node-1")
	before := len(c.Story())
	c.RunFor(29 * time.Second)
	require.NotContains(t, c.Story()[before:], "calls NodeUnpublishVolume")
	c.Settle()
	story := c.Story()[before:]
	ends := strings.Index(story, "has not ended in its grace period, and is killed")
	require.Positive(t, ends)
	require.Less(t, ends, strings.Index(story, "calls NodeUnpublishVolume"))
	c.RequireRunning("db-0")
	c.RequireNoLeaks()
}

// Upstream: kuberuntime_manager.go computePodActions, v1.37.2: it looks at the probes once, before anything is stopped.
func TestAContainerThatFailsWhileAnotherOneIsStoppedIsStoppedAfterThatHasRestarted(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	const fails = "image: busybox, command: [sleep, \"100000\"], livenessProbe: {exec: {command: [\"false\"]}, periodSeconds: 10, "
	c.Apply(`{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [
  {name: a, ` + fails + `failureThreshold: 1, initialDelaySeconds: 1}}, {name: b, ` + fails + `failureThreshold: 2, initialDelaySeconds: 1}}]}}`)
	c.RunFor(50 * time.Second)
	restarted := func(i int) (int32, time.Duration) {
		s := c.Pod("web").Status.ContainerStatuses[i]
		return s.RestartCount, s.State.Running.StartedAt.Sub(engine.Start())
	}
	count, at := restarted(0)
	require.EqualValues(t, 1, count)
	require.Equal(t, 40*time.Second, at)
	count, _ = restarted(1)
	require.EqualValues(t, 0, count)
	c.RunFor(25 * time.Second)
	count, at = restarted(1)
	require.EqualValues(t, 1, count)
	require.Equal(t, 70*time.Second, at)
}

// Upstream: status_manager.go, v1.37.2: what writes the status is not what stops containers.
func TestAStatusThatCannotBeWrittenStopsNoContainerTwice(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Apply(`{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: c, image: busybox, command: [sleep, "100000"],
  readinessProbe: {exec: {command: [sh, -c, "test ! -e /tmp/off"]}, periodSeconds: 2, failureThreshold: 1},
  lifecycle: {preStop: {exec: {command: [sh, -c, "touch /tmp/off; sleep 20"]}}}}]}}`)
	c.Settle()
	c.Delete("pod/web")
	c.RunFor(time.Second)
	c.Inject(engine.Fault{Actor: "kubelet/node-1", Verb: "patch", Resource: "pods/status", Err: apierrors.NewInternalError(errors.New("injected"))})
	c.RunFor(10 * time.Second)
	require.Contains(t, c.Story(), "is refused (before it was carried out)")
	require.True(t, podstatus.IsReady(c.Pod("web")))
	c.RunFor(5 * time.Second)
	require.False(t, podstatus.IsReady(c.Pod("web")), "it is written after a while")
	c.Settle()
	_, count := eventsOf(t, c, "web", "Killing")
	require.EqualValues(t, 1, count)
	require.Equal(t, 1, strings.Count(c.Story(), "runs its preStop hook"))
}

// A kubelet registers a pod's ConfigMaps and Secrets when it begins to sync the pod, which it does only with one that is not to end.
// Upstream: kubelet.go SyncPod, watch_based_manager.go Get, v1.37.2.
func TestAKubeletThatFindsAPodThatEndsReadsNoConfigMapForIt(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Apply(`
{apiVersion: v1, kind: ConfigMap, metadata: {name: conf}, data: {a: "1"}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {terminationGracePeriodSeconds: 30,
  containers: [{name: c, image: busybox, command: [sleep, "600"], volumeMounts: [{name: conf, mountPath: /conf}]}], volumes: [{name: conf, configMap: {name: conf}}]}}`)
	c.Settle()
	c.RequireRunning("web")
	c.Delete("pod/web")
	c.RunFor(5 * time.Second)
	c.Crash("kubelet/node-1")
	c.RunFor(5 * time.Second)
	const failed = `MountVolume.SetUp failed for volume "conf" : object "default"/"conf" not registered`
	require.Contains(t, c.Story(), failed)
	c.Settle()
	c.RequireNoLeaks()
}

func TestSettleWaitsNoLongerThanAContainerTakesToEnd(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Apply(stoppedPod("terminationGracePeriodSeconds: 600,", "busybox", "sleep 25"))
	c.RunFor(time.Second)
	before := c.Now()
	c.Delete("pod/web")
	c.Settle()
	require.Equal(t, 24*time.Second, c.Now().Sub(before))
}

// Upstream: status_manager.go syncPod, v1.37.2, which forgets the pod then.
func TestAPodThatHasEndedIsDeletedOnce(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Apply("{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: c, image: busybox, command: [sleep, \"25\"]}]}}")
	c.RunFor(time.Second)
	c.Delete("pod/web")
	c.Settle()
	require.NotContains(t, c.Story(), "is refused: delete pod")
}

// Upstream: kuberuntime_termination_order.go, v1.37.2.
func TestASidecarEndsAfterTheOthersInReverseOrder(t *testing.T) {
	const sidecar = "restartPolicy: Always, image: busybox, command: [sh, -c, \"trap 'sleep 2; exit 0' TERM; while true; do sleep 1; done\"]"
	manifest := func(kind, main string) string {
		return `{apiVersion: v1, kind: Pod, metadata: {name: web, finalizers: [example.com/look]}, spec: {` + kind + ` initContainers: [
  {name: one, ` + sidecar + `}, {name: two, ` + sidecar + `}],
  containers: [{name: main, image: busybox, command: [sh, -c, "` + main + `"]}, {name: fast, image: nginx}]}}`
	}
	c := storagesimtest.New(t, storagesim.Config{})
	c.Apply(manifest("", "trap 'sleep 4; exit 0' TERM; while true; do sleep 1; done"))
	c.Settle()
	before := c.Now()
	c.Delete("pod/web")
	c.Settle()
	status := c.Pod("web").Status
	require.Equal(t, time.Duration(0), endedAfter(t, status.ContainerStatuses[0], before))
	require.Equal(t, 5*time.Second, endedAfter(t, status.ContainerStatuses[1], before))
	require.Equal(t, 7*time.Second, endedAfter(t, status.InitContainerStatuses[1], before), "two")
	require.Equal(t, 9*time.Second, endedAfter(t, status.InitContainerStatuses[0], before), "one")

	// What is left of the time for the last one is two seconds, at least.
	c = storagesimtest.New(t, storagesim.Config{})
	c.Apply(manifest("terminationGracePeriodSeconds: 4,", "sleep 100000"))
	c.Settle()
	before = c.Now()
	c.Delete("pod/web")
	c.Settle()
	status = c.Pod("web").Status
	require.Equal(t, 4*time.Second, endedAfter(t, status.ContainerStatuses[1], before))
	require.Equal(t, 6*time.Second, endedAfter(t, status.InitContainerStatuses[1], before), "two: both wait for as long as there is")
	require.Equal(t, 6*time.Second, endedAfter(t, status.InitContainerStatuses[0], before), "one")
}

// Upstream: kuberuntime_manager.go computePodActions and SyncPod, v1.37.2.
func TestTheSidecarOfAJobIsStoppedWhenTheJobHasDoneItsWork(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Apply(`{apiVersion: batch/v1, kind: Job, metadata: {name: once}, spec: {template: {spec: {restartPolicy: Never, initContainers: [
  {name: side, restartPolicy: Always, image: busybox, command: [sh, -c, "trap 'sleep 3; exit 0' TERM; while true; do sleep 1; done"]}],
  containers: [{name: main, image: busybox, command: [sleep, "5"]}]}}}}`)
	c.RunFor(7 * time.Second)
	pods, err := c.Client().CoreV1().Pods("default").List(context.Background(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Equal(t, v1.PodRunning, pods.Items[0].Status.Phase, "the sidecar has not ended yet")
	c.RunFor(3 * time.Second)
	status := c.Pod(pods.Items[0].Name).Status
	require.Equal(t, v1.PodSucceeded, status.Phase)
	require.EqualValues(t, 0, status.InitContainerStatuses[0].State.Terminated.ExitCode)
	require.Contains(t, c.Story(), "Killing: Stopping container side")
}

// Upstream: containerd internal/cri/server/container_stop.go stopContainer, v2.1: SIGTERM is sent once.
func TestAKubeletThatCrashesWhileItStopsAContainerStopsItAgain(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Apply(stoppedPod("", "busybox", `trap "echo asked" TERM; while true; do sleep 1; done`))
	c.Settle()
	before := c.Now()
	c.Delete("pod/web")
	c.RunFor(20 * time.Second)
	c.Stop("kubelet/node-1")
	c.RunFor(20 * time.Second)
	c.Start("kubelet/node-1")
	c.RunFor(29 * time.Second)
	require.NotNil(t, containerStatus(c, "web").State.Running, "it has all of its time again")
	log, err := c.Cluster.Machine("pod/web").Logs("", false)
	require.NoError(t, err)
	require.Equal(t, "asked\n", log)
	c.Settle()
	require.Equal(t, 70*time.Second, endedAfter(t, containerStatus(c, "web"), before))
	said, count := eventsOf(t, c, "web", "Killing")
	require.Equal(t, []string{"Stopping container c", "Stopping container c"}, said, "the new process does not know what the old one said")
	require.EqualValues(t, 2, count)
}

// Upstream: kubelet.go SyncTerminatingPod, which stops the other probes, and status_manager.go SetContainerReadiness, v1.37.2.
func TestAPodThatEndsIsProbedForReadinessAlone(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Apply(`{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: c, image: busybox,
  command: [sh, -c, "touch /tmp/ready; trap 'rm /tmp/ready' TERM; while true; do sleep 1; done"],
  readinessProbe: {exec: {command: [cat, /tmp/ready]}, periodSeconds: 2, failureThreshold: 1},
  livenessProbe: {exec: {command: [cat, /tmp/ready]}, periodSeconds: 2, failureThreshold: 1}}]}}`)
	c.Settle()
	c.Delete("pod/web")
	c.RunFor(10 * time.Second)
	require.NotNil(t, containerStatus(c, "web").State.Running)
	require.False(t, containerStatus(c, "web").Ready)
	require.False(t, podstatus.IsReady(c.Pod("web")))
	said, _ := eventsOf(t, c, "web", "Unhealthy")
	require.Equal(t, []string{"Readiness probe failed: cat: /tmp/ready: no such file or directory\n"}, said)
	c.Settle()
	c.RequireNoLeaks()
}

// Upstream: kubelet.go SyncPod calls kuberuntime_manager.go SyncPod without its cancellation, which kills and starts what it has decided on, v1.37.2.
func TestAContainerThatIsKilledForItsProbeStartsOnceMoreAlthoughItsPodIsDeletedMeanwhile(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Apply(`{apiVersion: v1, kind: Pod, metadata: {name: web, finalizers: [example.com/look]}, spec: {containers: [
  {name: c, image: busybox, command: [sh, -c, "sleep 100000"],
    livenessProbe: {exec: {command: ["false"]}, failureThreshold: 1, terminationGracePeriodSeconds: 20}}]}}`)
	c.RunFor(15 * time.Second)
	c.Delete("pod/web")
	c.RunFor(10 * time.Second)
	status := containerStatus(c, "web")
	require.NotNil(t, status.State.Running)
	require.EqualValues(t, 1, status.RestartCount)
	before := status.State.Running.StartedAt.Time
	c.Settle()
	require.Equal(t, 30*time.Second, endedAfter(t, containerStatus(c, "web"), before), "it has the grace period of its pod")
}

// Upstream: kubelet.go SyncTerminatingPod and SyncTerminatedPod, status_manager.go Start: what cannot be written is written later, v1.37.2.
func TestAPodEndsAlthoughItsStatusCannotBeWritten(t *testing.T) {
	pod := func(spec, more string) string {
		return `{apiVersion: v1, kind: Pod, metadata: {name: web, finalizers: [example.com/look]}, spec: {` + spec + ` containers: [{name: c, image: busybox,
  command: [sh, -c, "trap 'echo ended > /v/x; exit 4' TERM; while true; do sleep 1; done"],
  volumeMounts: [{name: v, mountPath: /v}, {name: d, mountPath: /d}]` + more + `}],
  volumes: [{name: v, hostPath: {path: /kept, type: DirectoryOrCreate}}, {name: d, emptyDir: {sizeLimit: 1Mi}}]}}`
	}
	full := apierrors.NewInternalError(errors.New("it is full"))
	for name, of := range map[string]struct {
		spec, more string
		begin      func(c *storagesimtest.Cluster)
		phase      v1.PodPhase
		reason     string
		released   bool
	}{
		"it is deleted":             {begin: func(c *storagesimtest.Cluster) { c.Delete("pod/web") }, phase: v1.PodFailed, released: true},
		"it is active for too long": {spec: "activeDeadlineSeconds: 30,", phase: v1.PodFailed, reason: "DeadlineExceeded", released: true},
		"it is evicted": {begin: func(c *storagesimtest.Cluster) {
			requireExec(t, c, "", "web", "", "sh", "-c", "head -c 2000000 /dev/zero > /d/x")
		}, phase: v1.PodFailed, reason: "Evicted", released: true},
		"its probe fails": {more: `, livenessProbe: {initialDelaySeconds: 20, failureThreshold: 1, exec: {command: ["false"]}}`, phase: v1.PodRunning},
	} {
		for _, fault := range []engine.Fault{
			{Actor: "kubelet/node-1", Verb: "patch", Resource: "pods/status", Times: 10000, Err: full},
			{Actor: "kubelet/node-1", Times: 10000, Err: apierrors.NewInternalError(errors.New("it is away"))},
		} {
			t.Run(name+", and "+fault.String(), func(t *testing.T) {
				c := storagesimtest.New(t, storagesim.Config{})
				c.Apply(pod(of.spec, of.more))
				c.RunFor(10 * time.Second)
				c.RequireRunning("web")
				c.Inject(fault)
				if of.begin != nil {
					of.begin(c)
				}
				c.RunFor(90 * time.Second)
				require.Equal(t, "ended\n", c.Machine("node/node-1").ReadFile("/kept/x"))
				require.Nil(t, containerStatus(c, "web").State.Terminated, "which is not told")
				_, err := c.Machine("node/node-1").Disk().Stat("/var/lib/kubelet/pods/" + string(c.Pod("web").UID) + "/volumes/kubernetes.io~empty-dir/d")
				require.Equal(t, of.released, errors.Is(err, fs.ErrNotExist), err)
				c.Lab().ClearFaults()
				c.RunFor(3 * time.Minute)
				status := containerStatus(c, "web")
				ended := status.State.Terminated
				if ended == nil {
					ended = status.LastTerminationState.Terminated
				}
				require.NotNil(t, ended)
				require.EqualValues(t, 4, ended.ExitCode)
				require.Equal(t, of.phase, c.Pod("web").Status.Phase)
				require.Equal(t, of.reason, c.Pod("web").Status.Reason)
			})
		}
	}
}

// Upstream: kubelet.go SyncPod, which does not wait for status_manager.go, v1.37.2.
func TestAPodStartsAlthoughItsStatusCannotBeWritten(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	full := apierrors.NewInternalError(errors.New("it is full"))
	c.Inject(engine.Fault{Actor: "kubelet/node-1", Verb: "patch", Resource: "pods/status", Times: 10000, Err: full})
	c.Apply(`{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {volumes: [{name: v, hostPath: {path: /kept, type: DirectoryOrCreate}}],
  containers: [{name: c, image: busybox, command: [sh, -c, "echo begun >> /v/x; sleep 100000"], volumeMounts: [{name: v, mountPath: /v}]}]}}`)
	c.RunFor(time.Minute)
	require.Equal(t, "begun\n", c.Machine("node/node-1").ReadFile("/kept/x"))
	require.Equal(t, v1.PodPending, c.Pod("web").Status.Phase)
	c.Lab().ClearFaults()
	c.RunFor(3 * time.Minute)
	c.RequireRunning("web")
	require.Equal(t, "begun\n", c.Machine("node/node-1").ReadFile("/kept/x"))
}

// A process cannot start on a machine that is switched off: it starts with its machine.
func TestNothingStartsOnAMachineThatIsSwitchedOff(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Nodes: storagesim.Nodes("node-1", "node-2")})
	d, err := driver.New(driver.Config{})
	require.NoError(t, err)
	c.InstallCSIDriver(d)
	c.RunFor(10 * time.Second)
	c.Stop("kubelet/node-2")
	c.Stop("node/node-1")
	c.RunFor(2 * time.Minute)
	for _, actor := range []string{"kubelet/node-1", "csi-registrar/csi.storagesim.io/node-1"} {
		require.EqualError(t, c.Cluster.Start(actor), `actor "`+actor+`" cannot start: its machine is switched off; start node/node-1`)
	}
	require.Contains(t, c.Explain("node/node-1"), "To do: start node/node-1.")
	require.Contains(t, c.Explain("node/node-2"), "To do: start kubelet/node-2.")
	c.Start("node/node-1")
	c.Start("kubelet/node-2")
	c.RunFor(time.Minute)
	require.NotContains(t, c.Get("nodes"), "NotReady")
}
