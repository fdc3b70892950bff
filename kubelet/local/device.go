package local

import (
	"context"
	"github.com/storagesim/storagesim/volume"
)

// CanDeviceMount always returns true: MountDevice finds out whether there is a device.
func (plugin *localVolumePlugin) CanDeviceMount(*volume.Spec) (bool, error) { return true, nil }

func (plugin *localVolumePlugin) NewDeviceMounter() (volume.DeviceMounter, error) {
	return &deviceMounter{plugin}, nil
}

func (plugin *localVolumePlugin) NewDeviceUnmounter() (volume.DeviceUnmounter, error) {
	return &deviceMounter{plugin}, nil
}

func (plugin *localVolumePlugin) GetDeviceMountRefs(deviceMountPath string) ([]string, error) {
	return plugin.host.GetMounter().GetMountRefs(volume.MakeAbsolutePath(deviceMountPath))
}

// deviceMounter does nothing for a directory, which is used as it is.
type deviceMounter struct{ plugin *localVolumePlugin }

// GetDeviceMountPath returns the directory itself.
func (d *deviceMounter) GetDeviceMountPath(spec *volume.Spec) (string, error) {
	return d.plugin.getGlobalLocalPath(spec)
}

// MountDevice has nothing to mount: the path, which GetDeviceMountPath has found to be a
// directory, is used as it is.
//
// Upstream: local.go MountDevice, v1.37, which looks at the path once more.
func (d *deviceMounter) MountDevice(context.Context, *volume.Spec, string, string, volume.DeviceMounterArgs) error {
	return nil
}

// UnmountDevice unmounts only what was mounted below the plugin's directory.
//
// Upstream: local.go UnmountDevice, v1.37.
func (d *deviceMounter) UnmountDevice(_ context.Context, deviceMountPath string) error {
	if !d.plugin.isBelowMounts(deviceMountPath) {
		return nil
	}
	return volume.CleanupMountPoint(deviceMountPath, d.plugin.host.GetMounter(), d.plugin.host.GetFS())
}
