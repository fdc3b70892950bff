package clustertest

import (
	"context"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/provisioner"
	"github.com/storagesim/storagesim/trace"
)

// Slow makes a directory on an NFS server for each volume and then takes its time, in
// which its process may end, before it reports what it made.
type Slow struct {
	Env    control.Env
	Server *disk.Disk
}

// Provision makes the directory, and returns after ten seconds.
func (s *Slow) Provision(ctx context.Context, options provisioner.ProvisionOptions) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	at := "/srv/" + options.PVName
	if err := s.Server.MakeDir(at, 0o755); err != nil {
		return nil, provisioner.ProvisioningFinished, err
	}
	if err := s.Env.Sleep(ctx, 10*time.Second); err != nil {
		return nil, provisioner.ProvisioningInBackground, err
	}
	s.Env.Trace(trace.Asset{Op: trace.Made, Machine: "nfs/nas", Path: at, Volume: options.PVName, About: trace.RefOf("PersistentVolumeClaim", options.PVC)})
	return &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: options.PVName}, Spec: v1.PersistentVolumeSpec{
		Capacity: options.PVC.Spec.Resources.Requests, AccessModes: options.PVC.Spec.AccessModes, PersistentVolumeReclaimPolicy: v1.PersistentVolumeReclaimDelete,
		PersistentVolumeSource: v1.PersistentVolumeSource{NFS: &v1.NFSVolumeSource{Server: "nas", Path: at}},
	}}, provisioner.ProvisioningFinished, nil
}

// Delete deletes the directory.
func (s *Slow) Delete(_ context.Context, volume *v1.PersistentVolume) error {
	return s.Server.RemoveAll(volume.Spec.NFS.Path)
}

// Rogue is a shelf that changes the volume of a claim named "bad" before it returns it.
type Rogue struct {
	*Shelf
	Change func(*v1.PersistentVolume) (*v1.PersistentVolume, error)
}

// Provision returns what Change makes of the volume, if the claim is named "bad".
func (r *Rogue) Provision(ctx context.Context, options provisioner.ProvisionOptions) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	if options.PVC.Name != "bad" {
		return r.Shelf.Provision(ctx, options)
	}
	volume, _, _ := NewShelf().Provision(ctx, options)
	volume, err := r.Change(volume)
	return volume, provisioner.ProvisioningFinished, err
}

// ShelfName is the provisioner of the class shelf.
const ShelfName = "example.com/shelf"

// Shelf keeps volumes under their names, as the backend of an author does: to make one twice
// makes one.
type Shelf struct {
	Holds map[string]bool
	Made  map[string]int // how often each was put there, not counting repeats
	OnPut func(name string)
	// OnClean is called for an asset that StoreVolume deletes because its object could not be stored.
	OnClean func(volume *v1.PersistentVolume)
}

// NewShelf returns an empty shelf.
func NewShelf() *Shelf { return &Shelf{Holds: map[string]bool{}, Made: map[string]int{}} }

// Provision puts a volume on the shelf.
func (s *Shelf) Provision(_ context.Context, options provisioner.ProvisionOptions) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	if !s.Holds[options.PVName] {
		s.Holds[options.PVName] = true
		s.Made[options.PVName]++
	}
	if s.OnPut != nil {
		s.OnPut(options.PVName)
	}
	return &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: options.PVName},
		Spec: v1.PersistentVolumeSpec{
			Capacity:                      options.PVC.Spec.Resources.Requests,
			AccessModes:                   options.PVC.Spec.AccessModes,
			PersistentVolumeReclaimPolicy: *options.StorageClass.ReclaimPolicy,
			PersistentVolumeSource:        v1.PersistentVolumeSource{NFS: &v1.NFSVolumeSource{Server: "shelf", Path: "/" + options.PVName}},
		},
	}, provisioner.ProvisioningFinished, nil
}

// Delete takes it off.
func (s *Shelf) Delete(_ context.Context, volume *v1.PersistentVolume) error {
	if volume.Status.Phase == "" && s.OnClean != nil {
		s.OnClean(volume)
	}
	delete(s.Holds, volume.Name)
	return nil
}

// Volumes tells RequireNoLeaks what there is.
func (s *Shelf) Volumes(context.Context) ([]string, error) {
	var names []string
	for name := range s.Holds {
		names = append(names, name)
	}
	return names, nil
}

// ShelfClass is a class whose volumes are made at once.
const ShelfClass = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: shelf}
provisioner: example.com/shelf
`

// ShelfClaim returns a claim of the class shelf.
func ShelfClaim(name string) string {
	return strings.ReplaceAll(`
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: NAME}
spec:
  storageClassName: shelf
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
`, "NAME", name)
}
