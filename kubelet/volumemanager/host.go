package volumemanager

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/kubelet/internal/layout"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/machine/mount"
	"github.com/storagesim/storagesim/trace"
	"github.com/storagesim/storagesim/volume"
)

// host is the kubelet as volume plugins see it.
//
// Upstream: pkg/kubelet/volume_host.go kubeletVolumeHost, v1.37.
type host struct {
	control.Clock
	given       *given
	attachments *attachments
	// objects are the API objects whose content the volume being set up holds.
	objects map[volume.ObjectRef]fetchedObject
	// csiDrivers is nil until a plugin asks for it.
	csiDrivers *control.Cache[*storagev1.CSIDriver]
	tokens     tokens
}

var _ volume.VolumeHost = (*host)(nil)

// GetNodeName implements volume.VolumeHost, as all methods of host.
func (h *host) GetNodeName() types.NodeName         { return types.NodeName(h.given.node.Name) }
func (h *host) GetNodeAllocatable() v1.ResourceList { return h.given.node.Status.Allocatable }
func (h *host) GetClient() kubernetes.Interface     { return h.given.env.Client() }
func (h *host) GetMounter() mount.Interface         { return h.given.mounter }
func (h *host) GetFS() *disk.Disk                   { return h.given.fs }
func (h *host) GetEventRecorder() control.Recorder  { return h.given.recorder }
func (h *host) Trace(about trace.Ref, text string)  { h.given.note(about, text) }
func (h *host) GetPodsDir() string                  { return layout.PodsDir }
func (h *host) GetPluginDir(name string) string     { return layout.PluginDir(name) }
func (h *host) GetPodPluginDir(uid types.UID, plugin string) string {
	return layout.PodPluginsDir(uid) + "/" + plugin
}
func (h *host) GetPodVolumeDir(uid types.UID, plugin, name string) string {
	return layout.PodVolumeDir(uid, plugin, name)
}
func (h *host) GetPodVolumeDeviceDir(uid types.UID, plugin string) string {
	return layout.PodVolumeDeviceDir(uid, plugin)
}
func (h *host) NewWrapperMounter(name string, spec volume.Spec, pod *v1.Pod) (volume.Mounter, error) {
	return h.given.plugins.NewWrapperMounter(name, spec, pod)
}
func (h *host) NewWrapperUnmounter(name string, spec volume.Spec, uid types.UID) (volume.Unmounter, error) {
	return h.given.plugins.NewWrapperUnmounter(name, spec, uid)
}

// GetObject returns an object that was read for the volume being set up.
func (h *host) GetObject(ref volume.ObjectRef) (runtime.Object, error) {
	if got, ok := h.objects[ref]; ok {
		return got.object, got.err
	}
	return nil, fmt.Errorf("%s %q was not read", ref.Kind, ref.Name)
}

// CSIDrivers follows the CSIDriver objects from the first call on. Each may say that volumes need not be attached.
func (h *host) CSIDrivers() volume.CSIDriverLister {
	if h.csiDrivers == nil {
		h.csiDrivers = control.NewCache[*storagev1.CSIDriver](h.given.env, control.CSIDrivers())
		changed := func(*storagev1.CSIDriver) { h.attachments.markVolumeAttachability() }
		h.csiDrivers.Handle(control.Handler[*storagev1.CSIDriver]{Add: changed, Update: func(_, d *storagev1.CSIDriver) { changed(d) }})
	}
	return h.csiDrivers
}
