package provisioner

import (
	"context"
	"errors"
	"fmt"

	"github.com/container-storage-interface/spec/lib/go/csi"
	v1 "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/csi/internal/sidecar"
	"github.com/storagesim/storagesim/provisioner"
)

// prepareProvisionResult holds the request of CreateVolume, and the fields of the volume that do not come from the
// driver's answer.
type prepareProvisionResult struct {
	fsType string
	req    *csi.CreateVolumeRequest
	// source has no handle and no attributes yet.
	source *v1.CSIPersistentVolumeSource
	// deletion and modify refer to the secrets that are written to annotations; nil if there are none.
	deletion, modify *v1.SecretReference
}

// prepareProvision checks the claim and its class. It does not call the driver. The state is valid only with an
// error.
//
// Upstream: controller.go prepareProvision, v6.4.
func (p *csiProvisioner) prepareProvision(ctx context.Context, claim *v1.PersistentVolumeClaim, class *storage.StorageClass,
	node string) (*prepareProvisionResult, provisioner.ProvisioningState, error) {
	rc, err := p.required(ctx, claim)
	if err != nil {
		return nil, provisioner.ProvisioningFinished, err
	}
	if err := p.checkDriverCapabilities(rc); err != nil {
		return nil, provisioner.ProvisioningFinished, err
	}
	if claim.Spec.Selector != nil {
		return nil, provisioner.ProvisioningFinished, errors.New("claim Selector is not supported")
	}
	result, err := p.request(claim, class)
	if err != nil {
		return nil, provisioner.ProvisioningFinished, err
	}
	if err := p.setSource(ctx, claim, class, rc, result.req); err != nil {
		return nil, provisioner.ProvisioningNoChange, err
	}
	if p.supportsTopology() {
		result.req.AccessibilityRequirements, err = p.GenerateAccessibilityRequirements(claim, class.AllowedTopologies, node)
		switch {
		case apierrors.IsNotFound(err):
			return nil, provisioner.ProvisioningReschedule, err
		case err != nil:
			return nil, provisioner.ProvisioningNoChange, fmt.Errorf("error generating accessibility requirements: %w", err)
		}
	}
	if err := p.resolveSecrets(ctx, claim, class, result); err != nil {
		return nil, provisioner.ProvisioningNoChange, err
	}
	if result.req.Parameters, err = removePrefixedParameters(class.Parameters); err != nil {
		return nil, provisioner.ProvisioningFinished, fmt.Errorf("failed to strip CSI Parameters of prefixed keys: %w", err)
	}
	if p.cfg.ExtraCreateMetadata {
		result.req.Parameters[pvcNameKey] = claim.Name
		result.req.Parameters[pvcNamespaceKey] = claim.Namespace
		result.req.Parameters[pvNameKey] = result.req.GetName()
	}
	if state, err := p.mutableParameters(ctx, claim, result.req); err != nil {
		return nil, state, err
	}
	return result, provisioner.ProvisioningNoChange, nil
}

// required returns the capabilities that the claim needs. A data source that is neither a snapshot nor a claim is
// left to its volume populator.
func (p *csiProvisioner) required(ctx context.Context, claim *v1.PersistentVolumeClaim) (requiredCapabilities, error) {
	rc := requiredCapabilities{modifyVolume: attributesClass(claim) != ""}
	source, err := p.dataSource(ctx, claim)
	if err != nil || source == nil {
		return rc, err
	}
	if source.Name == "" {
		return rc, fmt.Errorf("the PVC source not found for PVC %s", claim.Name)
	}
	switch source.Kind {
	case snapshotKind:
		if source.APIVersion != snapshotAPIGroup {
			return rc, fmt.Errorf("the PVC source does not belong to the right APIGroup. Expected %s, Got %s", snapshotAPIGroup, source.APIVersion)
		}
		rc.snapshot = true
	case pvcKind:
		rc.clone = true
	default:
		p.events.Event(claim, v1.EventTypeNormal, "Provisioning", "Assuming an external populator will provision the volume")
		return rc, &provisioner.IgnoredError{
			Reason: fmt.Sprintf("data source (%s) is not handled by the provisioner, assuming an external populator will provision it", source.Kind),
		}
	}
	return rc, nil
}

const (
	snapshotKind     = "VolumeSnapshot"
	snapshotAPIGroup = "snapshot.storage.k8s.io"
	pvcKind          = "PersistentVolumeClaim"
)

// request returns the request of CreateVolume as far as the claim and the class define it.
func (p *csiProvisioner) request(claim *v1.PersistentVolumeClaim, class *storage.StorageClass) (*prepareProvisionResult, error) {
	name, err := makeVolumeName(p.cfg.VolumeNamePrefix, string(claim.UID), p.cfg.VolumeNameUUIDLength)
	if err != nil {
		return nil, err
	}
	fsType, err := fsTypeOf(class.Parameters)
	if err != nil {
		return nil, err
	}
	if fsType == "" {
		fsType = p.cfg.DefaultFSType
	}
	capabilities, err := p.getVolumeCapabilities(claim, class, fsType)
	if err != nil {
		return nil, err
	}
	return &prepareProvisionResult{
		fsType: fsType,
		req: &csi.CreateVolumeRequest{
			Name:               name,
			VolumeCapabilities: capabilities,
			CapacityRange:      &csi.CapacityRange{RequiredBytes: claim.Spec.Resources.Requests.Storage().Value()},
		},
	}, nil
}

// resolveSecrets reads the provisioner's secret and records the references to those of the other calls.
func (p *csiProvisioner) resolveSecrets(ctx context.Context, claim *v1.PersistentVolumeClaim, class *storage.StorageClass,
	result *prepareProvisionResult) error {
	own, err := getSecretReference(provisionerSecrets(), class.Parameters, result.req.GetName(), claim)
	if err != nil {
		return err
	}
	if result.req.Secrets, err = sidecar.Credentials(ctx, p.client, own); err != nil {
		return fmt.Errorf("error getting secret %s in namespace %s: %w", own.Name, own.Namespace, err)
	}
	result.deletion = own
	result.source = &v1.CSIPersistentVolumeSource{Driver: p.cfg.Driver}
	for _, later := range []struct {
		params secretParams
		ref    **v1.SecretReference
	}{
		{controllerPublishSecrets(), &result.source.ControllerPublishSecretRef},
		{nodeStageSecrets(), &result.source.NodeStageSecretRef},
		{nodePublishSecrets(), &result.source.NodePublishSecretRef},
		{controllerExpandSecrets(), &result.source.ControllerExpandSecretRef},
		{nodeExpandSecrets(), &result.source.NodeExpandSecretRef},
		{controllerModifySecrets(), &result.modify},
	} {
		if *later.ref, err = getSecretReference(later.params, class.Parameters, result.req.GetName(), claim); err != nil {
			return err
		}
	}
	return nil
}

// attributesClass returns the name of the claim's VolumeAttributesClass, or "".
func attributesClass(claim *v1.PersistentVolumeClaim) string {
	if name := claim.Spec.VolumeAttributesClassName; name != nil {
		return *name
	}
	return ""
}

// mutableParameters sets the parameters of the claim's VolumeAttributesClass in the request.
func (p *csiProvisioner) mutableParameters(ctx context.Context, claim *v1.PersistentVolumeClaim,
	req *csi.CreateVolumeRequest) (provisioner.ProvisioningState, error) {
	name := attributesClass(claim)
	if name == "" {
		return provisioner.ProvisioningNoChange, nil
	}
	class, err := p.client.StorageV1().VolumeAttributesClasses().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return provisioner.ProvisioningNoChange, err
	}
	if class.DriverName != p.cfg.Driver {
		return provisioner.ProvisioningFinished,
			fmt.Errorf("VAC %s referenced in PVC is for driver %s which does not match driver name %s", name, class.DriverName, p.cfg.Driver)
	}
	req.MutableParameters = class.Parameters
	return provisioner.ProvisioningNoChange, nil
}
