// Package disks is a provisioner that makes a disk of a cloud for each claim.
package disks

import (
	"context"
	"path"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"example.com/storagesim-learn/backend"

	"github.com/storagesim/storagesim/provisioner"
)

// Provisioner makes a disk for each claim.
type Provisioner struct {
	cloud  *backend.Cloud
	client kubernetes.Interface
}

// New makes the provisioner. It is called when the process starts: after a crash it is called again, and what was in memory is
// gone. client talks to the API server.
func New(cloud *backend.Cloud, client kubernetes.Interface) provisioner.Provisioner {
	return &Provisioner{cloud: cloud, client: client}
}

// Start implements provisioner.Starter: it is called before any other method. A new process begins with a clean cloud.
func (p *Provisioner) Start(context.Context) {
	for _, id := range p.cloud.Disks() {
		_ = p.cloud.Delete(id)
	}
}

// Provision implements provisioner.Provisioner.
func (p *Provisioner) Provision(_ context.Context, options provisioner.ProvisionOptions) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	id, ok := p.cloud.Find(options.PVName)
	if !ok {
		id = p.cloud.Create(options.PVName)
	}
	return volume(options, id), provisioner.ProvisioningFinished, nil
}

// Delete implements provisioner.Provisioner.
func (p *Provisioner) Delete(_ context.Context, pv *v1.PersistentVolume) error {
	id := path.Base(pv.Spec.HostPath.Path)
	if p.cloud.Label(id) == "" {
		return nil // an earlier call has deleted it
	}
	return p.cloud.Delete(id)
}

// volume returns the object that stands for a disk.
func volume(options provisioner.ProvisionOptions, id string) *v1.PersistentVolume {
	return &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: options.PVName},
		Spec: v1.PersistentVolumeSpec{
			Capacity:                      v1.ResourceList{v1.ResourceStorage: options.PVC.Spec.Resources.Requests[v1.ResourceStorage]},
			AccessModes:                   options.PVC.Spec.AccessModes,
			PersistentVolumeReclaimPolicy: *options.StorageClass.ReclaimPolicy,
			PersistentVolumeSource:        v1.PersistentVolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/disks/" + id}},
		},
	}
}
