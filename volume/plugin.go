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

// VolumePlugin is one kind of volume.
//
// Upstream: pkg/volume/plugins.go VolumePlugin, v1.36.
type VolumePlugin interface {
	// Init initializes the plugin. It is called once, before any other method
	// that needs the host.
	Init(host VolumeHost) error
	// GetPluginName is the plugin's name, with a namespace and exactly one
	// slash, "kubernetes.io/local-volume".
	GetPluginName() string
	// GetVolumeName identifies the actual device or directory behind a spec,
	// the same for all pods that use it. It fails if the plugin does not support
	// the spec.
	GetVolumeName(spec *Spec) (string, error)
	// CanSupport says whether the plugin takes volumes of this spec.
	CanSupport(spec *Spec) bool
	// RequiresRemount says whether SetUp must be called again and again, as for
	// volumes whose content changes with API objects.
	RequiresRemount(spec *Spec) bool
	// NewMounter makes a mounter of the volume for a pod.
	NewMounter(spec *Spec, pod *v1.Pod) (Mounter, error)
	// NewUnmounter makes an unmounter from what can be known after a restart.
	// name is Spec.Name().
	NewUnmounter(name string, podUID types.UID) (Unmounter, error)
	// ConstructVolumeSpec rebuilds a spec, as far as possible, from the name and
	// directory found on disk.
	ConstructVolumeSpec(volumeName, volumePath string) (ReconstructedVolume, error)
	// SupportsMountOption says whether PV.spec.mountOptions may be set.
	SupportsMountOption() bool
	// SupportsSELinuxContextMount says whether the volume can be mounted with an
	// SELinux context. No plugin here can.
	SupportsSELinuxContextMount(spec *Spec) (bool, error)
}

// ObjectRef names an API object, in the pod's namespace, that a volume is made of.
type ObjectRef struct {
	Kind string // "ConfigMap" or "Secret"
	Name string
}

// ObjectsPlugin is a plugin of volumes that are made of API objects. The kubelet
// reads them just before SetUp, which then finds them with VolumeHost.GetObject.
type ObjectsPlugin interface {
	VolumePlugin
	// Objects are those that the volume needs, or takes if they are there.
	Objects(spec *Spec) []ObjectRef
}

// PersistentVolumePlugin is a plugin for PersistentVolumes.
type PersistentVolumePlugin interface {
	VolumePlugin
	// GetAccessModes is the access modes that volumes of this kind can have.
	GetAccessModes() []v1.PersistentVolumeAccessMode
}

// AttachableVolumePlugin is a plugin whose volumes are attached to a node, by the
// attach/detach controller, before they can be mounted there.
type AttachableVolumePlugin interface {
	VolumePlugin
	// CanAttach says whether this volume needs it.
	CanAttach(spec *Spec) (bool, error)
}

// Attacher waits for what the attach/detach controller does.
//
// Upstream: pkg/volume/volume.go Attacher, v1.36.
type Attacher interface {
	// WaitForAttach fails if the volume is not attached to this node.
	WaitForAttach(ctx context.Context, spec *Spec) error
}

// AttachLimitPlugin is a plugin whose nodes can have only so many volumes attached.
type AttachLimitPlugin interface {
	AttachableVolumePlugin
	// VerifyExhaustedResource says whether the volume could not be attached since the node
	// has as many as it can have. The plugin then tells the API how many that are.
	VerifyExhaustedResource(ctx context.Context, spec *Spec) bool
}

// DeviceMountableVolumePlugin is a plugin whose volumes are first mounted once
// for the whole node, and from there into each pod.
type DeviceMountableVolumePlugin interface {
	VolumePlugin
	NewDeviceMounter() (DeviceMounter, error)
	NewDeviceUnmounter() (DeviceUnmounter, error)
	// GetDeviceMountRefs is where else the device mounted at path is mounted.
	GetDeviceMountRefs(deviceMountPath string) ([]string, error)
	// CanDeviceMount says whether this volume needs it.
	CanDeviceMount(spec *Spec) (bool, error)
}

// StagingPlugin is a plugin that finds on the disk, after a restart, what is mounted for the
// whole node, whether a pod has it or not.
type StagingPlugin interface {
	DeviceMountableVolumePlugin
	// Staged is all of it. It asks no one but the disk.
	Staged() []StagedVolume
}

// StagedVolume is a volume that is mounted, or may be, for the whole node.
type StagedVolume struct {
	// Spec may lack what is not on the disk.
	Spec *Spec
	// Path is where it is mounted, or for a raw device where the node's links to it are.
	Path  string
	Block bool
}

// DeviceMounter mounts a volume for the whole node.
type DeviceMounter interface {
	// GetDeviceMountPath is where.
	GetDeviceMountPath(spec *Spec) (string, error)
	MountDevice(ctx context.Context, spec *Spec, devicePath, deviceMountPath string, args DeviceMounterArgs) error
}

// DeviceUnmounter undoes what a DeviceMounter did.
type DeviceUnmounter interface {
	UnmountDevice(ctx context.Context, deviceMountPath string) error
}

// DeviceMounterArgs are for MountDevice.
type DeviceMounterArgs struct {
	FsGroup *int64
}

// Volume is a directory of a pod.
type Volume interface {
	// GetPath is the node path that the pod's containers use.
	GetPath() string
}

// Mounter makes a volume ready for a pod.
type Mounter interface {
	Volume
	// SetUp is SetUpAt with GetPath.
	SetUp(ctx context.Context, args MounterArgs) error
	// SetUpAt makes the volume ready at dir. It may be called again when it has
	// been done already.
	SetUpAt(ctx context.Context, dir string, args MounterArgs) error
	GetAttributes() Attributes
}

// MountedFrom is a Mounter of something that has a name outside of the pod, to be
// told of in the trace.
type MountedFrom interface {
	// GetSource is what is mounted, "server:/path".
	GetSource() string
}

// Unmounter undoes what a Mounter did.
type Unmounter interface {
	Volume
	// TearDown is TearDownAt with GetPath.
	TearDown(ctx context.Context) error
	// TearDownAt unmounts and removes dir. What is missing is done.
	TearDownAt(ctx context.Context, dir string) error
}

// MounterArgs are the pod's wishes.
type MounterArgs struct {
	// FsGroup is the pod's securityContext.fsGroup.
	FsGroup *int64
	// FSGroupChangePolicy is the pod's; nil means Always.
	FSGroupChangePolicy *v1.PodFSGroupChangePolicy
	// Reconstructed says that the volume was found on the disk after a restart and has not
	// been set up since.
	Reconstructed bool
	// Remount says that the volume is mounted and is set up again to be up to date.
	Remount bool
}

// Attributes say what a mounted volume is like.
type Attributes struct {
	ReadOnly bool
	// Managed says that the kubelet may change the volume's ownership.
	Managed bool
}

// ReconstructedVolume is what ConstructVolumeSpec finds out.
type ReconstructedVolume struct {
	// Spec may lack what is not on disk, such as the path of a local PV.
	Spec *Spec
}

// VolumeHost is the kubelet, as plugins see it.
type VolumeHost interface {
	// GetNodeName is the node's name.
	GetNodeName() types.NodeName
	// GetPodsDir is the directory of all pods' directories.
	GetPodsDir() string
	// GetPluginDir is the directory of a plugin. Its name is taken as it is: whether it is
	// escaped is the plugin's choice.
	GetPluginDir(pluginName string) string
	// GetPodVolumeDir is the directory of a pod's volume. pluginName is
	// escaped; volumeName is Spec.Name().
	GetPodVolumeDir(podUID types.UID, pluginName, volumeName string) string
	// GetPodVolumeDeviceDir is the directory of a pod's links to the raw devices of a
	// plugin, whose name is escaped.
	GetPodVolumeDeviceDir(podUID types.UID, pluginName string) string
	// GetPodPluginDir is the directory that a plugin, its name escaped, has for
	// itself in a pod's.
	GetPodPluginDir(podUID types.UID, pluginName string) string
	// NewWrapperMounter is a mounter of another plugin's volume, which the one of
	// that name is made with. spec is of a pod's own volume.
	NewWrapperMounter(volName string, spec Spec, pod *v1.Pod) (Mounter, error)
	// NewWrapperUnmounter is the unmounter to it.
	NewWrapperUnmounter(volName string, spec Spec, podUID types.UID) (Unmounter, error)
	// GetNodeAllocatable is what the node has for pods.
	GetNodeAllocatable() v1.ResourceList
	// GetObject is an API object that the plugin's Objects has named, during
	// SetUp, or why it cannot be had. Nobody may change it.
	GetObject(ref ObjectRef) (runtime.Object, error)
	// GetClient calls the API server as the kubelet. Init and what only reads a spec must
	// not.
	GetClient() kubernetes.Interface
	// CSIDrivers are the cluster's CSIDriver objects, as the kubelet knows them. A plugin
	// that needs them asks for them in Init, and keeps them: a kubelet none of whose
	// plugins asks follows none.
	CSIDrivers() CSIDriverLister
	// GetServiceAccountToken is a token for a service account.
	GetServiceAccountToken(ctx context.Context, namespace, name string, request *authenticationv1.TokenRequest) (*authenticationv1.TokenRequest, error)
	// Clock tells the time and waits: a call on a mounter and the like may take time.
	// It needs the context that the plugin was called with.
	control.Clock
	// GetMounter mounts on the node.
	GetMounter() mount.Interface
	// GetFS is the node's file system.
	GetFS() *disk.Disk
	// GetEventRecorder records events as the kubelet.
	GetEventRecorder() control.Recorder
	// Trace notes what was done or left out about a pod.
	Trace(about trace.Ref, text string)
}

// CSIDriverLister finds CSIDriver objects.
type CSIDriverLister interface {
	// Get is the CSIDriver of that name. Do not modify it.
	Get(name string) (*storagev1.CSIDriver, bool)
	// Handle has a handler be told of changes. It is called before the first objects arrive.
	Handle(h control.Handler[*storagev1.CSIDriver])
}
