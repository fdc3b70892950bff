// Package nfs is a small provisioner such as you might write: each claim gets an
// export of its own on an NFS server. The server here is a map in memory.
package nfs

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/provisioner"
)

// Server is the backend. It does not crash when the provisioner does.
type Server struct {
	mu      sync.Mutex
	exports map[string]int64 // name -> size in bytes
}

// Export makes an export, or finds the one of that name.
func (s *Server) Export(name string, size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.exports == nil {
		s.exports = map[string]int64{}
	}
	s.exports[name] = size
}

// Remove removes an export. One that is gone already is no error.
func (s *Server) Remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.exports, name)
}

// Exports returns the names of all exports.
func (s *Server) Exports() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.exports))
}

// Provisioner makes an export for each claim.
type Provisioner struct {
	Address string
	Server  *Server
}

var (
	_ provisioner.Provisioner = (*Provisioner)(nil)
	_ provisioner.Inventory   = (*Provisioner)(nil)
)

// Provision implements provisioner.Provisioner. It may be called again for the
// same claim, so it names the export after the volume and finds it again.
func (p *Provisioner) Provision(_ context.Context, options provisioner.ProvisionOptions) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	if options.PVC.Spec.Selector != nil {
		return nil, provisioner.ProvisioningFinished, errors.New("spec.selector of the claim is not supported")
	}
	size := options.PVC.Spec.Resources.Requests[v1.ResourceStorage]
	p.Server.Export(options.PVName, size.Value())

	return &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: options.PVName},
		Spec: v1.PersistentVolumeSpec{
			Capacity:                      v1.ResourceList{v1.ResourceStorage: size},
			AccessModes:                   options.PVC.Spec.AccessModes,
			PersistentVolumeReclaimPolicy: *options.StorageClass.ReclaimPolicy,
			MountOptions:                  options.StorageClass.MountOptions,
			PersistentVolumeSource: v1.PersistentVolumeSource{
				NFS: &v1.NFSVolumeSource{Server: p.Address, Path: "/" + options.PVName},
			},
		},
	}, provisioner.ProvisioningFinished, nil
}

// Delete implements provisioner.Provisioner.
func (p *Provisioner) Delete(_ context.Context, volume *v1.PersistentVolume) error {
	if volume.Spec.NFS == nil || volume.Spec.NFS.Server != p.Address {
		return &provisioner.IgnoredError{Reason: "it is on another server"}
	}
	p.Server.Remove(volume.Name)
	return nil
}

// Volumes implements provisioner.Inventory: with it, RequireNoLeaks also looks
// at the server.
func (p *Provisioner) Volumes(context.Context) ([]string, error) { return p.Server.Exports(), nil }
