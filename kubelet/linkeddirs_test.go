package kubelet_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/kubelet"
	"github.com/storagesim/storagesim/kubelet/nfs"
	"github.com/storagesim/storagesim/machine/disk"
)

// linkedKinds returns volumes by the directory of their plugin, shared by pods as far as
// they can be. The ConfigMap is the pod's own, called like it.
func linkedKinds(pod string) map[string]v1.Volume {
	return map[string]v1.Volume{
		"kubernetes.io~empty-dir": emptyDir("more"), "kubernetes.io~configmap": configVolume(pod),
		"kubernetes.io~local-volume": claim("data"), "kubernetes.io~host-path": hostPath("srv", "/srv", v1.HostPathDirectoryOrCreate),
		"kubernetes.io~nfs": {Name: "share", VolumeSource: v1.VolumeSource{NFS: &v1.NFSVolumeSource{Server: "nas", Path: "/srv"}}},
	}
}

// linkedWorld returns a world with a server "nas", and where the directories of both are.
func linkedWorld(t *testing.T) (w *world, root, share string) {
	root, share = t.TempDir(), t.TempDir()
	node, err := disk.Open(root)
	require.NoError(t, err)
	disk, err := disk.Open(share)
	require.NoError(t, err)
	t.Cleanup(func() { _ = disk.Close() })
	server, err := nfs.NewServer("nas", disk, "/srv")
	require.NoError(t, err)
	net := &nfs.Network{}
	require.NoError(t, net.Add(server))
	return newWorld(t, engine.Config{}, kubelet.Config{Root: node, Remote: net.Mount}), root, share
}

// files returns all files below the directories, with what can be seen of them.
func files(t *testing.T, dirs ...string) (list []string) {
	t.Helper()
	for _, dir := range dirs {
		require.NoError(t, filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
			require.NoError(t, err)
			info, err := e.Info()
			require.NoError(t, err)
			_, gid, _ := disk.Owner(info)
			text, _ := os.Readlink(name)
			if info.Mode().IsRegular() {
				data, err := os.ReadFile(name)
				require.NoError(t, err)
				text = string(data)
			}
			list = append(list, fmt.Sprint(name, " ", info.Mode(), " ", gid, " ", text))
			return nil
		}))
	}
	return list
}

// A pod's directories are replaced by links to another pod's, as a process that escapes from a
// container could do.
func TestNothingGoesThroughALinkInPlaceOfAPodsDirectory(t *testing.T) {
	group := int64(4000)
	for kind := range linkedKinds("") {
		for level, at := range map[string]string{"pod": "", "volumes": "/volumes", "plugins": "/plugins", "plugin": "/volumes/" + kind} {
			for _, crash := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s of %s, crash %v", level, kind, crash), func(t *testing.T) {
					w, root, share := linkedWorld(t)
					w.boundVolume("data", nil)
					w.configMap("a", map[string]string{"a": "1"})
					w.configMap("b", map[string]string{"b": "2"})
					volume := linkedKinds("b")[kind]
					a, b := pod("a", emptyDir("tmp"), linkedKinds("a")[kind]), pod("b", emptyDir("tmp"), volume)
					a.Spec.SecurityContext = &v1.PodSecurityContext{FSGroup: &group}
					a, b = w.create(a), w.create(b)
					w.settle()
					require.NoError(t, kubelet.WriteFile(w.node, w.runtime, b, "/tmp/keep", []byte("b's")))
					if err := kubelet.WriteFile(w.node, w.runtime, b, "/"+volume.Name+"/keep", []byte("b's")); err != nil {
						require.ErrorIs(t, err, kubelet.ErrReadOnly)
					}
					pods := root + "/var/lib/kubelet/pods/"
					link, to, aside := pods+string(a.UID)+at, pods+string(b.UID)+at, root+"/aside"
					if kind == "kubernetes.io~host-path" && level == "plugin" { // there is no such directory
						to = pods + string(b.UID) + "/volumes/kubernetes.io~empty-dir"
						require.NoError(t, os.Mkdir(aside, 0o755))
					} else {
						require.NoError(t, os.Rename(link, aside))
					}
					text, err := filepath.Rel(filepath.Dir(link), to)
					require.NoError(t, err)
					require.NoError(t, os.Symlink(text, link))
					others := []string{pods + string(b.UID), root + "/disk", root + "/srv", share}
					if kind != "kubernetes.io~host-path" {
						require.NoError(t, os.MkdirAll(root+"/srv", 0o755))
					}
					before := files(t, others...)

					if crash {
						require.NoError(t, w.e.Crash(actor))
						w.settle()
					}
					require.NoError(t, w.e.RunFor(2*time.Minute)) // volumes are brought up to date
					w.delete("a")
					require.NoError(t, w.e.RunFor(10*time.Minute))
					require.False(t, w.gone("a"))
					require.Contains(t, w.trace(), fmt.Sprintf("/var/lib/kubelet/pods/%s%s is ", a.UID, at), "it is told why")
					require.Equal(t, v1.PodRunning, w.get("b").Status.Phase)
					require.Equal(t, before, files(t, others...))

					require.NoError(t, os.Remove(link))
					require.NoError(t, os.Rename(aside, link))
					require.NoError(t, w.e.RunFor(10*time.Minute))
					require.True(t, w.gone("a"), "%s", w.trace())
					require.Equal(t, "b's", w.read(b, "/tmp/keep"))
					w.delete("b")
					w.settle()
					w.requireNothingLeft()
				})
			}
		}
	}
}

func TestAVolumeThatWasReplacedByALinkIsNotWrittenThroughIt(t *testing.T) {
	for _, kind := range []string{"kubernetes.io~empty-dir", "kubernetes.io~configmap"} {
		for _, crash := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, crash %v", kind, crash), func(t *testing.T) {
				w, root, _ := linkedWorld(t)
				w.configMap("a", map[string]string{"a": "1"})
				w.configMap("b", map[string]string{"b": "2"})
				v := linkedKinds("a")[kind]
				a, b := w.create(pod("a", v)), w.create(pod("b", linkedKinds("b")[kind]))
				w.settle()
				volumeOf := func(p *v1.Pod) string {
					return root + "/var/lib/kubelet/pods/" + string(p.UID) + "/volumes/" + kind + "/" + v.Name
				}
				require.NoError(t, os.Chmod(volumeOf(b), 0o700))
				require.NoError(t, os.RemoveAll(volumeOf(a)))
				text, err := filepath.Rel(filepath.Dir(volumeOf(a)), volumeOf(b))
				require.NoError(t, err)
				require.NoError(t, os.Symlink(text, volumeOf(a)))
				before := files(t, volumeOf(b))
				if crash {
					require.NoError(t, w.e.Crash(actor))
				}
				require.NoError(t, w.e.RunFor(10*time.Minute))
				if crash || kind == "kubernetes.io~configmap" {
					w.requireEvent("a", "FailedMount", "/"+v.Name+" is not a directory")
				}
				w.delete("a")
				w.settle()
				require.True(t, w.gone("a"))
				require.Equal(t, before, files(t, volumeOf(b)))
				w.delete("b")
				w.settle()
				w.requireNothingLeft()
			})
		}
	}
}

// A pod whose directories could not all be read after a restart is looked at again, and
// what is known of it is told once.
func TestWhatWasFoundOfALinkedPodIsNotFoundAgain(t *testing.T) {
	w, root, _ := linkedWorld(t)
	p := w.create(pod("a", emptyDir("tmp")))
	w.settle()
	volumes := "/var/lib/kubelet/pods/" + string(p.UID) + "/volumes/"
	require.NoError(t, w.node.MkdirAll(volumes+"example.com~unknown/x", 0o755))
	require.NoError(t, w.node.WriteFile(volumes+"example.com~unknown/x/keep", []byte("x"), 0o644))
	require.NoError(t, os.Symlink("kubernetes.io~empty-dir", root+volumes+"linked"))
	require.NoError(t, w.e.Crash(actor))
	w.settle()
	w.delete("a")
	require.NoError(t, w.e.RunFor(10*time.Minute))
	require.False(t, w.gone("a"))
	require.Equal(t, 1, strings.Count(w.trace(), "x is not known to be a volume"))
	require.Equal(t, 1, strings.Count(w.trace(), "cannot look for volumes of an earlier life"))
	require.NoError(t, os.Remove(root+volumes+"linked"))
	require.NoError(t, w.node.Remove(volumes+"example.com~unknown/x/keep"))
	require.NoError(t, w.e.RunFor(10*time.Minute))
	require.True(t, w.gone("a"))
	w.requireNothingLeft()
}
