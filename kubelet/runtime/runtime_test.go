package runtime_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/rigs/enginetest"
	"github.com/storagesim/storagesim/kubelet/runtime"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/machine/shell"
)

// node is a runtime that an actor is attached to, with one pod.
type node struct {
	*runtime.Containers
	t    *testing.T
	disk *disk.Disk
	env  control.Env
	e    *engine.Engine
	// started and ended are the events that were told.
	started, ended []string
}

const uid = types.UID("uid")

func newNode(t *testing.T) *node {
	disk := disk.InMemory(func() time.Time { return time.Time{} })
	require.NoError(t, disk.MkdirAll("/disk", 0o755))
	n := &node{Containers: runtime.New(runtime.Config{Root: disk}), t: t, disk: disk}
	rig := enginetest.New(t, engine.Config{}, "kubelet/node-1", func(env control.Env) error {
		n.env = env
		n.Attach(runtime.Client{
			Env: env, Node: "node-1", PodCIDR: "10.0.0.0/24",
			Started: func(pod types.UID, id string) { n.started = append(n.started, string(pod)+" "+id) },
			Ended:   func(pod types.UID, id string) { n.ended = append(n.ended, string(pod)+" "+id) },
		})
		return nil
	})
	n.e = rig.Engine
	require.NoError(t, n.e.Settle())
	require.NoError(t, n.RunPodSandbox(runtime.PodSandboxConfig{UID: uid, Namespace: "default", Name: "web", Hostname: "web"}))
	return n
}

// stop stops a container in a task of the kubelet.
func (n *node) stop(id string, grace time.Duration) {
	n.t.Helper()
	n.beginStop(id, grace)
	require.NoError(n.t, n.e.Settle())
	require.Equal(n.t, runtime.ContainerExited, n.status(id).State)
}

// beginStop begins to stop a container.
func (n *node) beginStop(id string, grace time.Duration) {
	n.env.Go("stop", func(ctx context.Context) { require.NoError(n.t, n.StopContainer(ctx, id, grace)) })
	require.NoError(n.t, n.e.RunFor(0))
}

// start creates and starts a container with a volume at /data.
func (n *node) start(attempt int32, argv ...string) string {
	n.t.Helper()
	id, err := n.CreateContainer(uid, runtime.ContainerConfig{
		Name: "c", Attempt: attempt, Image: "busybox:latest", Command: argv,
		Mounts: []shell.Mount{{ContainerPath: "/data", VolumePath: "/disk"}},
	})
	require.NoError(n.t, err)
	require.NoError(n.t, n.StartContainer(id))
	return id
}

func (n *node) status(id string) runtime.ContainerStatus {
	n.t.Helper()
	status, err := n.ContainerStatus(id)
	require.NoError(n.t, err)
	return *status
}

func (n *node) log(id string) string {
	n.t.Helper()
	var out strings.Builder
	require.NoError(n.t, n.Logs(id, &out))
	return out.String()
}

func TestAContainerIsCreatedStartedAndEndsAndItsLogStays(t *testing.T) {
	n := newNode(t)
	id := n.start(0, "sh", "-c", "echo one; sleep 10; echo two > /data/f; exit 3")
	status := n.status(id)
	require.Equal(t, runtime.ContainerRunning, status.State)
	require.Equal(t, "one\n", n.log(id))
	require.ErrorContains(t, n.StartContainer(id), "is in state CONTAINER_RUNNING; it must be CONTAINER_CREATED to be started")

	require.NoError(t, n.e.RunFor(10*time.Second))
	status = n.status(id)
	require.Equal(t, runtime.ContainerExited, status.State)
	require.EqualValues(t, 3, status.ExitCode)
	require.Equal(t, "Error", status.Reason)
	require.Empty(t, status.Message)
	require.Equal(t, "one\n", n.LastWords(id))
	require.Equal(t, 10*time.Second, status.FinishedAt.Sub(status.StartedAt))
	require.Equal(t, []string{"uid " + id}, n.started)
	require.Equal(t, []string{"uid " + id}, n.ended)
	require.Equal(t, "one\n", n.log(id))
	data, err := n.disk.ReadFile("/disk/f")
	require.NoError(t, err)
	require.Equal(t, "two\n", string(data))
}

func TestAContainerThatIsStoppedIsNotReportedAsEndedByItself(t *testing.T) {
	n := newNode(t)
	id := n.start(0, "sh", "-c", "echo one; sleep 10; echo two")
	n.stop(id, 2*time.Second)
	status := n.status(id)
	require.Equal(t, 2*time.Second, status.FinishedAt.Sub(status.StartedAt))
	require.EqualValues(t, 137, status.ExitCode)
	n.stop(id, time.Minute)
	require.Equal(t, status, n.status(id), "it has ended")
	require.NoError(t, n.StopContainer(t.Context(), "no such container", time.Second))
	require.NoError(t, n.e.RunFor(time.Minute))
	require.Empty(t, n.ended)
	require.Equal(t, "one\n", n.log(id))
	require.NoError(t, n.RemoveContainer(id))
	_, err := n.ContainerStatus(id)
	require.ErrorContains(t, err, "there is no container with the id")
}

// Upstream: containerd internal/cri/server/container_stop.go stopContainer, v2.1.
func TestAContainerThatIsStoppedHasItsGracePeriodToEnd(t *testing.T) {
	for script, want := range map[string]struct {
		after time.Duration
		code  int32
	}{
		"sleep 1000":                  {30 * time.Second, 137},
		"sleep 20; exit 3":            {20 * time.Second, 3}, // by itself
		"sleep 40; exit 3":            {30 * time.Second, 137},
		"trap 'exit 4' TERM; sleep 9": {9 * time.Second, 4},
		"trap 'sleep 5; exit 4' TERM; while true; do sleep 2; done":  {7 * time.Second, 4},
		"trap 'sleep 50; exit 4' TERM; while true; do sleep 2; done": {30 * time.Second, 137},
		"trap 'exit 4' TERM; sleep 1000 & wait":                      {0, 4},
		"trap 'echo again' TERM; while true; do sleep 0.01; done":    {30 * time.Second, 137},
	} {
		n := newNode(t)
		id := n.start(0, "sh", "-c", script)
		n.stop(id, 30*time.Second)
		status := n.status(id)
		require.Equal(t, want.after, status.FinishedAt.Sub(status.StartedAt), script)
		require.Equal(t, want.code, status.ExitCode, script)
		byItself := want.code != 137 && want.after > 0
		require.Equal(t, byItself, len(n.ended) == 1, script)
	}
}

// What StopContainer of one that has had SIGTERM does: no second one, and SIGKILL after another grace period.
func TestAStopWhoseKubeletDiesIsFinishedByTheNextOne(t *testing.T) {
	n := newNode(t)
	id := n.start(0, "sh", "-c", "trap 'echo asked' TERM; while true; do sleep 1; done")
	n.beginStop(id, 30*time.Second)
	require.NoError(t, n.e.RunFor(10*time.Second))
	require.NoError(t, n.e.Crash("kubelet/node-1"))
	require.NoError(t, n.e.RunFor(time.Hour))
	require.Equal(t, runtime.ContainerRunning, n.status(id).State)
	require.Equal(t, "asked\n", n.log(id))
	n.beginStop(id, 5*time.Second)
	require.NoError(t, n.e.RunFor(4*time.Second))
	require.Equal(t, runtime.ContainerRunning, n.status(id).State)
	require.NoError(t, n.e.RunFor(time.Second))
	require.EqualValues(t, 137, n.status(id).ExitCode)
	require.Equal(t, "asked\n", n.log(id))
}

func TestSettleWaitsForTheEndOfAContainerForAnHourOfItsGracePeriod(t *testing.T) {
	n := newNode(t)
	id := n.start(0, "sleep", "100000")
	n.beginStop(id, 2*time.Hour)
	before := n.e.Now()
	require.NoError(t, n.e.Settle())
	require.Equal(t, time.Hour, n.e.Now().Sub(before))
	require.Equal(t, runtime.ContainerRunning, n.status(id).State)
	require.NoError(t, n.e.RunFor(time.Hour))
	require.EqualValues(t, 137, n.status(id).ExitCode)
}

func TestTheLastWordsOfAContainerThatHasFailedOutliveIt(t *testing.T) {
	n := newNode(t)
	words := func(script string) (there, gone string) {
		id := n.start(0, "sh", "-c", script)
		there = n.LastWords(id)
		require.NoError(t, n.RemoveContainer(id))
		return there, n.LastWords(id)
	}
	there, gone := words("echo well")
	require.Equal(t, "well\n", there)
	require.Empty(t, gone)
	there, gone = words("echo badly; exit 3")
	require.Equal(t, "badly\n", there)
	require.Equal(t, "badly\n", gone)
	first := n.start(1, "sh", "-c", "echo first; exit 1")
	require.NoError(t, n.RemoveContainer(first))
	for attempt := range int32(100) {
		require.Equal(t, "first\n", n.LastWords(first))
		require.NoError(t, n.RemoveContainer(n.start(2+attempt, "sh", "-c", "echo next; exit 1")))
	}
	require.Empty(t, n.LastWords(first), "a hundred are kept")
	require.Empty(t, n.LastWords("no such container"))
}

func TestWhatIsKilledWithoutAGracePeriodHandlesNoSignal(t *testing.T) {
	const script = "trap 'echo handled; exit 3' TERM; while true; do sleep 1; done"
	n := newNode(t)
	stopped := n.start(0, "sh", "-c", script)
	n.stop(stopped, time.Minute)
	require.EqualValues(t, 3, n.status(stopped).ExitCode)
	require.Equal(t, "handled\n", n.log(stopped))
	for attempt, kill := range []func(id string) error{
		func(id string) error { return n.StopContainer(t.Context(), id, 0) },
		func(string) error { return n.StopPodSandbox(uid) },
	} {
		id := n.start(int32(attempt+1), "sh", "-c", script)
		require.NoError(t, kill(id))
		require.EqualValues(t, 137, n.status(id).ExitCode)
		require.Equal(t, "Error", n.status(id).Reason)
		require.Empty(t, n.log(id))
	}
}

func TestASandboxHasAnAddressUntilItIsStoppedAndIsKnownUntilItIsRemoved(t *testing.T) {
	n := newNode(t)
	id := n.start(0, "sleep", "60")
	sandbox, err := n.PodSandboxStatus(uid)
	require.NoError(t, err)
	require.Equal(t, "10.0.0.2", sandbox.IP)
	last, before := sandbox.Latest("c")
	require.Equal(t, id, last.ID)
	require.Nil(t, before)
	require.ErrorContains(t, n.RunPodSandbox(runtime.PodSandboxConfig{UID: uid}), "pod uid has a sandbox")

	require.NoError(t, n.StopPodSandbox(uid))
	require.Equal(t, runtime.ContainerExited, n.status(id).State)
	_, err = n.CreateContainer(uid, runtime.ContainerConfig{Name: "d"})
	require.ErrorContains(t, err, "pod uid has no sandbox that is ready")
	require.NoError(t, n.RunPodSandbox(runtime.PodSandboxConfig{UID: "other"}))
	other, err := n.PodSandboxStatus("other")
	require.NoError(t, err)
	require.Equal(t, "10.0.0.2", other.IP, "it is free again")

	require.NoError(t, n.RunPodSandbox(runtime.PodSandboxConfig{UID: uid}))
	sandbox, err = n.PodSandboxStatus(uid)
	require.NoError(t, err)
	require.True(t, sandbox.Ready)
	require.Equal(t, "10.0.0.3", sandbox.IP)
	last, _ = sandbox.Latest("c")
	require.Equal(t, id, last.ID, "which stays known")

	require.NoError(t, n.RemovePodSandbox(uid))
	sandbox, err = n.PodSandboxStatus(uid)
	require.NoError(t, err)
	require.Nil(t, sandbox)
	pods, err := n.ListPodSandboxes()
	require.NoError(t, err)
	require.Equal(t, []types.UID{"other"}, pods)
}

func TestContainersGoOnInTheNextLifeOfTheKubelet(t *testing.T) {
	n := newNode(t)
	id := n.start(0, "sh", "-c", "while true; do echo x; sleep 60; done")
	require.NoError(t, n.e.RunFor(90*time.Second))
	require.NoError(t, n.e.Crash("kubelet/node-1"))
	require.NoError(t, n.e.RunFor(5*time.Minute))
	require.Equal(t, 7, strings.Count(n.log(id), "x"))
}

func TestACommandIsRunBesideAContainersOwnAndItsSleepsTakeVirtualTime(t *testing.T) {
	n := newNode(t)
	id := n.start(0, "sleep", "60")
	var out, errs bytes.Buffer
	p, err := n.Exec(id, runtime.ExecConfig{
		Command: []string{"sh", "-c", "cat; sleep 5; echo late >&2; exit 4"}, Stdin: strings.NewReader("typed\n"), Stdout: &out, Stderr: &errs,
	})
	require.NoError(t, err)
	wait, ended := p.Run()
	require.False(t, ended)
	require.Equal(t, 5*time.Second, wait)
	require.NoError(t, n.e.RunFor(wait))
	_, ended = p.Run()
	require.True(t, ended)
	require.EqualValues(t, 4, p.ExitCode())
	require.Equal(t, "typed\n", out.String())
	require.Equal(t, "late\n", errs.String())
	require.Empty(t, n.log(id), "a container's log has nothing of it")
}

func TestACommandBesideAContainerEndsWithIt(t *testing.T) {
	n := newNode(t)
	id := n.start(0, "sleep", "5")
	p, err := n.Exec(id, runtime.ExecConfig{Command: []string{"sleep", "60"}})
	require.NoError(t, err)
	_, ended := p.Run()
	require.False(t, ended)
	require.NoError(t, n.e.RunFor(5*time.Second))
	_, ended = p.Run()
	require.True(t, ended)
	require.EqualValues(t, 137, p.ExitCode())
	_, err = n.Exec(id, runtime.ExecConfig{Command: []string{"true"}})
	require.ErrorContains(t, err, "container is in CONTAINER_EXITED state")
}

func TestACommandThatIsNotThereEndsWith127AndSaysWhatIs(t *testing.T) {
	n := newNode(t)
	id := n.start(0, "sleep", "60")
	var errs bytes.Buffer
	p, err := n.Exec(id, runtime.ExecConfig{Command: []string{"catt", "/data/f"}, Stderr: &errs})
	require.NoError(t, err)
	_, ended := p.Run()
	require.True(t, ended)
	require.EqualValues(t, 127, p.ExitCode())
	require.Contains(t, errs.String(), "catt: not found")
	require.Contains(t, errs.String(), `(did you mean "cat"?); expected one of [, ash, `)
	_, err = n.Exec(id, runtime.ExecConfig{})
	require.ErrorContains(t, err, "a command is required")
}
