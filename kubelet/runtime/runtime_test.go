package runtime_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/kubelet/runtime"
	"github.com/storagesim/storagesim/kubelet/runtime/programs"
	"github.com/storagesim/storagesim/machine/disk"
)

type host struct{ now time.Time }

func (h *host) Now() time.Time { return h.now }
func (*host) Choose(int) int   { return 0 }

func TestAContainerIsStartedResumedStoppedAndItsLogStays(t *testing.T) {
	node := disk.InMemory(func() time.Time { return time.Time{} })
	require.NoError(t, node.MkdirAll("/disk", 0o755))
	var service runtime.Service = runtime.NewContainers(node, nil)
	h := &host{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	c := runtime.Container{
		Argv: []string{"sh", "-c", "echo one; sleep 10; echo two > /data/f; exit 3"}, Hostname: "web",
		Mounts: []programs.Mount{{ContainerPath: "/data", VolumePath: "/disk"}},
	}
	id := runtime.ID{Pod: "uid", Name: "c"}
	require.True(t, service.CanRun(c))
	require.False(t, service.StartContainer(id, c, h).Ended)
	require.Equal(t, h.now.Add(10*time.Second), service.Until(id))
	require.Equal(t, []runtime.ID{id}, service.Running("uid"))
	require.Equal(t, "one\n", service.Logs(id))

	result, err := service.Exec(runtime.Container{Argv: []string{"ls", "/data"}, Mounts: c.Mounts}, h)
	require.NoError(t, err)
	require.Empty(t, result.Output)
	_, err = service.Exec(runtime.Container{Argv: []string{"sleep", "1"}}, h)
	require.ErrorContains(t, err, "must come to its end without a sleep")

	h.now = h.now.Add(10 * time.Second)
	status, ok := service.Resume(id, h)
	require.True(t, ok)
	require.True(t, status.Ended)
	require.EqualValues(t, 3, status.ExitCode)
	require.Equal(t, "one", status.Message)
	_, ok = service.Resume(id, h)
	require.False(t, ok, "it has ended")
	require.Equal(t, "one\n", service.Logs(id))
	data, err := node.ReadFile("/disk/f")
	require.NoError(t, err)
	require.Equal(t, "two\n", string(data))

	again := runtime.ID{Pod: "uid", Name: "c", Attempt: 1}
	service.StartContainer(again, c, h)
	service.StopContainer(again)
	service.StopContainer(again)
	require.Empty(t, service.Running("uid"))
	require.Equal(t, "one\n", service.Logs(again))
	service.RemovePod("uid")
	require.Empty(t, service.Logs(again))
}
