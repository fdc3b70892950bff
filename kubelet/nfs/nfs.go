package nfs

import (
	"fmt"
	"net/netip"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/volume"
)

// PluginName is the plugin's name.
const PluginName = "kubernetes.io/nfs"

// fsType is the type that the plugin mounts with.
const fsType = "nfs"

// NewPlugin makes the plugin, for one kubelet.
func NewPlugin() volume.VolumePlugin { return &nfsPlugin{} }

type nfsPlugin struct{ host volume.VolumeHost }

var _ volume.PersistentVolumePlugin = (*nfsPlugin)(nil)

func (plugin *nfsPlugin) Init(host volume.VolumeHost) error {
	plugin.host = host
	return nil
}

func (plugin *nfsPlugin) GetPluginName() string { return PluginName }

// GetVolumeName returns server/path: two volumes of one export are one thing.
func (plugin *nfsPlugin) GetVolumeName(spec *volume.Spec) (string, error) {
	src, _, err := getVolumeSource(spec)
	if err != nil {
		return "", err
	}
	return src.Server + "/" + src.Path, nil
}

// CanSupport takes pods' own nfs volumes and PVs.
func (plugin *nfsPlugin) CanSupport(spec *volume.Spec) bool {
	_, _, err := getVolumeSource(spec)
	return err == nil
}

func (plugin *nfsPlugin) RequiresRemount(*volume.Spec) bool { return false }

func (plugin *nfsPlugin) SupportsMountOption() bool { return true }

func (plugin *nfsPlugin) SupportsSELinuxContextMount(*volume.Spec) (bool, error) {
	return false, nil
}

func (plugin *nfsPlugin) GetAccessModes() []v1.PersistentVolumeAccessMode {
	return []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce, v1.ReadOnlyMany, v1.ReadWriteMany}
}

// getVolumeSource returns the source, and whether it is to be read-only: what a PV says
// of that does not count, see the package comment.
//
// Upstream: nfs.go getVolumeSource, v1.37.
func getVolumeSource(spec *volume.Spec) (*v1.NFSVolumeSource, bool, error) {
	switch {
	case spec.Volume != nil && spec.Volume.NFS != nil:
		return spec.Volume.NFS, spec.Volume.NFS.ReadOnly, nil
	case spec.PersistentVolume != nil && spec.PersistentVolume.Spec.NFS != nil:
		return spec.PersistentVolume.Spec.NFS, spec.ReadOnly, nil
	}
	return nil, false, fmt.Errorf("Spec does not reference a NFS volume type: %s", spec)
}

// NewMounter makes a mounter of the export for a pod.
func (plugin *nfsPlugin) NewMounter(spec *volume.Spec, pod *v1.Pod) (volume.Mounter, error) {
	src, readOnly, err := getVolumeSource(spec)
	if err != nil {
		return nil, err
	}
	return &nfsMounter{
		nfsVolume: nfsVolume{plugin, spec.Name(), pod.UID}, pod: pod,
		server: getServerFromSource(src), exportPath: src.Path, readOnly: readOnly, mountOptions: spec.MountOptions(),
	}, nil
}

// getServerFromSource returns the server, an IPv6 address in brackets.
//
// Upstream: nfs.go getServerFromSource, v1.37.
func getServerFromSource(src *v1.NFSVolumeSource) string {
	if ip, err := netip.ParseAddr(src.Server); err == nil && ip.Is6() {
		return "[" + src.Server + "]"
	}
	return src.Server
}

// NewUnmounter needs no more than the directory's name.
func (plugin *nfsPlugin) NewUnmounter(name string, podUID types.UID) (volume.Unmounter, error) {
	return &nfsUnmounter{nfsVolume{plugin, name, podUID}}, nil
}

// ConstructVolumeSpec makes an nfs volume of that name. The server is not known
// from disk, and the name stands for the path.
//
// Upstream: nfs.go ConstructVolumeSpec, v1.37.
func (plugin *nfsPlugin) ConstructVolumeSpec(volumeName, _ string) (volume.ReconstructedVolume, error) {
	return volume.ReconstructedVolume{Spec: volume.NewSpecFromVolume(&v1.Volume{
		Name: volumeName, VolumeSource: v1.VolumeSource{NFS: &v1.NFSVolumeSource{Path: volumeName}},
	})}, nil
}

// nfsVolume is the volume of one pod.
type nfsVolume struct {
	plugin  *nfsPlugin
	volName string
	podUID  types.UID
}

// GetPath returns the mount point in the pod's directory.
func (v nfsVolume) GetPath() string {
	return v.plugin.host.GetPodVolumeDir(v.podUID, volume.EscapeQualifiedName(PluginName), v.volName)
}
