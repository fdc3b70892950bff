package kubelet

import (
	"path"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/trace"
	"github.com/storagesim/storagesim/volume"
)

// constructDevice is the mount for the whole node that a pod's mount may stand on,
// nil for a volume that needs none. Its path is left empty where the disk does not
// tell it: a local volume's is that of its data.
func constructDevice(v *mountedVolume) *mountedDevice {
	plugin, ok := v.plugin.(volume.DeviceMountableVolumePlugin)
	if !ok {
		return nil
	}
	if can, err := plugin.CanDeviceMount(v.spec); err != nil || !can {
		return nil
	}
	device := &mountedDevice{state: stateUncertain, reconstructed: true, plugin: plugin, spec: v.spec, block: v.block}
	if v.block {
		device.path = globalMapPath(v)
	} else if mounter, err := plugin.NewDeviceMounter(); err == nil {
		if where, err := mounter.GetDeviceMountPath(v.spec); err == nil {
			device.path = where
		}
	}
	return device
}

// globalMapPath is where the node's links to a pod's raw device are, "" if it is not known.
func globalMapPath(v *mountedVolume) string {
	plugin, ok := v.plugin.(volume.BlockVolumePlugin)
	if !ok {
		return ""
	}
	unmapper, err := plugin.NewBlockVolumeUnmapper(v.spec.Name(), v.pod)
	if err != nil {
		return ""
	}
	where, _ := unmapper.GetGlobalMapPath(v.spec)
	return where
}

// reconstructMap is reconstructVolume for a link to a raw device.
//
// Upstream: reconstruct_common.go getVolumesFromPodDir and reconstructVolume, v1.36.
func (k *kubelet) reconstructMap(uid types.UID, pluginDir, name string) {
	where := path.Join(podVolumeDeviceDir(uid, pluginDir), name)
	found, err := k.plugins.FindPluginByName(volume.UnescapeQualifiedName(pluginDir))
	plugin, ok := found.(volume.BlockVolumePlugin)
	if err != nil || !ok {
		return
	}
	spec, err := plugin.ConstructBlockVolumeSpec(uid, name, where)
	if err != nil {
		k.noteUnread(err)
		return
	}
	unique, err := k.uniqueName(plugin, spec, uid)
	if err != nil {
		k.noteUnread(err)
		return
	}
	k.addRebuilt(&mountedVolume{
		podVolume: podVolume{volume: unique, pod: uid}, state: stateUncertain, reconstructed: true, block: true,
		plugin: plugin, spec: spec, path: where, about: trace.Ref{Kind: "Pod", Name: string(uid)},
	})
}

// uniqueName is the name of a volume that was found on the disk.
func (k *kubelet) uniqueName(plugin volume.VolumePlugin, spec *volume.Spec, uid types.UID) (v1.UniqueVolumeName, error) {
	device, err := k.plugins.FindDeviceMountablePluginBySpec(spec)
	if err != nil {
		return "", err
	}
	attachable, err := isAttachable(plugin, spec)
	if err != nil {
		return "", err
	}
	return getUniqueVolumeName(spec, plugin, device != nil || attachable, uid)
}

// addRebuilt adds a volume that was found on the disk as uncertain, and the mount for the
// node that it may stand on.
func (k *kubelet) addRebuilt(v *mountedVolume) {
	if k.actual.volumes.has(v.podVolume) {
		return
	}
	k.actual.volumes.put(v.podVolume, v)
	k.rebuilt = append(k.rebuilt, v)
	k.touched[v.podVolume] = true
	if device := constructDevice(v); device != nil && k.actual.devices[v.volume] == nil {
		k.actual.devices[v.volume] = device
	}
}

// reconstructDevices finds what is mounted for the node and shows in no pod's directory,
// since the kubelet died between the two.
func (k *kubelet) reconstructDevices() {
	for _, name := range k.plugins.Names() {
		found, err := k.plugins.FindPluginByName(name)
		plugin, ok := found.(volume.StagingPlugin)
		if err != nil || !ok {
			continue
		}
		for _, staged := range plugin.Staged() {
			unique, err := k.uniqueName(plugin, staged.Spec, "")
			if err != nil || k.actual.devices[unique] != nil {
				continue
			}
			k.actual.devices[unique] = &mountedDevice{
				state: stateUncertain, reconstructed: true, plugin: plugin, spec: staged.Spec, path: staged.Path, block: staged.Block,
			}
			lone := &mountedVolume{podVolume: podVolume{volume: unique}, plugin: plugin, spec: staged.Spec}
			k.rebuilt = append(k.rebuilt, lone)
			k.touched[lone.podVolume] = true
		}
	}
}

// noteRebuilt has the node say of the attachable ones among the reconstructed volumes that
// they are in use.
func (k *kubelet) noteRebuilt() {
	for _, v := range k.rebuilt {
		if attachable, err := isAttachable(v.plugin, v.spec); err == nil && attachable {
			k.attachable[v.volume] = true
		}
	}
	k.rebuilt = nil
}
