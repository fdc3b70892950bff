package main

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/provisioner"
)

const diskProvisioner = "disk.example.com"

// disks gives claims the node's disk, one for each node, mounted at /disk.
type disks struct{ taken map[string]bool }

func (d disks) Provision(_ context.Context, options provisioner.ProvisionOptions) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	node := options.SelectedNodeName
	if d.taken[node] {
		return nil, provisioner.ProvisioningReschedule, fmt.Errorf("the disk of %s is taken", node)
	}
	d.taken[node] = true
	return &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: options.PVName},
		Spec: v1.PersistentVolumeSpec{
			AccessModes:                   options.PVC.Spec.AccessModes,
			PersistentVolumeReclaimPolicy: *options.StorageClass.ReclaimPolicy,
			Capacity:                      options.PVC.Spec.Resources.Requests,
			PersistentVolumeSource:        v1.PersistentVolumeSource{Local: &v1.LocalVolumeSource{Path: "/disk"}},
			NodeAffinity: &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
				MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: []string{node}}},
			}}}},
		},
	}, provisioner.ProvisioningFinished, nil
}

// Delete does nothing: no claim is deleted in this example.
func (d disks) Delete(context.Context, *v1.PersistentVolume) error { return nil }
