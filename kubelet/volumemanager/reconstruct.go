package volumemanager

import (
	"errors"
	"fmt"
	"path"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/kubelet/internal/layout"
	"github.com/storagesim/storagesim/trace"
	"github.com/storagesim/storagesim/volume"
)

// reconstruction finds on the disk what an earlier life of the kubelet has mounted. It adds
// that to the actual state of the world as uncertain. It calls no API and unmounts nothing.
//
// Upstream: pkg/kubelet/volumemanager/reconciler/reconstruct.go, v1.37.
type reconstruction struct {
	*given
	*states

	attachments *attachments
	// found holds the volumes that were found and may be attachable. Whether they are is in
	// the CSIDriver objects, which are not known at the start.
	found []*mountedVolume
	// orphans holds directories of volumes that no plugin knows.
	orphans []string
	// unread holds the pods whose directories could not be read.
	unread map[types.UID]bool
}

// reconstructVolumes looks into all pods' directories. It returns the pods that it has found.
//
// Upstream: reconstruct.go reconstructVolumes, v1.37.
func (r *reconstruction) reconstructVolumes() (pods []types.UID) {
	names, err := layout.Names(r.fs, layout.PodsDir)
	if err != nil {
		r.noteUnread(err)
	}
	for _, name := range names {
		pods = append(pods, types.UID(name))
		if r.decisions.Reconstruct(types.UID(name)) {
			r.reconstructPod(types.UID(name))
		}
	}
	if r.decisions.FindStaged {
		r.reconstructDevices()
	}
	if n := len(r.touched); n > 0 {
		r.note(r.nodeRef(), fmt.Sprintf("finds volumes of an earlier life on disk: %d, each uncertain; none is unmounted before all pods are known", n))
	}
	return pods
}

// reconstructPod looks into one pod's directories. If they cannot be read, for example because
// a link stands in their place, they are looked at again when the pod ends.
func (r *reconstruction) reconstructPod(uid types.UID) {
	err := errors.Join(
		r.eachVolume(uid, layout.PodVolumesDir(uid), r.reconstructVolume),
		r.eachVolume(uid, layout.PodVolumeDevicesDir(uid), r.reconstructMap),
	)
	if err == nil {
		delete(r.unread, uid)
		return
	}
	if !r.unread[uid] {
		r.noteUnread(err)
	}
	r.unread[uid] = true
}

// eachVolume calls f for each volume of each plugin in a pod's directory.
func (r *reconstruction) eachVolume(uid types.UID, dir string, f func(uid types.UID, plugin, name string)) error {
	plugins, err := layout.Names(r.fs, dir)
	errs := []error{err}
	for _, plugin := range plugins {
		names, err := layout.Names(r.fs, path.Join(dir, plugin))
		errs = append(errs, err)
		for _, name := range names {
			f(uid, plugin, name)
		}
	}
	return errors.Join(errs...)
}

// reconstructVolume adds one directory to the actual state of the world, or to the orphans.
func (r *reconstruction) reconstructVolume(uid types.UID, pluginDir, name string) {
	where := layout.PodVolumeDir(uid, pluginDir, name)
	v, err := r.constructVolume(uid, pluginDir, name, where)
	switch {
	case err == nil:
		r.add(v)
	case !slices.Contains(r.orphans, where):
		r.note(r.nodeRef(), fmt.Sprintf("%s is not known to be a volume and will be removed if it is empty: %v", where, err))
		r.orphans = append(r.orphans, where)
	}
}

func (r *reconstruction) constructVolume(uid types.UID, pluginDir, name, where string) (*mountedVolume, error) {
	plugin, err := r.plugins.FindPluginByName(volume.UnescapeQualifiedName(pluginDir))
	if err != nil {
		return nil, err
	}
	rebuilt, err := plugin.ConstructVolumeSpec(name, where)
	if err != nil {
		return nil, err
	}
	return r.uncertainVolume(uid, plugin, rebuilt.Spec, where)
}

// reconstructMap adds one link to a raw device to the actual state of the world.
//
// Upstream: reconstruct_common.go getVolumesFromPodDir and reconstructVolume, v1.37.
func (r *reconstruction) reconstructMap(uid types.UID, pluginDir, name string) {
	where := path.Join(layout.PodVolumeDeviceDir(uid, pluginDir), name)
	found, _ := r.plugins.FindPluginByName(volume.UnescapeQualifiedName(pluginDir))
	plugin, ok := found.(volume.BlockVolumePlugin)
	if !ok {
		return
	}
	spec, err := plugin.ConstructBlockVolumeSpec(uid, name, where)
	if err != nil {
		r.noteUnread(err)
		return
	}
	v, err := r.uncertainVolume(uid, plugin, spec, where)
	if err != nil {
		r.noteUnread(err)
		return
	}
	v.block = true
	r.add(v)
}

func (r *reconstruction) uncertainVolume(uid types.UID, plugin volume.VolumePlugin, spec *volume.Spec, where string) (*mountedVolume, error) {
	unique, err := r.uniqueName(plugin, spec, uid)
	if err != nil {
		return nil, err
	}
	return &mountedVolume{
		podVolume: podVolume{volume: unique, pod: uid}, state: stateUncertain, reconstructed: true,
		plugin: plugin, spec: spec, path: where, about: trace.Ref{Kind: "Pod", Name: string(uid)},
	}, nil
}

// uniqueName returns the unique name of a volume that was found on the disk.
func (r *reconstruction) uniqueName(plugin volume.VolumePlugin, spec *volume.Spec, uid types.UID) (v1.UniqueVolumeName, error) {
	device, err := r.plugins.FindDeviceMountablePluginBySpec(spec)
	if err != nil {
		return "", err
	}
	attachable, err := isAttachable(plugin, spec)
	if err != nil {
		return "", err
	}
	return getUniqueVolumeName(spec, plugin, device != nil || attachable, uid)
}

// add adds a volume, and the mount for the node that it may stand on, unless they are known.
func (r *reconstruction) add(v *mountedVolume) {
	if r.actual.volumes.has(v.podVolume) {
		return
	}
	r.actual.volumes.put(v.podVolume, v)
	r.found = append(r.found, v)
	r.touched[v.podVolume] = true
	if device := constructDevice(v); device != nil && r.actual.devices[v.volume] == nil {
		r.actual.devices[v.volume] = device
	}
}

// constructDevice returns the mount for the node that a pod's mount may stand on, nil for a
// volume that needs none. Its path stays empty where the disk does not tell it: a local
// volume's is the path of its data.
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

// globalMapPath returns the directory of the node's links to a pod's raw device, "" if it is
// not known.
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

// reconstructDevices adds the volumes that are mounted for the node and in no pod's directory,
// since the kubelet died between the two mounts, or before the second unmount. Upstream has
// nothing like it: see Decisions.FindStaged.
func (r *reconstruction) reconstructDevices() {
	for _, name := range r.plugins.Names() {
		found, _ := r.plugins.FindPluginByName(name)
		plugin, ok := found.(volume.StagingPlugin)
		if !ok {
			continue
		}
		for _, staged := range plugin.Staged() {
			unique, err := r.uniqueName(plugin, staged.Spec, "")
			if err != nil || r.actual.devices[unique] != nil {
				continue
			}
			r.actual.devices[unique] = &mountedDevice{
				state: stateUncertain, reconstructed: true, plugin: plugin, spec: staged.Spec, path: staged.Path, block: staged.Block,
			}
			alone := &mountedVolume{podVolume: podVolume{volume: unique}, plugin: plugin, spec: staged.Spec}
			r.found = append(r.found, alone)
			r.touched[alone.podVolume] = true
		}
	}
}

// updateFromNodeStatus makes volumesInUse list those of the found volumes that are attachable and,
// unless Decisions.KeepInUse is set, that the Node lists as attached. These are attached as far as the kubelet knows: a pod that wants one need not
// wait until the Node's status is written again.
//
// Upstream: reconstruct.go updateReconstructedFromNodeStatus, v1.37.
func (r *reconstruction) updateFromNodeStatus() {
	for _, v := range r.found {
		attachable, err := isAttachable(v.plugin, v.spec)
		if err == nil && attachable && (r.decisions.KeepInUse || r.attachments.listed[v.volume]) {
			r.attachments.attachable[v.volume], r.actual.attached[v.volume] = true, true
		}
	}
	r.found = nil
}

// cleanOrphanVolumes removes the directories that could not be reconstructed, once all pods
// are known. It unmounts one that is mounted, and removes one that is empty. It never deletes
// data.
//
// Upstream: reconstruct.go cleanOrphanVolumes, v1.37.
func (r *reconstruction) cleanOrphanVolumes() error {
	if !r.desired.hasAddedPods() {
		return nil
	}
	var kept []string
	var errs []error
	for _, dir := range r.orphans {
		if err := volume.CleanupMountPoint(dir, r.mounter, r.fs); err != nil {
			kept, errs = append(kept, dir), append(errs, err)
		}
	}
	r.orphans = kept
	return errors.Join(errs...)
}
