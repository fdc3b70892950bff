package kubelet_test

import (
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/kubelet"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/machine/mount"
)

// diskFaults makes some of the kubelet's file operations fail: those from number
// skip on, times of them.
type diskFaults struct {
	err         error
	skip, times int
	seen        int
	struck      []string
}

func (f *diskFaults) fail(op, name string) error {
	if strings.HasPrefix(name, "/srv") {
		return nil // a failing command in a container is no fault of the kubelet
	}
	if f.seen++; f.seen <= f.skip || f.seen > f.skip+f.times {
		return nil
	}
	f.struck = append(f.struck, op+" "+name)
	return f.err
}

// A full disk and a denied permission, at each file operation of a pod's life: the
// kubelet tries again, and in the end everything is as if nothing had been.
func TestAnyFileOperationMayFail(t *testing.T) {
	for _, c := range []struct {
		err   error
		times int
	}{{syscall.ENOSPC, 1}, {syscall.EACCES, 3}} {
		struck := 0
		for skip := 0; ; skip++ {
			w := simple(t)
			faults := &diskFaults{err: c.err, skip: skip, times: c.times}
			w.during = func(f func() error) error {
				w.node.Fail(faults.fail)
				defer w.node.Fail(nil)
				return f()
			}
			t.Cleanup(func() {
				if t.Failed() && len(faults.struck) > 0 {
					t.Logf("%v struck %q", c.err, faults.struck)
				}
			})
			life(w)
			if len(faults.struck) == 0 {
				break // the run has fewer operations than that
			}
			struck++
		}
		require.Greater(t, struck, 50)
	}
}

func TestAFullDiskIsReportedAndThePodStartsWhenThereIsSpace(t *testing.T) {
	w := simple(t)
	w.boundVolume("data", nil)
	w.node.Fail(func(op, name string) error {
		if (op == "mkdir" || op == "write" || op == "symlink") && strings.Contains(name, "/kubernetes.io~local-volume") {
			return syscall.ENOSPC
		}
		return nil
	})
	w.create(pod("web", claim("data")))
	w.settle()
	require.Equal(t, v1.PodPending, w.get("web").Status.Phase)
	w.requireEvent("web", "FailedMount", `MountVolume.SetUp failed for volume "pv-data" : mkdir /var/lib/kubelet/pods/`)
	w.requireEvent("web", "FailedMount", "no space left on device")
	w.node.Fail(nil)
	require.NoError(t, w.e.RunFor(3*time.Minute))
	require.Equal(t, v1.PodRunning, w.get("web").Status.Phase)
}

func TestADirectoryThatCannotBeMadeIsReported(t *testing.T) {
	w := simple(t)
	w.node.Fail(func(op, name string) error {
		if op == "mkdir" && strings.HasPrefix(name, "/var/lib/kubelet/pods/") {
			return syscall.EACCES
		}
		return nil
	})
	w.create(pod("web"))
	w.settle()
	w.requireEvent("web", "Failed", "error making pod data directories: mkdir /var/lib/kubelet/pods/")
	w.requireEvent("web", "Failed", "permission denied")
	w.node.Fail(nil)
	require.NoError(t, w.e.RunFor(3*time.Minute))
	require.Equal(t, v1.PodRunning, w.get("web").Status.Phase)
}

// mountFaults returns a kubelet whose mounter fails as f says.
func mountFaults(t *testing.T, f func(mount.Op) error) *world {
	t.Helper()
	node, err := disk.Open(t.TempDir())
	require.NoError(t, err)
	m, err := mount.NewTempDir(mount.Config{Dir: node})
	require.NoError(t, err)
	return newWorld(t, engine.Config{}, kubelet.Config{Root: node, Mounter: mount.Failing(m, f)})
}

func TestABusyVolumeKeepsItsPodTerminatingUntilItIsFree(t *testing.T) {
	busy, tries := true, 0
	w := mountFaults(t, func(op mount.Op) error {
		if op.Verb != mount.VerbUnmount {
			return nil
		}
		if tries++; busy {
			return syscall.EBUSY
		}
		return nil
	})
	w.boundVolume("data", nil)
	p := w.create(pod("web", claim("data")))
	w.settle()
	require.NoError(t, kubelet.WriteFile(w.node, w.runtime, p, "/data/keep", []byte("kept")))
	w.delete("web")
	require.NoError(t, w.e.RunFor(10*time.Minute))
	require.NotNil(t, w.get("web").DeletionTimestamp, "nobody takes it away while its volume is mounted")
	require.Len(t, w.mounts(), 1)
	require.Contains(t, w.trace(), `UnmountVolume.TearDown failed for volume "pv-data" : device or resource busy`)
	require.InDelta(t, 12, tries, 2, "500ms, 1s, 2s, ... 2m2s: semantics 5.2")

	busy = false
	require.NoError(t, w.e.RunFor(3*time.Minute))
	w.requireNothingLeft()
	data, err := w.node.ReadFile("/disk/data/keep")
	require.NoError(t, err)
	require.Equal(t, "kept", string(data))
}

func TestACorruptedMountIsUnmountedUnseen(t *testing.T) {
	stale := false
	w := mountFaults(t, func(op mount.Op) error {
		if op.Verb == mount.VerbUnmount {
			stale = false
		}
		if stale && op.Verb == mount.VerbLook {
			return syscall.ESTALE
		}
		return nil
	})
	w.boundVolume("data", nil)
	w.create(pod("web", claim("data")))
	w.settle()
	stale = true
	w.delete("web")
	w.settle()
	w.requireNothingLeft()
}

func TestACorruptedMountIsNotTakenForNoMount(t *testing.T) {
	stale := true
	w := mountFaults(t, func(op mount.Op) error {
		if stale && op.Verb == mount.VerbLook {
			return syscall.ESTALE
		}
		return nil
	})
	w.boundVolume("data", nil)
	w.create(pod("web", claim("data")))
	w.settle()
	require.Empty(t, w.mounts())
	w.requireEvent("web", "FailedMount", "stale file handle")
	stale = false
	require.NoError(t, w.e.RunFor(3*time.Minute))
	require.Equal(t, v1.PodRunning, w.get("web").Status.Phase)
}

// semantics 5.3: a failure may not leave anything, whichever step it was.
func TestAFailedUnmountOfAFailedMountIsMadeUpForLater(t *testing.T) {
	failing := true
	w := mountFaults(t, func(op mount.Op) error {
		if failing && op.Verb != mount.VerbLook {
			return syscall.EIO
		}
		return nil
	})
	w.boundVolume("data", nil)
	w.create(pod("web", claim("data")))
	w.settle()
	w.delete("web")
	failing = false
	w.settle()
	w.requireNothingLeft()
	_, err := w.node.Stat("/disk/data")
	require.NotErrorIs(t, err, fs.ErrNotExist)
}
