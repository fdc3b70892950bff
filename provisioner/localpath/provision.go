package localpath

import (
	"context"
	"errors"
	"fmt"
	"path"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/provisioner"
)

// Provision makes the volume's directory on the selected node.
//
// Upstream: provisioner.go Provision, v0.0.37.
func (p *localPathProvisioner) Provision(ctx context.Context, options provisioner.ProvisionOptions) (*v1.PersistentVolume,
	provisioner.ProvisioningState, error) {
	node, state, err := p.selectedNode(ctx, options.SelectedNodeName)
	if err != nil {
		return nil, state, err
	}
	pv, err := p.provisionFor(ctx, options, node)
	return pv, provisioner.ProvisioningFinished, err
}

// selectedNode reads the node; the state goes with the error.
//
// Upstream: sig-storage-lib-external-provisioner, controller.go
// provisionClaimOperation, v11, which hands the node to Provision.
func (p *localPathProvisioner) selectedNode(ctx context.Context, name string) (*v1.Node, provisioner.ProvisioningState, error) {
	if name == "" {
		return nil, "", nil
	}
	node, err := p.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, provisioner.ProvisioningReschedule, err
	case err != nil:
		return nil, provisioner.ProvisioningNoChange, fmt.Errorf("failed to get target node: %w", err)
	}
	return node, "", nil
}

// provisionFor makes the directory and then the volume. What is wrong with the
// claim's volume type is found last, when there is a directory already.
//
// Upstream: provisioner.go provisionFor, v0.0.37.
func (p *localPathProvisioner) provisionFor(ctx context.Context, options provisioner.ProvisionOptions, node *v1.Node) (*v1.PersistentVolume, error) {
	config, template, err := p.configuration(ctx)
	if err != nil {
		return nil, err
	}
	p.traceIgnored(options)
	class, err := config.pickConfig(options.StorageClass.Name)
	if err != nil {
		return nil, err
	}
	vol, err := p.plan(options, class, node)
	if err != nil {
		return nil, err
	}
	if err := p.createHelperPod(ctx, actionCreate, config, template, vol); err != nil {
		return nil, err
	}
	return vol.persistentVolume(options)
}

// checkClaim says what a claim asks for that a directory of one node cannot be.
//
// Upstream: provisioner.go provisionFor, v0.0.37.
func checkClaim(claim *v1.PersistentVolumeClaim, node *v1.Node) error {
	if claim.Spec.Selector != nil {
		return errors.New("claim.Spec.Selector is not supported")
	}
	for _, mode := range claim.Spec.AccessModes {
		if mode != v1.ReadWriteOnce && mode != v1.ReadWriteOncePod {
			return errors.New("NodePath only supports ReadWriteOnce and ReadWriteOncePod (1.22+) access modes")
		}
	}
	if node == nil {
		return errors.New("configuration error, no node was specified")
	}
	return nil
}

// plan decides where the volume goes.
//
// Upstream: provisioner.go provisionFor, v0.0.37.
func (p *localPathProvisioner) plan(options provisioner.ProvisionOptions, class classConfig, node *v1.Node) (vol volume, err error) {
	vol = volume{name: options.PVName, mode: v1.PersistentVolumeFilesystem}
	if vol.shared, err = class.isSharedFilesystem(); err != nil {
		return volume{}, err
	}
	if !vol.shared {
		if err := checkClaim(options.PVC, node); err != nil {
			return volume{}, err
		}
		vol.affinityKey, vol.affinityValue = affinity(node, nodeAffinityKey(options.StorageClass))
	}
	if node != nil {
		vol.node = node.Name
	}
	base, err := class.getPathOnNode(vol.node, options.StorageClass.Parameters[paramNodePath], p.env.Choose)
	if err != nil {
		return volume{}, err
	}
	folder, err := folderName(options)
	if err != nil {
		return volume{}, err
	}
	vol.path = path.Join(base, folder)
	if vol.ownership, err = ownershipOf(options); err != nil {
		return volume{}, err
	}
	if size, ok := options.PVC.Spec.Resources.Requests[v1.ResourceStorage]; ok {
		vol.size = size.Value()
	}
	if mode := options.PVC.Spec.VolumeMode; mode != nil {
		vol.mode = *mode
	}
	return vol, nil
}

// affinity returns the label that ties a volume to its node. A node without it is
// known by its name.
func affinity(node *v1.Node, key string) (string, string) {
	if value, ok := node.Labels[key]; ok {
		return key, value
	}
	return key, node.Name
}
