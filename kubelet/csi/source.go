package csi

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"path"
	"slices"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/volume"
)

// getSourceFromSpec returns the source of a pod's own volume or that of a PersistentVolume.
//
// Upstream: csi_util.go getSourceFromSpec, v1.37.
func getSourceFromSpec(spec *volume.Spec) (*v1.CSIVolumeSource, *v1.CSIPersistentVolumeSource, error) {
	switch {
	case spec == nil:
		return nil, nil, errors.New("volume.Spec nil")
	case spec.Volume != nil && spec.PersistentVolume != nil:
		return nil, nil, errors.New("volume.Spec has both volume and persistent volume sources")
	case spec.Volume != nil && spec.Volume.CSI != nil:
		return spec.Volume.CSI, nil, nil
	case spec.PersistentVolume != nil && spec.PersistentVolume.Spec.CSI != nil:
		return nil, spec.PersistentVolume.Spec.CSI, nil
	}
	return nil, nil, errors.New("volume source not found in volume.Spec")
}

// getPVSourceFromSpec takes PersistentVolumes only.
//
// Upstream: csi_util.go getPVSourceFromSpec, v1.37.
func getPVSourceFromSpec(spec *volume.Spec) (*v1.CSIPersistentVolumeSource, error) {
	own, pv, err := getSourceFromSpec(spec)
	if err == nil && own != nil {
		err = errors.New("unexpected api.CSIVolumeSource found in volume.Spec")
	}
	return pv, err
}

// driverOf returns the name of a volume's driver.
//
// Upstream: csi_util.go GetCSIDriverName, v1.37.
func driverOf(spec *volume.Spec) (string, error) {
	own, pv, err := getSourceFromSpec(spec)
	switch {
	case err != nil:
		return "", err
	case own != nil:
		return own.Driver, nil
	}
	return pv.Driver, nil
}

// lifecycleMode reports whether a volume lives with its pod.
//
// Upstream: csi_plugin.go getVolumeLifecycleMode, v1.37.
func lifecycleMode(spec *volume.Spec) (storagev1.VolumeLifecycleMode, error) {
	own, _, err := getSourceFromSpec(spec)
	switch {
	case err != nil:
		return "", err
	case own != nil:
		return storagev1.VolumeLifecycleEphemeral, nil
	}
	return storagev1.VolumeLifecyclePersistent, nil
}

// accessModeOf returns the first of a PersistentVolume's access modes: the only one that a
// driver gets.
func accessModeOf(spec *volume.Spec) v1.PersistentVolumeAccessMode {
	if spec.PersistentVolume != nil && len(spec.PersistentVolume.Spec.AccessModes) > 0 {
		return spec.PersistentVolume.Spec.AccessModes[0]
	}
	return v1.ReadWriteOnce
}

// hasReadWriteOnce reports whether one node at a time may write.
//
// Upstream: csi_util.go hasReadWriteOnce, v1.37.
func hasReadWriteOnce(modes []v1.PersistentVolumeAccessMode) bool {
	return slices.Contains(modes, v1.ReadWriteOnce) || slices.Contains(modes, v1.ReadWriteOncePod)
}

// InlineHandle returns what a driver gets to know a pod's own volume by: one that the pod's spec has, without a claim.
//
// Upstream: csi_mounter.go makeVolumeHandle, v1.37.
func InlineHandle(pod types.UID, volumeName string) string {
	return fmt.Sprintf("csi-%x", sha256.Sum256([]byte(string(pod)+volumeName)))
}

// makeDeviceMountPath returns the path at which a volume is staged.
//
// Upstream: csi_attacher.go makeDeviceMountPath, v1.37.
func (plugin *csiPlugin) makeDeviceMountPath(spec *volume.Spec) (string, error) {
	source, err := getPVSourceFromSpec(spec)
	switch {
	case err != nil:
		return "", fmt.Errorf("makeDeviceMountPath failed to get CSIPersistentVolumeSource: %w", err)
	case source.Driver == "":
		return "", errors.New("makeDeviceMountPath failed, csi source has no driver name")
	case source.VolumeHandle == "":
		return "", errors.New("makeDeviceMountPath failed, csi source has no volume handle")
	}
	volSha := fmt.Sprintf("%x", sha256.Sum256([]byte(source.VolumeHandle)))
	return path.Join(plugin.host.GetPluginDir(PluginName), source.Driver, volSha, globalMount), nil
}

// failf returns an error that says whose it is.
//
// Upstream: csi_util.go log, v1.37.
func failf(format string, args ...any) error {
	return fmt.Errorf(PluginName+": "+format, args...)
}

// transientf returns the same for a failure before the driver was asked for anything.
func transientf(format string, args ...any) error {
	return volume.Transientf(PluginName+": "+format, args...)
}
