package provisioner

import (
	"context"
	"errors"
	"fmt"

	"github.com/container-storage-interface/spec/lib/go/csi"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/migration"
	"github.com/storagesim/storagesim/provisioner"
)

// deleteVolumeRetryCount is the number of tries to delete an unusable volume before the failure is reported.
const deleteVolumeRetryCount = 5

// Provision calls the driver to create a volume and returns its PersistentVolume. A crash after CreateVolume loses
// nothing: the next try uses the same name.
//
// Upstream: controller.go Provision, v6.4.
func (p *csiProvisioner) Provision(ctx context.Context, options provisioner.ProvisionOptions) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	claim := options.PVC
	if name := storageProvisioner(claim); name != p.cfg.Driver && claim.Annotations[binding.AnnMigratedTo] != p.cfg.Driver {
		return nil, provisioner.ProvisioningFinished, &provisioner.IgnoredError{
			Reason: fmt.Sprintf("PVC annotated with external-provisioner name %s does not match provisioner driver name %s. This could mean the PVC is not migrated",
				name, p.cfg.Driver),
		}
	}
	migrated := migration.Driver(options.StorageClass.Provisioner) == p.cfg.Driver
	var err error
	if options.StorageClass, err = migration.Class(options.StorageClass); err != nil {
		return nil, provisioner.ProvisioningFinished, err
	}
	result, state, err := p.prepareProvision(ctx, claim, options.StorageClass, options.SelectedNodeName)
	if err != nil {
		return nil, state, err
	}
	answer, err := p.driver.CreateVolume(control.WithTimeout(ctx, p.env, p.cfg.Timeout), result.req)
	if err != nil {
		// Another node helps only if the driver has topology, and the scheduler can choose one.
		state := checkError(err, p.supportsTopology() && options.SelectedNodeName != "")
		if state == provisioner.ProvisioningFinished || state == provisioner.ProvisioningReschedule {
			p.topologies.forget(claim.UID)
		}
		return nil, state, err
	}
	if answer.GetVolume() == nil {
		control.End(p.env, control.Ending{Why: nilPointer + " (the CSI driver answered CreateVolume with neither a volume nor an error)", Panics: true})
		return nil, provisioner.ProvisioningInBackground, errors.New("the CSI driver answered CreateVolume with neither a volume nor an error")
	}
	if err := p.refuseSmaller(ctx, answer.GetVolume(), result.req); err != nil {
		return nil, provisioner.ProvisioningInBackground, err
	}
	if err := p.refuseEmpty(ctx, claim, answer.GetVolume(), result.req); err != nil {
		return nil, provisioner.ProvisioningInBackground, err
	}
	p.topologies.forget(claim.UID)
	p.removeSnapshotFinalizer(ctx, claim)
	pv := p.persistentVolume(options, result, answer.GetVolume())
	if migrated {
		if pv, err = migration.Back(pv); err != nil {
			return nil, provisioner.ProvisioningInBackground, fmt.Errorf("failed to translate CSI PV to in tree due to: %w. Deleting provisioned PV: %w",
				err, p.cleanupVolume(ctx, answer.GetVolume().GetVolumeId(), result.req.GetSecrets()))
		}
	}
	return pv, provisioner.ProvisioningFinished, nil
}

// nilPointer is the panic of upstream's process where it takes a driver's answer for complete.
//
// Upstream: controller.go Provision, v6.4.0 line 917.
const nilPointer = "runtime error: invalid memory address or nil pointer dereference"

// storageProvisioner returns the provisioner that the PV controller has asked to provision for the claim.
func storageProvisioner(claim *v1.PersistentVolumeClaim) string {
	if name, ok := claim.Annotations[binding.AnnStorageProvisioner]; ok {
		return name
	}
	return claim.Annotations[binding.AnnBetaStorageProvisioner]
}

// refuseSmaller deletes a volume that is smaller than requested, and returns an error. A volume of unknown size, 0,
// is accepted.
func (p *csiProvisioner) refuseSmaller(ctx context.Context, volume *csi.Volume, req *csi.CreateVolumeRequest) error {
	got, want := volume.GetCapacityBytes(), req.GetCapacityRange().GetRequiredBytes()
	if got == 0 || got >= want {
		return nil
	}
	err := fmt.Errorf("created volume capacity %v less than requested capacity %v", got, want)
	if failed := p.cleanupVolume(ctx, volume.GetVolumeId(), req.GetSecrets()); failed != nil {
		return fmt.Errorf("%w. Cleanup of volume %s failed, volume is orphaned: %w", err, req.GetName(), failed)
	}
	return err
}

// cleanupVolume deletes a volume that has no object.
//
// Upstream: controller.go cleanupVolume, v6.4.
func (p *csiProvisioner) cleanupVolume(ctx context.Context, id string, secrets map[string]string) (err error) {
	ctx = control.WithTimeout(ctx, p.env, p.cfg.Timeout)
	for range deleteVolumeRetryCount {
		if _, err = p.driver.DeleteVolume(ctx, &csi.DeleteVolumeRequest{VolumeId: id, Secrets: secrets}); err == nil {
			return nil
		}
	}
	return err
}
