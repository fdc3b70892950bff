package kubelet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/volume"
)

// mapVolume goes the steps from a volume of mode Block to its device in the pod. Devices
// that a plugin does not make itself it refuses by name: mapping one takes privilege.
//
// Upstream: operation_generator.go GenerateMapVolumeFunc, v1.36, which only logs that
// a plugin has no raw devices.
func (k *kubelet) mapVolume(ctx context.Context, v *volumeToMount) error {
	fail := func(what string, err error) error {
		return fmt.Errorf("MapVolume.%s failed for volume %q : %w", what, v.spec.Name(), err)
	}
	plugin, ok := v.plugin.(volume.BlockVolumePlugin)
	if !ok {
		return fail("FindMapperPluginBySpec", fmt.Errorf("volume plugin %q does not support volumeMode Block", v.plugin.GetPluginName()))
	}
	mapper, err := plugin.NewBlockVolumeMapper(v.spec, v.about)
	if err != nil {
		return fail("NewBlockVolumeMapper initialization", err)
	}
	if err := k.checkReadWriteOncePod(v); err != nil {
		return fail("SetUpDevice", err)
	}
	global, err := mapper.GetGlobalMapPath(v.spec)
	if err != nil {
		return fail("GetGlobalMapPath", err)
	}
	if err := waitForAttach(ctx, v); err != nil {
		return fail("WaitForAttach", err)
	}
	custom, ok := mapper.(volume.CustomBlockVolumeMapper)
	if ok {
		if d := k.actual.devices[v.volume]; d == nil || d.state != stateMounted {
			_, err := custom.SetUpDevice(ctx)
			k.markDevice(v, global, err)
			if err != nil {
				return fail("SetUpDevice", err)
			}
		}
	}
	device, err := mapper.MapPodDevice(ctx)
	if err != nil {
		k.markMapped(v, mapper, err)
		return fail("MapPodDevice", err)
	}
	dir, link := mapper.GetPodDeviceMapPath()
	if !ok {
		return fail("MapBlockVolume", fmt.Errorf("this kubelet maps no devices, which takes privilege; %s would be mapped at %s/%s", device, dir, link))
	}
	if err := k.mapDevice(v, mapper, device, global); err != nil {
		return err
	}
	err = k.expandVolumeDuringMount(ctx, v, volume.NodeResizeOptions{DevicePath: device, DeviceStagePath: custom.GetStagingPath()})
	if err != nil {
		k.actual.doubt(v.podVolume)
		return fmt.Errorf("MapVolume.MarkVolumeAsMounted failed while expanding volume for volume %q : %w", v.spec.Name(), err)
	}
	return nil
}

// mapDevice makes the links to a device that was published: one for each pod in the node's
// directory of the device, and the pod's own.
//
// Upstream: pkg/volume/util/util.go MapBlockVolume, v1.36, where the first is a bind mount.
func (k *kubelet) mapDevice(v *volumeToMount, mapper volume.BlockVolumeMapper, device, global string) error {
	dir, name := mapper.GetPodDeviceMapPath()
	err := k.link(device, path.Join(global, string(v.pod)))
	if err == nil {
		err = k.link(device, path.Join(dir, name))
	}
	if err != nil {
		err = volume.Uncertainf("%s", err.Error()) // it is published
		k.markMapped(v, mapper, err)
		return fmt.Errorf("MapVolume.MapBlockVolume failed for volume %q : %w", v.spec.Name(), err)
	}
	k.markMapped(v, mapper, nil)
	for _, where := range []string{fmt.Sprintf("globalMapPath %q", global), fmt.Sprintf("volumeMapPath %q", dir)} {
		k.recorder.Eventf(v.about, v1.EventTypeNormal, "SuccessfulMountVolume", "MapVolume.MapPodDevice succeeded for volume %q %s", v.spec.Name(), where)
	}
	return nil
}

// link makes a symbolic link, anew if there is one.
func (k *kubelet) link(target, name string) error {
	if err := k.fs.MkdirAll(path.Dir(name), 0o750); err != nil {
		return err
	}
	if err := k.unlink(name); err != nil {
		return err
	}
	_, err := k.fs.Symlink(target, name)
	return err
}

func (k *kubelet) unlink(name string) error {
	if err := k.fs.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// markMapped notes whether the pod has the device now.
//
// Upstream: operation_generator.go markVolumeErrorState, v1.36.
func (k *kubelet) markMapped(v *volumeToMount, mapper volume.BlockVolumeMapper, failure error) {
	old := k.actual.volumes.get(v.podVolume)
	state := stateMounted
	if failure != nil {
		state = stateUncertain
		if old != nil || !k.cfg.Rules.uncertain(failure) {
			if old != nil && volume.IsFinal(failure) && !old.reconstructed && old.state == stateUncertain {
				k.actual.volumes.remove(v.podVolume)
			}
			return
		}
	}
	dir, name := mapper.GetPodDeviceMapPath()
	k.actual.volumes.put(v.podVolume, &mountedVolume{
		podVolume: v.podVolume, state: state, plugin: v.plugin, spec: v.spec, path: path.Join(dir, name),
		readOnly: v.spec.ReadOnly, block: true, about: v.ref(),
	})
}

// unmapVolume takes a device away from a pod.
//
// Upstream: operation_generator.go GenerateUnmapVolumeFunc, v1.36.
func (k *kubelet) unmapVolume(ctx context.Context, v *mountedVolume) error {
	unmapper, err := k.unmapper(v.plugin, v.spec.Name(), v.pod)
	if err != nil {
		return fmt.Errorf("UnmapVolume.NewUnmapper failed for volume %q : %w", v.spec.Name(), err)
	}
	global, err := unmapper.GetGlobalMapPath(v.spec)
	if err != nil {
		return fmt.Errorf("UnmapVolume.GetGlobalMapPath failed for volume %q : %w", v.spec.Name(), err)
	}
	v.state = stateUncertain
	dir, name := unmapper.GetPodDeviceMapPath()
	for _, link := range []string{path.Join(dir, name), path.Join(global, string(v.pod))} {
		if err := k.unlink(link); err != nil {
			return fmt.Errorf("UnmapVolume.UnmapBlockVolume failed for volume %q : %w", v.spec.Name(), err)
		}
	}
	if err := unmapper.UnmapPodDevice(ctx); err != nil {
		return fmt.Errorf("UnmapVolume.UnmapPodDevice failed for volume %q : %w", v.spec.Name(), err)
	}
	k.actual.volumes.remove(v.podVolume)
	return nil
}

// unmapDevice takes a device off the node.
//
// Upstream: operation_generator.go GenerateUnmapDeviceFunc, v1.36.
func (k *kubelet) unmapDevice(ctx context.Context, d *mountedDevice) error {
	unmapper, err := k.unmapper(d.plugin, d.spec.Name(), "")
	if err != nil {
		return fmt.Errorf("UnmapDevice.NewUnmapper failed for volume %q : %w", d.spec.Name(), err)
	}
	if refs, err := namesIn(k.fs, d.path); err != nil || len(refs) > 0 {
		return errors.Join(err, fmt.Errorf("UnmapDevice failed for volume %q : the device %q is still referenced from other Pods %v", d.spec.Name(), d.path, refs))
	}
	d.state = stateUncertain
	if err := unmapper.TearDownDevice(ctx); err != nil {
		return fmt.Errorf("UnmapDevice.TearDownDevice failed for volume %q : %w", d.spec.Name(), err)
	}
	return nil
}

// unmapper undoes what a mapper of the plugin did.
func (k *kubelet) unmapper(plugin volume.VolumePlugin, name string, pod types.UID) (volume.CustomBlockVolumeUnmapper, error) {
	if block, ok := plugin.(volume.BlockVolumePlugin); ok {
		unmapper, err := block.NewBlockVolumeUnmapper(name, pod)
		if custom, ok := unmapper.(volume.CustomBlockVolumeUnmapper); ok || err != nil {
			return custom, err
		}
	}
	return nil, fmt.Errorf("volume plugin %q makes no devices", plugin.GetPluginName())
}
