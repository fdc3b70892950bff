package openebs

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/provisioner"
)

// Provision makes the volume's directory on the selected node.
//
// Upstream: provisioner.go Provision and provisioner_hostpath.go
// ProvisionHostPath.
func (p *Provisioner) Provision(ctx context.Context, options provisioner.ProvisionOptions) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	if err := checkClaim(options.PVC); err != nil {
		return nil, provisioner.ProvisioningFinished, err
	}
	node, state, err := p.selectedNode(ctx, options.SelectedNodeName)
	if err != nil {
		return nil, state, err
	}
	vol, err := p.plan(options, node)
	if err != nil {
		return nil, provisioner.ProvisioningFinished, err
	}
	if err := p.runHelperPod(ctx, p.initPod(vol)); err != nil {
		return nil, provisioner.ProvisioningFinished, err
	}
	return vol.persistentVolume(options), provisioner.ProvisioningFinished, nil
}

// checkClaim says what the claim asks for that hostpath volumes do not have.
func checkClaim(claim *v1.PersistentVolumeClaim) error {
	if source := claim.Spec.DataSource; source != nil {
		return fmt.Errorf("dataSource %s %q is not supported by this provisioner", source.Kind, source.Name)
	}
	if source := claim.Spec.DataSourceRef; source != nil {
		return fmt.Errorf("dataSourceRef %s %q is not supported by this provisioner", source.Kind, source.Name)
	}
	if claim.Spec.Selector != nil {
		return errors.New("claim.Spec.Selector is not supported")
	}
	for _, mode := range claim.Spec.AccessModes {
		if mode != v1.ReadWriteOnce {
			return fmt.Errorf("access mode %s is not supported; only %s is", mode, v1.ReadWriteOnce)
		}
	}
	return nil
}

// selectedNode reads the node; the state goes with the error. A node that does
// not exist is for the scheduler to replace.
func (p *Provisioner) selectedNode(ctx context.Context, name string) (*v1.Node, provisioner.ProvisioningState, error) {
	if name == "" {
		return nil, provisioner.ProvisioningReschedule, errors.New("configuration error, no node was specified")
	}
	node, err := p.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, provisioner.ProvisioningReschedule, fmt.Errorf("the selected node is gone: %w", err)
	case err != nil:
		return nil, provisioner.ProvisioningNoChange, fmt.Errorf("cannot read the selected node: %w", err)
	case hostname(node) == "":
		return nil, provisioner.ProvisioningFinished, fmt.Errorf("configuration error, node %s has no %s label", name, v1.LabelHostname)
	}
	return node, "", nil
}

// plan decides where the volume goes.
func (p *Provisioner) plan(options provisioner.ProvisionOptions, node *v1.Node) (volume, error) {
	config, err := getVolumeConfig(p.cfg, options.StorageClass, options.PVC)
	if err != nil {
		return volume{}, err
	}
	kind := config.storageType()
	if mode := options.PVC.Spec.VolumeMode; mode != nil && *mode == v1.PersistentVolumeBlock && kind != "device" {
		return volume{}, fmt.Errorf("PV with BlockMode is not supported with StorageType %s", kind)
	}
	if kind != "hostpath" {
		return volume{}, fmt.Errorf("PV with StorageType %s is not supported; only hostpath is", kind)
	}
	labels, err := config.nodeAffinityLabels(node)
	if err != nil {
		return volume{}, err
	}
	dir, err := config.path(options.PVName)
	if err != nil {
		return volume{}, err
	}
	return newVolume(options.PVName, dir, labels, node.Spec.Taints)
}
