package provisioner

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/container-storage-interface/spec/lib/go/csi"
	v1 "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/storagesim/storagesim/control/snapshots"
)

// cloneFinalizer is on claims that other claims are being cloned from.
const cloneFinalizer = "provisioner.storage.kubernetes.io/cloning-protection"

// setSource sets the content source of the new volume from the claim's data source, if it has one, and
// protects the source.
//
// Upstream: controller.go prepareProvision and getVolumeContentSource, v6.4.
func (p *csiProvisioner) setSource(ctx context.Context, claim *v1.PersistentVolumeClaim, class *storage.StorageClass, rc requiredCapabilities,
	req *csi.CreateVolumeRequest) error {
	if !rc.snapshot && !rc.clone {
		return nil
	}
	source, err := p.dataSource(ctx, claim)
	if err != nil {
		return err
	}
	find, protect := p.snapshotSource, p.setSnapshotFinalizer
	if rc.clone {
		find, protect = p.claimSource, p.setCloneFinalizer
	}
	if req.VolumeContentSource, err = find(ctx, claim, class, source); err != nil {
		return fmt.Errorf("error getting handle for DataSource Type %s by Name %s: %w", source.Kind, source.Name, err)
	}
	return protect(ctx, source)
}

// snapshotSource returns the snapshot that a claim is to be restored from.
//
// Upstream: controller.go getSnapshotSource, v6.4.
func (p *csiProvisioner) snapshotSource(ctx context.Context, claim *v1.PersistentVolumeClaim, class *storage.StorageClass,
	source *v1.ObjectReference) (*csi.VolumeContentSource, error) {
	s, err := snapshots.SnapshotClient(p.env).Get(ctx, source.Namespace, source.Name)
	if err != nil {
		return nil, fmt.Errorf("error getting snapshot %s from api server: %w", source.Name, err)
	}
	if s.DeletionTimestamp != nil && !p.cfg.RestoresDeleted(s) {
		return nil, fmt.Errorf("snapshot %s is being deleted", source.Name)
	}
	if s.Status == nil || s.Status.BoundVolumeSnapshotContentName == nil {
		return nil, fmt.Errorf("snapshot %s not bound", source.Name)
	}
	name := *s.Status.BoundVolumeSnapshotContentName
	content, err := snapshots.ContentClient(p.env).Get(ctx, "", name)
	switch {
	case err != nil:
		return nil, fmt.Errorf("error getting snapshotcontent %s for snapshot %s", name, source.Name)
	case !snapshots.Single().RefersTo(content, s):
		return nil, fmt.Errorf("snapshotcontent %s for snapshot %s is bound to a different snapshot", name, source.Name)
	case content.Spec.Driver != class.Provisioner:
		return nil, fmt.Errorf("snapshotcontent %s for snapshot %s is not handled by CSI driver of StorageClass %s", name, source.Name, class.Name)
	case !snapshots.IsReady(s):
		return nil, fmt.Errorf("snapshot %s is not Ready", source.Name)
	case content.Status == nil || content.Status.SnapshotHandle == nil:
		return nil, fmt.Errorf("snapshot handle %s is not available", source.Name)
	}
	if size := s.Status.RestoreSize; size != nil {
		asked := claim.Spec.Resources.Requests[v1.ResourceStorage]
		if asked.Value() < size.Value() {
			return nil, fmt.Errorf("requested volume size %d is less than the size %d for the source snapshot %s", asked.Value(), size.Value(), s.Name)
		}
	}
	if err := mayChangeMode(claim, content.Name, content.Annotations, content.Spec.SourceVolumeMode); err != nil {
		return nil, err
	}
	return &csi.VolumeContentSource{Type: &csi.VolumeContentSource_Snapshot{
		Snapshot: &csi.VolumeContentSource_SnapshotSource{SnapshotId: *content.Status.SnapshotHandle},
	}}, nil
}

// mayChangeMode refuses to restore a snapshot in another volume mode than its source's, unless its content
// allows it.
//
// Upstream: controller.go getSnapshotSource, v6.4.
func mayChangeMode(claim *v1.PersistentVolumeClaim, content string, annotations map[string]string, mode *v1.PersistentVolumeMode) error {
	if mode == nil || claim.Spec.VolumeMode == nil || *mode == *claim.Spec.VolumeMode {
		return nil
	}
	refused := fmt.Sprintf("requested volume %s/%s modifies the mode of the source volume but does not have permission to do so. ", claim.Namespace, claim.Name)
	value, ok := annotations[snapshots.AnnAllowVolumeModeChange]
	if !ok {
		return fmt.Errorf("%s%s annotation is not present on snapshotcontent %s", refused, snapshots.AnnAllowVolumeModeChange, content)
	}
	allowed, err := strconv.ParseBool(value)
	switch {
	case err != nil:
		return fmt.Errorf("%sfailed to convert %s annotation value to boolean with error: %w", refused, snapshots.AnnAllowVolumeModeChange, err)
	case !allowed:
		return fmt.Errorf("%s%s is set to false on snapshotcontent %s", refused, snapshots.AnnAllowVolumeModeChange, content)
	}
	return nil
}

// knownStatus returns what csi-provisioner v6.4.0 knows of a claim's status, which it prints with the names of no field: its library is v0.36.1, and
// has no healthStatus.
func knownStatus(s v1.PersistentVolumeClaimStatus) any {
	return struct {
		Phase                            v1.PersistentVolumeClaimPhase
		AccessModes                      []v1.PersistentVolumeAccessMode
		Capacity                         v1.ResourceList
		Conditions                       []v1.PersistentVolumeClaimCondition
		AllocatedResources               v1.ResourceList
		AllocatedResourceStatuses        map[v1.ResourceName]v1.ClaimResourceStatus
		CurrentVolumeAttributesClassName *string
		ModifyVolumeStatus               *v1.ModifyVolumeStatus
	}{s.Phase, s.AccessModes, s.Capacity, s.Conditions, s.AllocatedResources, s.AllocatedResourceStatuses,
		s.CurrentVolumeAttributesClassName, s.ModifyVolumeStatus}
}

// claimSource returns the claim whose volume is to be cloned.
//
// Upstream: controller.go getPVCSource, v6.4.
func (p *csiProvisioner) claimSource(ctx context.Context, claim *v1.PersistentVolumeClaim, class *storage.StorageClass,
	source *v1.ObjectReference) (*csi.VolumeContentSource, error) {
	from, ok := p.claims.Get(source.Namespace + "/" + source.Name)
	asked, has := claim.Spec.Resources.Requests[v1.ResourceStorage], resourceOf(from)
	switch {
	case !ok:
		return nil, fmt.Errorf("error getting PVC %s (namespace %q) from api server: %w", source.Name, claim.Namespace, noClaim(source.Name))
	case from.Status.Phase != v1.ClaimBound:
		return nil, fmt.Errorf("the PVC DataSource %s must have a status of Bound.  Got %v", source.Name, knownStatus(from.Status))
	case from.DeletionTimestamp != nil:
		return nil, fmt.Errorf("the PVC DataSource %s is currently being deleted", source.Name)
	case from.Spec.StorageClassName == nil:
		return nil, fmt.Errorf("the source PVC (%s) storageclass cannot be empty", from.Name)
	case claim.Spec.StorageClassName == nil:
		return nil, fmt.Errorf("the requested PVC (%s) storageclass cannot be empty", claim.Name)
	case asked.Value() < has:
		return nil, fmt.Errorf("error, new PVC request must be greater than or equal in size to the specified PVC data source, requested %v but source is %v",
			asked.Value(), has)
	case from.Spec.VolumeName == "":
		return nil, fmt.Errorf("volume name is empty in source PVC %s", from.Name)
	}
	volume, err := p.client.CoreV1().PersistentVolumes().Get(ctx, from.Spec.VolumeName, metav1.GetOptions{})
	if err != nil || !isClaims(volume, from) || volume.Spec.CSI == nil || volume.Spec.CSI.Driver != class.Provisioner || volume.Status.Phase != v1.VolumeBound {
		return nil, errors.New("claim in dataSource not bound or invalid")
	}
	const modes = "the source PVC and destination PVCs must have the same volume mode for cloning.  Source is %s, but new PVC requested %s"
	if is, wanted := modeOf(volume.Spec.VolumeMode), modeOf(claim.Spec.VolumeMode); is != wanted {
		return nil, fmt.Errorf(modes, is, wanted)
	}
	return &csi.VolumeContentSource{Type: &csi.VolumeContentSource_Volume{
		Volume: &csi.VolumeContentSource_VolumeSource{VolumeId: volume.Spec.CSI.VolumeHandle},
	}}, nil
}

// resourceOf returns the bytes that a claim, which may be nil, requests.
func resourceOf(claim *v1.PersistentVolumeClaim) int64 {
	if claim == nil {
		return 0
	}
	return claim.Spec.Resources.Requests.Storage().Value()
}

func modeOf(mode *v1.PersistentVolumeMode) v1.PersistentVolumeMode {
	if mode == nil {
		return v1.PersistentVolumeFilesystem
	}
	return *mode
}

func isClaims(volume *v1.PersistentVolume, claim *v1.PersistentVolumeClaim) bool {
	ref := volume.Spec.ClaimRef
	return ref != nil && ref.UID == claim.UID && ref.Namespace == claim.Namespace && ref.Name == claim.Name
}

// noClaim returns the error of upstream's lister.
func noClaim(name string) error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: "persistentvolumeclaim"}, name)
}

// refuseEmpty deletes a volume that the driver has not filled, and returns an error.
//
// Upstream: controller.go Provision, v6.4.
func (p *csiProvisioner) refuseEmpty(ctx context.Context, claim *v1.PersistentVolumeClaim, volume *csi.Volume, req *csi.CreateVolumeRequest) error {
	if claim.Spec.DataSource == nil && !p.isAcross(claim) || volume.GetContentSource() != nil {
		return nil
	}
	err := errors.New("volume content source missing")
	if failed := p.cleanupVolume(ctx, volume.GetVolumeId(), req.GetSecrets()); failed != nil {
		return fmt.Errorf("%w. cleanup of volume %s failed, volume is orphaned: %w", err, req.GetName(), failed)
	}
	return err
}
