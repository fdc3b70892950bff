package main

import (
	"context"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/provisioner"
)

const provisionerName = "provisioner.test.com/nfs"

// nfsProvisioner has something against most claims.
type nfsProvisioner struct{}

var _ provisioner.Qualifier = nfsProvisioner{}

// ShouldProvision makes it a provisioner.Qualifier: the library calls it before it
// looks at annotations or classes.
func (nfsProvisioner) ShouldProvision(_ context.Context, claim *v1.PersistentVolumeClaim) bool {
	return claim.Labels["storage"] != "by-arrangement"
}

func (nfsProvisioner) Provision(_ context.Context, options provisioner.ProvisionOptions) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	switch {
	case options.PVC.Annotations["site"] == "elsewhere":
		return nil, provisioner.ProvisioningFinished, &provisioner.IgnoredError{Reason: "its site has a server of its own"}
	case options.PVC.Spec.Selector != nil:
		return nil, provisioner.ProvisioningFinished, invalidArgumentError("claim Selector is not supported")
	}
	return &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: options.PVName},
		Spec: v1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: *options.StorageClass.ReclaimPolicy,
			AccessModes:                   options.PVC.Spec.AccessModes,
			Capacity:                      options.PVC.Spec.Resources.Requests,
			PersistentVolumeSource:        v1.PersistentVolumeSource{NFS: &v1.NFSVolumeSource{Server: "192.168.203.110", Path: "/data/nfs/" + options.PVName}},
		},
	}, provisioner.ProvisioningFinished, nil
}

func (nfsProvisioner) Delete(context.Context, *v1.PersistentVolume) error { return nil }

// invalidArgumentError is an error with a gRPC status. A real provisioner writes
// status.Error(codes.InvalidArgument, ...) of google.golang.org/grpc.
type invalidArgumentError string

func (e invalidArgumentError) Error() string {
	return "rpc error: code = InvalidArgument desc = " + string(e)
}
func (invalidArgumentError) GRPCStatus() *status { return &status{} }

type status struct{}

func (*status) Code() uint32 { return 3 }
