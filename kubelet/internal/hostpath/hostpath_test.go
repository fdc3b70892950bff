package hostpath_test

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/internal/rigs/volumetest"
	"github.com/storagesim/storagesim/kubelet/internal/hostpath"
	"github.com/storagesim/storagesim/volume"
)

// setUp makes a host path of a type ready for a pod.
func setUp(t *testing.T, h *volumetest.Node, path, kind string) error {
	t.Helper()
	pathType := v1.HostPathType(kind)
	m, err := h.MounterOf(hostpath.NewPlugin(), volumetest.PVSpec(v1.PersistentVolumeSource{
		HostPath: &v1.HostPathVolumeSource{Path: path, Type: &pathType},
	}), "a")
	require.NoError(t, err)
	return m.SetUp(context.Background(), volume.MounterArgs{})
}

func TestHostPathTypesAreChecked(t *testing.T) {
	cases := []struct {
		path, kind, want string // want "" succeeds
	}{
		{"/none", "", ""}, {"/file", "", ""},
		{"/dir", "Directory", ""}, {"/file", "Directory", "/file is not a directory"}, {"/none", "Directory", "/none is not a directory"},
		{"/dir", "DirectoryOrCreate", ""}, {"/new/dir", "DirectoryOrCreate", ""}, {"/file", "DirectoryOrCreate", "/file is not a directory"},
		{"/file", "File", ""}, {"/dir", "File", "/dir is not a file"}, {"/none", "File", "/none is not a file"},
		{"/file", "FileOrCreate", ""}, {"/dir/new", "FileOrCreate", ""}, {"/none/new", "FileOrCreate", "no such file"},
		{"/file", "Socket", "/file is not a socket file"}, {"/file", "CharDevice", "/file is not a character device"},
		{"/file", "BlockDevice", "/file is not a block device"}, {"/file", "Folder", "Folder is an invalid volume type"},
	}
	for _, c := range cases {
		t.Run(c.path+" as "+c.kind, func(t *testing.T) {
			h := volumetest.NewNode(t)
			require.NoError(t, h.FS.MkdirAll("/dir", 0o755))
			require.NoError(t, h.FS.WriteFile("/file", nil, 0o644))
			err := setUp(t, h, c.path, c.kind)
			if c.want == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.want)
			}
		})
	}
}

func TestAHostPathThatStepsBackIsRefused(t *testing.T) {
	m, err := volumetest.NewNode(t).MounterOf(hostpath.NewPlugin(),
		volumetest.PVSpec(v1.PersistentVolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/a/../b"}}), "a")
	require.NoError(t, err)
	require.EqualError(t, m.SetUp(context.Background(), volume.MounterArgs{}), "invalid HostPath `/a/../b`: must not contain '..'")
}

func TestARelativeHostPathIsOneOfTheNodesRoot(t *testing.T) {
	m, err := volumetest.NewNode(t).MounterOf(hostpath.NewPlugin(), volumetest.PVSpec(v1.PersistentVolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "disk"}}),
		"a")
	require.NoError(t, err)
	require.Equal(t, "/disk", m.GetPath())
	require.NoError(t, m.SetUp(context.Background(), volume.MounterArgs{}))
}

// Upstream: host_path.go makeDir and makeFile, v1.37.
func TestWhatAHostPathMakesHasTheModeOfUpstreams(t *testing.T) {
	h := volumetest.NewNode(t)
	model := t.TempDir() // made under the same umask
	require.NoError(t, os.Mkdir(model+"/dir", 0o755))
	require.NoError(t, os.WriteFile(model+"/file", nil, 0o644))
	require.NoError(t, setUp(t, h, "/new/dir", "DirectoryOrCreate"))
	require.NoError(t, setUp(t, h, "/new/file", "FileOrCreate"))
	for made, like := range map[string]string{"/new": "/dir", "/new/dir": "/dir", "/new/file": "/file"} {
		info, err := os.Stat(model + like)
		require.NoError(t, err)
		require.Equal(t, info.Mode(), h.Mode(made), made)
	}
}

// Upstream: host_path.go checkTypeInternal, v1.37, where what cannot be looked at does
// not exist.
func TestAHostPathThatCannotBeLookedAtIsNotWhatItsTypeSays(t *testing.T) {
	h := volumetest.NewNode(t)
	require.NoError(t, h.FS.WriteFile("/file", []byte("x"), 0o644))
	_, err := h.FS.Symlink("/loop", "/loop")
	require.NoError(t, err)
	_, err = h.FS.Symlink("/none", "/dangling")
	require.NoError(t, err)
	for kind, what := range map[string]string{
		"Directory": "directory", "File": "file", "Socket": "socket file", "CharDevice": "character device", "BlockDevice": "block device",
	} {
		for _, path := range []string{"/file/x", "/loop", "/loop/x", "/dangling"} {
			require.ErrorContains(t, setUp(t, h, path, kind), "hostPath type check failed, "+path+" is not a "+what+", unable to determine its type: ")
		}
	}
	require.EqualError(t, setUp(t, h, "/file/x", "DirectoryOrCreate"), "mkdir /file/x: not a directory")
	require.EqualError(t, setUp(t, h, "/file/x", "FileOrCreate"), "open /file/x: not a directory")
	require.NoError(t, setUp(t, h, "/dangling", "DirectoryOrCreate"), "something is there: the container runtime's to refuse")
	data, err := h.FS.ReadFile("/file")
	require.NoError(t, err)
	require.Equal(t, "x", string(data))
}

func TestANodeHasDirectoriesOfLinuxAndOfItsKubeletForVolumesThatAskForThem(t *testing.T) {
	h := volumetest.NewNode(t)
	require.NoError(t, setUp(t, h, "/data", "DirectoryOrCreate"))
	list, err := h.FS.List("/")
	require.NoError(t, err)
	require.NotContains(t, list, "proc/", "a node whose volumes do not ask for them is spared them")
	for path, kind := range map[string]string{
		"/var/lib/kubelet/plugins_registry": "Directory", "/var/lib/kubelet/pods": "Directory", "/var/lib/kubelet/pod-resources": "Directory", "/proc": "Directory",
		"/": "Directory", "/var/lib/kubelet": "DirectoryOrCreate", "/etc/hosts": "File", "/etc/resolv.conf": "", "/run/containerd/containerd.sock": "Socket",
		"/var/run/containerd/containerd.sock": "Socket", "/var/log/pods/": "Directory", "/dev": "",
	} {
		h := volumetest.NewNode(t)
		require.NoError(t, setUp(t, h, path, kind), path)
		_, err := h.FS.Stat(path)
		require.NoError(t, err, path)
	}
	require.ErrorContains(t, setUp(t, volumetest.NewNode(t), "/var/lib/kubelet/none", "Directory"), "does not exist")
	require.NoError(t, setUp(t, h, "/tmp", ""))
	info, err := h.FS.Stat("/tmp")
	require.NoError(t, err)
	require.Equal(t, "dtrwxrwxrwx", info.Mode().String())
}
