// Package imagevolume is the volume plugin "kubernetes.io/image": the files of a container image, which a pod can only read.
//
// Upstream: pkg/volume/image/image.go, v1.37.2.
//
// Deviation: upstream's plugin does nothing, and the container runtime mounts the image. Here there are no images: the plugin makes an empty
// directory. The kubelet pulls the image before it starts a container, as upstream, and records that the run deviates.
package imagevolume

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/volume"
)

// PluginName is the plugin's name.
const PluginName = "kubernetes.io/image"

// NewPlugin makes the plugin, for one kubelet.
func NewPlugin() volume.VolumePlugin { return &imagePlugin{} }

type imagePlugin struct{ host volume.VolumeHost }

func (plugin *imagePlugin) Init(host volume.VolumeHost) error {
	plugin.host = host
	return nil
}

func (plugin *imagePlugin) GetPluginName() string { return PluginName }

// GetVolumeName returns the image.
func (plugin *imagePlugin) GetVolumeName(spec *volume.Spec) (string, error) {
	if !plugin.CanSupport(spec) {
		return "", fmt.Errorf("the volumeSpec does not reference an Image volume type: %s", spec)
	}
	return spec.Volume.Image.Reference, nil
}

func (plugin *imagePlugin) CanSupport(spec *volume.Spec) bool {
	return spec.Volume != nil && spec.Volume.Image != nil
}

func (plugin *imagePlugin) RequiresRemount(*volume.Spec) bool { return false }

func (plugin *imagePlugin) SupportsMountOption() bool { return false }

func (plugin *imagePlugin) SupportsSELinuxContextMount(*volume.Spec) (bool, error) {
	return false, nil
}

func (plugin *imagePlugin) NewMounter(spec *volume.Spec, pod *v1.Pod) (volume.Mounter, error) {
	return &image{plugin, spec.Name(), pod.UID}, nil
}

func (plugin *imagePlugin) NewUnmounter(name string, podUID types.UID) (volume.Unmounter, error) {
	return &image{plugin, name, podUID}, nil
}

// ConstructVolumeSpec makes an image volume of that name. Its image is no longer known.
func (plugin *imagePlugin) ConstructVolumeSpec(volumeName, _ string) (volume.ReconstructedVolume, error) {
	return volume.ReconstructedVolume{Spec: volume.NewSpecFromVolume(&v1.Volume{
		Name: volumeName, VolumeSource: v1.VolumeSource{Image: &v1.ImageVolumeSource{}},
	})}, nil
}

// image is both mounter and unmounter of one pod's directory.
type image struct {
	plugin  *imagePlugin
	volName string
	podUID  types.UID
}

// GetPath returns the directory.
func (i *image) GetPath() string {
	return i.plugin.host.GetPodVolumeDir(i.podUID, volume.EscapeQualifiedName(PluginName), i.volName)
}

func (i *image) GetAttributes() volume.Attributes { return volume.Attributes{ReadOnly: true} }

// SetUp calls SetUpAt with the pod's directory.
func (i *image) SetUp(ctx context.Context, args volume.MounterArgs) error {
	return i.SetUpAt(ctx, i.GetPath(), args)
}

// SetUpAt makes the directory.
func (i *image) SetUpAt(_ context.Context, dir string, _ volume.MounterArgs) error {
	return i.plugin.host.GetFS().MkdirAll(dir, 0o755)
}

// TearDown calls TearDownAt with the pod's directory.
func (i *image) TearDown(ctx context.Context) error { return i.TearDownAt(ctx, i.GetPath()) }

// TearDownAt removes the directory. If there is a link in its place, the link goes and nothing else.
func (i *image) TearDownAt(_ context.Context, dir string) error {
	return i.plugin.host.GetFS().RemoveAll(dir)
}
