package storagesim_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/storagesimtest"
	"github.com/storagesim/storagesim/trace"
)

// probedPod returns a pod whose container c runs a script, with more fields of the container and of the pod's spec.
func probedPod(name, script, container, spec string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "}\nspec:\n  volumes: [{name: v, emptyDir: {}}]\n  " + spec +
		"\n  containers: [{name: c, image: example.com/app, command: [sh, -c, '" + script + "'], volumeMounts: [{name: v, mountPath: /v}], " + container + "}]\n"
}

// eventsOf returns the events about a pod with a reason: how often and what, in the order in which they came.
func eventsOf(t *testing.T, c *storagesimtest.Cluster, pod, reason string) (messages []string, count int32) {
	list, err := c.Client().CoreV1().Events("default").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	slices.SortStableFunc(list.Items, func(a, b v1.Event) int { return a.FirstTimestamp.Compare(b.FirstTimestamp.Time) })
	for _, e := range list.Items {
		if e.InvolvedObject.Name == pod && e.Reason == reason {
			messages = append(messages, e.Message)
			count += e.Count
		}
	}
	return messages, count
}

func containerStatus(c *storagesimtest.Cluster, pod string) v1.ContainerStatus {
	return c.Pod(pod).Status.ContainerStatuses[0]
}

// Upstream: pkg/kubelet/prober/worker.go doProbe, v1.37.
func TestAReadinessProbeDecidesWhetherAPodIsReady(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Apply(probedPod("web", "sleep 100000", "readinessProbe: {exec: {command: [cat, /v/ready]}, periodSeconds: 5, successThreshold: 2, failureThreshold: 3}", ""))
	c.Settle()
	require.False(t, containerStatus(c, "web").Ready)
	require.True(t, *containerStatus(c, "web").Started)
	said, count := eventsOf(t, c, "web", "Unhealthy")
	require.Equal(t, []string{"Readiness probe failed: cat: /v/ready: no such file or directory\n"}, said)
	require.Greater(t, count, int32(1))
	require.Contains(t, c.Explain("pod/web"), "Readiness probe failed: cat: /v/ready")
	require.EqualValues(t, 0, containerStatus(c, "web").RestartCount)

	begin := c.Now()
	answer, err := c.Cluster.Machine("pod/web").Exec("c", "touch", "/v/ready")
	require.NoError(t, err)
	require.Zero(t, answer.ExitCode)
	c.RunUntil(func() bool { return containerStatus(c, "web").Ready })
	require.LessOrEqual(t, c.Now().Sub(begin), 10*time.Second, "two successes in a row, five seconds apart")
	require.Greater(t, c.Now().Sub(begin), 5*time.Second)

	begin = c.Now()
	_, err = c.Cluster.Machine("pod/web").Exec("c", "rm", "/v/ready")
	require.NoError(t, err)
	c.RunUntil(func() bool { return !containerStatus(c, "web").Ready })
	require.LessOrEqual(t, c.Now().Sub(begin), 15*time.Second, "three failures in a row")
	require.Greater(t, c.Now().Sub(begin), 10*time.Second)
	c.RunFor(time.Hour)
	require.EqualValues(t, 0, containerStatus(c, "web").RestartCount, "it runs on")
}

// The example of Kubernetes' own documentation. Upstream: kuberuntime_manager.go computePodActions, v1.37.
func TestALivenessProbeThatFailsRestartsTheContainer(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Apply(probedPod("live", "touch /tmp/healthy; sleep 30; rm -f /tmp/healthy; sleep 600",
		"livenessProbe: {exec: {command: [cat, /tmp/healthy]}, initialDelaySeconds: 5, periodSeconds: 5}", ""))
	c.Settle()
	c.RequireRunning("live")
	c.RunFor(35 * time.Second)
	require.EqualValues(t, 0, containerStatus(c, "live").RestartCount, "two failures of three")
	c.RunFor(33 * time.Second)
	require.EqualValues(t, 0, containerStatus(c, "live").RestartCount, "it has 30 seconds to end")
	require.NotNil(t, containerStatus(c, "live").State.Running)
	c.RunFor(8 * time.Second)
	status := containerStatus(c, "live")
	require.EqualValues(t, 1, status.RestartCount)
	require.NotNil(t, status.State.Running, "the first time it starts again at once")
	require.EqualValues(t, 137, status.LastTerminationState.Terminated.ExitCode)
	said, count := eventsOf(t, c, "live", "Unhealthy")
	require.Equal(t, []string{"Liveness probe failed: cat: /tmp/healthy: no such file or directory\n"}, said)
	require.EqualValues(t, 3, count)
	said, _ = eventsOf(t, c, "live", "Killing")
	require.Equal(t, []string{"Container c failed liveness probe, will be restarted"}, said)

	c.RunUntil(func() bool {
		waiting := containerStatus(c, "live").State.Waiting
		return waiting != nil && waiting.Reason == "CrashLoopBackOff"
	})
	said, _ = eventsOf(t, c, "live", "BackOff")
	require.Contains(t, said[0], "Back-off restarting failed container c in pod live_default(")
	require.Greater(t, containerStatus(c, "live").RestartCount, int32(2), "each run lasts for longer than the first delays")
}

// With restartPolicy Never the message does not promise a restart, and the pod has failed.
func TestAContainerThatIsNotRestartedIsKilledAllTheSame(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Apply(probedPod("once", "sleep 100000", "livenessProbe: {exec: {command: ['false']}, failureThreshold: 1}", "restartPolicy: Never"))
	c.RunFor(time.Minute)
	require.Equal(t, v1.PodFailed, c.Pod("once").Status.Phase)
	said, _ := eventsOf(t, c, "once", "Killing")
	require.Equal(t, []string{"Container c failed liveness probe"}, said)
	_, before := eventsOf(t, c, "once", "Unhealthy")
	c.RunFor(50 * time.Minute) // after an hour the event is gone
	_, after := eventsOf(t, c, "once", "Unhealthy")
	require.Equal(t, before, after, "it is probed no more")
}

// Upstream: worker.go doProbe, and prober_manager.go isContainerStarted, v1.37.
func TestAStartupProbeComesFirstAndMayFail(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Apply(probedPod("slow", "sleep 42; touch /v/up; sleep 100000", `startupProbe: {exec: {command: [test, -f, /v/up]}, periodSeconds: 10, failureThreshold: 30},
    livenessProbe: {exec: {command: ["false"]}, periodSeconds: 1, failureThreshold: 1000000}, readinessProbe: {tcpSocket: {port: 80}}`, ""))
	c.RunFor(39 * time.Second)
	require.False(t, *containerStatus(c, "slow").Started)
	said, _ := eventsOf(t, c, "slow", "Unhealthy")
	require.Equal(t, []string{"Startup probe failed: "}, said, "no other probe has run")
	c.RunFor(20 * time.Second)
	require.True(t, *containerStatus(c, "slow").Started)
	require.True(t, containerStatus(c, "slow").Ready)
	said, _ = eventsOf(t, c, "slow", "Unhealthy")
	require.Contains(t, said, "Liveness probe failed: ")

	c.Apply(probedPod("never", "sleep 100000", "startupProbe: {exec: {command: [test, -f, /v/up]}, periodSeconds: 1, failureThreshold: 3}", ""))
	c.RunFor(40 * time.Second)
	said, _ = eventsOf(t, c, "never", "Killing")
	require.Contains(t, said, "Container c failed startup probe, will be restarted")
	require.Positive(t, containerStatus(c, "never").RestartCount)
	require.False(t, containerStatus(c, "never").Ready)
	c.Settle() // it ends, although the probe never succeeds
}

// A sidecar whose startup probe has not succeeded holds the containers after it.
func TestASidecarsStartupProbeHoldsTheContainersAfterIt(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Apply(probedPod("web", "sleep 100000", "env: [{name: A, value: b}]",
		`initContainers: [{name: proxy, image: envoy, restartPolicy: Always, startupProbe: {httpGet: {port: 15021}, initialDelaySeconds: 25}}]`))
	c.RunFor(24 * time.Second)
	require.Nil(t, containerStatus(c, "web").State.Running)
	c.Settle()
	c.RequireRunning("web")
	require.WithinDuration(t, c.Pod("web").Status.InitContainerStatuses[0].State.Running.StartedAt.Add(30*time.Second),
		containerStatus(c, "web").State.Running.StartedAt.Time, time.Second)
}

// Settle waits for the delay, and the register says what is not real.
func TestProbesOverTheNetworkSucceedAfterTheirDelay(t *testing.T) {
	for of, probe := range map[string]string{"httpGet": "{path: /healthz, port: http}", "tcpSocket": "{port: 5432}", "grpc": "{port: 9090}"} {
		t.Run(of, func(t *testing.T) {
			c := storagesimtest.New(t, storagesim.Config{})
			begin := c.Now()
			c.Apply(probedPod("web", "sleep 100000", "ports: [{name: http, containerPort: 80}], readinessProbe: {"+of+": "+probe+
				", initialDelaySeconds: 90, successThreshold: 3, periodSeconds: 7}", ""))
			c.RunFor(90 * time.Second)
			require.False(t, containerStatus(c, "web").Ready)
			c.Settle()
			require.True(t, containerStatus(c, "web").Ready)
			require.GreaterOrEqual(t, c.Now().Sub(begin), 104*time.Second, "three times, seven seconds apart")
			require.Contains(t, c.Story(), "does not model spec.containers[c].readinessProbe."+of+" of pod default/web: a cluster connects to the container")
			require.NotContains(t, c.Story(), "Unhealthy")
		})
	}
	c := storagesimtest.New(t, storagesim.Config{})
	c.Apply(probedPod("web", "sleep 100000", "readinessProbe: {httpGet: {port: http}}", ""))
	c.Settle()
	require.False(t, containerStatus(c, "web").Ready)
	said, _ := eventsOf(t, c, "web", "Unhealthy")
	require.Equal(t, []string{`Readiness probe errored and resulted in unknown state: port "http" not found`}, said)
}

// A program that is not there says nothing about the container.
func TestAProbeOfAProgramThatIsNotThereSucceedsWhereProgramsAreTaken(t *testing.T) {
	pods := []string{
		probedPod("db", "sleep 100000", "readinessProbe: {exec: {command: [pg_isready]}}, livenessProbe: {exec: {command: [sh, -c, \"test $(pgrep -c postgres) = 1 "+
			"|| exit 1\"]}, failureThreshold: 1}", ""),
		strings.ReplaceAll(probedPod("box", "sleep 100000", "readinessProbe: {exec: {command: [pg_isready]}}", ""), "example.com/app", "busybox"),
	}
	c := storagesimtest.New(t, storagesim.Config{TakePrograms: true})
	c.Apply(pods...)
	c.RunFor(10 * time.Minute)
	require.True(t, containerStatus(c, "db").Ready)
	require.EqualValues(t, 0, containerStatus(c, "db").RestartCount)
	require.False(t, containerStatus(c, "box").Ready, "BusyBox has no such program")
	var taken []string
	for _, d := range c.Trace().Deviations() {
		require.Equal(t, trace.ProgramTaken, d.Situation)
		taken = append(taken, d.About.Name+": "+d.Of)
	}
	slices.Sort(taken)
	require.Equal(t, []string{"db: program pg_isready of container c", "db: program pgrep of container c"}, taken)

	strict := storagesimtest.New(t, storagesim.Config{})
	strict.Apply(pods[0])
	strict.RunFor(time.Minute)
	require.False(t, containerStatus(strict, "db").Ready)
	said, _ := eventsOf(t, strict, "db", "Unhealthy")
	require.Contains(t, said, `Readiness probe errored and resulted in unknown state: exec: "pg_isready": executable file not found in $PATH`)
	require.Empty(t, strict.Trace().Deviations())
}

// A program that is not here does not make what a probe looks for, and neither has a mistake.
func TestAProbeOfWhatAnImagesOwnProgramWouldMakeIsNotBlamed(t *testing.T) {
	const manifest = `{apiVersion: v1, kind: Pod, metadata: {name: operator}, spec: {containers: [{name: c, image: "example.com/operator:9", COMMAND,
  PROBE: {exec: {command: [cat, /tmp/ready]}}}]}}`
	do := "To do: have the image start with a script that does what the probe asks for"
	for _, command := range []string{"args: [run, --all]", "command: [operate]"} {
		for _, probe := range []string{"readinessProbe", "livenessProbe", "startupProbe"} {
			c := storagesimtest.New(t, storagesim.Config{TakePrograms: true})
			c.Apply(strings.NewReplacer("COMMAND", command, "PROBE", probe).Replace(manifest))
			c.RunFor(10 * time.Minute)
			said := strings.Join(strings.Fields(c.Explain("pod/operator")), " ")
			require.Contains(t, said, "the program of the image example.com/operator:9 does nothing, since the simulation does not have it", probe)
			require.Contains(t, said, do, probe)
		}
	}
	c := storagesimtest.New(t, storagesim.Config{
		TakePrograms: true, Entrypoints: map[string][]string{"example.com/operator": {"sh", "-c", "touch /tmp/ready; sleep 1000000"}},
	})
	c.Apply(strings.NewReplacer("COMMAND", "args: [run, --all]", "PROBE", "readinessProbe").Replace(manifest))
	c.RunFor(time.Minute)
	require.True(t, containerStatus(c, "operator").Ready)
	c = storagesimtest.New(t, storagesim.Config{TakePrograms: true})
	c.Apply(strings.NewReplacer("COMMAND", "command: [sleep, '1000000']", "PROBE", "readinessProbe").Replace(manifest))
	c.RunFor(time.Minute)
	require.Contains(t, c.Explain("pod/operator"), "To do: mend the probe")
}

// A container often copies a program out of its image for the others of its pod.
func TestAFileThatAnImageMayHaveIsNotCalledAMistakeOfTheScript(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{TakePrograms: true})
	explained := func(name, image, file string) string {
		c.Apply(`{apiVersion: v1, kind: Pod, metadata: {name: ` + name + `}, spec: {volumes: [{name: v, emptyDir: {}}], containers: [{name: c, image: "` + image + `",
  command: [cp, -n, ` + file + `, /shared/x], volumeMounts: [{name: v, mountPath: /shared}]}]}}`)
		c.RunFor(time.Minute)
		return strings.Join(strings.Fields(c.Explain("pod/"+name)), " ")
	}
	require.Contains(t, explained("copies", "quay.io/argoproj/argocd:v3", "/usr/local/bin/argocd"),
		"To do: mend its script or its program, unless /usr/local/bin/argocd is a file of image quay.io/argoproj/argocd:v3: the simulation has none of these.")
	require.Contains(t, explained("own", "quay.io/argoproj/argocd:v3", "/shared/y"), "To do: mend its script or its program.")
	require.Contains(t, explained("box", "docker.io/library/busybox:1.37", "/usr/local/bin/argocd"), "To do: mend its script or its program.")
}

// That a program ends with 0 when it is told to end is no mistake of it.
func TestAProgramThatAProbeHasEndedIsNotToldToGoOnRunning(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Apply(probedPod("web", "trap \"exit 0\" TERM; while true; do sleep 1; done", "livenessProbe: {exec: {command: [cat, /v/alive]}, periodSeconds: 5}", ""))
	c.RunFor(10 * time.Minute)
	require.Zero(t, containerStatus(c, "web").LastTerminationState.Terminated.ExitCode)
	said := strings.Join(strings.Fields(c.Explain("pod/web")), " ")
	require.Contains(t, said, "the kubelet stopped container c, since its liveness probe failed: cat: /v/alive: no such file or directory. To do: mend the probe")
}

// A command that takes too long has failed, and is stopped.
func TestAProbeThatTakesTooLongHasFailed(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Apply(probedPod("web", "sleep 100000",
		"readinessProbe: {exec: {command: [sh, -c, \"sleep $(LONG); touch /v/late\"]}, timeoutSeconds: 2}, env: [{name: LONG, value: \"5\"}]", ""))
	c.Settle()
	said, _ := eventsOf(t, c, "web", "Unhealthy")
	require.Equal(t, []string{`Readiness probe failed: command timed out: "sh -c sleep 5; touch /v/late" timed out after 2s`}, said)
	c.RunFor(time.Minute)
	answer, err := c.Cluster.Machine("pod/web").Exec("c", "ls", "/v")
	require.NoError(t, err)
	require.Empty(t, answer.Stdout)
}

// A kubelet that starts again keeps what it said of a container that it finds.
func TestAKubeletThatStartsAgainKeepsAContainerReady(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Apply(probedPod("web", "touch /v/up; sleep 100000",
		`startupProbe: {exec: {command: [test, -f, /v/up]}, periodSeconds: 2}, readinessProbe: {exec: {command: [test, -f, /v/up]}, initialDelaySeconds: 3},
    livenessProbe: {exec: {command: [test, -f, /v/up]}}`, ""))
	c.Settle()
	c.RequireRunning("web")
	c.RunFor(time.Minute)
	require.True(t, containerStatus(c, "web").Ready)
	seen := len(c.Trace().Records())
	c.Crash("kubelet/node-1")
	c.RunFor(time.Minute)
	for _, r := range c.Trace().Records()[seen:] {
		if w, ok := r.Record.(trace.Write); ok && w.Kind == "Pod" {
			require.True(t, w.New.(*v1.Pod).Status.ContainerStatuses[0].Ready, w.String())
		}
	}
	_, err := c.Cluster.Machine("pod/web").Exec("c", "rm", "/v/up")
	require.NoError(t, err)
	c.RunFor(20 * time.Second) // the kubelet has probed since it has its pods, a second after its start: this is the second of three failures
	require.True(t, containerStatus(c, "web").Ready)
	c.RunFor(2 * time.Minute)
	require.Positive(t, containerStatus(c, "web").RestartCount)
}

const rollout = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: c, image: example.com/app, command: [sh, -c, "sleep 100000"], readinessProbe: {exec: {command: ["PROBE"]}, periodSeconds: 5}}
`

// A rollout waits for pods that are ready: upstream deployment/rolling.go.
func TestAReadinessProbeThatFailsHoldsARollout(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Apply(strings.Replace(rollout, "PROBE", "true", 1))
	c.Settle()
	c.Apply(strings.Replace(rollout, "PROBE", "false", 1))
	c.RunFor(9 * time.Minute)
	d, err := c.Client().AppsV1().Deployments("default").Get(t.Context(), "web", metav1.GetOptions{})
	require.NoError(t, err)
	require.EqualValues(t, 3, d.Status.Replicas, "one more than wanted, and none of the old ones gone")
	require.EqualValues(t, 2, d.Status.ReadyReplicas)
	require.EqualValues(t, 1, d.Status.UpdatedReplicas)
	c.RunFor(2 * time.Minute)
	require.Contains(t, c.Explain("deployment/web"), "Readiness probe failed")
}
