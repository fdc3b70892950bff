package main

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/provisioner"
)

const provisionerName = "provisioner.test.com/nfs"

// nfsProvisioner is the document's: it makes nothing, since the export is there
// already; each volume it returns is the directory that the class names.
type nfsProvisioner struct{}

func (nfsProvisioner) Provision(_ context.Context, options provisioner.ProvisionOptions) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	if options.PVC.Spec.Selector != nil {
		return nil, provisioner.ProvisioningFinished, errors.New("claim Selector is not supported")
	}
	parameters := options.StorageClass.Parameters
	return &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: options.PVName},
		Spec: v1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: *options.StorageClass.ReclaimPolicy,
			AccessModes:                   options.PVC.Spec.AccessModes,
			MountOptions:                  options.StorageClass.MountOptions,
			Capacity: v1.ResourceList{
				v1.ResourceStorage: options.PVC.Spec.Resources.Requests[v1.ResourceStorage],
			},
			PersistentVolumeSource: v1.PersistentVolumeSource{
				NFS: &v1.NFSVolumeSource{
					Server:   parameters["server"],
					Path:     parameters["path"],
					ReadOnly: parameters["readOnly"] == "true",
				},
			},
		},
	}, provisioner.ProvisioningFinished, nil
}

// Delete has nothing to delete: Provision made nothing.
func (nfsProvisioner) Delete(context.Context, *v1.PersistentVolume) error { return nil }
