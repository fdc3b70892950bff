package volume_test

import (
	"context"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/internal/volumetest"
	"github.com/storagesim/storagesim/kubelet/emptydir"
	"github.com/storagesim/storagesim/kubelet/hostpath"
	"github.com/storagesim/storagesim/kubelet/local"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/machine/mount"
	"github.com/storagesim/storagesim/volume"
)

// host is a kubelet for one plugin under test.
type host struct {
	*volumetest.Host
	t      *testing.T
	node   *disk.Disk
	mounts mount.Interface
}

func newHost(t *testing.T) *host {
	node, err := disk.Open(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { _ = node.Close() })
	m, err := mount.NewTempDir(mount.Config{Dir: node})
	require.NoError(t, err)
	require.NoError(t, node.MkdirAll("/disk", 0o755))
	return &host{&volumetest.Host{FS: node, Mounter: m}, t, node, m}
}

// mounter makes plugin's mounter of spec for a pod.
func (h *host) mounter(plugin volume.VolumePlugin, spec *volume.Spec, uid types.UID) (volume.Mounter, error) {
	require.NoError(h.t, plugin.Init(h))
	pod := &v1.Pod{}
	pod.UID = uid
	return plugin.NewMounter(spec, pod)
}

func localSpec(path string) *volume.Spec {
	return pvSpec(v1.PersistentVolumeSource{Local: &v1.LocalVolumeSource{Path: path}})
}

// semantics 5 must 2.
func TestSetUpOnAMountedDirectoryDoesNothing(t *testing.T) {
	h := newHost(t)
	m, err := h.mounter(local.NewPlugin(), localSpec("/disk"), "a")
	require.NoError(t, err)
	require.NoError(t, m.SetUp(context.Background(), volume.MounterArgs{}))
	before, err := h.mounts.List()
	require.NoError(t, err)
	group := int64(4242)
	require.NoError(t, m.SetUp(context.Background(), volume.MounterArgs{FsGroup: &group}))
	after, err := h.mounts.List()
	require.NoError(t, err)
	require.Equal(t, before, after)
	info, err := h.node.Stat("/disk")
	require.NoError(t, err)
	require.Zero(t, info.Mode()&fs.ModeSetgid, "no ownership either")
}

func TestTearDownIsDoneWhenNothingIsThereAndNeverDeletesData(t *testing.T) {
	h := newHost(t)
	plugin := local.NewPlugin()
	m, err := h.mounter(plugin, localSpec("/disk"), "a")
	require.NoError(t, err)
	require.NoError(t, m.SetUp(context.Background(), volume.MounterArgs{}))
	require.NoError(t, h.node.WriteFile("/disk/keep", nil, 0o644))
	u, err := plugin.NewUnmounter("pv", "a")
	require.NoError(t, err)
	require.Equal(t, m.GetPath(), u.GetPath())
	require.NoError(t, u.TearDown(context.Background()))
	require.NoError(t, u.TearDown(context.Background()), "what is missing is done")
	_, err = h.node.Stat("/disk/keep")
	require.NoError(t, err)

	// bug 30: a directory that should be an empty mount point, and is not.
	require.NoError(t, h.node.MkdirAll(u.GetPath(), 0o755))
	require.NoError(t, h.node.WriteFile(u.GetPath()+"/data", nil, 0o644))
	require.Error(t, u.TearDown(context.Background()))
	_, err = h.node.Stat(u.GetPath() + "/data")
	require.NoError(t, err)
}

func TestLocalPathsThatCannotBeAreRefused(t *testing.T) {
	h := newHost(t)
	require.NoError(t, h.node.WriteFile("/file", nil, 0o644))
	for path, want := range map[string]string{
		"": "local volume source is nil or local path is not set", "/none": `path "/none" does not exist`, "/file": "only directory and block device",
	} {
		_, err := h.mounter(local.NewPlugin(), localSpec(path), "a")
		require.ErrorContains(t, err, want, "%q", path)
	}
}

func TestALocalVolumeIsReconstructedFromItsDirectory(t *testing.T) {
	rebuilt, err := local.NewPlugin().ConstructVolumeSpec("pv-1", "/pods/a/volumes/kubernetes.io~local-volume/pv-1")
	require.NoError(t, err)
	require.Equal(t, "pv-1", rebuilt.Spec.Name())
	require.True(t, local.NewPlugin().CanSupport(rebuilt.Spec))
	require.Empty(t, rebuilt.Spec.PersistentVolume.Spec.Local.Path)
}

// semantics 5 must 12.
func TestOnRootMismatchDoesNotWalkAFittingTree(t *testing.T) {
	h := newHost(t)
	require.NoError(t, h.node.WriteFile("/disk/file", nil, 0o600))
	info, err := h.node.Stat("/disk")
	require.NoError(t, err)
	_, gid, ok := disk.Owner(info)
	if !ok {
		t.Skip("no groups on this system")
	}
	group, policy := int64(gid), v1.FSGroupChangeOnRootMismatch
	mode := func() fs.FileMode {
		info, err := h.node.Stat("/disk/file")
		require.NoError(t, err)
		return info.Mode()
	}
	apply := func() {
		require.NoError(t, volume.SetVolumeOwnership(h.node, "/disk", false, &group, &policy, func(string) {}))
	}
	apply()
	require.Equal(t, fs.FileMode(0o660), mode(), "the root did not fit")
	require.NoError(t, h.node.Chmod("/disk/file", 0o600))
	apply()
	require.Equal(t, fs.FileMode(0o600), mode(), "the root fits: nobody looks further")
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
			h := newHost(t)
			require.NoError(t, h.node.MkdirAll("/dir", 0o755))
			require.NoError(t, h.node.WriteFile("/file", nil, 0o644))
			kind := v1.HostPathType(c.kind)
			m, err := h.mounter(hostpath.NewPlugin(), pvSpec(v1.PersistentVolumeSource{
				HostPath: &v1.HostPathVolumeSource{Path: c.path, Type: &kind},
			}), "a")
			require.NoError(t, err)
			err = m.SetUp(context.Background(), volume.MounterArgs{})
			if c.want == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.want)
			}
		})
	}
}

func TestAHostPathThatStepsBackIsRefused(t *testing.T) {
	m, err := newHost(t).mounter(hostpath.NewPlugin(), pvSpec(v1.PersistentVolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/a/../b"}}), "a")
	require.NoError(t, err)
	require.EqualError(t, m.SetUp(context.Background(), volume.MounterArgs{}), "invalid HostPath `/a/../b`: must not contain '..'")
}

func TestARelativeHostPathIsOneOfTheNodesRoot(t *testing.T) {
	m, err := newHost(t).mounter(hostpath.NewPlugin(), pvSpec(v1.PersistentVolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "disk"}}), "a")
	require.NoError(t, err)
	require.Equal(t, "/disk", m.GetPath())
	require.NoError(t, m.SetUp(context.Background(), volume.MounterArgs{}))
}

func TestAnEmptyDirSaysWhatItCannotGive(t *testing.T) {
	limit := resource.MustParse("1Gi")
	setUp := func(source v1.EmptyDirVolumeSource) ([]string, error) {
		h := newHost(t)
		m, err := h.mounter(emptydir.NewPlugin(), volume.NewSpecFromVolume(&v1.Volume{Name: "tmp", VolumeSource: v1.VolumeSource{EmptyDir: &source}}), "a")
		require.NoError(t, err)
		err = m.SetUp(context.Background(), volume.MounterArgs{})
		if err == nil {
			require.NoError(t, m.SetUp(context.Background(), volume.MounterArgs{}), "again, and it says nothing more")
			info, err := h.node.Stat(m.GetPath())
			require.NoError(t, err)
			require.Equal(t, fs.FileMode(0o777), info.Mode().Perm())
		}
		return h.Notes, err
	}
	notes, err := setUp(v1.EmptyDirVolumeSource{})
	require.NoError(t, err)
	require.Empty(t, notes)
	notes, err = setUp(v1.EmptyDirVolumeSource{Medium: v1.StorageMediumMemory, SizeLimit: &limit})
	require.NoError(t, err)
	require.Equal(t, []string{
		"pod : volume tmp is an ordinary directory, not one in memory", "pod : the sizeLimit 1Gi of volume tmp is not enforced",
	}, notes)
	_, err = setUp(v1.EmptyDirVolumeSource{Medium: "HugePages-2Mi"})
	require.ErrorContains(t, err, `storage medium "HugePages-2Mi" is not supported`)
	_, err = setUp(v1.EmptyDirVolumeSource{Medium: "Tape"})
	require.EqualError(t, err, `unknown storage medium "Tape"`)
}
