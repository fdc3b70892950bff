package hostpath

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/volume"
)

// PluginName is the plugin's name.
const PluginName = "kubernetes.io/host-path"

// NewPlugin makes the plugin, for one kubelet.
func NewPlugin() volume.VolumePlugin { return &hostPathPlugin{} }

type hostPathPlugin struct{ host volume.VolumeHost }

var _ volume.PersistentVolumePlugin = (*hostPathPlugin)(nil)

func (plugin *hostPathPlugin) Init(host volume.VolumeHost) error {
	plugin.host = host
	return nil
}

func (plugin *hostPathPlugin) GetPluginName() string { return PluginName }

// GetVolumeName returns the path.
func (plugin *hostPathPlugin) GetVolumeName(spec *volume.Spec) (string, error) {
	src, err := source(spec)
	if err != nil {
		return "", err
	}
	return src.Path, nil
}

func (plugin *hostPathPlugin) CanSupport(spec *volume.Spec) bool {
	_, err := source(spec)
	return err == nil
}

func (plugin *hostPathPlugin) RequiresRemount(*volume.Spec) bool { return false }

func (plugin *hostPathPlugin) SupportsMountOption() bool { return false }

func (plugin *hostPathPlugin) SupportsSELinuxContextMount(*volume.Spec) (bool, error) {
	return false, nil
}

func (plugin *hostPathPlugin) GetAccessModes() []v1.PersistentVolumeAccessMode {
	return []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}
}

func source(spec *volume.Spec) (*v1.HostPathVolumeSource, error) {
	switch {
	case spec.Volume != nil && spec.Volume.HostPath != nil:
		return spec.Volume.HostPath, nil
	case spec.PersistentVolume != nil && spec.PersistentVolume.Spec.HostPath != nil:
		return spec.PersistentVolume.Spec.HostPath, nil
	}
	return nil, fmt.Errorf("spec does not reference an HostPath volume type: %s", spec)
}

// NewMounter looks at nothing: SetUp does.
func (plugin *hostPathPlugin) NewMounter(spec *volume.Spec, _ *v1.Pod) (volume.Mounter, error) {
	src, err := source(spec)
	if err != nil {
		return nil, err
	}
	pathType := v1.HostPathUnset
	if src.Type != nil {
		pathType = *src.Type
	}
	return &hostPathMounter{path: volume.MakeAbsolutePath(src.Path), pathType: pathType, readOnly: spec.ReadOnly, node: plugin.host.GetFS()}, nil
}

// NewUnmounter returns an unmounter that does nothing.
func (plugin *hostPathPlugin) NewUnmounter(string, types.UID) (volume.Unmounter, error) {
	return hostPathUnmounter{}, nil
}

// ConstructVolumeSpec makes a hostPath volume of that name and directory.
func (plugin *hostPathPlugin) ConstructVolumeSpec(volumeName, volumePath string) (volume.ReconstructedVolume, error) {
	return volume.ReconstructedVolume{Spec: volume.NewSpecFromVolume(&v1.Volume{
		Name:         volumeName,
		VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: volumePath}},
	})}, nil
}

type hostPathMounter struct {
	path     string
	pathType v1.HostPathType
	readOnly bool
	node     *disk.Disk
}

// GetPath returns the path itself.
func (m *hostPathMounter) GetPath() string { return m.path }

func (m *hostPathMounter) GetAttributes() volume.Attributes {
	return volume.Attributes{ReadOnly: m.readOnly} // not managed: no fsGroup
}

// SetUp refuses a path with "..", and checks that the path has its type.
//
// Upstream: host_path.go SetUp, v1.37.
func (m *hostPathMounter) SetUp(context.Context, volume.MounterArgs) error {
	if err := volume.ValidatePathNoBacksteps(m.path); err != nil {
		return fmt.Errorf("invalid HostPath `%s`: %w", m.path, err)
	}
	if isOfNode(m.path) {
		makeNodeFiles(m.node)
	}
	return checkType(m.node, m.path, m.pathType)
}

// SetUpAt returns an error: the path itself is used.
func (m *hostPathMounter) SetUpAt(context.Context, string, volume.MounterArgs) error {
	return errors.New("SetUpAt() does not make sense for host paths")
}

type hostPathUnmounter struct{}

// GetPath returns "": the path is unknown and not needed.
func (hostPathUnmounter) GetPath() string { return "" }

// TearDown does nothing: the path is not the kubelet's.
func (hostPathUnmounter) TearDown(context.Context) error { return nil }

// TearDownAt returns an error.
func (hostPathUnmounter) TearDownAt(context.Context, string) error {
	return errors.New("TearDownAt() does not make sense for host paths")
}
