package kubelet_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/kubelet"
	"github.com/storagesim/storagesim/kubelet/runtime"
)

// tiny is a user's container runtime: it has one pod, and runs nothing.
type tiny struct {
	client  runtime.Client
	sandbox *runtime.PodSandboxStatus
	calls   []string
	broken  bool // no container can be started
}

var _ runtime.Service = (*tiny)(nil)

func (r *tiny) Version() runtime.Version {
	return runtime.Version{RuntimeName: "tiny", RuntimeVersion: "0.1"}
}
func (r *tiny) Attach(client runtime.Client)                                    { r.client = client }
func (r *tiny) ImageStatus(string) (bool, error)                                { return true, nil }
func (r *tiny) PullImage(string) error                                          { return nil }
func (r *tiny) ContainerStats(string) (stats runtime.ContainerStats, err error) { return stats, nil }

func (r *tiny) Logs(string, io.Writer) error   { return nil }
func (r *tiny) StopPodSandbox(types.UID) error { return nil }
func (r *tiny) Exec(string, runtime.ExecConfig) (runtime.Process, error) {
	return nil, errors.New("no")
}

func (r *tiny) RunPodSandbox(c runtime.PodSandboxConfig) error {
	r.sandbox = &runtime.PodSandboxStatus{PodSandboxConfig: c, IP: "192.0.2.1", Ready: true}
	return nil
}

func (r *tiny) RemovePodSandbox(types.UID) error { r.sandbox = nil; return nil }

func (r *tiny) PodSandboxStatus(types.UID) (*runtime.PodSandboxStatus, error) { return r.sandbox, nil }

func (r *tiny) ListPodSandboxes() (list []types.UID, err error) {
	if r.sandbox != nil {
		list = append(list, r.sandbox.UID)
	}
	return list, nil
}

func (r *tiny) CreateContainer(pod types.UID, c runtime.ContainerConfig) (string, error) {
	id := fmt.Sprintf("%s-%d", c.Name, c.Attempt)
	r.sandbox.Containers = append(r.sandbox.Containers, runtime.ContainerStatus{
		ID: id, Pod: pod, Name: c.Name, Attempt: c.Attempt, Image: c.Image, State: runtime.ContainerCreated,
	})
	return id, nil
}

func (r *tiny) ContainerStatus(id string) (*runtime.ContainerStatus, error) {
	for i := range r.sandbox.Containers {
		if r.sandbox.Containers[i].ID == id {
			return &r.sandbox.Containers[i], nil
		}
	}
	return nil, errors.New("no such container")
}

func (r *tiny) StartContainer(id string) error {
	r.calls = append(r.calls, "start "+id)
	c, err := r.ContainerStatus(id)
	if r.broken {
		return errors.New("out of paper")
	}
	c.State, c.StartedAt = runtime.ContainerRunning, r.client.Env.Now()
	r.client.Started(c.Pod, id)
	return err
}

func (r *tiny) end(id string, code int32) {
	c, _ := r.ContainerStatus(id)
	c.State, c.FinishedAt, c.ExitCode, c.Reason = runtime.ContainerExited, r.client.Env.Now(), code, "Tired"
}

func (r *tiny) StopContainer(_ context.Context, id string, _ time.Duration) error {
	r.calls = append(r.calls, "stop "+id)
	r.end(id, 143)
	return nil
}

func (r *tiny) RemoveContainer(id string) error {
	r.calls = append(r.calls, "remove "+id)
	for i, c := range r.sandbox.Containers {
		if c.ID == id {
			r.sandbox.Containers = append(r.sandbox.Containers[:i:i], r.sandbox.Containers[i+1:]...)
			break
		}
	}
	return nil
}

func TestAKubeletRunsPodsWithAnotherRuntimeAndLearnsFromItWhatRuns(t *testing.T) {
	r := &tiny{}
	w := newWorld(t, engine.Config{}, kubelet.Config{Runtime: r})
	w.create(pod("web"))
	w.settle()
	first := w.get("web").Status
	require.Equal(t, v1.PodRunning, first.Phase)
	require.Equal(t, "192.0.2.1", first.PodIP)
	require.Equal(t, "tiny://c-0", first.ContainerStatuses[0].ContainerID)

	r.end("c-0", 7)
	r.client.Ended(r.sandbox.UID, "c-0")
	w.settle()
	second := w.get("web").Status.ContainerStatuses[0]
	require.EqualValues(t, 1, second.RestartCount)
	require.EqualValues(t, 7, second.LastTerminationState.Terminated.ExitCode)
	require.Equal(t, "Tired", second.LastTerminationState.Terminated.Reason)

	require.NoError(t, w.e.Crash(actor))
	w.settle()
	require.Equal(t, []string{"start c-0", "start c-1"}, r.calls, "a kubelet that is back starts nothing that runs")
	require.NoError(t, w.e.Crash(actor))
	r.end("c-1", 0)
	w.settle()
	third := w.get("web").Status.ContainerStatuses[0]
	require.EqualValues(t, 2, third.RestartCount, "it learns what has ended meanwhile")
	require.Equal(t, []string{"start c-0", "start c-1", "start c-2", "remove c-0"}, r.calls)

	w.delete("web")
	w.settle()
	require.Equal(t, "stop c-2", r.calls[len(r.calls)-1])
	require.Nil(t, r.sandbox)
	w.requireNothingLeft()
}

func TestAContainerThatTheRuntimeCannotStartIsTriedAgain(t *testing.T) {
	r := &tiny{broken: true}
	w := newWorld(t, engine.Config{}, kubelet.Config{Runtime: r})
	w.create(pod("web"))
	w.settle()
	w.requireWaiting("web", "c", "RunContainerError", "out of paper")
	w.requireEvent("web", "Failed", "Error: out of paper")
	r.broken = false
	require.NoError(t, w.e.RunFor(5*time.Minute))
	require.Equal(t, v1.PodRunning, w.get("web").Status.Phase)
	require.Zero(t, w.get("web").Status.ContainerStatuses[0].RestartCount)
}
