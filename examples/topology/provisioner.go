package main

import (
	"context"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/provisioner"
)

const diskProvisioner = "disk.example.com"

// zonalDisks makes disks in a data centre with several zones: a disk can be
// attached to any machine of its own zone. zoneOf is by node.
type zonalDisks struct{ zoneOf map[string]string }

func (d zonalDisks) Provision(_ context.Context, options provisioner.ProvisionOptions) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	// Without a node it takes the first zone that the class allows.
	zone := options.StorageClass.AllowedTopologies[0].MatchLabelExpressions[0].Values[0]
	if options.SelectedNodeName != "" {
		zone = d.zoneOf[options.SelectedNodeName]
	}
	return &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: options.PVName},
		Spec: v1.PersistentVolumeSpec{
			AccessModes:                   options.PVC.Spec.AccessModes,
			PersistentVolumeReclaimPolicy: *options.StorageClass.ReclaimPolicy,
			Capacity:                      options.PVC.Spec.Resources.Requests,
			PersistentVolumeSource: v1.PersistentVolumeSource{
				CSI: &v1.CSIPersistentVolumeSource{Driver: diskProvisioner, VolumeHandle: options.PVName},
			},
			NodeAffinity: &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
				MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpIn, Values: []string{zone}}},
			}}}},
		},
	}, provisioner.ProvisioningFinished, nil
}

// Delete does nothing: no claim is deleted in this example.
func (zonalDisks) Delete(context.Context, *v1.PersistentVolume) error { return nil }
