package provisioner

import (
	"github.com/container-storage-interface/spec/lib/go/csi"
	v1 "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"

	"github.com/storagesim/storagesim/csi/internal/sidecar"
)

// getVolumeCapabilities returns the ways in which the claim's volume will be used: one for each
// access mode.
//
// Upstream: controller.go getVolumeCapabilities, v6.4.
func (p *csiProvisioner) getVolumeCapabilities(claim *v1.PersistentVolumeClaim, class *storage.StorageClass, fsType string) ([]*csi.VolumeCapability, error) {
	capabilities := make([]*csi.VolumeCapability, 0, len(claim.Spec.AccessModes))
	for _, mode := range claim.Spec.AccessModes {
		access, err := sidecar.AccessMode([]v1.PersistentVolumeAccessMode{mode}, p.can(csi.ControllerServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER))
		if err != nil {
			return nil, err
		}
		capability := &csi.VolumeCapability{AccessMode: &csi.VolumeCapability_AccessMode{Mode: access}}
		if wantsBlock(claim) {
			capability.AccessType = &csi.VolumeCapability_Block{Block: &csi.VolumeCapability_BlockVolume{}}
		} else {
			capability.AccessType = &csi.VolumeCapability_Mount{Mount: &csi.VolumeCapability_MountVolume{FsType: fsType, MountFlags: class.MountOptions}}
		}
		capabilities = append(capabilities, capability)
	}
	return capabilities, nil
}

func wantsBlock(claim *v1.PersistentVolumeClaim) bool {
	return claim.Spec.VolumeMode != nil && *claim.Spec.VolumeMode == v1.PersistentVolumeBlock
}
