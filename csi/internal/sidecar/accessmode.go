package sidecar

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/container-storage-interface/spec/lib/go/csi"
	v1 "k8s.io/api/core/v1"
)

// Capability returns the capability with which a PersistentVolume of a CSI driver is used.
// defaultFSType is the file system of a volume that names none.
//
// Upstream: external-attacher util.go GetVolumeCapabilities, v4.13, and external-resizer
// csi_resizer.go GetVolumeCapabilities, v2.3.
func Capability(spec *v1.PersistentVolumeSpec, mode csi.VolumeCapability_AccessMode_Mode, defaultFSType string) *csi.VolumeCapability {
	capability := &csi.VolumeCapability{AccessMode: &csi.VolumeCapability_AccessMode{Mode: mode}}
	if spec.VolumeMode != nil && *spec.VolumeMode == v1.PersistentVolumeBlock {
		capability.AccessType = &csi.VolumeCapability_Block{Block: &csi.VolumeCapability_BlockVolume{}}
		return capability
	}
	capability.AccessType = &csi.VolumeCapability_Mount{Mount: &csi.VolumeCapability_MountVolume{
		FsType: cmp.Or(spec.CSI.FSType, defaultFSType), MountFlags: spec.MountOptions,
	}}
	return capability
}

// AccessMode returns CSI's access mode for the modes of a volume or claim: the widest wins. singleNodeMultiWriter is
// true if the driver has that capability, which distinguishes several writers on one node from a single one. It
// refuses combinations for which CSI has no mode.
//
// Upstream: csi-lib-utils accessmodes/access_modes.go ToCSIAccessMode, v0.25.
func AccessMode(modes []v1.PersistentVolumeAccessMode, singleNodeMultiWriter bool) (csi.VolumeCapability_AccessMode_Mode, error) {
	oneNode, onePod := csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER, csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER
	if singleNodeMultiWriter {
		oneNode, onePod = csi.VolumeCapability_AccessMode_SINGLE_NODE_MULTI_WRITER, csi.VolumeCapability_AccessMode_SINGLE_NODE_SINGLE_WRITER
	}
	has := func(mode v1.PersistentVolumeAccessMode) bool { return slices.Contains(modes, mode) }
	others := slices.ContainsFunc(modes, func(mode v1.PersistentVolumeAccessMode) bool { return mode != v1.ReadWriteOncePod })
	switch {
	case has(v1.ReadWriteOncePod) && others:
		return 0, errors.New("Kubernetes does not support use of ReadWriteOncePod with other access modes on the same PersistentVolume")
	case has(v1.ReadWriteOncePod):
		return onePod, nil
	case has(v1.ReadWriteMany):
		return csi.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER, nil
	case has(v1.ReadOnlyMany) && has(v1.ReadWriteOnce):
		return 0, errors.New("CSI does not support ReadOnlyMany and ReadWriteOnce on the same PersistentVolume")
	case has(v1.ReadOnlyMany):
		return csi.VolumeCapability_AccessMode_MULTI_NODE_READER_ONLY, nil
	case has(v1.ReadWriteOnce):
		return oneNode, nil
	}
	return 0, fmt.Errorf("unsupported AccessMode combination: %+v", modes)
}
