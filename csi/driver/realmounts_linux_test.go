package driver

import (
	"path/filepath"
	"syscall"
	"testing"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/internal/unshared"
	"github.com/storagesim/storagesim/machine"
)

func TestTheDriverWorksWithTheKernelsMounts(t *testing.T) {
	unshared.Test(t, func(t *testing.T) {
		for name, cfg := range map[string]Config{"staged": {}, "not staged": {NoStage: true}} {
			for kind, c := range map[string]*spec.VolumeCapability{"mount": capability(), "block": blockCapability()} {
				t.Run(name+" "+kind, func(t *testing.T) { liveWithTheKernel(t, cfg, c) })
			}
		}
	})
}

func liveWithTheKernel(t *testing.T, cfg Config, c *spec.VolumeCapability) {
	dir := t.TempDir()
	r := newRigOn(t, cfg, func(m *machine.Config) { m.Dir, m.RealMounts = filepath.Join(dir, m.Name), true })
	id := r.attached("data", c)
	if !cfg.NoStage {
		require.NoError(t, r.stage(id, staging, c))
		require.NoError(t, r.stage(id, staging, c))
	}
	require.NoError(t, r.publish(id, staging, target, false, c))
	require.NoError(t, r.publish(id, staging, target, false, c))
	readOnly := "/var/lib/kubelet/pods/2/mount"
	require.NoError(t, r.publish(id, staging, readOnly, true, c))
	file, kept, below := target, "/volumes/"+id+"/data/device", ""
	if c.GetBlock() == nil {
		file, kept, below = target+"/file", "/volumes/"+id+"/data/file", "/file"
		require.Contains(t, r.mounts(), Name+":"+id+" on "+target, "the table names the volume")
	}
	require.NoError(t, r.node.Disk().WriteFile(file, []byte("hello"), 0o644))
	require.ErrorIs(t, r.node.Disk().WriteFile(readOnly+below, nil, 0o644), syscall.EROFS)
	require.NoError(t, r.unpublish(id, target))
	require.NoError(t, r.unpublish(id, readOnly))
	if !cfg.NoStage {
		require.NoError(t, r.unstage(id, staging))
	}
	require.Empty(t, r.mounts())
	data, err := r.host.Disk().ReadFile(kept)
	require.NoError(t, err)
	require.Equal(t, "hello", string(data))
}
