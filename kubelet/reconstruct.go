package kubelet

import (
	"errors"
	"fmt"
	"path"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/trace"
	"github.com/storagesim/storagesim/volume"
)

// reconstruct finds in the pods' directories what an earlier life of this
// kubelet mounted, and adds it to the actual state as uncertain. It asks no one
// and unmounts nothing.
//
// Upstream: reconstruct.go reconstructVolumes, v1.36.
func (k *kubelet) reconstruct() {
	for _, pod := range k.subdirs(podsDir) {
		k.onDisk = append(k.onDisk, types.UID(pod))
		if k.cfg.Rules.remembers(types.UID(pod)) {
			k.reconstructPod(types.UID(pod))
		}
	}
	k.reconstructDevices()
	if n := len(k.touched); n > 0 {
		k.note(k.nodeRef(), fmt.Sprintf("finds volumes of an earlier life on disk: %d, each uncertain; none is unmounted before all pods are known", n))
	}
	sandboxes, err := k.runtime.ListPodSandboxes()
	if err != nil {
		k.note(k.nodeRef(), fmt.Sprintf("cannot ask the container runtime for the pods of an earlier life: %v", err))
	}
	k.onDisk = append(k.onDisk, sandboxes...) // a pod may have ended but for its sandbox
}

// reconstructPod is reconstruct for one pod. One whose directories cannot be read, as
// where a link stands in their place, is looked at again when it ends.
func (k *kubelet) reconstructPod(uid types.UID) {
	plugins, err := namesIn(k.fs, podVolumesDir(uid))
	errs := []error{err}
	for _, plugin := range plugins {
		names, err := namesIn(k.fs, path.Join(podVolumesDir(uid), plugin))
		errs = append(errs, err)
		for _, name := range names {
			k.reconstructVolume(uid, plugin, name)
		}
	}
	plugins, err = namesIn(k.fs, podVolumeDeviceDir(uid, ""))
	errs = append(errs, err)
	for _, plugin := range plugins {
		names, err := namesIn(k.fs, podVolumeDeviceDir(uid, plugin))
		errs = append(errs, err)
		for _, name := range names {
			k.reconstructMap(uid, plugin, name)
		}
	}
	err = errors.Join(errs...)
	if err == nil {
		delete(k.unread, uid)
		return
	}
	if !k.unread[uid] {
		k.noteUnread(err)
	}
	k.unread[uid] = true
}

func (k *kubelet) noteUnread(err error) {
	k.note(k.nodeRef(), fmt.Sprintf("cannot look for volumes of an earlier life: %v", err))
}

// subdirs are the names in a directory, links (mounts) included.
func (k *kubelet) subdirs(dir string) []string {
	names, err := namesIn(k.fs, dir)
	if err != nil {
		k.noteUnread(err)
	}
	return names
}

func (k *kubelet) nodeRef() trace.Ref { return trace.Ref{Kind: "Node", Name: k.node.Name} }

// reconstructVolume adds one directory as an uncertain mount, or to the
// leftovers.
func (k *kubelet) reconstructVolume(uid types.UID, pluginDir, name string) {
	where := podVolumeDir(uid, pluginDir, name)
	v, err := k.constructMountedVolume(uid, pluginDir, name, where)
	switch {
	case err == nil && k.actual.volumes.has(v.podVolume), err != nil && slices.Contains(k.leftovers, where):
		return // it is known already
	case err != nil:
		k.note(k.nodeRef(), fmt.Sprintf("%s is not known to be a volume and will be removed if it is empty: %v", where, err))
		k.leftovers = append(k.leftovers, where)
		return
	}
	k.addRebuilt(v)
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
	unique, err := k.uniqueName(plugin, rebuilt.Spec, uid)
	if err != nil {
		return nil, err
	}
	return &mountedVolume{
		podVolume: podVolume{volume: unique, pod: uid}, state: stateUncertain, reconstructed: true,
		plugin: plugin, spec: rebuilt.Spec, path: where, about: trace.Ref{Kind: "Pod", Name: string(uid)},
	}, nil
}
