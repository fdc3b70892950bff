package kubelet_test

import (
	"errors"
	"io/fs"
	"path"
	"strings"
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

// subPathsOf returns the directory in which the parts of a pod's volumes are mounted.
func subPathsOf(p *v1.Pod) string {
	return "/var/lib/kubelet/pods/" + string(p.UID) + "/volume-subpaths"
}

// parts returns a pod that mounts its first volume as a whole and the others in part.
func parts(name string, volumes ...v1.Volume) *v1.Pod {
	p := pod(name, volumes...)
	for i := range p.Spec.Containers[0].VolumeMounts[1:] {
		p.Spec.Containers[0].VolumeMounts[1+i].SubPath = "a/part"
	}
	return p
}

func emptyDir(name string) v1.Volume {
	return volumeOf(name, v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}})
}

// Upstream: subpath_linux.go getSubpathBindTarget, v1.37: the volume's own name, and
// the number of the volumeMount.
func TestPartsOfVolumesAreMountedBelowThePodsDirectory(t *testing.T) {
	w := simple(t)
	w.boundVolume("data", nil)
	require.NoError(t, w.node.MkdirAll("/disk/data/a", 0o755))
	require.NoError(t, w.node.WriteFile("/disk/data/a/part", []byte("a file"), 0o644))
	p := w.create(parts("web", emptyDir("whole"), emptyDir("tmp"), claim("data"), hostPath("srv", "/srv", v1.HostPathDirectoryOrCreate)))
	w.settle()
	require.Equal(t, v1.PodRunning, w.get("web").Status.Phase)
	dir := subPathsOf(p)
	names, err := w.node.List(dir)
	require.NoError(t, err)
	require.Equal(t, []string{"pv-data/", "srv/", "tmp/"}, names)
	require.NoError(t, kubelet.WriteFile(w.node, w.runtime, p, "/tmp/x", []byte("seen")))
	for at, want := range map[string]string{"tmp/c/1/x": "seen", "pv-data/c/2": "a file"} {
		data, err := w.node.ReadFile(path.Join(dir, at))
		require.NoError(t, err, at)
		require.Equal(t, want, string(data), at)
	}
	volumes := "/var/lib/kubelet/pods/" + string(p.UID) + "/volumes"
	require.Contains(t, w.trace(), "mounts tmp: "+volumes+"/kubernetes.io~empty-dir/tmp/a/part -> "+dir+"/tmp/c/1 for pod default/web")
	require.Contains(t, w.trace(), "mounts srv: /srv/a/part -> "+dir+"/srv/c/3 for pod default/web")

	w.delete("web")
	w.settle()
	w.requireNothingLeft()
	part := strings.Index(w.trace(), "unmounts pv-data "+dir)
	require.Positive(t, part)
	require.Greater(t, strings.Index(w.trace(), "unmounts pv-data "+volumes), part, "the part goes before the volume")
}

func TestAPodWithoutSubPathsIsNotChargedForThem(t *testing.T) {
	w := simple(t)
	var seen []string
	w.node.Fail(func(op, name string) error {
		if strings.Contains(name, "volume-subpaths") {
			seen = append(seen, op+" "+name)
		}
		return nil
	})
	w.boundVolume("data", nil)
	w.create(pod("web", claim("data"), emptyDir("tmp")))
	w.settle()
	w.delete("web")
	w.settle()
	w.node.Fail(nil)
	w.requireNothingLeft()
	require.Equal(t, []string{}, append([]string{}, seen...))
}

// Upstream: subpath_linux.go SafeMakeDir, v1.37.
func TestAPartOfAVolumeThatIsMadeHasTheVolumesMode(t *testing.T) {
	w := simple(t)
	require.NoError(t, w.node.MakeDir("/srv", 0o770|fs.ModeSetgid))
	w.create(parts("web", emptyDir("whole"), hostPath("srv", "/srv", v1.HostPathDirectory)))
	w.settle()
	for _, dir := range []string{"/srv/a", "/srv/a/part"} {
		info, err := w.node.Stat(dir)
		require.NoError(t, err)
		require.Equal(t, 0o770|fs.ModeSetgid, info.Mode()&^fs.ModeDir, dir)
	}
}

// The kubelet's next life does not find a host path in the pod's directory, so that its parts stay mounted, and the
// directory stays. Seen in u06a_hostpath_subpath_force_deleted_kubelet_down.
func TestThePartOfAHostPathStaysMountedAfterARestartIfThePodIsGone(t *testing.T) {
	w := simple(t)
	p := w.create(parts("web", emptyDir("whole"), hostPath("srv", "/srv", v1.HostPathDirectoryOrCreate)))
	w.settle()
	require.NoError(t, w.node.WriteFile("/srv/a/part/keep", []byte("kept"), 0o644))
	require.NoError(t, w.e.Crash(actor))
	w.delete("web", 0)
	require.NoError(t, w.e.RunFor(10*time.Minute))
	require.Len(t, w.mounts(), 1)
	require.True(t, w.gone("web"))
	require.Contains(t, w.trace(), "orphaned pod \""+string(p.UID)+"\" found, but volume paths are still present on disk")
	data, err := w.node.ReadFile("/srv/a/part/keep")
	require.NoError(t, err)
	require.Equal(t, "kept", string(data))
}

func TestThePartOfAHostPathIsUnmountedAfterARestartThoughThePodIsGoneWithTheSwitch(t *testing.T) {
	for name, grace := range map[string]int64{"it is gone": 0, "it ends": 30} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, engine.Config{}, kubelet.Config{Decisions: volumemanager.Decisions{CleanSubPaths: true}})
			p := w.create(parts("web", emptyDir("whole"), hostPath("srv", "/srv", v1.HostPathDirectoryOrCreate)))
			w.settle()
			require.NoError(t, w.node.WriteFile("/srv/a/part/keep", []byte("kept"), 0o644))
			require.Len(t, w.mounts(), 1)
			require.NoError(t, w.e.Crash(actor))
			w.delete("web", grace)
			w.settle()
			w.requireNothingLeft()
			require.Contains(t, w.trace(), "unmounts srv "+subPathsOf(p))
			data, err := w.node.ReadFile("/srv/a/part/keep")
			require.NoError(t, err)
			require.Equal(t, "kept", string(data))
		})
	}
}

func TestABusyPartKeepsItsVolumeMounted(t *testing.T) {
	busy := true
	w := mountFaults(t, func(op mount.Op) error {
		if busy && op.Verb == mount.VerbUnmount && strings.Contains(op.Target, "volume-subpaths") {
			return syscall.EBUSY
		}
		return nil
	})
	w.boundVolume("data", nil)
	w.create(parts("web", emptyDir("whole"), claim("data")))
	w.settle()
	w.delete("web")
	require.NoError(t, w.e.RunFor(time.Minute))
	require.Len(t, w.mounts(), 2, "the volume and its part")
	require.Contains(t, w.trace(), `error cleaning subPath mounts for volume "pv-data" : device or resource busy`)
	busy = false
	require.NoError(t, w.e.RunFor(3*time.Minute))
	w.requireNothingLeft()
}

func TestAPartThatCannotBeMountedKeepsItsContainerWaiting(t *testing.T) {
	failing := true
	w := mountFaults(t, func(op mount.Op) error {
		if failing && op.Verb == mount.VerbMount && strings.Contains(op.Target, "volume-subpaths") {
			return errors.New("no such device")
		}
		return nil
	})
	p := w.create(parts("web", emptyDir("whole"), emptyDir("tmp")))
	w.settle()
	w.requireWaiting("web", "c", "CreateContainerConfigError", `failed to prepare subPath for volumeMount "tmp" of container "c"`)
	require.Contains(t, w.trace(), `subPath "a/part" of volume tmp: no such device`, "the pod is not told why, the trace is")
	names, err := w.node.List(subPathsOf(p) + "/tmp/c")
	require.NoError(t, err)
	require.Empty(t, names)
	failing = false
	require.NoError(t, w.e.RunFor(5*time.Minute))
	require.Equal(t, v1.PodRunning, w.get("web").Status.Phase)
	w.delete("web")
	w.settle()
	w.requireNothingLeft()
}

func TestALinkInAVolumeLeadsNoPartOutOfIt(t *testing.T) {
	for link, what := range map[string]string{
		"/outside": "prepare subPath",          // there is a part in it
		"/missing": "create subPath directory", // there is not
	} {
		t.Run(link, func(t *testing.T) {
			w := simple(t)
			for _, dir := range []string{"/outside/part", "/srv"} {
				require.NoError(t, w.node.MkdirAll(dir, 0o755))
			}
			w.link(link, "/srv/a")
			w.create(parts("web", emptyDir("whole"), hostPath("srv", "/srv", v1.HostPathDirectory)))
			w.settle()
			w.requireWaiting("web", "c", "CreateContainerConfigError", "failed to "+what+` for volumeMount "srv" of container "c"`)
			require.Empty(t, w.mounts())
			w.delete("web")
			w.settle()
			w.requireNothingLeft()
			names, err := w.node.List("/outside")
			require.NoError(t, err)
			require.Equal(t, []string{"part/"}, names)
		})
	}
}

// A process that can write in the pods' directory can put anything in place of the mounts.
func TestWhatIsNoMountIsNotRemovedWithThem(t *testing.T) {
	for name, tamper := range map[string]func(w *world, dir string){
		"a link for all of them": func(w *world, dir string) {
			require.NoError(w.t, w.node.Rename(dir, "/moved"))
			w.link("/srv", dir)
		},
		"a link for a volume's": func(w *world, dir string) {
			require.NoError(w.t, w.node.Rename(dir+"/srv", "/moved"))
			w.link("/srv/srv", dir+"/srv")
		},
		"a link for a container's": func(w *world, dir string) {
			require.NoError(w.t, w.node.Rename(dir+"/srv/c", "/moved"))
			w.link("/srv/srv/c", dir+"/srv/c")
		},
		"a file": func(w *world, dir string) {
			require.NoError(w.t, w.node.WriteFile(dir+"/srv/c/9", []byte("somebody's"), 0o644))
		},
		"a directory": func(w *world, dir string) {
			require.NoError(w.t, w.node.MkdirAll(dir+"/srv/c/9/somebodys", 0o755))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := simple(t)
			require.NoError(t, w.node.MkdirAll("/srv/srv/c", 0o755))
			require.NoError(t, w.node.WriteFile("/srv/srv/c/0", nil, 0o644))
			require.NoError(t, w.node.WriteFile("/srv/srv/c/1", []byte("kept"), 0o644))
			p := w.create(parts("web", emptyDir("whole"), hostPath("srv", "/srv", v1.HostPathDirectory)))
			w.settle()
			tamper(w, subPathsOf(p))
			w.delete("web")
			require.NoError(t, w.e.RunFor(10*time.Minute))
			names, err := w.node.List("/srv/srv/c")
			require.NoError(t, err)
			require.Equal(t, []string{"0", "1"}, names)
			require.False(t, w.gone("web"), "it is told, and looked after by somebody")
			require.Contains(t, w.trace(), "error cleaning subPath mounts for volume \"srv\" : ")
			for _, at := range []string{"/srv/c/9", "/srv/c/9/somebodys"} {
				if strings.HasSuffix(name, "file") && at == "/srv/c/9" || strings.HasSuffix(name, "directory") {
					_, err := w.node.Lstat(subPathsOf(p) + at)
					require.NoError(t, err, at)
				}
			}
		})
	}
}

func TestNothingIsMadeWhereALinkInThePodsDirectoryLeads(t *testing.T) {
	for _, at := range []string{"", "/tmp", "/tmp/c"} {
		t.Run("volume-subpaths"+at, func(t *testing.T) {
			w := simple(t)
			require.NoError(t, w.node.Mkdir("/elsewhere", 0o755))
			p := w.create(parts("web", emptyDir("whole"), emptyDir("tmp")))
			require.NoError(t, w.node.MkdirAll(path.Dir(subPathsOf(p)+at), 0o755))
			w.link("/elsewhere", subPathsOf(p)+at)
			w.settle()
			w.requireWaiting("web", "c", "CreateContainerConfigError", `failed to prepare subPath for volumeMount "tmp" of container "c"`)
			names, err := w.node.List("/elsewhere")
			require.NoError(t, err)
			require.Empty(t, names)
			require.NoError(t, w.node.Remove(subPathsOf(p)+at))
			w.delete("web")
			w.settle()
			w.requireNothingLeft()
		})
	}
}

func (w *world) link(to, at string) {
	w.t.Helper()
	_, err := w.node.Symlink(to, at)
	require.NoError(w.t, err)
}

// A container that is started again gets what is there now.
func TestAPartIsMountedAnewForAContainerThatStartsAgain(t *testing.T) {
	w := simple(t)
	require.NoError(t, w.node.MkdirAll("/srv/a/part", 0o755))
	p := helper(parts("helper", emptyDir("whole"), hostPath("srv", "/srv", v1.HostPathDirectory)), "mkdir", "/srv/x/y")
	p.Spec.RestartPolicy = v1.RestartPolicyOnFailure
	p = w.create(p)
	w.settle()
	require.NoError(t, w.node.Rename("/srv/a", "/srv/b"))
	require.NoError(t, w.node.MkdirAll("/srv/a/part/x", 0o755))
	require.NoError(t, w.e.RunFor(10*time.Minute))
	require.Equal(t, v1.PodSucceeded, w.get("helper").Status.Phase)
	_, err := w.node.Stat("/srv/a/part/x/y")
	require.NoError(t, err)
	require.Contains(t, w.trace(), "unmounts srv "+subPathsOf(p))
	require.NotContains(t, strings.Join(w.events("helper"), "\n"), "Failed:")
	w.delete("helper")
	w.settle()
	w.requireNothingLeft()
}

// The mounts show the content of the volumes, and go with the pod, also after a crash of the kubelet.
func TestRealMountsShowPartsOfVolumesAndLeaveNothingAfterACrash(t *testing.T) {
	unshared.Test(t, func(t *testing.T) {
		node, err := disk.Open(t.TempDir())
		require.NoError(t, err)
		m, err := mount.NewBind(mount.Config{Dir: node})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, m.UnmountAll()) })
		w := newWorld(t, engine.Config{}, kubelet.Config{Root: node, Mounter: m, Decisions: volumemanager.Decisions{CleanSubPaths: true}})
		w.boundVolume("data", nil)
		require.NoError(t, node.MkdirAll("/disk/data/a", 0o755))
		require.NoError(t, node.WriteFile("/disk/data/a/part", []byte("a file"), 0o644))
		p := w.create(parts("web", emptyDir("whole"), claim("data"), hostPath("srv", "/srv", v1.HostPathDirectoryOrCreate)))
		w.settle()
		require.NoError(t, kubelet.WriteFile(node, w.runtime, p, "/srv/keep", []byte("kept")))
		for at, want := range map[string]string{"pv-data/c/1": "a file", "srv/c/2/keep": "kept"} {
			data, err := node.ReadFile(path.Join(subPathsOf(p), at))
			require.NoError(t, err, at)
			require.Equal(t, want, string(data), at)
		}
		list, err := m.List()
		require.NoError(t, err)
		require.Len(t, list, 3)

		require.NoError(t, w.e.Crash(actor))
		w.delete("web", 0)
		require.NoError(t, w.e.RunFor(time.Minute))
		w.requireNothingLeft()
		list, err = m.List()
		require.NoError(t, err)
		require.Empty(t, list)
		for at, want := range map[string]string{"/disk/data/a/part": "a file", "/srv/a/part/keep": "kept"} {
			data, err := node.ReadFile(at)
			require.NoError(t, err, at)
			require.Equal(t, want, string(data), at)
		}
	})
}

// A share is out of sight of the link that stands for the mount (package mount), not of
// the container.
func TestAPartOfANetworkShareIsMountedAndUnmounted(t *testing.T) {
	w, _, _ := linkedWorld(t)
	share := v1.Volume{Name: "share", VolumeSource: v1.VolumeSource{NFS: &v1.NFSVolumeSource{Server: "nas", Path: "/srv"}}}
	p := w.create(parts("web", emptyDir("whole"), share))
	w.settle()
	require.Equal(t, v1.PodRunning, w.get("web").Status.Phase)
	require.NoError(t, kubelet.WriteFile(w.node, w.runtime, p, "/share/x", []byte("kept")))
	require.NoError(t, w.e.Crash(actor))
	w.delete("web")
	w.settle()
	w.requireNothingLeft()

	p = w.create(parts("again", emptyDir("whole"), share))
	w.settle()
	data, err := kubelet.ReadFile(w.node, w.runtime, p, "/share/x")
	require.NoError(t, err)
	require.Equal(t, "kept", string(data))
	require.NoError(t, w.e.Crash(actor))
	w.delete("again", 0)
	w.settle()
	w.requireNothingLeft()
}
