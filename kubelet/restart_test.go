package kubelet_test

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/unshared"
	"github.com/storagesim/storagesim/kubelet"
	"github.com/storagesim/storagesim/kubelet/volumemanager"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/machine/mount"
)

// crashAfter plays a pod's whole life, and crashes the kubelet after so many steps,
// or never. meanwhile happens while it is down. It says how many steps there were
// without that.
func crashAfter(t *testing.T, n int, meanwhile func(w *world)) (steps int) {
	t.Helper()
	w := newWorld(t, engine.Config{}, kubelet.Config{Decisions: volumemanager.Decisions{CleanSubPaths: true}}) // of the host path
	w.boundVolume("data", nil)
	require.NoError(t, w.node.WriteFile("/disk/data/keep", []byte("kept"), 0o644))
	web := pod("web", claim("data"), v1.Volume{Name: "tmp", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}},
		hostPath("srv", "/srv", v1.HostPathDirectoryOrCreate))
	web.Spec.Containers[0].VolumeMounts[2].SubPath = "part"
	w.create(web)
	until := func(done func() bool) {
		for ; steps != n && !done(); steps++ {
			_, err := w.e.Step()
			require.NoError(t, err)
		}
	}
	until(func() bool { return w.get("web").Status.Phase == v1.PodRunning })
	if steps != n {
		w.delete("web")
		until(func() bool { return w.gone("web") })
	}
	if steps == n {
		require.NoError(t, w.e.Crash(actor))
		meanwhile(w)
	}
	if !w.gone("web") && w.get("web").DeletionTimestamp == nil {
		w.settle()
		require.Equal(t, v1.PodRunning, w.get("web").Status.Phase, "crash after step %d:\n%s", n, w.trace())
		w.delete("web")
	}
	require.NoError(t, w.e.RunFor(5*time.Minute))
	w.requireNothingLeft()
	data, err := w.node.ReadFile("/disk/data/keep")
	require.NoError(t, err)
	require.Equal(t, "kept", string(data))
	return steps
}

// At every yield point of the kubelet's code, and between any two deliveries.
func TestACrashAfterAnyStepConvergesAndLeavesNothing(t *testing.T) {
	steps := crashAfter(t, -1, nil)
	require.Greater(t, steps, 30)
	for n := range steps {
		crashAfter(t, n, func(*world) {})
	}
}

// Bug 29, at every point: the pod is gone when the kubelet is back.
func TestAPodThatVanishesWhileTheKubeletIsDownLeavesNothingWheneverThatIs(t *testing.T) {
	for n := range crashAfter(t, -1, nil) {
		crashAfter(t, n, func(w *world) {
			if !w.gone("web") {
				w.delete("web", 0)
			}
		})
	}
}

// Bug 29 (kubernetes/kubernetes 27653, 52683), fixed by KEP-3756.
func TestMountsOfAPodThatVanishedAreFoundOnDisk(t *testing.T) {
	w := newWorld(t, engine.Config{}, kubelet.Config{})
	w.boundVolume("data", nil)
	w.create(pod("web", claim("data")))
	w.settle()
	require.Len(t, w.mounts(), 1)
	require.NoError(t, w.e.Crash(actor))
	w.delete("web", 0)
	require.NoError(t, w.e.RunFor(time.Hour))
	w.requireNothingLeft()
}

// orphan leaves in a pod's directory a mount that no plugin knows and that cannot be
// unmounted, of a directory with data, and starts a kubelet.
func orphan(t *testing.T, cfg kubelet.Config) *world {
	t.Helper()
	node, m := cfg.Root, cfg.Mounter
	for _, dir := range []string{"/disk/data/lost+found", orphaned} {
		require.NoError(t, node.MkdirAll(dir, 0o755))
	}
	require.NoError(t, node.WriteFile("/disk/data/keep", []byte("kept"), 0o644))
	require.NoError(t, m.Mount("/disk/data", orphaned, "", []string{"bind"}))
	cfg.Mounter = mount.Failing(m, func(op mount.Op) error {
		if op.Verb == mount.VerbUnmount {
			return syscall.EBUSY
		}
		return nil
	})
	w := newWorld(t, engine.Config{}, cfg)
	require.NoError(t, w.e.RunFor(time.Hour))
	return w
}

const orphaned = "/var/lib/kubelet/pods/gone/volumes/example.com~gone/pv-1"

// Bug 30 (kubernetes/kubernetes 7317, 72257): rmdir only, and only when nothing is
// mounted. With real mounts, through which rm -rf would go.
func TestBindCleaningUpNeverDeletesThroughALiveMount(t *testing.T) {
	unshared.Test(t, func(t *testing.T) {
		var root string
		left := func(remove func(*disk.Disk, string) error) []string {
			root = t.TempDir()
			node, err := disk.Open(root)
			require.NoError(t, err)
			m, err := mount.NewBind(mount.Config{Dir: node})
			require.NoError(t, err)
			w := orphan(t, kubelet.Config{Root: node, Mounter: m, Decisions: volumemanager.Decisions{RemoveDir: remove}})
			defer func() { require.NoError(t, m.UnmountAll()) }()
			names, err := w.node.List("/disk/data")
			require.NoError(t, err)
			return names
		}
		require.Empty(t, left(func(_ *disk.Disk, name string) error { return os.RemoveAll(root + name) }), "with the bug the data is gone")
		require.Equal(t, []string{"keep", "lost+found/"}, left((*disk.Disk).RemoveAll), "which a disk's own removal cannot have")
		require.Equal(t, []string{"keep", "lost+found/"}, left(nil))
	})
}

func TestCleaningUpNeverDeletesThroughALiveMount(t *testing.T) {
	node, err := disk.Open(t.TempDir())
	require.NoError(t, err)
	m, err := mount.NewTempDir(mount.Config{Dir: node})
	require.NoError(t, err)
	w := orphan(t, kubelet.Config{Root: node, Mounter: m})
	names, err := w.node.List("/disk/data")
	require.NoError(t, err)
	require.Equal(t, []string{"keep", "lost+found/"}, names)
	require.Len(t, w.mounts(), 1)
	require.Contains(t, w.trace(), "orphaned pod \"gone\" found, but volume paths are still present on disk")
}

// The whole way with real mounts: what containers write is behind the kernel's
// bind mounts, read-only is the kernel's, and a crash is survived.
func TestBindServesAKubelet(t *testing.T) {
	unshared.Test(t, func(t *testing.T) {
		node, err := disk.Open(t.TempDir())
		require.NoError(t, err)
		m, err := mount.NewBind(mount.Config{Dir: node})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, m.UnmountAll()) })
		w := newWorld(t, engine.Config{}, kubelet.Config{Root: node, Mounter: m})
		w.boundVolume("data", nil)
		reader := pod("reader", claim("data"))
		reader.Spec.Volumes[0].PersistentVolumeClaim.ReadOnly = true
		writer := w.create(pod("writer", claim("data")))
		reader = w.create(reader)
		w.settle()
		require.NoError(t, kubelet.WriteFile(node, w.runtime, writer, "/data/keep", []byte("kept")))
		data, err := kubelet.ReadFile(node, w.runtime, reader, "/data/keep")
		require.NoError(t, err)
		require.Equal(t, "kept", string(data))
		dir := "/var/lib/kubelet/pods/" + string(reader.UID) + "/volumes/kubernetes.io~local-volume/pv-data"
		require.ErrorIs(t, node.WriteFile(dir+"/x", nil, 0o644), syscall.EROFS)
		list, err := m.List()
		require.NoError(t, err)
		require.Len(t, list, 2)

		require.NoError(t, w.e.Crash(actor))
		w.delete("writer", 0)
		w.delete("reader")
		require.NoError(t, w.e.RunFor(time.Minute))
		w.requireNothingLeft()
		list, err = m.List()
		require.NoError(t, err)
		require.Empty(t, list)
		data, err = node.ReadFile("/disk/data/keep")
		require.NoError(t, err)
		require.Equal(t, "kept", string(data))
	})
}
