package openebs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/control"
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
	if err := p.makeDirectory(ctx, options.PVC, vol); err != nil {
		return nil, provisioner.ProvisioningFinished, err
	}
	return vol.persistentVolume(options), provisioner.ProvisioningFinished, nil
}

// makeDirectory makes the volume's directory, and limits it if it is to be
// limited.
func (p *Provisioner) makeDirectory(ctx context.Context, claim *v1.PersistentVolumeClaim, vol volume) error {
	if vol.owner != "" {
		p.trace(control.Decision{About: control.RefOf("PersistentVolumeClaim", claim), Text: fmt.Sprintf(
			"the volume's directory does not get the owner %s of %s: OpenEBS reads it and does nothing with it", vol.owner, keyFilePermissions)})
	}
	if err := p.runHelperPod(ctx, p.initPod(vol)); err != nil || vol.quota == nil {
		return err
	}
	return p.runHelperPod(ctx, p.quotaPod(vol))
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

// checkParameters refuses settings in the place where other provisioners have
// theirs. Upstream does not look there.
func checkParameters(class *storagev1.StorageClass) error {
	for _, name := range slices.Sorted(maps.Keys(class.Parameters)) {
		return fmt.Errorf("storage class %s has the parameter %s: %q; %s takes none, its settings are in the annotation %s",
			class.Name, name, class.Parameters[name], ProvisionerName, AnnCASConfig)
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
	if err := checkParameters(options.StorageClass); err != nil {
		return volume{}, err
	}
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
	vol, err := newVolume(options.PVName, dir, labels, node.Spec.Taints)
	if err != nil {
		return volume{}, err
	}
	if vol.mode, err = config.fileMode(); err != nil {
		return volume{}, err
	}
	if vol.owner, err = config.owner(); err != nil {
		return volume{}, err
	}
	size := options.PVC.Spec.Resources.Requests[v1.ResourceStorage]
	vol.quota, err = config.quota(options.PVName, size.Value())
	return vol, err
}
