package emptydir_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/internal/rigs/volumetest"
	"github.com/storagesim/storagesim/kubelet/internal/emptydir"
	"github.com/storagesim/storagesim/volume"
)

func TestAnEmptyDirOfAMediumThatItCannotGiveIsRefused(t *testing.T) {
	limit := resource.MustParse("1Gi")
	setUp := func(source v1.EmptyDirVolumeSource) error {
		h := volumetest.NewNode(t)
		m, err := h.MounterOf(emptydir.NewPlugin(), volumetest.PodSpec("tmp", v1.VolumeSource{EmptyDir: &source}), "a")
		require.NoError(t, err)
		if err := m.SetUp(context.Background(), volume.MounterArgs{}); err != nil {
			return err
		}
		require.NoError(t, m.SetUp(context.Background(), volume.MounterArgs{}), "again")
		info, err := h.FS.Stat(m.GetPath())
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o777), info.Mode().Perm())
		return nil
	}
	require.NoError(t, setUp(v1.EmptyDirVolumeSource{}))
	require.NoError(t, setUp(v1.EmptyDirVolumeSource{Medium: v1.StorageMediumMemory, SizeLimit: &limit}))
	require.EqualError(t, setUp(v1.EmptyDirVolumeSource{Medium: "HugePages-2Mi"}),
		"medium HugePages-2Mi: hugePages storage requested, but there is no resource request for huge pages")
	require.EqualError(t, setUp(v1.EmptyDirVolumeSource{Medium: "Tape"}), `unknown storage medium "Tape"`)
}

func TestHugePagesAreRefusedByWhatThePodRequests(t *testing.T) {
	setUp := func(medium v1.StorageMedium, sizes ...string) string {
		h, plugin := volumetest.NewNode(t), emptydir.NewPlugin()
		require.NoError(t, plugin.Init(h))
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "a"}}
		for _, size := range sizes {
			list := v1.ResourceList{v1.ResourceName(v1.ResourceHugePagesPrefix + size): resource.MustParse("4Mi")}
			pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Resources: v1.ResourceRequirements{Requests: list}})
		}
		m, err := plugin.NewMounter(volumetest.PodSpec("huge", v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{Medium: medium}}), pod)
		require.NoError(t, err)
		err = m.SetUp(context.Background(), volume.MounterArgs{})
		require.Error(t, err)
		require.True(t, h.Mode(m.GetPath()).IsDir(), "upstream has made it by then")
		return err.Error()
	}
	none := `storage medium %q is not supported by this kubelet, which has no huge pages`
	require.Equal(t, "medium HugePages: hugePages storage requested, but there is no resource request for huge pages", setUp("HugePages"))
	require.Equal(t, fmt.Sprintf(none, "HugePages"), setUp("HugePages", "2Mi", "2Mi"))
	require.Equal(t, "medium: HugePages can't be used if container requests multiple huge page sizes", setUp("HugePages", "2Mi", "1Gi"))
	require.Equal(t, fmt.Sprintf(none, "HugePages-2Mi"), setUp("HugePages-2Mi", "2Mi", "1Gi"))
	require.Equal(t, "medium HugePages-2Mi: hugePages storage requested, but there is no resource request for huge pages", setUp("HugePages-2Mi", "1Gi"))
}

// Upstream: empty_dir.go SetUpAt, v1.37, which passes no policy on.
func TestAnEmptyDirKnowsNoFSGroupChangePolicy(t *testing.T) {
	h := volumetest.NewNode(t)
	m, err := h.MounterOf(emptydir.NewPlugin(), volumetest.PodSpec("tmp", v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}), "a")
	require.NoError(t, err)
	require.NoError(t, h.FS.MkdirAll(m.GetPath(), 0o755))
	require.NoError(t, h.FS.Chmod(m.GetPath(), fs.ModeSetgid|0o777))
	require.NoError(t, h.FS.WriteFile(m.GetPath()+"/file", nil, 0o600))
	group, policy := int64(os.Getgid()), v1.FSGroupChangeOnRootMismatch
	require.NoError(t, m.SetUp(context.Background(), volume.MounterArgs{FsGroup: &group, FSGroupChangePolicy: &policy}))
	require.Equal(t, fs.FileMode(0o660), h.Mode(m.GetPath()+"/file"))
}

// A note that a volume is ready, and no directory, or the other way round.
func TestAnEmptyDirIsReadyIfItsDirectoryIsThereToo(t *testing.T) {
	h := volumetest.NewNode(t)
	m, err := h.MounterOf(emptydir.NewPlugin(), volumetest.PodSpec("tmp", v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}), "a")
	require.NoError(t, err)
	notes := "/var/lib/kubelet/pods/a/plugins/kubernetes.io~empty-dir/tmp"
	require.False(t, volume.IsReady(h.FS, notes))
	require.NoError(t, h.FS.MkdirAll(notes+"/ready", 0o755))
	require.False(t, volume.IsReady(h.FS, notes), "a directory is no note")
	require.NoError(t, h.FS.Remove(notes+"/ready"))
	require.NoError(t, volume.SetReady(h.FS, notes))
	require.True(t, volume.IsReady(h.FS, notes))
	require.NoError(t, m.SetUp(context.Background(), volume.MounterArgs{}))
	require.Equal(t, fs.ModeDir|0o777, h.Mode(m.GetPath()))
	require.NoError(t, h.FS.Chmod(m.GetPath(), 0o700))
	require.NoError(t, m.SetUp(context.Background(), volume.MounterArgs{}))
	require.Equal(t, fs.ModeDir|0o700, h.Mode(m.GetPath()))
	require.NoError(t, h.FS.RemoveAll(notes))
	require.NoError(t, m.SetUp(context.Background(), volume.MounterArgs{}))
	require.Equal(t, fs.ModeDir|0o777, h.Mode(m.GetPath()))
}
