package volume_test

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/kubelet/hostpath"
	"github.com/storagesim/storagesim/volume"
)

func (h *host) hostPath(path, kind string) error {
	h.t.Helper()
	pathType := v1.HostPathType(kind)
	m, err := h.mounter(hostpath.NewPlugin(), pvSpec(v1.PersistentVolumeSource{
		HostPath: &v1.HostPathVolumeSource{Path: path, Type: &pathType},
	}), "a")
	require.NoError(h.t, err)
	return m.SetUp(context.Background(), volume.MounterArgs{})
}

// Upstream: host_path.go makeDir and makeFile, v1.36.
func TestWhatAHostPathMakesHasTheModeOfUpstreams(t *testing.T) {
	h := newHost(t)
	model := t.TempDir() // made under the same umask
	require.NoError(t, os.Mkdir(model+"/dir", 0o755))
	require.NoError(t, os.WriteFile(model+"/file", nil, 0o644))
	require.NoError(t, h.hostPath("/new/dir", "DirectoryOrCreate"))
	require.NoError(t, h.hostPath("/new/file", "FileOrCreate"))
	for made, like := range map[string]string{"/new": "/dir", "/new/dir": "/dir", "/new/file": "/file"} {
		info, err := os.Stat(model + like)
		require.NoError(t, err)
		require.Equal(t, info.Mode(), h.mode(made), made)
	}
}

// Upstream: host_path.go checkTypeInternal, v1.36, where what cannot be looked at does
// not exist.
func TestAHostPathThatCannotBeLookedAtIsNotWhatItsTypeSays(t *testing.T) {
	h := newHost(t)
	require.NoError(t, h.node.WriteFile("/file", []byte("x"), 0o644))
	_, err := h.node.Symlink("/loop", "/loop")
	require.NoError(t, err)
	_, err = h.node.Symlink("/none", "/dangling")
	require.NoError(t, err)
	for kind, what := range map[string]string{
		"Directory": "directory", "File": "file", "Socket": "socket file", "CharDevice": "character device", "BlockDevice": "block device",
	} {
		for _, path := range []string{"/file/x", "/loop", "/loop/x", "/dangling"} {
			require.EqualError(t, h.hostPath(path, kind), "hostPath type check failed: "+path+" is not a "+what)
		}
	}
	require.EqualError(t, h.hostPath("/file/x", "DirectoryOrCreate"), "mkdir /file/x: not a directory")
	require.EqualError(t, h.hostPath("/file/x", "FileOrCreate"), "open /file/x: not a directory")
	require.NoError(t, h.hostPath("/dangling", "DirectoryOrCreate"), "something is there: the container runtime's to refuse")
	data, err := h.node.ReadFile("/file")
	require.NoError(t, err)
	require.Equal(t, "x", string(data))
}
