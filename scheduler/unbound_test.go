package scheduler_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/provisioner"
	"github.com/storagesim/storagesim/storagesimtest"
)

// roomOn is a provisioner that has room on one node only, and says Reschedule of the others.
type roomOn struct {
	node  string
	asked *[]string
}

func (r roomOn) Provision(_ context.Context, o provisioner.ProvisionOptions) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	*r.asked = append(*r.asked, o.SelectedNodeName)
	if o.SelectedNodeName != r.node {
		return nil, provisioner.ProvisioningReschedule, errors.New("no room on " + o.SelectedNodeName)
	}
	return &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: o.PVName},
		Spec: v1.PersistentVolumeSpec{
			Capacity: o.PVC.Spec.Resources.Requests, AccessModes: o.PVC.Spec.AccessModes, PersistentVolumeReclaimPolicy: *o.StorageClass.ReclaimPolicy,
			PersistentVolumeSource: v1.PersistentVolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/" + o.PVName}},
		},
	}, provisioner.ProvisioningFinished, nil
}

func (roomOn) Delete(context.Context, *v1.PersistentVolume) error { return nil }

// Upstream's choice among equal nodes depends on its threads, so that a pod is not sent to the same full node for ever.
func TestAPodWhoseVolumeIsNotMadeOnANodeIsTriedOnTheNextOfEqualOnes(t *testing.T) {
	for node, want := range map[string][]string{
		"node-1": {"node-1"},
		"node-2": {"node-1", "node-1", "node-2"},
		"node-3": {"node-1", "node-1", "node-2", "node-3"},
	} {
		c := storagesimtest.New(t, storagesim.Config{Nodes: storagesim.Nodes("node-1", "node-2", "node-3")})
		var asked []string
		c.AddProvisioner("example.com/disks", roomOn{node, &asked})
		c.Apply(`
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: disks}
provisioner: example.com/disks
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {storageClassName: disks, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: c, image: busybox, command: [sleep, infinity]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`)
		c.RunFor(2 * time.Minute)
		c.RequireRunning("web")
		require.Equal(t, want, asked)
		require.Equal(t, node, c.Pod("web").Spec.NodeName)
	}
}
