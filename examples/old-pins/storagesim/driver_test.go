// Package storagesim tests a provisioner with an older library, whose own module pins older releases of Kubernetes.
package storagesim_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v10/controller"

	olddriver "example.com/old-driver"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/provisioner"
	"github.com/storagesim/storagesim/storagesimtest"
)

// adapted is a provisioner of the library's versions 6 to 10 under the controller of storagesim.
type adapted struct {
	controller.Provisioner
	client kubernetes.Interface
}

// Provision asks the older type. The selected node is an object there.
func (a adapted) Provision(ctx context.Context, o provisioner.ProvisionOptions) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	options := controller.ProvisionOptions{StorageClass: o.StorageClass, PVName: o.PVName, PVC: o.PVC}
	if o.SelectedNodeName != "" {
		node, err := a.client.CoreV1().Nodes().Get(ctx, o.SelectedNodeName, metav1.GetOptions{})
		if err != nil {
			return nil, provisioner.ProvisioningNoChange, err
		}
		options.SelectedNode = node
	}
	pv, state, err := a.Provisioner.Provision(ctx, options)
	return pv, provisioner.ProvisioningState(state), err
}

const manifests = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: CLASS}
provisioner: example.com/old-driver
volumeBindingMode: MODE
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {storageClassName: CLASS, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: c, image: nginx, volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`

// inMode returns the manifests with a class of that volumeBindingMode.
func inMode(mode string) string {
	return strings.NewReplacer("CLASS", strings.ToLower(mode), "MODE", mode).Replace(manifests)
}

func TestAProvisionerOfAnOlderLibraryIsCalled(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.AddProvisioner("example.com/old-driver", adapted{olddriver.Provisioner{}, c.Client()})
	c.Apply(inMode("WaitForFirstConsumer"))
	c.Settle()
	c.RequireRunning("web")
	require.Equal(t, "node-1", c.Volume(c.Claim("data").Spec.VolumeName).Annotations["example.com/node"])

	c = storagesimtest.New(t, storagesim.Config{})
	c.AddProvisioner("example.com/old-driver", adapted{olddriver.Provisioner{}, c.Client()})
	c.Apply(inMode("Immediate"))
	c.Settle()
	require.Contains(t, c.Explain("pvc/data"), "class immediate: volumeBindingMode must be WaitForFirstConsumer")
}
