package local_test

import (
	"context"
	"errors"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/internal/rigs/volumetest"
	"github.com/storagesim/storagesim/kubelet/local"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/machine/mount"
	"github.com/storagesim/storagesim/volume"
)

const pvDir = "/volumes/kubernetes.io~local-volume/pv"

// rig is the plugin on a node with a directory /disk, and a mounter that does as
// fail says.
type rig struct {
	*volumetest.Host
	t      *testing.T
	plugin volume.VolumePlugin
	fail   func(mount.Op) error
	ops    []string
}

func newRig(t *testing.T) *rig {
	node, err := disk.Open(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { _ = node.Close() })
	require.NoError(t, node.MkdirAll("/disk", 0o755))
	require.NoError(t, node.WriteFile("/disk/file", []byte("data"), 0o600))
	real, err := mount.NewTempDir(mount.Config{Dir: node})
	require.NoError(t, err)
	r := &rig{t: t, plugin: local.NewPlugin(), fail: func(mount.Op) error { return nil }}
	r.Host = &volumetest.Host{FS: node, Mounter: mount.Failing(real, func(op mount.Op) error {
		r.ops = append(r.ops, op.Verb)
		return r.fail(op)
	})}
	require.NoError(t, r.plugin.Init(r))
	return r
}

func (r *rig) spec(path string, change ...func(*v1.PersistentVolume)) *volume.Spec {
	pv := &v1.PersistentVolume{Spec: v1.PersistentVolumeSpec{PersistentVolumeSource: v1.PersistentVolumeSource{
		Local: &v1.LocalVolumeSource{Path: path},
	}}}
	pv.Name = "pv"
	for _, f := range change {
		f(pv)
	}
	return volume.NewSpecFromPersistentVolume(pv, false)
}

func (r *rig) mounter(spec *volume.Spec, uid types.UID) volume.Mounter {
	r.t.Helper()
	p := &v1.Pod{}
	p.Name, p.UID = string(uid), uid
	m, err := r.plugin.NewMounter(spec, p)
	require.NoError(r.t, err)
	return m
}

func (r *rig) podDir(uid string) string { return r.GetPodsDir() + "/" + uid + pvDir }

// group returns the group of the test's own files, to which it may chown, and another.
func (r *rig) group() (own, other int64) {
	r.t.Helper()
	info, err := r.FS.Stat("/disk")
	require.NoError(r.t, err)
	_, gid, ok := disk.Owner(info)
	if !ok {
		return 0, 1
	}
	return int64(gid), int64(gid) + 1
}

func (r *rig) mode(name string) fs.FileMode {
	r.t.Helper()
	info, err := r.FS.Stat(name)
	require.NoError(r.t, err)
	return info.Mode()
}

// semantics 5.3: `..` is refused before anything is looked at or made.
func TestAPathThatStepsBackIsRefusedBeforeAnythingIsMade(t *testing.T) {
	r := newRig(t)
	err := r.mounter(r.spec("/disk/../disk"), "a").SetUp(context.Background(), volume.MounterArgs{})
	require.EqualError(t, err, "invalid path: /disk/../disk must not contain '..'")
	require.Empty(t, r.ops)
	_, err = r.FS.Lstat(r.GetPodsDir())
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// semantics 5.3: what is a mount point already is left alone, and it is not known
// what it is if that cannot be asked.
func TestAMountPointIsLookedAtFirst(t *testing.T) {
	r := newRig(t)
	m := r.mounter(r.spec("/disk"), "a")
	require.NoError(t, m.SetUp(context.Background(), volume.MounterArgs{}))
	r.ops = nil
	require.NoError(t, m.SetUp(context.Background(), volume.MounterArgs{}))
	require.Equal(t, []string{mount.VerbLook}, r.ops)
	r.ops, r.fail = nil, func(op mount.Op) error {
		if op.Verb == mount.VerbLook {
			return errors.New("stale file handle")
		}
		return nil
	}
	require.ErrorContains(t, m.SetUp(context.Background(), volume.MounterArgs{}), "stale file handle")
	require.Equal(t, []string{mount.VerbLook}, r.ops, "it is not mounted once more")
}

// semantics 5.3: with an fsGroup only mounts in pods count, and a volume in use
// with another group is warned of; without one there is no check.
func TestAnotherPodsGroupIsWarnedOf(t *testing.T) {
	r := newRig(t)
	own, other := r.group()
	require.NoError(t, r.FS.MkdirAll("/mnt/admin", 0o755))
	require.NoError(t, r.Mounter.Mount("/disk", "/mnt/admin", "", []string{"bind"}))
	require.NoError(t, r.mounter(r.spec("/disk"), "a").SetUp(context.Background(), volume.MounterArgs{FsGroup: &other}))
	require.Empty(t, r.Events, "the administrator's mount is no pod's")

	require.NoError(t, r.mounter(r.spec("/disk"), "b").SetUp(context.Background(), volume.MounterArgs{}))
	require.Empty(t, r.Events, "no group, no question")

	info, err := r.FS.Stat("/disk")
	require.NoError(t, err)
	before := info.Mode()
	wanted := own + 7
	require.NoError(t, r.mounter(r.spec("/disk"), "c").SetUp(context.Background(), volume.MounterArgs{FsGroup: &wanted}))
	require.Len(t, r.Events, 1)
	require.Contains(t, r.Events[0], "Warning AlreadyMountedVolume: The requested fsGroup is")
	require.Contains(t, r.Events[0], "but the volume pv has GID")
	require.Contains(t, r.Events[0], "The volume may not be shareable.")
	require.Equal(t, before, r.mode("/disk"))
}

// semantics 5.3: mount references that cannot be had matter only with an fsGroup.
func TestUnknownMountReferencesMatterOnlyForAGroup(t *testing.T) {
	r := newRig(t)
	r.fail = func(op mount.Op) error {
		if op.Verb == mount.VerbLook && op.Target == "/disk" {
			return errors.New("cannot read the mount table")
		}
		return nil
	}
	own, _ := r.group()
	require.ErrorContains(t, r.mounter(r.spec("/disk"), "a").SetUp(context.Background(), volume.MounterArgs{FsGroup: &own}), "cannot read the mount table")
	require.NoError(t, r.mounter(r.spec("/disk"), "a").SetUp(context.Background(), volume.MounterArgs{}))
}

// semantics 5.3: directory mode 0750, `bind`[,`ro`] and the PV's options.
func TestTheDirectoryAndTheOptionsOfTheMount(t *testing.T) {
	r := newRig(t)
	var made fs.FileMode
	r.fail = func(op mount.Op) error {
		if op.Verb == mount.VerbMount {
			made = r.mode(op.Target).Perm()
		}
		return nil
	}
	spec := r.spec("disk", func(pv *v1.PersistentVolume) { pv.Spec.MountOptions = []string{"noatime", "bind"} })
	spec.ReadOnly = true
	m := r.mounter(spec, "a")
	require.Equal(t, volume.Attributes{ReadOnly: true, Managed: false}, m.GetAttributes())
	require.NoError(t, m.SetUp(context.Background(), volume.MounterArgs{}))
	require.Equal(t, fs.FileMode(0o750), made)
	list, err := r.Mounter.List()
	require.NoError(t, err)
	require.Equal(t, []mount.MountPoint{{Device: "/disk", Path: r.podDir("a"), Type: "none", Opts: []string{"bind", "noatime", "ro"}}}, list)
}

// semantics 5 must 3, every rung of the ladder.
func TestTheErrorOfAFailedMountIsReturnedWhateverTheCleanUpDoes(t *testing.T) {
	boom := errors.New("wrong fs type")
	cases := map[string]struct {
		stays bool // the directory does
		fail  func(r *rig) func(mount.Op) error
	}{
		"nothing was mounted": {false, func(*rig) func(mount.Op) error {
			return func(op mount.Op) error {
				if op.Verb == mount.VerbMount {
					return boom
				}
				return nil
			}
		}},
		"it cannot be asked": {true, func(*rig) func(mount.Op) error {
			failed := false
			return func(op mount.Op) error {
				if op.Verb == mount.VerbMount {
					failed = true
					return boom
				}
				if failed && op.Verb == mount.VerbLook {
					return errors.New("cannot look")
				}
				return nil
			}
		}},
		"something is in the directory": {true, func(r *rig) func(mount.Op) error {
			return func(op mount.Op) error {
				if op.Verb == mount.VerbMount {
					require.NoError(r.t, r.FS.WriteFile(op.Target+"/keep", nil, 0o644))
					return boom
				}
				return nil
			}
		}},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.fail = test.fail(r)
			require.ErrorIs(t, r.mounter(r.spec("/disk"), "a").SetUp(context.Background(), volume.MounterArgs{}), boom)
			_, err := r.FS.Lstat(r.podDir("a"))
			if !test.stays {
				require.ErrorIs(t, err, fs.ErrNotExist)
				require.Empty(t, r.Notes)
				return
			}
			require.NoError(t, err)
			require.Contains(t, r.Notes[0], "after the failed mount of volume pv")
		})
	}
}

// semantics 5.3: what a failed mount did mount is unmounted; if it cannot be, it
// stays for the next attempt.
func TestAMountThatFailsHalfWayIsTakenBack(t *testing.T) {
	for _, busy := range []bool{false, true} {
		r := newRig(t)
		half := &halfMounter{Interface: r.Mounter, busy: busy}
		r.Mounter = half
		require.EqualError(t, r.mounter(r.spec("/disk"), "a").SetUp(context.Background(), volume.MounterArgs{}), "it is mounted, and yet")
		_, err := r.FS.Lstat(r.podDir("a"))
		if busy {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, fs.ErrNotExist)
		}
		data, err := r.FS.ReadFile("/disk/file")
		require.NoError(t, err)
		require.Equal(t, "data", string(data))
	}
}

// halfMounter mounts and says that it failed.
type halfMounter struct {
	mount.Interface
	busy bool
}

func (h *halfMounter) MountSensitiveWithoutSystemd(source, target, fstype string, options, sensitive []string) error {
	if err := h.Interface.MountSensitiveWithoutSystemd(source, target, fstype, options, sensitive); err != nil {
		return err
	}
	return errors.New("it is mounted, and yet")
}

func (h *halfMounter) Unmount(target string) error {
	if h.busy {
		return errors.New("target is busy")
	}
	return h.Interface.Unmount(target)
}

// semantics 5.3: ownership is for the first mount of a writable volume, and only
// what the policy asks for.
func TestOwnershipIsAppliedOnceToAWritableVolume(t *testing.T) {
	r := newRig(t)
	own, _ := r.group()
	readOnly := r.spec("/disk")
	readOnly.ReadOnly = true
	require.NoError(t, r.mounter(readOnly, "reader").SetUp(context.Background(), volume.MounterArgs{FsGroup: &own}))
	require.Equal(t, fs.FileMode(0o600), r.mode("/disk/file"), "nobody writes")
	u, err := r.plugin.NewUnmounter("pv", "reader")
	require.NoError(t, err)
	require.NoError(t, u.TearDown(context.Background()))

	require.NoError(t, r.mounter(r.spec("/disk"), "a").SetUp(context.Background(), volume.MounterArgs{FsGroup: &own}))
	require.Equal(t, fs.FileMode(0o660), r.mode("/disk/file"))
	require.Equal(t, fs.ModeDir|fs.ModeSetgid|fs.FileMode(0o775), r.mode("/disk"))

	require.NoError(t, r.FS.Chmod("/disk/file", 0o600))
	require.NoError(t, r.mounter(r.spec("/disk"), "b").SetUp(context.Background(), volume.MounterArgs{FsGroup: &own}))
	require.Equal(t, fs.FileMode(0o600), r.mode("/disk/file"), "not the first")
}

// semantics 5.3, Block: where the links are.
func TestBlockMapPaths(t *testing.T) {
	r := newRig(t)
	plugin := r.plugin.(volume.BlockVolumePlugin)
	p := &v1.Pod{}
	p.UID = "a"
	m, err := plugin.NewBlockVolumeMapper(r.spec("/disk"), p)
	require.NoError(t, err)
	u, err := plugin.NewBlockVolumeUnmapper("pv", "a")
	require.NoError(t, err)
	for _, v := range []volume.BlockVolume{m, u} {
		global, err := v.GetGlobalMapPath(nil)
		require.NoError(t, err)
		require.Equal(t, "/var/lib/kubelet/plugins/kubernetes.io~local-volume/volumeDevices/pv", global)
		dir, name := v.GetPodDeviceMapPath()
		require.Equal(t, "/var/lib/kubelet/pods/a/volumeDevices/kubernetes.io~local-volume", dir)
		require.Equal(t, "pv", name)
	}
	_, err = m.MapPodDevice(context.Background())
	require.EqualError(t, err, `path "/disk" is not a block device`)
	m, err = plugin.NewBlockVolumeMapper(r.spec("/dev/none"), p)
	require.NoError(t, err)
	_, err = m.MapPodDevice(context.Background())
	require.EqualError(t, err, `path "/dev/none" does not exist`)
	spec, err := plugin.ConstructBlockVolumeSpec("a", "pv", "")
	require.NoError(t, err)
	require.Equal(t, v1.PersistentVolumeBlock, *spec.PersistentVolume.Spec.VolumeMode)
	require.True(t, plugin.CanSupport(spec))
}

// semantics 5.3: GetVolumeName is the PV's, access mode RWO, mount options allowed.
func TestWhatThePluginSaysOfItself(t *testing.T) {
	r := newRig(t)
	name, err := r.plugin.GetVolumeName(r.spec("/disk"))
	require.NoError(t, err)
	require.Equal(t, "pv", name)
	pod := volume.NewSpecFromVolume(&v1.Volume{Name: "x", VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{}}})
	_, err = r.plugin.GetVolumeName(pod)
	require.ErrorContains(t, err, "does not reference a local volume")
	require.False(t, r.plugin.CanSupport(pod))
	require.True(t, r.plugin.SupportsMountOption())
	require.False(t, r.plugin.RequiresRemount(nil))
	require.Equal(t, []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, r.plugin.(volume.PersistentVolumePlugin).GetAccessModes())
}

// Without a directory in the pod nothing is mounted.
func TestWhereNoDirectoryCanBeMadeNothingIsMounted(t *testing.T) {
	r := newRig(t)
	r.FS.Fail(func(op, _ string) error {
		if op == "mkdir" {
			return errors.New("no space left on device")
		}
		return nil
	})
	require.ErrorContains(t, r.mounter(r.spec("/disk"), "a").SetUp(context.Background(), volume.MounterArgs{}), "no space left on device")
	require.NotContains(t, r.ops, mount.VerbMount)
}

func TestAVolumeWithoutAPathIsRefused(t *testing.T) {
	r := newRig(t)
	_, err := r.plugin.NewMounter(r.spec(""), &v1.Pod{})
	require.EqualError(t, err, "local volume source is nil or local path is not set")
}

// Volumes of other types, and PersistentVolumes of other types, are not the plugin's.
func TestOnlyALocalVolumeIsThePlugins(t *testing.T) {
	r := newRig(t)
	other := &v1.PersistentVolume{}
	other.Spec.NFS = &v1.NFSVolumeSource{Server: "s", Path: "/"}
	require.True(t, r.plugin.CanSupport(r.spec("/disk")))
	require.False(t, r.plugin.CanSupport(volume.NewSpecFromPersistentVolume(other, false)))
	require.False(t, r.plugin.CanSupport(&volume.Spec{Volume: &v1.Volume{}}))
	_, err := r.plugin.NewMounter(volume.NewSpecFromPersistentVolume(other, false), &v1.Pod{})
	require.Error(t, err)
}
