package volumemanager

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/kubelet/internal/layout"
	"github.com/storagesim/storagesim/volume"
)

// mapOperations maps volumes of mode Block, that is, makes their raw devices available in pods,
// and unmaps them.
//
// Upstream: operation_generator.go, v1.37.
type mapOperations struct {
	*given
	actual *actualStateOfWorld

	expansion *expandOperations
}

// notBegun is why an operation is not even begun: a kubelet only logs it, so that the pod has no event and waits for ever.
type notBegun struct{ error }

// Unwrap returns the reason.
func (e notBegun) Unwrap() error { return e.error }

// mapVolume carries out the steps from a volume of mode Block to its device in the pod.
//
// Upstream: operation_generator.go GenerateMapVolumeFunc, v1.37.
func (m *mapOperations) mapVolume(ctx context.Context, v *volumeToMount) error {
	fail := func(what string, err error) error {
		return fmt.Errorf("MapVolume.%s failed for volume %q : %w", what, v.spec.Name(), err)
	}
	plugin, ok := v.plugin.(volume.BlockVolumePlugin)
	if !ok {
		return notBegun{fail("FindMapperPluginBySpec", fmt.Errorf("volume plugin %q does not support volumeMode Block", v.plugin.GetPluginName()))}
	}
	mapper, err := plugin.NewBlockVolumeMapper(v.spec, v.about)
	if err != nil {
		return fail("NewBlockVolumeMapper initialization", err)
	}
	if err := m.actual.checkReadWriteOncePod(v); err != nil {
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
	if ok && !m.actual.isDeviceMounted(v.volume) {
		_, err := custom.SetUpDevice(ctx)
		m.actual.markDevice(v, global, err)
		if err != nil {
			return fail("SetUpDevice", err)
		}
	}
	device, err := mapper.MapPodDevice(ctx)
	if err != nil {
		m.markMapped(v, mapper, err)
		return fail("MapPodDevice", err)
	}
	if err := m.mapDevice(v, mapper, device, global); err != nil || !ok {
		return err
	}
	err = m.expansion.expandVolumeDuringMount(ctx, v, volume.NodeResizeOptions{DevicePath: device, DeviceStagePath: custom.GetStagingPath()})
	if err != nil {
		m.actual.markUncertain(v.podVolume)
		return fmt.Errorf("MapVolume.MarkVolumeAsMounted failed while expanding volume for volume %q : %w", v.spec.Name(), err)
	}
	return nil
}

// mapDevice makes two links to a device that was published: one in the node's directory of the
// device, where each of its pods has one, and one in the pod's directory.
//
// Upstream: pkg/volume/util/util.go MapBlockVolume, v1.37, where the first is a bind mount.
func (m *mapOperations) mapDevice(v *volumeToMount, mapper volume.BlockVolumeMapper, device, global string) error {
	dir, name := mapper.GetPodDeviceMapPath()
	err := m.link(device, path.Join(global, string(v.pod)))
	if err == nil {
		err = m.link(device, path.Join(dir, name))
	}
	if err != nil {
		err = volume.Uncertainf("%s", err.Error()) // it is published
		m.markMapped(v, mapper, err)
		return fmt.Errorf("MapVolume.MapBlockVolume failed for volume %q : %w", v.spec.Name(), err)
	}
	m.markMapped(v, mapper, nil)
	for _, where := range []string{fmt.Sprintf("globalMapPath %q", global), fmt.Sprintf("volumeMapPath %q", dir)} {
		m.recorder.Eventf(v.about, v1.EventTypeNormal, "SuccessfulMountVolume", "MapVolume.MapPodDevice succeeded for volume %q %s", v.spec.Name(), where)
	}
	return nil
}

// link makes a symbolic link, and replaces one that exists.
func (m *mapOperations) link(target, name string) error {
	if err := m.fs.MkdirAll(path.Dir(name), 0o750); err != nil {
		return err
	}
	if err := m.unlink(name); err != nil {
		return err
	}
	_, err := m.fs.Symlink(target, name)
	return err
}

func (m *mapOperations) unlink(name string) error {
	if err := m.fs.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// markMapped records the outcome of mapping a device, in the actual state of the world.
func (m *mapOperations) markMapped(v *volumeToMount, mapper volume.BlockVolumeMapper, failure error) {
	dir, name := mapper.GetPodDeviceMapPath()
	m.actual.markSetUp(&mountedVolume{
		podVolume: v.podVolume, plugin: v.plugin, spec: v.spec, path: path.Join(dir, name),
		readOnly: v.spec.ReadOnly, block: true, about: v.ref(),
	}, failure, false)
}

// unmapVolume removes a device from a pod.
//
// Upstream: operation_generator.go GenerateUnmapVolumeFunc, v1.37.
func (m *mapOperations) unmapVolume(ctx context.Context, v *mountedVolume) error {
	unmapper, err := m.unmapper(v.plugin, v.spec.Name(), v.pod)
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
		if err := m.unlink(link); err != nil {
			return fmt.Errorf("UnmapVolume.UnmapBlockVolume failed for volume %q : %w", v.spec.Name(), err)
		}
	}
	if custom, ok := unmapper.(volume.CustomBlockVolumeUnmapper); !ok {
		_ = m.unlink(global) // the directory of the links, unless other pods have one
	} else if err := custom.UnmapPodDevice(ctx); err != nil {
		return fmt.Errorf("UnmapVolume.UnmapPodDevice failed for volume %q : %w", v.spec.Name(), err)
	}
	m.actual.volumes.remove(v.podVolume)
	return nil
}

// unmapDevice removes a device from the node.
//
// Upstream: operation_generator.go GenerateUnmapDeviceFunc, v1.37.
func (m *mapOperations) unmapDevice(ctx context.Context, d *mountedDevice) error {
	unmapper, err := m.unmapper(d.plugin, d.spec.Name(), "")
	if err != nil {
		return fmt.Errorf("UnmapDevice.NewUnmapper failed for volume %q : %w", d.spec.Name(), err)
	}
	if refs, err := layout.Names(m.fs, d.path); err != nil || len(refs) > 0 {
		return errors.Join(err, fmt.Errorf("UnmapDevice failed for volume %q : the device %q is still referenced from other Pods %v", d.spec.Name(), d.path, refs))
	}
	d.state = stateUncertain
	custom, ok := unmapper.(volume.CustomBlockVolumeUnmapper)
	if !ok {
		return nil
	}
	if err := custom.TearDownDevice(ctx); err != nil {
		return fmt.Errorf("UnmapDevice.TearDownDevice failed for volume %q : %w", d.spec.Name(), err)
	}
	return nil
}

// unmapper returns the plugin's unmapper of a volume.
func (m *mapOperations) unmapper(plugin volume.VolumePlugin, name string, pod types.UID) (volume.BlockVolumeUnmapper, error) {
	if block, ok := plugin.(volume.BlockVolumePlugin); ok {
		return block.NewBlockVolumeUnmapper(name, pod)
	}
	return nil, fmt.Errorf("volume plugin %q makes no devices", plugin.GetPluginName())
}
