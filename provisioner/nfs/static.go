package nfs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/provisioner"
)

// StaticName is the name, in classes, of the provisioner that makes no directories.
const StaticName = "provisioner.test.com/nfs"

// The parameters of its classes.
const (
	paramServer   = "server"
	paramPath     = "path"
	paramReadOnly = "readOnly"
)

// Static is a provisioner whose volumes are the server and path that their class names. It makes
// no directory: the export must exist. Its zero value works.
//
// Upstream: the program nfsProvisioner of the document on Kubernetes' storage.
type Static struct{}

var _ provisioner.Provisioner = Static{}

// Provision returns the volume.
func (Static) Provision(_ context.Context, options provisioner.ProvisionOptions) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	if err := checkClaim(options.PVC); err != nil {
		return nil, provisioner.ProvisioningFinished, err
	}
	source, err := staticSource(options.StorageClass)
	if err != nil {
		return nil, provisioner.ProvisioningFinished, err
	}
	return persistentVolume(options, source), provisioner.ProvisioningFinished, nil
}

// Delete has nothing to delete: Provision made nothing.
func (Static) Delete(context.Context, *v1.PersistentVolume) error { return nil }

// staticSource reads the parameters of the class.
func staticSource(class *storagev1.StorageClass) (*v1.NFSVolumeSource, error) {
	if err := checkParameters(class, paramServer, paramPath, paramReadOnly); err != nil {
		return nil, err
	}
	source := &v1.NFSVolumeSource{Server: class.Parameters[paramServer], Path: class.Parameters[paramPath]}
	switch readOnly := class.Parameters[paramReadOnly]; {
	case source.Server == "":
		return nil, fmt.Errorf("storage class %s has no parameter %s; it must be the NFS server's name or address", class.Name, paramServer)
	case !path.IsAbs(source.Path) || slices.Contains(strings.Split(source.Path, "/"), ".."):
		return nil, fmt.Errorf("storage class %s has %s %q; it must be an absolute path without %q", class.Name, paramPath, source.Path, "..")
	case readOnly != "" && readOnly != "true" && readOnly != "false":
		return nil, fmt.Errorf("storage class %s has %s %q; it must be true or false", class.Name, paramReadOnly, readOnly)
	default:
		source.ReadOnly = readOnly == "true"
	}
	return source, nil
}

// checkParameters refuses unknown parameters.
func checkParameters(class *storagev1.StorageClass, known ...string) error {
	for _, name := range slices.Sorted(maps.Keys(class.Parameters)) {
		if !slices.Contains(known, name) {
			return fmt.Errorf("storage class %s has the unknown parameter %q; allowed are %s", class.Name, name, strings.Join(known, ", "))
		}
	}
	return nil
}

// checkClaim says what the claim asks for that cannot be had.
func checkClaim(claim *v1.PersistentVolumeClaim) error {
	if source := claim.Spec.DataSource; source != nil {
		return fmt.Errorf("dataSource %s %q is not supported by this provisioner", source.Kind, source.Name)
	}
	if source := claim.Spec.DataSourceRef; source != nil {
		return fmt.Errorf("dataSourceRef %s %q is not supported by this provisioner", source.Kind, source.Name)
	}
	if claim.Spec.Selector != nil {
		return errors.New("claim Selector is not supported")
	}
	return nil
}

// persistentVolume returns the object that stands for the directory.
func persistentVolume(options provisioner.ProvisionOptions, source *v1.NFSVolumeSource) *v1.PersistentVolume {
	policy := v1.PersistentVolumeReclaimDelete
	if options.StorageClass.ReclaimPolicy != nil {
		policy = *options.StorageClass.ReclaimPolicy
	}
	return &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: options.PVName},
		Spec: v1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: policy,
			AccessModes:                   options.PVC.Spec.AccessModes,
			MountOptions:                  options.StorageClass.MountOptions,
			Capacity:                      v1.ResourceList{v1.ResourceStorage: options.PVC.Spec.Resources.Requests[v1.ResourceStorage]},
			PersistentVolumeSource:        v1.PersistentVolumeSource{NFS: source},
		},
	}
}
