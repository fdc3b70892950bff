package snapshotcontroller

import (
	"context"
	"errors"
	"fmt"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/control/snapshots"
)

// contentName is the name of the content that is made for a snapshot.
//
// Upstream: pkg/utils/util.go GetDynamicSnapshotContentNameForSnapshot, v8.7.
func contentName(snapshot *volumeSnapshot) string { return "snapcontent-" + string(snapshot.UID) }

// createSnapshotContent protects the claim and makes the content.
//
// Upstream: snapshot_controller.go createSnapshotContent, v8.7.
func (c *controller) createSnapshotContent(ctx context.Context, snapshot *volumeSnapshot) (*content, error) {
	if err := c.ensurePVCFinalizer(ctx, snapshot); err != nil {
		return nil, err
	}
	wanted, err := c.contentFor(ctx, snapshot)
	if err != nil {
		return nil, err
	}
	made, err := c.contents.API.Create(ctx, wanted)
	if apierrors.IsAlreadyExists(err) {
		made, err = wanted, nil
	}
	if err != nil {
		c.recorder.Event(snapshot, v1.EventTypeWarning, "CreateSnapshotContentFailed",
			fmt.Sprintf("Error creating volume snapshot content object for snapshot %s: %v.", control.Key(snapshot), err))
		return nil, snapshots.UpdateError(control.Key(snapshot), err)
	}
	c.recorder.Event(snapshot, v1.EventTypeNormal, "CreatingSnapshot", fmt.Sprintf("Waiting for a snapshot %s to be created by the CSI driver.", control.Key(snapshot)))
	if made != wanted {
		c.contents.Take(made)
	}
	return made, nil
}

// contentFor is the content of a snapshot, as it is to be made.
//
// Upstream: snapshot_controller.go getCreateSnapshotInput and createSnapshotContent, v8.7.
func (c *controller) contentFor(ctx context.Context, snapshot *volumeSnapshot) (*content, error) {
	input := func(err error) error {
		return fmt.Errorf("failed to get input parameters to create snapshot %s: %q", snapshot.Name, err.Error())
	}
	if snapshot.Spec.VolumeSnapshotClassName == nil {
		return nil, input(fmt.Errorf("failed to take snapshot %s without a snapshot class", snapshot.Name))
	}
	class, err := c.classOf(*snapshot.Spec.VolumeSnapshotClassName)
	if err != nil {
		return nil, input(err)
	}
	volume, err := c.volumeOf(ctx, snapshot)
	if err != nil {
		return nil, input(err)
	}
	secret, err := snapshots.SecretOf(snapshots.Snapshotter(), class, contentName(snapshot), snapshot)
	if err != nil {
		return nil, input(err)
	}
	if volume.Spec.CSI == nil {
		return nil, fmt.Errorf("cannot find CSI PersistentVolumeSource for volume %s", volume.Name)
	}
	wanted := &content{
		TypeMeta:   metav1.TypeMeta{APIVersion: snapshotv1.SchemeGroupVersion.String(), Kind: "VolumeSnapshotContent"},
		ObjectMeta: metav1.ObjectMeta{Name: contentName(snapshot)},
		Spec: snapshotv1.VolumeSnapshotContentSpec{
			VolumeSnapshotRef: v1.ObjectReference{
				APIVersion: snapshotv1.SchemeGroupVersion.String(), Kind: snapshots.Kind, Namespace: snapshot.Namespace, Name: snapshot.Name, UID: snapshot.UID,
				ResourceVersion: snapshot.ResourceVersion,
			},
			Source:                  snapshotv1.VolumeSnapshotContentSource{VolumeHandle: &volume.Spec.CSI.VolumeHandle},
			VolumeSnapshotClassName: &class.Name, DeletionPolicy: class.DeletionPolicy, Driver: class.Driver,
			SourceVolumeMode: volume.Spec.VolumeMode,
		},
	}
	if secret != nil {
		metav1.SetMetaDataAnnotation(&wanted.ObjectMeta, snapshots.AnnDeletionSecretName, secret.Name)
		metav1.SetMetaDataAnnotation(&wanted.ObjectMeta, snapshots.AnnDeletionSecretNamespace, secret.Namespace)
	}
	return wanted, nil
}

// volumeOf is the volume of the claim that a snapshot is to be taken of.
//
// Upstream: snapshot_controller.go getVolumeFromVolumeSnapshot, v8.7.
func (c *controller) volumeOf(ctx context.Context, snapshot *volumeSnapshot) (*v1.PersistentVolume, error) {
	claim, err := c.claimOf(snapshot)
	if err != nil {
		return nil, err
	}
	return c.volumeOfClaim(ctx, claim, "snapshot")
}

// volumeOfClaim is the volume of a claim of which something is to be taken.
//
// Upstream: snapshot_controller.go getVolumeFromVolumeSnapshot and isVolumeBoundToClaim, v8.7.
func (c *controller) volumeOfClaim(ctx context.Context, claim *v1.PersistentVolumeClaim, taken string) (*v1.PersistentVolume, error) {
	if claim.Status.Phase != v1.ClaimBound {
		return nil, fmt.Errorf("the PVC %s is not yet bound to a PV, will not attempt to take a %s", claim.Name, taken)
	}
	name := claim.Spec.VolumeName
	volume, err := c.client.CoreV1().PersistentVolumes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("failed to retrieve PV %s from the API server: %q", name, err.Error())
	}
	ref := volume.Spec.ClaimRef
	if ref == nil || ref.Name != claim.Name || ref.Namespace != claim.Namespace || ref.UID != "" && ref.UID != claim.UID {
		return nil, errors.New("claim in dataSource not bound or invalid")
	}
	return volume, nil
}

// claimOf is the claim that a snapshot is to be taken of.
//
// Upstream: snapshot_controller.go getClaimFromVolumeSnapshot, v8.7.
func (c *controller) claimOf(snapshot *volumeSnapshot) (*v1.PersistentVolumeClaim, error) {
	name := snapshot.Spec.Source.PersistentVolumeClaimName
	switch {
	case name == nil:
		return nil, errors.New("the snapshot source PVC name is not specified")
	case *name == "":
		return nil, fmt.Errorf("the PVC name is not specified in snapshot %s", control.Key(snapshot))
	}
	claim, ok := c.claims.Get(snapshot.Namespace + "/" + *name)
	if !ok {
		return nil, fmt.Errorf("failed to retrieve PVC %s from the lister: %q", *name, notFound("persistentvolumeclaim", *name).Error())
	}
	return claim, nil
}
