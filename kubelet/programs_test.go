package kubelet_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/kubelet"
	"github.com/storagesim/storagesim/trace"
)

// running returns a pod that runs a script in a volume at /data, and is to run for ever.
func running(name, script string) *v1.Pod {
	p := pod(name, hostPath("data", "/srv", v1.HostPathDirectoryOrCreate))
	p.Spec.Containers[0].Command = []string{"sh", "-c", script}
	return p
}

func (w *world) onDisk(name string) string {
	w.t.Helper()
	data, err := w.node.ReadFile(name)
	require.NoError(w.t, err)
	return string(data)
}

const greetingLoop = "while true; do echo \"`date` [`hostname`] Hello from OpenEBS Local PV.\" >> /data/greet.txt; sleep $(($RANDOM % 5 + 300)); done"

func TestAPodsProgramRunsAndSettlingDoesNotWaitForIt(t *testing.T) {
	w := simple(t)
	w.create(running("hello", greetingLoop))
	w.settle()
	require.Equal(t, v1.PodRunning, w.get("hello").Status.Phase)
	require.Equal(t, 1, strings.Count(w.onDisk("/srv/greet.txt"), "\n"))
	require.Less(t, w.e.Now().Sub(engine.Start()), time.Minute)
	require.NoError(t, w.e.RunFor(20*time.Minute))
	lines := strings.Split(strings.TrimSpace(w.onDisk("/srv/greet.txt")), "\n")
	require.Len(t, lines, 4)
	for _, line := range lines {
		require.Regexp(t, `^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d UTC \d{4} \[hello\] Hello from OpenEBS Local PV\.$`, line)
	}
	w.delete("hello")
	w.settle()
	before := w.onDisk("/srv/greet.txt")
	require.NoError(t, w.e.RunFor(time.Hour))
	require.Equal(t, before, w.onDisk("/srv/greet.txt"), "a pod that is gone writes nothing")
	w.requireNothingLeft()
}

func TestAProgramOutlivesACrashOfItsKubelet(t *testing.T) {
	w := simple(t)
	w.create(helper(running("once", ""), "sh", "-c", "echo begins >> /data/log; sleep 600; echo ends >> /data/log"))
	w.create(running("loop", "while true; do echo x >> /data/loop; sleep 60; done"))
	w.settle()
	require.NoError(t, w.e.RunFor(90*time.Second))
	require.NoError(t, w.e.Crash("kubelet/node-1"))
	w.settle()
	require.NoError(t, w.e.RunFor(8*time.Minute))
	require.Equal(t, "begins\n", w.onDisk("/srv/log"), "it is not run twice")
	require.Equal(t, v1.PodRunning, w.get("once").Status.Phase)
	require.NoError(t, w.e.RunFor(time.Minute))
	require.Equal(t, "begins\nends\n", w.onDisk("/srv/log"))
	require.Equal(t, v1.PodSucceeded, w.get("once").Status.Phase)
	require.Equal(t, 11, strings.Count(w.onDisk("/srv/loop"), "x"))
	require.Zero(t, w.get("loop").Status.ContainerStatuses[0].RestartCount)
}

func TestAShortSleepOfAPodThatIsToEndIsAwaited(t *testing.T) {
	w := simple(t)
	w.create(helper(running("helper", ""), "sh", "-c", "mkdir /data/x && chmod 0700 /data/x; sleep 5; exit 3"))
	w.create(helper(running("patient", ""), "sleep", "3600"))
	w.settle()
	ended := w.get("helper").Status.ContainerStatuses[0].State.Terminated
	require.NotNil(t, ended)
	require.EqualValues(t, 3, ended.ExitCode)
	require.Equal(t, 5*time.Second, ended.FinishedAt.Sub(ended.StartedAt.Time))
	info, err := w.node.Stat("/srv/x")
	require.NoError(t, err)
	require.EqualValues(t, 0o700, info.Mode().Perm())
	require.Equal(t, v1.PodRunning, w.get("patient").Status.Phase, "an hour is not awaited")
	require.NoError(t, w.e.RunFor(time.Hour))
	require.Equal(t, v1.PodSucceeded, w.get("patient").Status.Phase)
}

func TestAProgramThatIsNotThereEndsItsContainerWith127AndAnEvent(t *testing.T) {
	w := simple(t)
	w.create(running("lost", "xyz --now"))
	w.settle()
	c := w.get("lost").Status.ContainerStatuses[0]
	last := c.State.Terminated
	if last == nil {
		last = c.LastTerminationState.Terminated
	}
	require.NotNil(t, last)
	require.EqualValues(t, 127, last.ExitCode)
	require.Empty(t, last.Message, "it is in the log")
	w.requireEvent("lost", "Failed", "has ended with exit code 127: sh: xyz: not found")
	require.NoError(t, w.e.RunFor(5*time.Minute))
	require.Greater(t, w.get("lost").Status.ContainerStatuses[0].RestartCount, int32(1), "it is started again and again")
	require.Equal(t, v1.PodRunning, w.get("lost").Status.Phase)
}

func TestAProgramThatEndsIsStartedAgainWhereThePodIsToRunForEver(t *testing.T) {
	w := simple(t)
	w.create(running("short", "echo x >> /data/log; sleep 30"))
	w.settle()
	require.NoError(t, w.e.RunFor(10*time.Minute))
	require.Greater(t, w.get("short").Status.ContainerStatuses[0].RestartCount, int32(2))
	require.Greater(t, strings.Count(w.onDisk("/srv/log"), "x"), 3)
	require.NotNil(t, w.get("short").Status.ContainerStatuses[0].LastTerminationState.Terminated)
}

// Upstream: kuberuntime_container.go startContainer, ErrRunContainer, v1.37.2, and containerd's errorStartReason.
func TestAContainerThatCannotBeStartedWaitsAndStartsAgain(t *testing.T) {
	w := simple(t)
	p := running("lost", "")
	p.Spec.Containers[0].Command = []string{"/data/run.sh"}
	require.NoError(t, w.node.MkdirAll("/srv", 0o755))
	require.NoError(t, w.node.WriteFile("/srv/run.sh", []byte("sleep 100000"), 0o644))
	w.create(p)
	w.settle()
	var reasons []string
	for _, entry := range w.e.Trace().Entries() {
		if write, ok := entry.Record.(trace.Write); ok && write.Subresource == "status" {
			if written, ok := write.New.(*v1.Pod); ok && written.Status.ContainerStatuses[0].State.Waiting != nil {
				reasons = append(reasons, written.Status.ContainerStatuses[0].State.Waiting.Reason)
			}
		}
	}
	require.Contains(t, reasons, "RunContainerError")
	c := w.get("lost").Status.ContainerStatuses[0]
	require.Equal(t, "CrashLoopBackOff", c.State.Waiting.Reason)
	require.Equal(t, "StartError", c.LastTerminationState.Terminated.Reason)
	require.Contains(t, c.LastTerminationState.Terminated.Message, `exec: "/data/run.sh": permission denied`)
	require.NoError(t, w.node.Chmod("/srv/run.sh", 0o755))
	require.NoError(t, w.e.RunFor(5*time.Minute))
	require.NotNil(t, w.get("lost").Status.ContainerStatuses[0].State.Running)
}

// What an image starts with goes on for ever; a container whose program is known to be there by no one is not started.
func TestAContainerRunsWhatCanBeCarriedOutOrWhatItsImageStartsWith(t *testing.T) {
	long := strings.Repeat("a", 60)
	for name, c := range map[string]struct {
		image         string
		command, args []string
		missing       string // "" if it runs
	}{
		"no-command":     {image: "example.com/app:1"},
		"arguments":      {image: "example.com/app:1", args: []string{"--verbose"}},
		"a-known-word":   {image: "busybox", args: []string{"sh", "-c", "echo ran > /data/args; sleep infinity"}},
		"same-name":      {image: "rancher/local-path-provisioner:v0.0.37", command: []string{"local-path-provisioner", "start"}},
		"nginx":          {image: "nginx:1.27", command: []string{"nginx", "-g", "daemon off;"}},
		"postgres":       {image: "postgres", command: []string{"docker-entrypoint.sh", "postgres"}},
		"mysql":          {image: "docker.io/library/mysql:8", command: []string{"/usr/sbin/mysqld"}},
		"redis":          {image: "redis@sha256:" + strings.Repeat("a", 64), command: []string{"sh", "-c", "exec redis-server /data/redis.conf"}},
		"pause":          {image: "registry.k8s.io/pause:3.10", command: []string{"/pause"}},
		"not-its-image":  {image: "busybox", command: []string{"postgres", "-D", "/data"}, missing: "postgres"},
		"its-config":     {image: "redis:7", args: []string{"/data/plain"}},
		"no-such-file":   {image: "busybox", command: []string{"/data/run.sh"}, missing: "/data/run.sh"},
		"of-no-one":      {image: "example.com/app:1", command: []string{"start-" + long}, missing: "start-" + long},
		"misspelt":       {image: "busybox", command: []string{"slep", "10"}, missing: "slep"},
		"in-a-script":    {image: "busybox", command: []string{"sh", "-c", "postgres"}, missing: "sh: postgres"},
		"wrong-variable": {image: "busybox", command: []string{"$(PROGRAM)"}, missing: "$(PROGRAM)"},
	} {
		t.Run(name, func(t *testing.T) {
			w := simple(t)
			p := running(name, "")
			p.Spec.RestartPolicy = v1.RestartPolicyNever
			spec := &p.Spec.Containers[0]
			spec.Image, spec.Command, spec.Args = c.image, c.command, c.args
			if len(c.args) == 1 && c.args[0] == "/data/plain" {
				require.NoError(t, w.node.MkdirAll("/srv", 0o755))
				require.NoError(t, w.node.WriteFile("/srv/plain", []byte("port 1"), 0o644))
			}
			w.create(p)
			w.settle()
			got := w.get(name).Status
			if c.missing == "" {
				require.Equal(t, v1.PodRunning, got.Phase)
				if name == "a-known-word" {
					text, err := kubelet.ReadFile(w.node, w.runtime, w.get(name), "/data/args")
					require.NoError(t, err)
					require.Equal(t, "ran\n", string(text))
				}
				return
			}
			require.Equal(t, v1.PodFailed, got.Phase)
			ended := got.ContainerStatuses[0].State.Terminated
			if name == "in-a-script" {
				require.EqualValues(t, 127, ended.ExitCode)
				w.requireEvent(name, "Failed", "has ended with exit code 127: "+c.missing+": not found")
				return
			}
			why := "executable file not found in $PATH"
			if strings.HasPrefix(c.missing, "/") {
				why = "stat " + c.missing + ": no such file or directory"
			}
			require.EqualValues(t, 128, ended.ExitCode)
			require.Equal(t, "StartError", ended.Reason)
			require.Equal(t, time.Unix(0, 0).UTC(), ended.StartedAt.UTC())
			const failed = "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: " +
				"unable to start container process: "
			require.Contains(t, ended.Message, failed+fmt.Sprintf("error during container init: exec: %q: %s", c.missing, why))
			require.Contains(t, ended.Message, "; expected one of [, a")
			w.requireEvent(name, "Failed", "Error: "+failed)
		})
	}
}

func TestTheTraceSaysThatNothingIsKnownOfAProgramOfAnImage(t *testing.T) {
	w := simple(t)
	p := running("db", "")
	p.Spec.Containers[0].Image, p.Spec.Containers[0].Command = "postgres:17", []string{"postgres", "-D", "/data"}
	withInit(p, "postgres", "--check").Spec.InitContainers[0].Image = "postgres:17"
	w.create(p)
	w.settle()
	require.Equal(t, v1.PodRunning, w.get("db").Status.Phase)
	require.Contains(t, w.trace(), "pod default/db: container init runs postgres, a program of its image, of which nothing is known here; it ends at once")
	require.Contains(t, w.trace(), "pod default/db: container c runs postgres, a program of its image, of which nothing is known here; it just runs")
}

func TestInitContainersRunOneAfterTheOther(t *testing.T) {
	w := simple(t)
	p := running("main", "echo main >> /data/log; sleep infinity")
	init := func(name, script string) v1.Container {
		c := *p.Spec.Containers[0].DeepCopy()
		c.Name, c.Command = name, []string{"sh", "-c", script}
		return c
	}
	p.Spec.InitContainers = []v1.Container{init("one", "echo one >> /data/log; sleep 20; echo one ends >> /data/log"),
		init("two", "sleep 10; echo two >> /data/log")}
	w.create(p)
	w.settle()
	require.Equal(t, "one\none ends\ntwo\nmain\n", w.onDisk("/srv/log"))
	got := w.get("main")
	require.Equal(t, v1.PodRunning, got.Status.Phase)
	require.Equal(t, 30*time.Second,
		got.Status.ContainerStatuses[0].State.Running.StartedAt.Sub(got.Status.InitContainerStatuses[0].State.Terminated.StartedAt.Time))
	require.Zero(t, got.Status.InitContainerStatuses[1].RestartCount)
}

func TestALoopWithoutASleepDoesNotHoldUpTheCluster(t *testing.T) {
	w := simple(t)
	w.create(running("busy", "while true; do :; done"))
	w.create(running("other", "echo here > /data/other; sleep infinity"))
	w.settle()
	require.Equal(t, "here\n", w.onDisk("/srv/other"))
	require.NoError(t, w.e.RunFor(24*time.Hour))
	require.Contains(t, w.trace(), "pod default/busy: container c has taken 10000 steps without a sleep; it goes on after 1s")
	w.delete("busy")
	w.settle()
	require.True(t, w.gone("busy"))
}

func TestTheSameSeedGivesTheSameRandomNumbersAndTheSameTrace(t *testing.T) {
	play := func(seed uint64) (string, string) {
		w := newWorld(t, engine.Config{Policy: engine.Seeded(seed), Seed: seed}, kubelet.Config{})
		w.create(running("hello", "while true; do echo $RANDOM >> /data/n; mkdir -p /data/$((RANDOM % 3)); sleep $((RANDOM % 50 + 10)); done"))
		w.settle()
		require.NoError(t, w.e.RunFor(10*time.Minute))
		return w.trace(), w.onDisk("/srv/n")
	}
	trace, numbers := play(1)
	trace2, numbers2 := play(1)
	require.Equal(t, trace, trace2)
	require.Equal(t, numbers, numbers2)
	_, numbers3 := play(2)
	require.NotEqual(t, numbers, numbers3)
}

func TestUpstreamsFakeRuntimeRunsNothing(t *testing.T) {
	w := fakeRuntime(t)
	p := pod("fake")
	p.Spec.Containers[0].Command = []string{"sh", "-c", "exit 3"}
	w.create(p)
	w.settle()
	require.Equal(t, v1.PodRunning, w.get("fake").Status.Phase)
}

func TestSleepInTheBackgroundIsNotAwaited(t *testing.T) {
	w := simple(t)
	w.create(running("sleeper", "sleep 10; echo awake > /data/log; sleep infinity"))
	w.settle()
	require.Less(t, w.e.Now().Sub(engine.Start()), 10*time.Second)
	_, err := w.node.Stat("/srv/log")
	require.Error(t, err)
	require.NoError(t, w.e.RunFor(10*time.Second))
	require.Equal(t, "awake\n", w.onDisk("/srv/log"))
}
