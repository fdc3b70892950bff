package kubelet_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/kubelet"
	"github.com/storagesim/storagesim/machine/disk"
)

// A named pipe where a directory is expected kept the whole simulation waiting for ever.
func TestANamedPipeInAPodsVolumeKeepsNobodyWaiting(t *testing.T) {
	root := t.TempDir()
	node, err := disk.Open(root)
	require.NoError(t, err)
	w := newWorld(t, engine.Config{}, kubelet.Config{Root: node})
	require.NoError(t, node.MkdirAll("/srv", 0o755))
	require.NoError(t, syscall.Mkfifo(filepath.Join(root, "srv", "pipe"), 0o666))
	part := pod("part", hostPath("data", "/srv", v1.HostPathDirectory))
	part.Spec.Containers[0].VolumeMounts[0].SubPath = "pipe"
	below := pod("below", hostPath("data", "/srv", v1.HostPathDirectory))
	below.Spec.Containers[0].VolumeMounts[0].SubPath = "pipe/sub"
	whole := pod("whole", hostPath("data", "/srv/pipe", v1.HostPathUnset))
	script := helper(pod("script", hostPath("data", "/srv", v1.HostPathDirectory)), "sh", "/data/pipe")
	finder := helper(pod("finder", hostPath("data", "/srv", v1.HostPathDirectory)), "find", "/data/pipe", "-mindepth", "1", "-delete")
	for _, p := range []*v1.Pod{part, below, whole, script, finder} {
		w.create(p)
	}
	w.settle()
	for _, name := range []string{"part", "below", "whole"} {
		p := w.get(name)
		_, _ = kubelet.ReadFile(node, w.runtime, p, "/data")
		_, _ = kubelet.List(node, w.runtime, p, "/data")
		_ = kubelet.WriteFile(node, w.runtime, p, "/data", nil)
		_, _ = kubelet.ReadFile(node, w.runtime, p, "/data/pipe")
		_, _ = kubelet.List(node, w.runtime, p, "/data/pipe")
		_ = kubelet.WriteFile(node, w.runtime, p, "/data/pipe", nil)
	}
	for _, name := range []string{"part", "below", "whole", "script", "finder"} {
		w.delete(name)
	}
	w.settle()
	w.requireNothingLeft()
}
