package kubelet_test

import (
	"context"
	"io/fs"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/machine/disk"
)

// Upstream: empty_dir.go SetUpAt, v1.37: a volume that is ready is the pod's.
func TestAnEmptyDirIsNotSetUpAgainAfterARestart(t *testing.T) {
	w := simple(t)
	group := int64(4000)
	p := pod("web", emptyDir("tmp"))
	p.Spec.SecurityContext = &v1.PodSecurityContext{FSGroup: &group}
	p = w.create(p)
	w.settle()
	home := "/var/lib/kubelet/pods/" + string(p.UID)
	dir, ready := home+"/volumes/kubernetes.io~empty-dir/tmp", home+"/plugins/kubernetes.io~empty-dir/tmp/ready"
	info, err := w.node.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, fs.ModeDir|fs.ModeSetgid|0o777, info.Mode())
	info, err = w.node.Stat(ready)
	require.NoError(t, err)
	require.Zero(t, info.Size())

	require.NoError(t, w.node.WriteFile(dir+"/secret", []byte("x"), 0o600))
	require.NoError(t, w.node.Chmod(dir, 0o700))
	require.NoError(t, w.e.Crash(actor))
	w.settle()
	for name, want := range map[string]fs.FileMode{dir: fs.ModeDir | 0o700, dir + "/secret": 0o600} {
		info, err = w.node.Stat(name)
		require.NoError(t, err)
		require.Equal(t, want, info.Mode(), name)
	}
	w.delete("web")
	w.settle()
	w.requireNothingLeft()
}

// Upstream: kubelet_volumes.go cleanupOrphanedPodDirs, v1.37.2. Conformance: made/pod_finalizer.
func TestTheDirectoryAndTheSandboxOfAPodThatAFinalizerKeepsStay(t *testing.T) {
	w := simple(t)
	p := pod("web", emptyDir("tmp"))
	p.Finalizers = []string{"example.com/look"}
	p = w.create(p)
	w.settle()
	w.delete("web")
	w.settle()
	_, err := w.node.Stat("/var/lib/kubelet/pods/" + string(p.UID))
	require.NoError(t, err)
	require.NotEmpty(t, w.get("web").Status.PodIP)
	require.NoError(t, w.e.Crash(actor))
	w.settle()
	p = w.get("web")
	require.Empty(t, p.Status.PodIP, "its sandbox stays as well, and is stopped: only an earlier life of the kubelet knew the address")
	p.Finalizers = nil
	_, err = w.user.CoreV1().Pods("default").Update(context.Background(), p, metav1.UpdateOptions{})
	require.NoError(t, err)
	w.settle()
	require.True(t, w.gone("web"))
	w.requireNothingLeft()
}

// A removed directory is made again, and the note goes with the pod even if
// the kubelet never learned of the volume.
func TestTheNoteThatAnEmptyDirIsReadyDoesNotOutliveIt(t *testing.T) {
	for _, alive := range []bool{true, false} {
		w := simple(t)
		p := w.create(pod("web", emptyDir("tmp")))
		w.settle()
		dir := "/var/lib/kubelet/pods/" + string(p.UID) + "/volumes/kubernetes.io~empty-dir/tmp"
		require.NoError(t, w.node.Remove(dir))
		require.NoError(t, w.e.Crash(actor))
		if alive {
			w.settle()
			info, err := w.node.Stat(dir)
			require.NoError(t, err)
			require.Equal(t, fs.ModeDir|0o777, info.Mode())
		}
		w.delete("web", 0)
		w.settle()
		w.requireNothingLeft()
	}
}

// A file with the name of a note in another place belongs to a user.
func TestAFileOfThatNameInAVolumeIsNoNote(t *testing.T) {
	w := simple(t)
	volume := "/var/lib/kubelet/pods/gone/volumes/example.com~unknown/a"
	require.NoError(t, w.node.MkdirAll(volume, 0o755))
	require.NoError(t, w.node.WriteFile(volume+"/ready", nil, 0o644))
	require.NoError(t, w.e.Crash(actor))
	w.settle()
	_, err := w.node.Stat(volume + "/ready")
	require.NoError(t, err)
}

// Upstream: configmap.go SetUpAt and its like, v1.37: the emptyDir that the files are in
// is given to the group, and what is written later all of the volume.
func TestVolumesOfTheAPIBelongToThePodsGroup(t *testing.T) {
	group := int64(4000)
	for _, grouped := range []bool{false, true} {
		w := simple(t)
		w.configMap("app", map[string]string{"a": "1"})
		p := pod("web", configVolume("app"))
		want := map[string]fs.FileMode{"": fs.ModeDir | 0o777, "/..data/": fs.ModeDir | 0o755, "/a": 0o644}
		if grouped {
			p.Spec.SecurityContext = &v1.PodSecurityContext{FSGroup: &group}
			want[""], want["/..data/"] = want[""]|fs.ModeSetgid, want["/..data/"]|fs.ModeSetgid
		}
		p = w.create(p)
		w.settle()
		home := "/var/lib/kubelet/pods/" + string(p.UID)
		for name, mode := range want {
			info, err := w.node.Stat(home + "/volumes/kubernetes.io~configmap/config" + name)
			require.NoError(t, err)
			require.Equal(t, mode, info.Mode(), "%q", name)
			if _, gid, ok := disk.Owner(info); ok && grouped && os.Geteuid() == 0 {
				require.Equal(t, int(group), gid, "%q", name)
			}
		}
		_, err := w.node.Stat(home + "/plugins/kubernetes.io~empty-dir/wrapped_config/ready")
		require.NoError(t, err)

		dir := home + "/volumes/kubernetes.io~configmap/config"
		require.NoError(t, w.node.Chmod(dir, 0o700))
		require.NoError(t, w.e.Crash(actor))
		w.settle()
		info, err := w.node.Stat(dir)
		require.NoError(t, err)
		require.Equal(t, fs.ModeDir|0o700, info.Mode(), "it is not set up again either")
		w.delete("web")
		w.settle()
		w.requireNothingLeft()
	}
}

// Upstream: the API takes any medium, empty_dir.go SetUpAt does not, v1.37.
func TestAnEmptyDirOfAnUnknownMediumIsRefusedByTheKubelet(t *testing.T) {
	w := simple(t)
	v := emptyDir("tmp")
	v.EmptyDir.Medium = "Tape"
	w.create(pod("web", v))
	w.settle()
	require.Equal(t, v1.PodPending, w.get("web").Status.Phase)
	w.requireEvent("web", "FailedMount", `MountVolume.SetUp failed for volume "tmp" : unknown storage medium "Tape"`)
	w.delete("web")
	w.settle()
	w.requireNothingLeft()
}
