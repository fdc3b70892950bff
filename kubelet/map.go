package kubelet

import (
	"context"
	"fmt"

	"github.com/storagesim/storagesim/volume"
)

// mapVolume goes the steps from a volume of mode Block to its device in the pod, and
// refuses the last one by name: mapping a device takes privilege.
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
	if _, err := mapper.GetGlobalMapPath(v.spec); err != nil {
		return fail("GetGlobalMapPath", err)
	}
	device, err := mapper.MapPodDevice(ctx)
	if err != nil {
		return fail("MapPodDevice", err)
	}
	dir, link := mapper.GetPodDeviceMapPath()
	return fail("MapBlockVolume", fmt.Errorf("this kubelet maps no devices, which takes privilege; %s would be mapped at %s/%s", device, dir, link))
}
