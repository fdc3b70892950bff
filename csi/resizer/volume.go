package resizer

import (
	"context"
	"errors"
	"fmt"

	"github.com/container-storage-interface/spec/lib/go/csi"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/csi/internal/sidecar"
	"github.com/storagesim/storagesim/internal/migration"
)

// resize calls the driver, if its controller expands volumes. It returns the size of the volume then, and whether
// nodes have work to do.
//
// Upstream: pkg/resizer/csi_resizer.go and trivial_resizer.go Resize, v2.3.
func (c *resizeController) resize(ctx context.Context, pv *v1.PersistentVolume, size resource.Quantity) (resource.Quantity, bool, error) {
	source := sourceOf(pv)
	switch {
	case !c.expandsInController():
		return size, true, nil
	case source.VolumeHandle == "":
		return size, false, errors.New("empty volume handle")
	}
	secrets, err := sidecar.Credentials(ctx, c.client, source.ControllerExpandSecretRef)
	if err != nil {
		ref := source.ControllerExpandSecretRef
		return size, false, fmt.Errorf("error getting secret %s in namespace %s: %w", ref.Name, ref.Namespace, err)
	}
	capability, err := c.volumeCapability(pv)
	if err != nil {
		return size, false, fmt.Errorf("failed to get capabilities of volume %s with %w", pv.Name, err)
	}
	answer, err := csi.NewControllerClient(c.conn).ControllerExpandVolume(control.WithTimeout(ctx, c.env, c.cfg.Timeout), &csi.ControllerExpandVolumeRequest{
		VolumeId: source.VolumeHandle, CapacityRange: &csi.CapacityRange{RequiredBytes: size.Value()}, Secrets: secrets, VolumeCapability: capability,
	})
	if err != nil {
		return size, false, err
	}
	return *resource.NewQuantity(answer.GetCapacityBytes(), resource.BinarySI), answer.GetNodeExpansionRequired(), nil
}

// volumeCapability returns the capability with which the volume is used.
//
// Upstream: csi_resizer.go GetVolumeCapabilities, v2.3.
func (c *resizeController) volumeCapability(pv *v1.PersistentVolume) (*csi.VolumeCapability, error) {
	mode, err := sidecar.AccessMode(pv.Spec.AccessModes, c.reported.Controller[csi.ControllerServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER])
	if err != nil {
		return nil, err
	}
	return sidecar.Capability(&pv.Spec, mode, ""), nil
}

// sourceOf returns the source of a CSI volume, also of one of a plugin that its driver has replaced; nil for any other.
//
// Upstream: csi_resizer.go CanSupport and Resize, v2.3.
func sourceOf(pv *v1.PersistentVolume) *v1.CSIPersistentVolumeSource {
	translated, err := migration.Volume(pv)
	if err != nil {
		return nil
	}
	return translated.Spec.CSI
}
