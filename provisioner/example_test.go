package provisioner_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/provisioner"
)

// nas is all that an author writes.
type nas struct{ exports map[string]bool }

func (n *nas) Provision(_ context.Context, options provisioner.ProvisionOptions) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	n.exports[options.PVName] = true
	return &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: options.PVName},
		Spec: v1.PersistentVolumeSpec{
			Capacity:                      options.PVC.Spec.Resources.Requests,
			AccessModes:                   options.PVC.Spec.AccessModes,
			PersistentVolumeReclaimPolicy: *options.StorageClass.ReclaimPolicy,
			PersistentVolumeSource:        v1.PersistentVolumeSource{NFS: &v1.NFSVolumeSource{Server: "nas", Path: "/exports/" + options.PVName}},
		},
	}, provisioner.ProvisioningFinished, nil
}

func (n *nas) Delete(_ context.Context, volume *v1.PersistentVolume) error {
	delete(n.exports, volume.Name)
	return nil
}

const exampleManifests = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: nas}
provisioner: example.com/nas
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  storageClassName: nas
  accessModes: [ReadWriteMany]
  resources: {requests: {storage: 1Gi}}
`

// A provisioner, and its test: it is full twice, then its answer is lost, and in
// the end the claim is bound and one export is there.
func Example() {
	c, err := storagesim.New(storagesim.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	backend := &nas{exports: map[string]bool{}}
	faulty := &provisioner.Faulty{Provisioner: backend}
	faulty.OnProvision(
		provisioner.Answer{Err: errors.New("full"), Times: 2},
		provisioner.Answer{AnswerLost: true},
	)
	if err := errors.Join(c.AddProvisioner("example.com/nas", faulty), c.Apply(exampleManifests), c.RunFor(5*time.Minute)); err != nil {
		fmt.Println(err)
		return
	}
	claim, err := c.Claim("data")
	if err != nil {
		fmt.Println(err)
		return
	}
	counters, err := c.Lab().Counters("example.com/nas")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(claim.Status.Phase, len(backend.exports))
	fmt.Println("failed:", counters.PersistentVolumeClaimProvisionFailedTotal.Sum())
	// Output:
	// Bound 1
	// failed: 3
}
