package kubelet_test

import (
	"context"
	"errors"
	"io/fs"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/kubelet"
	"github.com/storagesim/storagesim/kubelet/local"
	"github.com/storagesim/storagesim/volume"
)

// asDevice has the pod's container use a volume as a raw device.
func asDevice(p *v1.Pod) *v1.Pod {
	c := &p.Spec.Containers[0]
	c.VolumeDevices = []v1.VolumeDevice{{Name: c.VolumeMounts[0].Name, DevicePath: "/dev/xvda"}}
	c.VolumeMounts = nil
	return p
}

// semantics 5.2: Block and Filesystem must agree with volumeDevices and volumeMounts.
func TestAVolumesModeMustAgreeWithItsUse(t *testing.T) {
	block, filesystem := v1.PersistentVolumeBlock, v1.PersistentVolumeFilesystem
	for want, c := range map[string]struct {
		mode   *v1.PersistentVolumeMode
		device bool
	}{
		"volume data has volumeMode Block, but is specified in volumeMounts":       {&block, false},
		"volume data has volumeMode Filesystem, but is specified in volumeDevices": {&filesystem, true},
	} {
		w := newWorld(t, engine.Config{}, kubelet.Config{})
		w.boundVolume("data", func(pv *v1.PersistentVolume) { pv.Spec.VolumeMode = c.mode })
		p := pod("web", claim("data"))
		if c.device {
			p = asDevice(p)
		}
		w.create(p)
		w.requireNeverRuns(t)
		w.requireEvent("web", "FailedMount", want)
		w.requireLeavesNothing(t)
	}
}

func (w *world) requireNeverRuns(t *testing.T) {
	t.Helper()
	require.NoError(t, w.e.RunFor(time.Minute))
	require.Equal(t, v1.PodPending, w.get("web").Status.Phase)
	require.Empty(t, w.mounts())
}

func (w *world) requireLeavesNothing(t *testing.T) {
	t.Helper()
	w.delete("web")
	w.settle()
	w.requireNothingLeft()
}

// mapper is the local plugin with a device, as far as it does not fail.
type mapper struct {
	volume.BlockVolumePlugin
	volume.BlockVolumeMapper
	noMapper, noGlobalMap error
}

// noMappers is the local plugin without raw devices.
type noMappers struct{ volume.VolumePlugin }

func (m *mapper) NewBlockVolumeMapper(spec *volume.Spec, pod *v1.Pod) (volume.BlockVolumeMapper, error) {
	var err error
	if m.BlockVolumeMapper, err = m.BlockVolumePlugin.NewBlockVolumeMapper(spec, pod); err == nil {
		err = m.noMapper
	}
	return m, err
}

func (m *mapper) GetGlobalMapPath(spec *volume.Spec) (string, error) {
	at, err := m.BlockVolumeMapper.GetGlobalMapPath(spec)
	return at, errors.Join(err, m.noGlobalMap)
}

func (m *mapper) MapPodDevice(context.Context) (string, error) { return "/dev/sda", nil }

// semantics 5.2: FailedMapVolume for block.
func TestABlockVolumesTroubleIsFailedMapVolume(t *testing.T) {
	disk, ok := local.NewPlugin().(volume.BlockVolumePlugin)
	require.True(t, ok)
	for name, c := range map[string]struct {
		plugin  volume.VolumePlugin
		change  func(pv *v1.PersistentVolume)
		reason  string
		message string
	}{
		"no such path": {disk, func(pv *v1.PersistentVolume) { pv.Spec.Local.Path = "/dev/none" },
			"FailedMapVolume", `MapVolume.MapPodDevice failed for volume "pv-data" : path "/dev/none" does not exist`},
		"a directory": {disk, nil,
			"FailedMapVolume", `MapVolume.MapPodDevice failed for volume "pv-data" : path "/disk/data" is not a block device`},
		"another node's": {disk, func(pv *v1.PersistentVolume) { pv.Spec.NodeAffinity = onNode("node-2") },
			"FailedMount", `MapVolume.NodeAffinity check failed for volume "pv-data" : `},
		"a plugin without devices, which a kubelet only logs": {noMappers{disk}, nil, "", ""},
		"a plugin that fails": {&mapper{BlockVolumePlugin: disk, noMapper: errors.New("no disk")}, nil,
			"FailedMapVolume", `MapVolume.NewBlockVolumeMapper initialization failed for volume "pv-data" : no disk`},
		"a plugin that fails later": {&mapper{BlockVolumePlugin: disk, noGlobalMap: errors.New("no map")}, nil,
			"FailedMapVolume", `MapVolume.GetGlobalMapPath failed for volume "pv-data" : no map`},
	} {
		t.Run(name, func(t *testing.T) {
			plugins := func() []volume.VolumePlugin { return []volume.VolumePlugin{c.plugin} }
			w := newWorld(t, engine.Config{}, kubelet.Config{Plugins: plugins})
			block := v1.PersistentVolumeBlock
			w.boundVolume("data", func(pv *v1.PersistentVolume) {
				pv.Spec.VolumeMode = &block
				if c.change != nil {
					c.change(pv)
				}
			})
			w.create(asDevice(pod("web", claim("data"))))
			w.requireNeverRuns(t)
			if c.reason == "" {
				require.Empty(t, w.events("web"))
			} else {
				w.requireEvent("web", c.reason, c.message)
				require.Len(t, w.events("web"), 1)
			}
			w.requireLeavesNothing(t)
		})
	}
}

// Upstream: kubelet_pods.go makeBlockVolumes, v1.37.
func TestALocalDeviceIsMappedAndItsContainersReadAndWriteIt(t *testing.T) {
	w := newWorld(t, engine.Config{}, kubelet.Config{Plugins: func() []volume.VolumePlugin { return []volume.VolumePlugin{local.NewPlugin()} }})
	require.NoError(t, w.node.MkdirAll("/dev", 0o755))
	require.NoError(t, w.node.MakeDevice("/dev/sdb"))
	require.NoError(t, w.node.WriteFile("/dev/sdb", []byte("old\n"), 0o660))
	block := v1.PersistentVolumeBlock
	w.boundVolume("data", func(pv *v1.PersistentVolume) {
		pv.Spec.VolumeMode = &block
		pv.Spec.Local.Path = "/dev/sdb"
	})
	p := asDevice(pod("web", claim("data")))
	p.Spec.Containers[0].Command = []string{"sh", "-c", "test -b /dev/xvda && cat /dev/xvda; echo new > /dev/xvda; sleep infinity"}
	p.Spec.Containers[0].VolumeDevices[0].DevicePath = "/dev/xvda"
	w.create(p)
	w.settle()
	require.Equal(t, v1.PodRunning, w.get("web").Status.Phase)
	data, err := w.node.ReadFile("/dev/sdb")
	require.NoError(t, err)
	require.Equal(t, "new\n", string(data))
	links, err := w.node.List("/var/lib/kubelet/plugins/kubernetes.io~local-volume/volumeDevices/pv-data")
	require.NoError(t, err)
	require.Len(t, links, 1)
	w.requireLeavesNothing(t)
	_, err = w.node.Lstat("/var/lib/kubelet/plugins/kubernetes.io~local-volume/volumeDevices/pv-data")
	require.ErrorIs(t, err, fs.ErrNotExist)
}
