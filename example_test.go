package storagesim_test

import (
	"context"
	"sync"
	"testing"

	"github.com/storagesim/storagesim/storagesimtest"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/provisioner"
)

const manifests = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: nfs}
provisioner: example.com/nfs
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  storageClassName: nfs
  accessModes: [ReadWriteMany]
  resources: {requests: {storage: 1Gi}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  volumes:
  - name: data
    persistentVolumeClaim: {claimName: data}
  containers:
  - name: web
    image: nginx
    volumeMounts:
    - {name: data, mountPath: /data}
`

// myProvisioner keeps its volumes in a map.
type myProvisioner struct {
	mu    sync.Mutex
	holds map[string]bool
}

func (p *myProvisioner) Provision(_ context.Context, o provisioner.ProvisionOptions) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.holds == nil {
		p.holds = map[string]bool{}
	}
	p.holds[o.PVName] = true
	return &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: o.PVName},
		Spec: v1.PersistentVolumeSpec{
			Capacity:                      o.PVC.Spec.Resources.Requests,
			AccessModes:                   o.PVC.Spec.AccessModes,
			PersistentVolumeReclaimPolicy: *o.StorageClass.ReclaimPolicy,
			PersistentVolumeSource:        v1.PersistentVolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/exports/" + o.PVName}},
		},
	}, provisioner.ProvisioningFinished, nil
}

func (p *myProvisioner) Delete(_ context.Context, pv *v1.PersistentVolume) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.holds, pv.Name)
	return nil
}

// Volumes tells RequireNoLeaks what there is.
func (p *myProvisioner) Volumes(context.Context) ([]string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var names []string
	for name := range p.holds {
		names = append(names, name)
	}
	return names, nil
}

func TestMyProvisioner(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Nodes: storagesim.Nodes("node-1", "node-2")})
	c.AddProvisioner("example.com/nfs", &myProvisioner{}) // a provisioner.Provisioner
	c.Apply(manifests)                                    // YAML, as kubectl apply
	c.Settle()
	require.Equal(t, v1.ClaimBound, c.Claim("default/data").Status.Phase)
	c.Delete("pod/default/web", "pvc/default/data")
	c.Settle()
	c.RequireNoLeaks() // backend, API objects, mounts and directories agree
}
