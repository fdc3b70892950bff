package csi

import (
	"path"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/csi/socket"
	"github.com/storagesim/storagesim/volume"
)

const (
	// PluginName is the plugin's name.
	PluginName = "kubernetes.io/csi"
	// separator stands in a volume's name between driver and handle.
	//
	// Upstream: csi_plugin.go volNameSep, v1.37.
	separator = "^"
	// globalMount and podMount are the directories that volumes are staged and published at.
	globalMount, podMount = "globalmount", "mount"
)

// Node is one node's sockets, as its kubelet reaches them. All fields are required.
type Node struct {
	// Machine is the node's machine, "node/node-1".
	Machine string
	// Transport reaches the servers on its sockets. It is called once one has listened.
	Transport func() socket.Transport
	// Sockets are the paths of the sockets in a directory and below it.
	Sockets func(dir string) []string
	// Watch calls changed with the path of each socket there that is made or removed, until
	// stop is called.
	Watch func(dir string, changed func(path string)) (stop func())

	stop func() // ends the watch of the kubelet's life before
}

// NewPlugin makes the plugin for one life of the node's kubelet.
func (node *Node) NewPlugin() volume.VolumePlugin {
	return &csiPlugin{node: node, drivers: map[string]driver{}, updaters: updaters{},
		registry: registry{wanted: map[string]int{}, registered: map[string]registered{}}}
}

type csiPlugin struct {
	node       *Node
	env        control.Env
	host       volume.VolumeHost
	csiDrivers volume.CSIDriverLister
	// drivers are the registered drivers, by name.
	drivers  map[string]driver
	updaters updaters
	registry
}

var (
	_ volume.PersistentVolumePlugin      = (*csiPlugin)(nil)
	_ volume.AttachableVolumePlugin      = (*csiPlugin)(nil)
	_ volume.AttachLimitPlugin           = (*csiPlugin)(nil)
	_ volume.Attacher                    = (*csiPlugin)(nil)
	_ volume.DeviceMountableVolumePlugin = (*csiPlugin)(nil)
	_ volume.BlockVolumePlugin           = (*csiPlugin)(nil)
	_ volume.RegistrationPlugin          = (*csiPlugin)(nil)
	_ volume.NodeExpandableVolumePlugin  = (*csiPlugin)(nil)
	_ volume.StagingPlugin               = (*csiPlugin)(nil)
)

func (plugin *csiPlugin) Init(host volume.VolumeHost) error {
	plugin.host, plugin.csiDrivers = host, host.CSIDrivers()
	return nil
}

func (plugin *csiPlugin) GetPluginName() string { return PluginName }

// GetVolumeName returns driver^handle.
//
// Upstream: csi_plugin.go GetVolumeName, v1.37.
func (plugin *csiPlugin) GetVolumeName(spec *volume.Spec) (string, error) {
	source, err := getPVSourceFromSpec(spec)
	if err != nil {
		return "", failf("plugin.GetVolumeName failed to extract volume source from spec: %w", err)
	}
	return source.Driver + separator + source.VolumeHandle, nil
}

// CanSupport takes all CSI volumes, whether there is a driver or not.
func (plugin *csiPlugin) CanSupport(spec *volume.Spec) bool {
	_, _, err := getSourceFromSpec(spec)
	return err == nil
}

// RequiresRemount returns what the driver asks for with requiresRepublish.
//
// Upstream: csi_plugin.go RequiresRemount, v1.37.
func (plugin *csiPlugin) RequiresRemount(spec *volume.Spec) bool {
	name, err := driverOf(spec)
	if err != nil {
		return false
	}
	d, ok := plugin.csiDrivers.Get(name)
	return ok && d.Spec.RequiresRepublish != nil && *d.Spec.RequiresRepublish
}

func (plugin *csiPlugin) SupportsMountOption() bool { return true }

func (plugin *csiPlugin) SupportsSELinuxContextMount(*volume.Spec) (bool, error) { return false, nil }

func (plugin *csiPlugin) GetAccessModes() []v1.PersistentVolumeAccessMode {
	return []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce, v1.ReadOnlyMany, v1.ReadWriteMany, v1.ReadWriteOncePod}
}

// CanAttach reports whether the attach/detach controller has to attach the volume. It need not attach an inline volume of a
// pod, nor a volume whose CSIDriver has attachRequired: false.
//
// Upstream: csi_plugin.go CanAttach and skipAttach, v1.37.
func (plugin *csiPlugin) CanAttach(spec *volume.Spec) (bool, error) {
	mode, err := lifecycleMode(spec)
	if err != nil || mode == storagev1.VolumeLifecycleEphemeral {
		return false, err
	}
	source, err := getPVSourceFromSpec(spec)
	return err == nil && !plugin.skipAttach(source.Driver), err
}

// skipAttach reports whether a driver's volumes are never attached.
//
// Upstream: csi_plugin.go skipAttach, v1.37.
func (plugin *csiPlugin) skipAttach(driver string) bool {
	d, ok := plugin.csiDrivers.Get(driver)
	return ok && d.Spec.AttachRequired != nil && !*d.Spec.AttachRequired
}

// CanDeviceMount returns true of PersistentVolumes.
//
// Upstream: csi_plugin.go CanDeviceMount, v1.37.
func (plugin *csiPlugin) CanDeviceMount(spec *volume.Spec) (bool, error) {
	mode, err := lifecycleMode(spec)
	return mode == storagev1.VolumeLifecyclePersistent, err
}

func (plugin *csiPlugin) NewDeviceMounter() (volume.DeviceMounter, error) {
	return &stager{plugin}, nil
}

func (plugin *csiPlugin) NewDeviceUnmounter() (volume.DeviceUnmounter, error) {
	return &stager{plugin}, nil
}

func (plugin *csiPlugin) GetDeviceMountRefs(deviceMountPath string) ([]string, error) {
	return plugin.host.GetMounter().GetMountRefs(deviceMountPath)
}

// podVolume is a volume as one pod has it.
type podVolume struct {
	plugin   *csiPlugin
	podUID   types.UID
	specName string
	driver   string
	handle   string
}

// GetPath returns the path at which the volume is published.
//
// Upstream: csi_mounter.go GetPath, v1.37.
func (v *podVolume) GetPath() string {
	name := volume.EscapeQualifiedName(v.specName)
	return path.Join(v.plugin.host.GetPodVolumeDir(v.podUID, volume.EscapeQualifiedName(PluginName), name), podMount)
}

// NewMounter makes a mounter of the volume for a pod.
//
// Upstream: csi_plugin.go NewMounter, v1.37.
func (plugin *csiPlugin) NewMounter(spec *volume.Spec, pod *v1.Pod) (volume.Mounter, error) {
	own, pv, err := getSourceFromSpec(spec)
	if err != nil {
		return nil, err
	}
	m := &publisher{podVolume: podVolume{plugin: plugin, podUID: pod.UID, specName: spec.Name()}, spec: spec, pod: pod}
	if own != nil {
		m.handle, m.driver = InlineHandle(pod.UID, spec.Name()), own.Driver
		m.readOnly = own.ReadOnly != nil && *own.ReadOnly
	} else {
		m.handle, m.driver, m.readOnly = pv.VolumeHandle, pv.Driver, spec.ReadOnly
	}
	m.mode, err = lifecycleMode(spec)
	return m, err
}

// NewUnmounter reads beside the mount what volume it is.
//
// Upstream: csi_plugin.go NewUnmounter, v1.37.
func (plugin *csiPlugin) NewUnmounter(name string, podUID types.UID) (volume.Unmounter, error) {
	v := &unpublisher{podVolume{plugin: plugin, podUID: podUID, specName: name}}
	data, err := plugin.loadVolumeData(path.Dir(v.GetPath()))
	if err != nil {
		return nil, failf("unmounter failed to load volume data file [%s]: %w", v.GetPath(), err)
	}
	v.driver, v.handle = data.DriverName, data.VolumeHandle
	return v, nil
}

// ConstructVolumeSpec makes of the file beside the mount a spec of as much as it says.
//
// Upstream: csi_plugin.go ConstructVolumeSpec, v1.37.
func (plugin *csiPlugin) ConstructVolumeSpec(_, volumePath string) (volume.ReconstructedVolume, error) {
	data, err := plugin.loadVolumeData(volumePath)
	if err != nil {
		return volume.ReconstructedVolume{}, failf("plugin.ConstructVolumeSpec failed loading volume data using [%s]: %w", volumePath, err)
	}
	if storagev1.VolumeLifecycleMode(data.VolumeLifecycleMode) == storagev1.VolumeLifecycleEphemeral {
		return volume.ReconstructedVolume{Spec: volume.NewSpecFromVolume(&v1.Volume{
			Name: data.SpecVolID, VolumeSource: v1.VolumeSource{CSI: &v1.CSIVolumeSource{Driver: data.DriverName}},
		})}, nil
	}
	return volume.ReconstructedVolume{Spec: constructPVSpec(data, v1.PersistentVolumeFilesystem)}, nil
}

// constructPVSpec returns a PersistentVolume of that driver and handle.
//
// Upstream: csi_plugin.go constructPVSourceSpec, v1.37.
func constructPVSpec(data volumeData, mode v1.PersistentVolumeMode) *volume.Spec {
	pv := &v1.PersistentVolume{Spec: v1.PersistentVolumeSpec{
		PersistentVolumeSource: v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: data.DriverName, VolumeHandle: data.VolumeHandle}},
		VolumeMode:             &mode,
	}}
	pv.Name = data.SpecVolID
	return volume.NewSpecFromPersistentVolume(pv, false)
}

// ReportsUncertainty implements volume.UncertaintyReporter.
func (*csiPlugin) ReportsUncertainty() {}
