package openebs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/provisioner"
	"github.com/storagesim/storagesim/trace"
)

// Provision makes the volume's directory on the selected node.
//
// Upstream: provisioner.go Provision and provisioner_hostpath.go
// ProvisionHostPath.
func (p *hostpathProvisioner) Provision(ctx context.Context, options provisioner.ProvisionOptions) (*v1.PersistentVolume,
	provisioner.ProvisioningState, error) {
	node, state, err := p.selectedNode(ctx, options.SelectedNodeName)
	if err != nil {
		return nil, state, err
	}
	if err := checkClaim(options.PVC); err != nil {
		return nil, provisioner.ProvisioningFinished, err
	}
	switch {
	case node == nil:
		return nil, provisioner.ProvisioningReschedule, errors.New("configuration error, no node was specified")
	case hostname(node) == "":
		return nil, provisioner.ProvisioningFinished, fmt.Errorf("configuration error, node{%s} hostname is empty", node.Name)
	}
	p.traceParameters(options)
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
func (p *hostpathProvisioner) makeDirectory(ctx context.Context, claim *v1.PersistentVolumeClaim, vol volume) error {
	if vol.owner != "" {
		p.trace(trace.Decision{About: trace.RefOf("PersistentVolumeClaim", claim), Text: fmt.Sprintf(
			"the volume's directory does not get the owner %s of %s: OpenEBS reads it and does nothing with it", vol.owner, keyFilePermissions)})
	}
	if err := p.runHelperPod(ctx, p.initPod(vol)); err != nil || vol.quota == nil {
		return err
	}
	return p.runHelperPod(ctx, p.quotaPod(vol))
}

// checkClaim says what the claim asks for that hostpath volumes do not have.
//
// Upstream: provisioner.go Provision.
func checkClaim(claim *v1.PersistentVolumeClaim) error {
	if err := validateVolumeSource(claim); err != nil {
		return err
	}
	if claim.Spec.Selector != nil {
		return errors.New("claim.Spec.Selector is not supported")
	}
	for _, mode := range claim.Spec.AccessModes {
		if mode != v1.ReadWriteOnce {
			return errors.New("Only support ReadWriteOnce access mode")
		}
	}
	return nil
}

// validateVolumeSource refuses every data source.
//
// Upstream: provisioner.go validateVolumeSource.
func validateVolumeSource(claim *v1.PersistentVolumeClaim) error {
	source := claim.Spec.DataSource
	if source == nil {
		return nil
	}
	group := ""
	if source.APIGroup != nil {
		group = *source.APIGroup
	}
	switch {
	case source.Name == "":
		return fmt.Errorf("dataSource name not found for PVC `%s`", claim.Name)
	case source.Kind == "VolumeSnapshot" && group != "snapshot.storage.k8s.io":
		return errors.New("snapshot feature not supported by this provisioner")
	case source.Kind == "PersistentVolumeClaim":
		return errors.New("clone feature not supported by this provisioner")
	}
	return fmt.Errorf("datasource `%s` of group `%s` is not handled by the provisioner", source.Kind, group)
}

// traceParameters says that settings in the place where other provisioners have
// theirs have no effect: upstream does not look there.
func (p *hostpathProvisioner) traceParameters(options provisioner.ProvisionOptions) {
	class := options.StorageClass
	for _, name := range slices.Sorted(maps.Keys(class.Parameters)) {
		p.trace(trace.Decision{About: trace.RefOf("PersistentVolumeClaim", options.PVC), Text: fmt.Sprintf(
			"storage class %s has the parameter %s: %q, which is ignored; the settings of %s are in the annotation %s",
			class.Name, name, class.Parameters[name], ProvisionerName, AnnCASConfig)})
	}
}

// selectedNode reads the node; the state goes with the error. A node that does
// not exist is for the scheduler to replace.
//
// Upstream: sig-storage-lib-external-provisioner, controller.go
// provisionClaimOperation, v9, which hands the node to Provision.
func (p *hostpathProvisioner) selectedNode(ctx context.Context, name string) (*v1.Node, provisioner.ProvisioningState, error) {
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

// plan decides where the volume goes.
func (p *hostpathProvisioner) plan(options provisioner.ProvisionOptions, node *v1.Node) (volume, error) {
	config, err := getVolumeConfig(p.cfg, options.StorageClass, options.PVC)
	if err != nil {
		return volume{}, err
	}
	kind := config.storageType()
	if mode := options.PVC.Spec.VolumeMode; mode != nil && *mode == v1.PersistentVolumeBlock && kind != "device" {
		return volume{}, fmt.Errorf("PV with BlockMode is not supported with StorageType %s", kind)
	}
	if kind != "hostpath" {
		return volume{}, fmt.Errorf("PV with StorageType %s is not supported", kind)
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
