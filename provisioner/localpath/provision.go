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
// Upstream: provisioner.go Provision and provisionFor, v0.0.37.
func (p *Provisioner) Provision(ctx context.Context, options provisioner.ProvisionOptions) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	config, template, err := p.configuration(ctx)
	if err != nil {
		return nil, provisioner.ProvisioningFinished, err
	}
	class, err := config.pickConfig(options.StorageClass.Name)
	if err != nil {
		return nil, provisioner.ProvisioningFinished, err
	}
	if err := checkClaim(options.PVC, class.isShared()); err != nil {
		return nil, provisioner.ProvisioningFinished, err
	}
	node, state, err := p.selectedNode(ctx, options.SelectedNodeName, class.isShared())
	if err != nil {
		return nil, state, err
	}
	vol, err := p.plan(options, class, node)
	if err == nil {
		err = p.runHelperPod(ctx, actionCreate, config, template, vol)
	}
	if err != nil {
		return nil, provisioner.ProvisioningFinished, err
	}
	return vol.persistentVolume(options), provisioner.ProvisioningFinished, nil
}

// checkClaim says what the claim asks for that cannot be had.
func checkClaim(claim *v1.PersistentVolumeClaim, shared bool) error {
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
		if !shared && mode != v1.ReadWriteOnce && mode != v1.ReadWriteOncePod {
			return fmt.Errorf("access mode %s is not supported; NodePath only supports %s and %s", mode, v1.ReadWriteOnce, v1.ReadWriteOncePod)
		}
	}
	return nil
}

// selectedNode reads the node; the state goes with the error. A shared file
// system needs none. Unlike OpenEBS, a claim without a node is not given back to
// the scheduler; one whose node is gone is.
func (p *Provisioner) selectedNode(ctx context.Context, name string, shared bool) (*v1.Node, provisioner.ProvisioningState, error) {
	if name == "" {
		if shared {
			return nil, "", nil
		}
		return nil, provisioner.ProvisioningFinished, errors.New("configuration error, no node was specified")
	}
	node, err := p.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, provisioner.ProvisioningReschedule, fmt.Errorf("the selected node is gone: %w", err)
	case err != nil:
		return nil, provisioner.ProvisioningNoChange, fmt.Errorf("cannot read the selected node: %w", err)
	}
	return node, "", nil
}

// plan decides where the volume goes.
func (p *Provisioner) plan(options provisioner.ProvisionOptions, class classConfig, node *v1.Node) (volume, error) {
	params, err := parseParameters(options.StorageClass, options.PVC)
	if err != nil {
		return volume{}, err
	}
	vol := volume{name: options.PVName, kind: params.volumeType, shared: class.isShared(), mode: v1.PersistentVolumeFilesystem}
	if node != nil {
		vol.node = node.Name
	}
	base, err := class.getPathOnNode(vol.node, params.nodePath, p.env.Choose)
	if err != nil {
		return volume{}, err
	}
	folder, err := folderName(options, params)
	if err != nil {
		return volume{}, err
	}
	vol.path = path.Join(base, folder)
	if size, ok := options.PVC.Spec.Resources.Requests[v1.ResourceStorage]; ok {
		vol.size = size.Value()
	}
	if mode := options.PVC.Spec.VolumeMode; mode != nil {
		vol.mode = *mode
	}
	if !vol.shared {
		vol.affinityKey, vol.affinityValue = affinity(node, params.nodeAffinityKey)
	}
	return vol, nil
}

// affinity is the label that ties a volume to its node. A node without it is
// known by its name.
func affinity(node *v1.Node, key string) (string, string) {
	if value, ok := node.Labels[key]; ok {
		return key, value
	}
	return key, node.Name
}
