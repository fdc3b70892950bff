package local

import (
	"context"
	"fmt"
	"path"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/volume"
)

var _ volume.BlockVolumePlugin = (*localVolumePlugin)(nil)

// volumeDevices is the directory of links to devices.
const volumeDevices = "volumeDevices"

// NewBlockVolumeMapper makes a mapper; whether the path is a device shows when it
// is asked for.
//
// Upstream: local.go NewBlockVolumeMapper, v1.37.
func (plugin *localVolumePlugin) NewBlockVolumeMapper(spec *volume.Spec, pod *v1.Pod) (volume.BlockVolumeMapper, error) {
	src, err := source(spec)
	if err != nil {
		return nil, err
	}
	return &localVolumeMapper{plugin.volume(spec.Name(), pod.UID), src.Path}, nil
}

// NewBlockVolumeUnmapper needs no more than the link's name.
func (plugin *localVolumePlugin) NewBlockVolumeUnmapper(name string, podUID types.UID) (volume.BlockVolumeUnmapper, error) {
	return &localVolumeMapper{localVolume: plugin.volume(name, podUID)}, nil
}

// ConstructBlockVolumeSpec makes a local PV of that name and mode Block. The path
// of the device is not known from disk and left empty.
//
// Upstream: local.go ConstructBlockVolumeSpec, v1.37.
func (plugin *localVolumePlugin) ConstructBlockVolumeSpec(_ types.UID, volumeName, _ string) (*volume.Spec, error) {
	return constructSpec(volumeName, v1.PersistentVolumeBlock), nil
}

// localVolumeMapper is both mapper and unmapper of one pod's device.
type localVolumeMapper struct {
	localVolume
	devicePath string // "" when unmapping
}

// GetGlobalMapPath returns plugins/kubernetes.io~local-volume/volumeDevices/<pv>.
func (m *localVolumeMapper) GetGlobalMapPath(*volume.Spec) (string, error) {
	dir := m.plugin.host.GetPluginDir(volume.EscapeQualifiedName(PluginName))
	return path.Join(dir, volumeDevices, m.volName), nil
}

// GetPodDeviceMapPath returns pods/<uid>/volumeDevices/kubernetes.io~local-volume and the
// PV's name.
func (m *localVolumeMapper) GetPodDeviceMapPath() (dir, name string) {
	return path.Join(m.plugin.host.GetPodsDir(), string(m.podUID), volumeDevices, volume.EscapeQualifiedName(PluginName)), m.volName
}

// MapPodDevice returns the PV's path, which must be a block device.
//
// Upstream: local.go SetUpDevice and MapPodDevice, v1.37; the device is the path
// itself.
func (m *localVolumeMapper) MapPodDevice(context.Context) (string, error) {
	info, err := m.plugin.host.GetFS().Stat(volume.MakeAbsolutePath(m.devicePath))
	if err != nil {
		return "", explainStat(m.devicePath, err)
	}
	if !isBlockDevice(info) {
		return "", fmt.Errorf("path %q is not a block device", m.devicePath)
	}
	return m.devicePath, nil
}

// GetMetrics says how large the device is, of which the node has a link for each pod.
//
// Upstream: local.go NewBlockVolumeMapper, v1.37.2.
func (m *localVolumeMapper) GetMetrics(context.Context) (*volume.Metrics, error) {
	global, err := m.GetGlobalMapPath(nil)
	if err != nil {
		return nil, err
	}
	return volume.MetricsBlock(m.plugin.host.GetFS(), path.Join(global, string(m.podUID)))
}
