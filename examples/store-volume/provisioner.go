package main

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/provisioner"
)

const provisionerName = "example.com/shelf"

// shelf keeps its volumes in memory, which is enough to lose one.
type shelf struct {
	holds  []string
	labels map[string]string // never made: writing into it panics
	bug    int               // how many calls of Provision run into it
}

var _ provisioner.Inventory = (*shelf)(nil)

func (s *shelf) Provision(_ context.Context, options provisioner.ProvisionOptions) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	if !slices.Contains(s.holds, options.PVName) {
		s.holds = append(s.holds, options.PVName)
	}
	if s.bug > 0 {
		s.bug--
		s.labels[options.PVName] = options.PVC.Name
	}
	return &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: options.PVName},
		Spec: v1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: *options.StorageClass.ReclaimPolicy,
			AccessModes:                   options.PVC.Spec.AccessModes,
			Capacity:                      options.PVC.Spec.Resources.Requests,
			PersistentVolumeSource:        v1.PersistentVolumeSource{NFS: &v1.NFSVolumeSource{Server: "shelf", Path: "/" + options.PVName}},
		},
	}, provisioner.ProvisioningFinished, nil
}

func (s *shelf) Delete(_ context.Context, volume *v1.PersistentVolume) error {
	s.holds = slices.DeleteFunc(s.holds, func(name string) bool { return name == volume.Name })
	return nil
}

// Volumes returns the volumes of the backend, for RequireNoLeaks.
func (s *shelf) Volumes(context.Context) ([]string, error) { return s.holds, nil }
