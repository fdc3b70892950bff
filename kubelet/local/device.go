package local

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/trace"
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

// deviceMounter mounts a block device for the node. It does nothing for a directory, which is used as it is.
type deviceMounter struct{ plugin *localVolumePlugin }

// GetDeviceMountPath returns the directory itself, or the mount point of the block device.
func (d *deviceMounter) GetDeviceMountPath(spec *volume.Spec) (string, error) {
	return d.plugin.getGlobalLocalPath(spec)
}

// MountDevice mounts a block device, which it formats if that was not done before. A directory is used as it is.
//
// Upstream: local.go MountDevice, v1.37.
func (d *deviceMounter) MountDevice(_ context.Context, spec *volume.Spec, _, deviceMountPath string, _ volume.DeviceMounterArgs) error {
	src, err := source(spec)
	if err != nil || !d.plugin.isBelowMounts(deviceMountPath) {
		return err // the path is that of a directory: see getGlobalLocalPath
	}
	device := volume.MakeAbsolutePath(src.Path)
	mounted, err := d.plugin.host.GetMounter().IsMountPoint(deviceMountPath)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := d.plugin.host.GetFS().MkdirAll(deviceMountPath, 0o750); err != nil {
			return err
		}
	case err != nil || mounted:
		return err
	}
	fstype := defaultFSType
	if src.FSType != nil {
		fstype = *src.FSType
	}
	if err := d.formatAndMount(spec, device, deviceMountPath, fstype); err != nil {
		// What goes wrong then is only logged upstream.
		_ = d.plugin.host.GetFS().Remove(deviceMountPath)
		return fmt.Errorf("local: failed to mount device %s at %s (fstype: %s), error %w", src.Path, deviceMountPath, fstype, err)
	}
	return nil
}

// defaultFSType is the type of a volume that does not say one.
const defaultFSType = "ext4"

// canFormat reports whether a node has the program that makes a file system of that type.
func canFormat(fstype string) bool {
	return slices.Contains([]string{"ext2", "ext3", "ext4", "xfs", "btrfs"}, fstype)
}

// formatAndMount formats a device without a file system, and mounts it.
//
// Upstream: k8s.io/mount-utils SafeFormatAndMount.formatAndMountSensitive, v0.37.2.
func (d *deviceMounter) formatAndMount(spec *volume.Spec, device, target, fstype string) error {
	files := d.plugin.host.GetFS()
	is, err := files.Formatted(device)
	if err != nil {
		return fmt.Errorf("failed to get disk format of disk %s: %w", device, err)
	}
	fstype = cmp.Or(fstype, defaultFSType)
	options := spec.MountOptions()
	if spec.ReadOnly {
		options = volume.JoinMountOptions(options, []string{"ro"})
	}
	switch {
	case is.Type != "":
	case slices.Contains(options, "ro"):
		return fmt.Errorf("cannot mount unformatted disk %s as we are manipulating it in read-only mode", device)
	case !canFormat(fstype):
		return fmt.Errorf("format of disk %q failed: type:(%q) target:(%q) options:(%q) errcode:(executable file not found in $PATH) output:() ",
			device, fstype, target, append(options, "defaults"))
	default:
		d.plugin.host.Trace(trace.RefOf("PersistentVolume", spec.PersistentVolume),
			fmt.Sprintf("formats %s, on which there is no file system, as %s", device, fstype))
		if err := files.Format(device, disk.Filesystem{Type: fstype, ID: d.newID(device)}); err != nil {
			return err
		}
	}
	return d.plugin.host.GetMounter().Mount(device, target, fstype, options)
}

// newID returns the ID of a new file system. It is made of node, device and time, as mkfs makes one by chance.
func (d *deviceMounter) newID(device string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %d", d.plugin.host.GetNodeName(), device, d.plugin.host.Now().UnixNano()))
	return hex.EncodeToString(sum[:16])
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
