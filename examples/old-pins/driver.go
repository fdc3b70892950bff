// Package olddriver is a provisioner with an older library, whose go.mod pins older releases of Kubernetes.
package olddriver

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v10/controller"
)

// Provisioner makes a directory for each claim, on the node that the scheduler has chosen.
type Provisioner struct{}

var _ controller.Provisioner = Provisioner{}

// Provision implements controller.Provisioner.
func (Provisioner) Provision(_ context.Context, options controller.ProvisionOptions) (*v1.PersistentVolume, controller.ProvisioningState, error) {
	if options.SelectedNode == nil {
		return nil, controller.ProvisioningFinished, fmt.Errorf("class %s: volumeBindingMode must be WaitForFirstConsumer", options.StorageClass.Name)
	}
	directory := v1.HostPathDirectoryOrCreate
	return &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: options.PVName, Annotations: map[string]string{"example.com/node": options.SelectedNode.Name}},
		Spec: v1.PersistentVolumeSpec{
			Capacity: options.PVC.Spec.Resources.Requests, AccessModes: options.PVC.Spec.AccessModes,
			PersistentVolumeReclaimPolicy: *options.StorageClass.ReclaimPolicy,
			PersistentVolumeSource: v1.PersistentVolumeSource{
				HostPath: &v1.HostPathVolumeSource{Path: "/volumes/" + options.PVName, Type: &directory},
			},
		},
	}, controller.ProvisioningFinished, nil
}

// Delete implements controller.Provisioner.
func (Provisioner) Delete(context.Context, *v1.PersistentVolume) error { return nil }
