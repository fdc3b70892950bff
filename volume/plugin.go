package volume

import (
	"context"

	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/machine/mount"
	"github.com/storagesim/storagesim/trace"
)

// UncertaintyReporter is a plugin that says itself, by an UncertainProgressError, when a volume may be
// mounted although SetUp has failed. Of the others a directory that is left counts as a sign of that.
type UncertaintyReporter interface {
	// ReportsUncertainty has no effect.
	ReportsUncertainty()
}

// VolumePlugin is one kind of volume.
//
// Upstream: pkg/volume/plugins.go VolumePlugin, v1.37.
type VolumePlugin interface {
	// Init initializes the plugin. It is called once, before any other method
	// that needs the host.
	Init(host VolumeHost) error
	// GetPluginName returns the plugin's name, with a namespace and exactly one
	// slash, "kubernetes.io/local-volume".
	GetPluginName() string
	// GetVolumeName identifies the actual device or directory behind a spec,
	// the same for all pods that use it. It fails if the plugin does not support
	// the spec.
	GetVolumeName(spec *Spec) (string, error)
	// CanSupport reports whether the plugin takes volumes of this spec.
	CanSupport(spec *Spec) bool
	// RequiresRemount reports whether SetUp must be called again and again, as for
	// volumes whose content changes with API objects.
	RequiresRemount(spec *Spec) bool
	// NewMounter returns a mounter of the volume for a pod.
	NewMounter(spec *Spec, pod *v1.Pod) (Mounter, error)
	// NewUnmounter returns an unmounter. It needs no spec, which is unknown after a restart: name
	// is Spec.Name().
	NewUnmounter(name string, podUID types.UID) (Unmounter, error)
	// ConstructVolumeSpec rebuilds a spec, as far as possible, from the name and
	// directory found on disk.
	ConstructVolumeSpec(volumeName, volumePath string) (ReconstructedVolume, error)
	// SupportsMountOption reports whether PV.spec.mountOptions may be set.
	SupportsMountOption() bool
	// SupportsSELinuxContextMount reports whether the volume can be mounted with an
	// SELinux context. No plugin here can.
	SupportsSELinuxContextMount(spec *Spec) (bool, error)
}

// ObjectRef names an API object, in the pod's namespace, whose content a volume holds.
type ObjectRef struct {
	Kind string // "ConfigMap" or "Secret"
	Name string
}

// ObjectsPlugin is a plugin of volumes that hold the content of API objects. The kubelet
// reads them just before SetUp, which then finds them with VolumeHost.GetObject.
type ObjectsPlugin interface {
	VolumePlugin
	// Objects returns the objects that the volume needs, or uses if they exist.
	Objects(spec *Spec) []ObjectRef
}

// PersistentVolumePlugin is a plugin for PersistentVolumes.
type PersistentVolumePlugin interface {
	VolumePlugin
	// GetAccessModes returns the access modes that volumes of this kind support.
	GetAccessModes() []v1.PersistentVolumeAccessMode
}

// AttachableVolumePlugin is a plugin whose volumes are attached to a node, by the
// attach/detach controller, before they can be mounted there.
type AttachableVolumePlugin interface {
	VolumePlugin
	// CanAttach reports whether this volume needs it.
	CanAttach(spec *Spec) (bool, error)
}

// Attacher waits for the attach/detach controller.
//
// Upstream: pkg/volume/volume.go Attacher, v1.37.
type Attacher interface {
	// WaitForAttach fails if the volume is not attached to this node.
	WaitForAttach(ctx context.Context, spec *Spec) error
}

// AttachLimitPlugin is a plugin with a limit of attached volumes on each node.
type AttachLimitPlugin interface {
	AttachableVolumePlugin
	// VerifyExhaustedResource reports whether the volume was not attached because the node has
	// reached its limit. If so, the plugin updates the limit in the API.
	VerifyExhaustedResource(ctx context.Context, spec *Spec) bool
}

// DeviceMountableVolumePlugin is a plugin whose volumes are first mounted once
// for the whole node, and from there into each pod.
type DeviceMountableVolumePlugin interface {
	VolumePlugin
	NewDeviceMounter() (DeviceMounter, error)
	NewDeviceUnmounter() (DeviceUnmounter, error)
	// GetDeviceMountRefs returns the other mount points of the device mounted at path.
	GetDeviceMountRefs(deviceMountPath string) ([]string, error)
	// CanDeviceMount reports whether this volume needs it.
	CanDeviceMount(spec *Spec) (bool, error)
}

// StagingPlugin is a plugin that finds on the disk, after a restart, the volumes that are mounted
// for the whole node, with or without a pod that uses them.
type StagingPlugin interface {
	DeviceMountableVolumePlugin
	// Staged returns these volumes. It reads nothing but the disk.
	Staged() []StagedVolume
}

// StagedVolume is a volume that is, or may be, mounted for the whole node.
type StagedVolume struct {
	// Spec lacks the fields that are not on the disk.
	Spec *Spec
	// Path is its mount point, or for a raw device the directory of the node's links to it.
	Path  string
	Block bool
}

// DeviceMounter mounts a volume for the whole node.
type DeviceMounter interface {
	// GetDeviceMountPath returns the mount point.
	GetDeviceMountPath(spec *Spec) (string, error)
	MountDevice(ctx context.Context, spec *Spec, devicePath, deviceMountPath string, args DeviceMounterArgs) error
}

// DeviceUnmounter undoes what a DeviceMounter did.
type DeviceUnmounter interface {
	UnmountDevice(ctx context.Context, deviceMountPath string) error
}

// DeviceMounterArgs are arguments of MountDevice.
type DeviceMounterArgs struct {
	FsGroup *int64
}

// Volume is a directory of a pod.
type Volume interface {
	// GetPath returns the node path that the pod's containers use.
	GetPath() string
}

// Mounter makes a volume ready for a pod.
type Mounter interface {
	Volume
	// SetUp calls SetUpAt with GetPath.
	SetUp(ctx context.Context, args MounterArgs) error
	// SetUpAt makes the volume ready at dir. It may be called again for a volume that is ready.
	SetUpAt(ctx context.Context, dir string, args MounterArgs) error
	GetAttributes() Attributes
}

// MountedFrom is a Mounter whose source has a name outside of the pod, for the trace.
type MountedFrom interface {
	// GetSource returns the source of the mount, "server:/path".
	GetSource() string
}

// Unmounter undoes what a Mounter did.
type Unmounter interface {
	Volume
	// TearDown calls TearDownAt with GetPath.
	TearDown(ctx context.Context) error
	// TearDownAt unmounts and removes dir, if it exists.
	TearDownAt(ctx context.Context, dir string) error
}

// MounterArgs are the pod's settings for a mount.
type MounterArgs struct {
	// FsGroup is the pod's securityContext.fsGroup.
	FsGroup *int64
	// FSGroupChangePolicy is the pod's policy; nil means Always.
	FSGroupChangePolicy *v1.PodFSGroupChangePolicy
	// Reconstructed says that the volume was found on the disk after a restart and has not
	// been set up since.
	Reconstructed bool
	// Remount says that the volume is mounted already and is set up again to refresh its content.
	Remount bool
}

// Attributes describe a mounted volume.
type Attributes struct {
	ReadOnly bool
	// Managed says that the kubelet may change the volume's ownership.
	Managed bool
}

// ReconstructedVolume is the result of ConstructVolumeSpec.
type ReconstructedVolume struct {
	// Spec lacks the fields that are not on disk, such as the path of a local PV.
	Spec *Spec
}

// VolumeHost is the kubelet, as plugins see it.
type VolumeHost interface {
	// GetNodeName returns the node's name.
	GetNodeName() types.NodeName
	// GetPodsDir returns the directory of all pods' directories.
	GetPodsDir() string
	// GetPluginDir returns the directory of a plugin. Its name is taken as it is: whether it is
	// escaped is the plugin's choice.
	GetPluginDir(pluginName string) string
	// GetPodVolumeDir returns the directory of a pod's volume. pluginName is
	// escaped; volumeName is Spec.Name().
	GetPodVolumeDir(podUID types.UID, pluginName, volumeName string) string
	// GetPodVolumeDeviceDir returns the directory of a pod's links to the raw devices of a
	// plugin, whose name is escaped.
	GetPodVolumeDeviceDir(podUID types.UID, pluginName string) string
	// GetPodPluginDir returns the directory that a plugin, its name escaped, has for
	// itself in a pod's.
	GetPodPluginDir(podUID types.UID, pluginName string) string
	// NewWrapperMounter returns a mounter of another plugin, on which the volume of
	// that name is built. spec describes the other plugin's volume.
	NewWrapperMounter(volName string, spec Spec, pod *v1.Pod) (Mounter, error)
	// NewWrapperUnmounter returns the unmounter to it.
	NewWrapperUnmounter(volName string, spec Spec, podUID types.UID) (Unmounter, error)
	// GetNodeAllocatable returns the node's resources for pods.
	GetNodeAllocatable() v1.ResourceList
	// GetObject returns an API object that the plugin's Objects has named, during
	// SetUp, or the error why it cannot be read. Do not modify it.
	// The plugin calls it before anything that waits: volumes are set up at the same time.
	GetObject(ref ObjectRef) (runtime.Object, error)
	// GetClient returns a client with which the plugin calls the API server as the kubelet. Init and
	// methods that only read a spec must not call it.
	GetClient() kubernetes.Interface
	// CSIDrivers returns the kubelet's cache of CSIDriver objects. A plugin that needs it calls this
	// in Init and keeps the result: the kubelet watches CSIDrivers only if a plugin has called it.
	CSIDrivers() CSIDriverLister
	// GetServiceAccountToken returns a token for a service account.
	GetServiceAccountToken(ctx context.Context, namespace, name string, request *authenticationv1.TokenRequest) (*authenticationv1.TokenRequest, error)
	// Clock tells the time and sleeps: calls of mounters may take time. Sleep with the context of
	// the call.
	control.Clock
	// GetMounter returns the node's mounter.
	GetMounter() mount.Interface
	// GetFS returns the node's file system.
	GetFS() *disk.Disk
	// GetEventRecorder returns a recorder of the kubelet's events.
	GetEventRecorder() control.Recorder
	// Trace records a decision about a pod.
	Trace(about trace.Ref, text string)
}

// CSIDriverLister finds CSIDriver objects.
type CSIDriverLister interface {
	// Get returns the CSIDriver of that name. Do not modify it.
	Get(name string) (*storagev1.CSIDriver, bool)
	// Handle adds a handler of changes. Call it before the first objects arrive.
	Handle(h control.Handler[*storagev1.CSIDriver])
}
