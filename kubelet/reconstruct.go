package kubelet

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/kubelet/volume"
)

// reconstruct finds in the pods' directories what an earlier life of this
// kubelet mounted, and adds it to the actual state as uncertain. It asks nobody
// and unmounts nothing.
//
// Upstream: reconstruct.go reconstructVolumes, v1.36.
func (k *kubelet) reconstruct() {
	for _, pod := range k.subdirs(podsDir) {
		uid := types.UID(pod)
		k.onDisk = append(k.onDisk, uid)
		for _, plugin := range k.subdirs(podVolumesDir(uid)) {
			for _, name := range k.subdirs(path.Join(podVolumesDir(uid), plugin)) {
				k.reconstructVolume(uid, plugin, name)
			}
		}
	}
	if n := len(k.touched); n > 0 {
		k.note(k.nodeRef(), fmt.Sprintf("finds volumes of an earlier life on disk: %d, each uncertain; none is unmounted before all pods are known", n))
	}
	k.onDisk = append(k.onDisk, k.runtime.pods()...) // a pod may have ended but for its record
}

// subdirs are the names in a directory, links (mounts) included.
func (k *kubelet) subdirs(dir string) []string {
	entries, err := k.fs.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		k.note(k.nodeRef(), fmt.Sprintf("cannot look for volumes of an earlier life: %v", err))
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func (k *kubelet) nodeRef() control.Ref { return control.Ref{Kind: "Node", Name: k.node.Name} }

// reconstructVolume adds one directory as an uncertain mount, or to the
// leftovers.
func (k *kubelet) reconstructVolume(uid types.UID, pluginDir, name string) {
	where := podVolumeDir(uid, pluginDir, name)
	v, err := k.constructMountedVolume(uid, pluginDir, name, where)
	if err != nil {
		k.note(k.nodeRef(), fmt.Sprintf("%s is not known to be a volume and will be removed if it is empty: %v", where, err))
		k.leftovers = append(k.leftovers, where)
		return
	}
	k.actual.volumes.put(v.podVolume, v)
	k.touched[v.podVolume] = true
	if device := constructDevice(v); device != nil {
		k.actual.devices[v.volume] = device
	}
}

// constructDevice is the mount for the whole node that a pod's mount may stand on,
// nil for a volume that needs none. Its path is left empty where the disk does not
// tell it: a local volume's is that of its data.
func constructDevice(v *mountedVolume) *mountedDevice {
	plugin, ok := v.plugin.(volume.DeviceMountableVolumePlugin)
	if !ok {
		return nil
	}
	device := &mountedDevice{state: stateUncertain, plugin: plugin}
	if mounter, err := plugin.NewDeviceMounter(); err == nil {
		if where, err := mounter.GetDeviceMountPath(v.spec); err == nil {
			device.path = where
		}
	}
	return device
}

func (k *kubelet) constructMountedVolume(uid types.UID, pluginDir, name, where string) (*mountedVolume, error) {
	plugin, err := k.plugins.FindPluginByName(volume.UnescapeQualifiedName(pluginDir))
	if err != nil {
		return nil, err
	}
	rebuilt, err := plugin.ConstructVolumeSpec(name, where)
	if err != nil {
		return nil, err
	}
	device, err := k.plugins.FindDeviceMountablePluginBySpec(rebuilt.Spec)
	if err != nil {
		return nil, err
	}
	attachable, err := isAttachable(plugin, rebuilt.Spec)
	if err != nil {
		return nil, err
	}
	unique, err := getUniqueVolumeName(rebuilt.Spec, plugin, device != nil || attachable, uid)
	if err != nil {
		return nil, err
	}
	if attachable {
		k.attachable[unique] = true
	}
	return &mountedVolume{
		podVolume: podVolume{volume: unique, pod: uid}, state: stateUncertain,
		plugin: plugin, spec: rebuilt.Spec, path: where, about: control.Ref{Kind: "Pod", Name: string(uid)},
	}, nil
}
