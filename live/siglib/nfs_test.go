package siglib_test

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

const provisionerName = "provisioner.test.com/nfs"

// nfsProvisioner is the provisioner of a well-known introduction to the library: it
// makes no directory, only the PersistentVolume for a share that exists.
type nfsProvisioner struct {
	provision func() (controller.ProvisioningState, error) // asked first, if set
}

var _ controller.Provisioner = (*nfsProvisioner)(nil)

func (p *nfsProvisioner) Provision(_ context.Context, options controller.ProvisionOptions) (*v1.PersistentVolume, controller.ProvisioningState, error) {
	if options.PVC.Spec.Selector != nil {
		return nil, controller.ProvisioningFinished, errors.New("claim Selector is not supported")
	}
	if p.provision != nil {
		if state, err := p.provision(); err != nil {
			return nil, state, err
		}
	}
	return &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: options.PVName},
		Spec: v1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: *options.StorageClass.ReclaimPolicy,
			AccessModes:                   options.PVC.Spec.AccessModes,
			MountOptions:                  options.StorageClass.MountOptions,
			Capacity:                      v1.ResourceList{v1.ResourceStorage: options.PVC.Spec.Resources.Requests[v1.ResourceStorage]},
			PersistentVolumeSource: v1.PersistentVolumeSource{NFS: &v1.NFSVolumeSource{
				Server:   options.StorageClass.Parameters["server"],
				Path:     options.StorageClass.Parameters["path"],
				ReadOnly: options.StorageClass.Parameters["readOnly"] == "true",
			}},
		},
	}, controller.ProvisioningFinished, nil
}

// Delete has nothing to remove.
func (p *nfsProvisioner) Delete(context.Context, *v1.PersistentVolume) error { return nil }
