package local

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/volume"
)

// PluginName is the plugin's name.
const PluginName = "kubernetes.io/local-volume"

// NewPlugin makes the plugin, for one kubelet.
func NewPlugin() volume.VolumePlugin { return &localVolumePlugin{} }

type localVolumePlugin struct {
	host  volume.VolumeHost
	locks keyLocks // by global path
}

var (
	_ volume.PersistentVolumePlugin      = (*localVolumePlugin)(nil)
	_ volume.DeviceMountableVolumePlugin = (*localVolumePlugin)(nil)
)

func (plugin *localVolumePlugin) Init(host volume.VolumeHost) error {
	plugin.host = host
	return nil
}

func (plugin *localVolumePlugin) GetPluginName() string { return PluginName }

// GetVolumeName returns the PV's name: the PV is the volume, whatever its path.
func (plugin *localVolumePlugin) GetVolumeName(spec *volume.Spec) (string, error) {
	if _, err := source(spec); err != nil {
		return "", err
	}
	return spec.Name(), nil
}

// CanSupport takes PVs with a local source. A pod cannot name one itself.
//
// Upstream: local.go CanSupport, v1.37.
func (plugin *localVolumePlugin) CanSupport(spec *volume.Spec) bool {
	return spec.PersistentVolume != nil && spec.PersistentVolume.Spec.Local != nil
}

func (plugin *localVolumePlugin) RequiresRemount(*volume.Spec) bool { return false }

func (plugin *localVolumePlugin) SupportsMountOption() bool { return true }

func (plugin *localVolumePlugin) SupportsSELinuxContextMount(*volume.Spec) (bool, error) {
	return false, nil
}

func (plugin *localVolumePlugin) GetAccessModes() []v1.PersistentVolumeAccessMode {
	return []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}
}

func source(spec *volume.Spec) (*v1.LocalVolumeSource, error) {
	if spec.PersistentVolume != nil && spec.PersistentVolume.Spec.Local != nil {
		return spec.PersistentVolume.Spec.Local, nil
	}
	return nil, fmt.Errorf("Spec does not reference a local volume type: %s", spec)
}

// NewMounter finds out where the volume's data is.
func (plugin *localVolumePlugin) NewMounter(spec *volume.Spec, pod *v1.Pod) (volume.Mounter, error) {
	globalPath, err := plugin.getGlobalLocalPath(spec)
	if err != nil {
		return nil, err
	}
	return &localVolumeMounter{
		localVolume:  plugin.volume(spec.Name(), pod.UID),
		pod:          pod,
		globalPath:   globalPath,
		readOnly:     spec.ReadOnly,
		mountOptions: spec.MountOptions(),
	}, nil
}

// NewUnmounter needs no more than the directory's name.
func (plugin *localVolumePlugin) NewUnmounter(name string, podUID types.UID) (volume.Unmounter, error) {
	return &localVolumeUnmounter{localVolume: plugin.volume(name, podUID)}, nil
}

// ConstructVolumeSpec makes a local PV of that name. The path of a directory is not
// known from disk and left empty; unmounting does not need it. That of a block device is known by its mount for the node.
//
// Upstream: local.go ConstructVolumeSpec, v1.37.
func (plugin *localVolumePlugin) ConstructVolumeSpec(volumeName, volumePath string) (volume.ReconstructedVolume, error) {
	spec := constructSpec(volumeName, v1.PersistentVolumeFilesystem)
	refs, err := plugin.host.GetMounter().GetMountRefs(volumePath)
	if err != nil {
		return volume.ReconstructedVolume{}, err
	}
	if i := slices.IndexFunc(refs, plugin.isBelowMounts); i >= 0 {
		if spec.PersistentVolume.Spec.Local.Path, err = plugin.deviceAt(refs[i]); err != nil {
			return volume.ReconstructedVolume{}, err
		}
	}
	return volume.ReconstructedVolume{Spec: spec}, nil
}

// deviceAt returns the device that is mounted at a path.
func (plugin *localVolumePlugin) deviceAt(where string) (string, error) {
	mounts, err := plugin.host.GetMounter().List()
	for _, m := range mounts {
		if m.Path == where {
			return m.Device, err
		}
	}
	return "", err
}

func constructSpec(volumeName string, mode v1.PersistentVolumeMode) *volume.Spec {
	pv := &v1.PersistentVolume{}
	pv.Name = volumeName
	pv.Spec.VolumeMode = &mode
	pv.Spec.Local = &v1.LocalVolumeSource{}
	return volume.NewSpecFromPersistentVolume(pv, false)
}

// getGlobalLocalPath returns the path of the volume's data on the node: the volume's path
// for a directory, the mount point of a block device. It does not look at a path with ".."; SetUpAt refuses it.
//
// Upstream: local.go getGlobalLocalPath, v1.37.
func (plugin *localVolumePlugin) getGlobalLocalPath(spec *volume.Spec) (string, error) {
	src, err := source(spec)
	if err != nil {
		return "", err
	}
	if src.Path == "" {
		return "", errors.New("local volume source is nil or local path is not set")
	}
	if slices.Contains(strings.Split(src.Path, "/"), "..") {
		return src.Path, nil
	}
	info, err := plugin.host.GetFS().Stat(volume.MakeAbsolutePath(src.Path))
	switch {
	case err != nil:
		return "", explainStat(src.Path, err)
	case info.IsDir():
		return src.Path, nil
	case isBlockDevice(info):
		return path.Join(plugin.mounts(), spec.Name()), nil
	}
	return "", fmt.Errorf("only directory and block device are supported: path %q is neither", src.Path)
}

// explainStat says what is wrong with a path.
//
// Upstream: pkg/volume/util/hostutil GetFileType, v1.37.
func explainStat(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("path %q does not exist", name)
	}
	return fmt.Errorf("path %q: %w", name, err)
}

// localVolume is the volume of one pod.
type localVolume struct {
	plugin  *localVolumePlugin
	volName string
	podUID  types.UID
}

func (plugin *localVolumePlugin) volume(name string, podUID types.UID) localVolume {
	return localVolume{plugin: plugin, volName: name, podUID: podUID}
}

// GetPath returns the mount point in the pod's directory.
func (l localVolume) GetPath() string {
	return l.plugin.host.GetPodVolumeDir(l.podUID, volume.EscapeQualifiedName(PluginName), l.volName)
}

// mounts returns the directory in which block devices are mounted.
//
// Upstream: local.go generateBlockDeviceBaseGlobalPath, v1.37.
func (plugin *localVolumePlugin) mounts() string {
	return path.Join(plugin.host.GetPluginDir(PluginName), "mounts")
}

// isBelowMounts reports whether a path is below the directory in which block devices are mounted.
func (plugin *localVolumePlugin) isBelowMounts(name string) bool {
	return strings.HasPrefix(name, plugin.mounts()+"/")
}

func isBlockDevice(info fs.FileInfo) bool {
	return info.Mode()&(fs.ModeDevice|fs.ModeCharDevice) == fs.ModeDevice
}
