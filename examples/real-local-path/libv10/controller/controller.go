// Package controller has the names of the provisioner library's v10, and is its v13. Two
// things have changed between them: the constructor took a logger in v10 and takes a
// context with a logger in v13, and Provision got the selected node in v10 and gets its
// name in v13. A program that was written for v10 is built with it, unmodified, by a
// replace directive:
//
//	replace sigs.k8s.io/sig-storage-lib-external-provisioner/v10 => ./libv10
package controller

import (
	"context"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

// ProvisionController is v13's.
type ProvisionController = controller.ProvisionController

// ProvisioningState is v13's.
type ProvisioningState = controller.ProvisioningState

// Provisioner is the interface that a program implements.
type Provisioner interface {
	// Provision makes a volume.
	Provision(ctx context.Context, options ProvisionOptions) (*v1.PersistentVolume, ProvisioningState, error)
	// Delete removes it.
	Delete(ctx context.Context, volume *v1.PersistentVolume) error
}

// ProvisionOptions are v10's.
type ProvisionOptions struct {
	StorageClass *storagev1.StorageClass
	PVName       string
	PVC          *v1.PersistentVolumeClaim
	// SelectedNode is nil if the scheduler has chosen none.
	SelectedNode *v1.Node
}

// adapter is a Provisioner of v10 for v13.
type adapter struct {
	Provisioner
	client kubernetes.Interface
}

// Provision reads the node, as the controller of v10 did.
func (a adapter) Provision(ctx context.Context, o controller.ProvisionOptions) (*v1.PersistentVolume, ProvisioningState, error) {
	options := ProvisionOptions{StorageClass: o.StorageClass, PVName: o.PVName, PVC: o.PVC}
	if o.SelectedNodeName != "" {
		node, err := a.client.CoreV1().Nodes().Get(ctx, o.SelectedNodeName, metav1.GetOptions{})
		if err != nil {
			return nil, ProvisioningNoChange, err
		}
		options.SelectedNode = node
	}
	return a.Provisioner.Provision(ctx, options)
}

// What a call of Provision says of the volume.
const (
	ProvisioningFinished     = controller.ProvisioningFinished
	ProvisioningInBackground = controller.ProvisioningInBackground
	ProvisioningNoChange     = controller.ProvisioningNoChange
)

// The library's defaults.
const (
	DefaultThreadiness              = controller.DefaultThreadiness
	DefaultFailedProvisionThreshold = controller.DefaultFailedProvisionThreshold
	DefaultFailedDeleteThreshold    = controller.DefaultFailedDeleteThreshold
)

// The options that provisioners give.
var (
	LeaderElection           = controller.LeaderElection
	FailedProvisionThreshold = controller.FailedProvisionThreshold
	FailedDeleteThreshold    = controller.FailedDeleteThreshold
	Threadiness              = controller.Threadiness
)

// NewProvisionController has the signature of v10's.
func NewProvisionController(
	logger klog.Logger, client kubernetes.Interface, name string, p Provisioner, options ...func(*ProvisionController) error,
) *ProvisionController {
	return controller.NewProvisionController(klog.NewContext(context.Background(), logger), client, name, adapter{p, client}, options...)
}
