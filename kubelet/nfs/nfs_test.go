package nfs_test

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/internal/rigs/volumetest"
	"github.com/storagesim/storagesim/kubelet/nfs"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/machine/mount"
	"github.com/storagesim/storagesim/volume"
)

// rig is a network with one server, and a node with the plugin.
type rig struct {
	*volumetest.Host
	t      *testing.T
	net    *nfs.Network
	server *nfs.Server
	plugin volume.VolumePlugin
}

func openDir(t *testing.T, name string) *disk.Disk {
	d, err := disk.Open(filepath.Join(t.TempDir(), name))
	require.NoError(t, err)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func newRig(t *testing.T) *rig {
	r := &rig{t: t, net: &nfs.Network{}, plugin: nfs.NewPlugin()}
	var err error
	r.server, err = nfs.NewServer("nas", openDir(t, "nas"), "/srv")
	require.NoError(t, err)
	require.NoError(t, r.net.Add(r.server))
	node := openDir(t, "node")
	mounter, err := mount.NewTempDir(mount.Config{Dir: node, Remote: r.net.Mount})
	require.NoError(t, err)
	r.Host = &volumetest.Host{FS: node, Mounter: mounter}
	require.NoError(t, r.plugin.Init(r.Host))
	return r
}

func (r *rig) mounter(spec *volume.Spec) volume.Mounter {
	r.t.Helper()
	pod := &v1.Pod{}
	pod.UID = "a"
	m, err := r.plugin.NewMounter(spec, pod)
	require.NoError(r.t, err)
	return m
}

func podSpec(server, path string, readOnly bool) *volume.Spec {
	return volume.NewSpecFromVolume(&v1.Volume{Name: "v", VolumeSource: v1.VolumeSource{
		NFS: &v1.NFSVolumeSource{Server: server, Path: path, ReadOnly: readOnly},
	}})
}

func pvSpec(readOnly bool, change func(*v1.PersistentVolume)) *volume.Spec {
	pv := &v1.PersistentVolume{Spec: v1.PersistentVolumeSpec{PersistentVolumeSource: v1.PersistentVolumeSource{
		NFS: &v1.NFSVolumeSource{Server: "nas", Path: "/srv"},
	}}}
	pv.Name = "pv"
	change(pv)
	return volume.NewSpecFromPersistentVolume(pv, readOnly)
}

const dir = "/var/lib/kubelet/pods/a/volumes/kubernetes.io~nfs/"

// semantics 5.4.
func TestAnExportIsMountedOnceAndTakenDown(t *testing.T) {
	r := newRig(t)
	m := r.mounter(podSpec("nas", "/srv", false))
	require.NoError(t, m.SetUp(context.Background(), volume.MounterArgs{}))
	list, err := r.Mounter.List()
	require.NoError(t, err)
	require.Equal(t, []mount.MountPoint{{Device: "nas:/srv", Path: dir + "v", Type: "nfs"}}, list)
	require.NoError(t, m.SetUp(context.Background(), volume.MounterArgs{}), "a mount point already")
	require.NoError(t, r.FS.WriteFile(m.GetPath()+"/x", []byte("1"), 0o644))

	u, err := r.plugin.NewUnmounter("v", "a")
	require.NoError(t, err)
	require.Equal(t, m.GetPath(), u.GetPath())
	require.NoError(t, u.TearDown(context.Background()))
	require.NoError(t, u.TearDown(context.Background()), "what is missing is done")
	_, err = r.FS.Lstat(dir + "v")
	require.ErrorIs(t, err, fs.ErrNotExist)
	data, err := r.server.Disk().ReadFile("/srv/x")
	require.NoError(t, err)
	require.Equal(t, "1", string(data))
}

// semantics 5.4: no fsGroup.
func TestNoGroupIsGivenTheFilesOfAShare(t *testing.T) {
	r := newRig(t)
	require.NoError(t, r.server.Disk().WriteFile("/srv/x", nil, 0o600))
	group := int64(4242)
	m := r.mounter(podSpec("nas", "/srv", false))
	require.False(t, m.GetAttributes().Managed)
	require.NoError(t, m.SetUp(context.Background(), volume.MounterArgs{FsGroup: &group}))
	info, err := r.server.Disk().Stat("/srv/x")
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode())
}

func TestWhatMakesAShareReadOnly(t *testing.T) {
	for name, test := range map[string]struct {
		spec     *volume.Spec
		readOnly bool
		options  []string
	}{
		"the pod's own volume": {podSpec("nas", "/srv", true), true, []string{"ro"}},
		"the pod's claim":      {pvSpec(true, func(*v1.PersistentVolume) {}), true, []string{"ro"}},
		"the PV's mountOptions": {pvSpec(false, func(pv *v1.PersistentVolume) { pv.Spec.MountOptions = []string{"ro", "nfsvers=4.1"} }), true,
			[]string{"nfsvers=4.1", "ro"}},
		"not what the PV says": {pvSpec(false, func(pv *v1.PersistentVolume) { pv.Spec.NFS.ReadOnly = true }), false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			m := r.mounter(test.spec)
			require.Equal(t, test.readOnly, m.GetAttributes().ReadOnly)
			require.NoError(t, m.SetUp(context.Background(), volume.MounterArgs{}))
			list, err := r.Mounter.List()
			require.NoError(t, err)
			require.Equal(t, test.options, list[0].Opts)
			err = r.FS.WriteFile(m.GetPath()+"/x", nil, 0o644)
			if test.readOnly {
				require.ErrorIs(t, err, syscall.EROFS)
			} else {
				require.NoError(t, err)
			}
		})
	}
}

// semantics 5 must 3, for NFS.
func TestAFailedMountLeavesNothingAndSaysWhy(t *testing.T) {
	for source, want := range map[[2]string]string{
		{"nas", "/other"}:      "mount.nfs: access denied by server while mounting nas:/other",
		{"nas", "/srv2"}:       "mount.nfs: access denied by server while mounting nas:/srv2",
		{"nas", "/srv/../etc"}: "mount.nfs: access denied by server while mounting nas:/srv/../etc",
		{"nas", "/srv/none"}:   "mount.nfs: mounting nas:/srv/none failed, reason given by server: No such file or directory",
		{"nas", "/srv/file"}:   "mount.nfs: mounting nas:/srv/file failed, reason given by server: Not a directory",
		{"nas2", "/srv"}:       "mount.nfs: Failed to resolve server nas2: Name or service not known",
		{"fd00::2", "/srv"}:    "mount.nfs: Connection timed out for [fd00::2]:/srv",
	} {
		r := newRig(t)
		require.NoError(t, r.server.Disk().WriteFile("/srv/file", nil, 0o644))
		err := r.mounter(podSpec(source[0], source[1], false)).SetUp(context.Background(), volume.MounterArgs{})
		require.ErrorContains(t, err, "mount failed: exit status 32\nMounting command: mount\nMounting arguments: -t nfs ", source)
		require.ErrorContains(t, err, "Output: "+want)
		_, err = r.FS.Lstat(dir + "v")
		require.ErrorIs(t, err, fs.ErrNotExist)
		list, err := r.Mounter.List()
		require.NoError(t, err)
		require.Empty(t, list)
	}
}

func TestTheErrorOfAMountOutlivesAFailedCleanUp(t *testing.T) {
	r := newRig(t)
	boom, mounting := errors.New("protocol not supported"), false
	r.Mounter = mount.Failing(r.Mounter, func(op mount.Op) error {
		switch {
		case op.Verb == mount.VerbMount:
			mounting = true
			return boom
		case mounting:
			return errors.New("cannot look")
		}
		return nil
	})
	require.ErrorIs(t, r.mounter(podSpec("nas", "/srv", false)).SetUp(context.Background(), volume.MounterArgs{}), boom)
	require.Contains(t, r.Notes[0], "after the failed mount of volume v: cannot look")
}

func TestAServerCanStopAndBeginToExport(t *testing.T) {
	r := newRig(t)
	m := r.mounter(podSpec("nas", "/srv", false))
	r.server.Unexport("/srv")
	require.ErrorContains(t, m.SetUp(context.Background(), volume.MounterArgs{}), "access denied")
	require.NoError(t, r.server.Export("/srv/"))
	require.Equal(t, []string{"/srv"}, r.server.Exports())
	require.NoError(t, m.SetUp(context.Background(), volume.MounterArgs{}))
	r.server.Unexport("/srv")
	require.NoError(t, r.FS.WriteFile(m.GetPath()+"/x", nil, 0o644), "what is mounted stays")
	require.NoError(t, r.server.Export("/"))
	_, err := r.net.Mount("nfs", "nas:/srv")
	require.NoError(t, err, "all is below /")
}

func TestServersAreFoundByAnySpellingOfTheirAddress(t *testing.T) {
	net := &nfs.Network{}
	for i, name := range []string{"fd00::1", "10.0.0.1", "nas.example.com"} {
		s, err := nfs.NewServer(name, openDir(t, string(rune('a'+i))), "/srv")
		require.NoError(t, err)
		require.NoError(t, net.Add(s))
	}
	for _, source := range []string{"[fd00:0:0::1]:/srv", "10.0.0.1:/srv", "[::ffff:10.0.0.1]:/srv", "NAS.example.com:/srv"} {
		d, err := net.Mount("nfs", source)
		require.NoError(t, err, source)
		require.NoError(t, d.Close())
	}
	for source, want := range map[string]string{"nas": "not in 'host:dir' format", ":/x": "not in 'host:dir' format",
		"[fd00::1]/srv": "not in 'host:dir' format"} {
		_, err := net.Mount("nfs", source)
		require.ErrorContains(t, err, want, source)
	}
	_, err := net.Mount("cifs", "nas:/srv")
	require.EqualError(t, err, "mount: unknown filesystem type 'cifs'")
	s, err := nfs.NewServer("fd00:0::1", openDir(t, "again"))
	require.NoError(t, err)
	require.ErrorContains(t, net.Add(s), "two NFS servers")
}

// semantics 5.4: unique name server/path.
func TestWhatThePluginSaysOfItself(t *testing.T) {
	r := newRig(t)
	name, err := r.plugin.GetVolumeName(podSpec("nas", "/srv", false))
	require.NoError(t, err)
	require.Equal(t, "nas//srv", name)
	_, isDevice := r.plugin.(volume.DeviceMountableVolumePlugin)
	require.False(t, isDevice)
	require.True(t, r.plugin.SupportsMountOption())
	rebuilt, err := r.plugin.ConstructVolumeSpec("pv", dir+"pv")
	require.NoError(t, err)
	require.True(t, r.plugin.CanSupport(rebuilt.Spec))
	require.Equal(t, "pv", rebuilt.Spec.Name())
	_, err = r.plugin.GetVolumeName(volume.NewSpecFromVolume(&v1.Volume{}))
	require.ErrorContains(t, err, "does not reference a NFS volume type")
}
