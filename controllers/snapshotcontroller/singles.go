package snapshotcontroller

import (
	"context"
	"errors"
	"fmt"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/control/snapshots"
)

// singles is the part of the controller for snapshots of one volume.
type singles struct {
	binder[*volumeSnapshot, *content]
}

// syncSnapshot brings a snapshot one step further.
//
// Upstream: snapshot_controller.go syncSnapshot, v8.7.
func (s *singles) syncSnapshot(ctx context.Context, snapshot *volumeSnapshot) error {
	if err := s.checkAndRemovePVCFinalizer(ctx, snapshot, false); err != nil {
		s.recorder.Event(snapshot, v1.EventTypeWarning, "ErrorPVCFinalizer", "Error check and remove PVC Finalizer for VolumeSnapshot")
	}
	if snapshot.DeletionTimestamp != nil {
		return s.processSnapshotWithDeletionTimestamp(ctx, snapshot)
	}
	source := snapshot.Spec.Source
	if (source.PersistentVolumeClaimName == nil) == (source.VolumeSnapshotContentName == nil) {
		err := errors.New("Exactly one of PersistentVolumeClaimName and VolumeSnapshotContentName should be specified")
		s.fail(ctx, snapshot, true, "SnapshotValidationError", err.Error())
		return err
	}
	if err := s.checkAndAddSnapshotFinalizers(ctx, snapshot); err != nil {
		s.recorder.Event(snapshot, v1.EventTypeWarning, "SnapshotFinalizerError", "Failed to check and update snapshot: "+err.Error())
		return err
	}
	if !s.isBoundAndReady(snapshot) {
		return s.syncUnreadySnapshot(ctx, snapshot)
	}
	if ok, err := s.checkBound(ctx, snapshot); !ok {
		return err
	}
	return s.addGroupOwnership(ctx, snapshot)
}

// syncUnreadySnapshot binds a snapshot and its content, and creates the content if there is none.
//
// Upstream: snapshot_controller.go syncUnreadySnapshot, v8.7.
func (s *singles) syncUnreadySnapshot(ctx context.Context, snapshot *volumeSnapshot) error {
	switch {
	case snapshot.Spec.Source.VolumeSnapshotContentName != nil:
		return s.syncPreprovisioned(ctx, snapshot)
	case snapshots.GroupOf(snapshot) != "":
		return s.syncUnreadyMember(ctx, snapshot)
	}
	found, err := s.dynamicContent(ctx, snapshot)
	switch {
	case err != nil:
		return err
	case found != nil:
		return s.bindAndUpdate(ctx, snapshot, found)
	}
	if err = s.ensurePVCFinalizer(ctx, snapshot); err == nil {
		found, err = s.createContent(ctx, snapshot)
	}
	if err != nil {
		return s.failedToCreate(ctx, snapshot, err)
	}
	_, err = s.copyStatus(ctx, snapshot, found, false)
	return err
}

// syncContent protects a content that is bound, and has its snapshot follow its status.
//
// Upstream: snapshot_controller.go syncContent, v8.7.
func (s *singles) syncContent(ctx context.Context, found *content) error {
	source := found.Spec.Source
	if (source.VolumeHandle == nil) == (source.SnapshotHandle == nil) {
		err := errors.New("Exactly one of VolumeHandle and SnapshotHandle should be specified")
		s.recorder.Event(found, v1.EventTypeWarning, "ContentValidationError", err.Error())
		return err
	}
	snapshot, err := s.protectContent(ctx, found)
	if snapshot != nil && isDeletionCandidate(snapshot) {
		_, err = s.contents.Annotate(ctx, found, snapshots.AnnBeingDeleted)
	}
	return err
}

func (s *singles) setClass(ctx context.Context, snapshot *volumeSnapshot, name string) (*volumeSnapshot, error) {
	updated, err := s.snapshots.API.Patch(ctx, snapshot, replace("/spec/volumeSnapshotClassName", name))
	if err != nil {
		return snapshot, nil //nolint:nilerr // As upstream: the snapshot is worked on without its class, which fails.
	}
	return updated, nil
}

// volumesOf returns the volume of the claim that a snapshot is to be taken of.
//
// Upstream: snapshot_controller.go getVolumeFromVolumeSnapshot, v8.7.
func (s *singles) volumesOf(ctx context.Context, snapshot *volumeSnapshot) ([]*v1.PersistentVolume, error) {
	claim, err := s.claimOf(snapshot)
	if err != nil {
		return nil, err
	}
	volume, err := s.volumeOfClaim(ctx, claim, s.Noun)
	return []*v1.PersistentVolume{volume}, err
}

// claimOf returns the claim that a snapshot is to be taken of.
//
// Upstream: snapshot_controller.go getClaimFromVolumeSnapshot, v8.7.
func (s *singles) claimOf(snapshot *volumeSnapshot) (*v1.PersistentVolumeClaim, error) {
	name := snapshot.Spec.Source.PersistentVolumeClaimName
	switch {
	case name == nil:
		return nil, errors.New("the snapshot source PVC name is not specified")
	case *name == "":
		return nil, fmt.Errorf("the PVC name is not specified in snapshot %s", control.Key(snapshot))
	}
	claim, ok := s.claims.Get(snapshot.Namespace + "/" + *name)
	if !ok {
		return nil, fmt.Errorf("failed to retrieve PVC %s from the lister: %q", *name, notFound("persistentvolumeclaim", *name).Error())
	}
	return claim, nil
}

// newContent requires that the volume has a CSI source.
//
// Upstream: snapshot_controller.go createSnapshotContent, v8.7.
func (s *singles) newContent(snapshot *volumeSnapshot, class *class, volumes []*v1.PersistentVolume) (*content, error) {
	volume := volumes[0]
	if volume.Spec.CSI == nil {
		return nil, fmt.Errorf("cannot find CSI PersistentVolumeSource for volume %s", volume.Name)
	}
	return &content{
		TypeMeta:   metav1.TypeMeta{APIVersion: snapshotv1.SchemeGroupVersion.String(), Kind: "VolumeSnapshotContent"},
		ObjectMeta: metav1.ObjectMeta{Name: s.contentName(snapshot)},
		Spec: snapshotv1.VolumeSnapshotContentSpec{
			VolumeSnapshotRef:       s.reference(snapshot),
			Source:                  snapshotv1.VolumeSnapshotContentSource{VolumeHandle: &volume.Spec.CSI.VolumeHandle},
			VolumeSnapshotClassName: &class.Name, DeletionPolicy: class.DeletionPolicy, Driver: class.Driver,
			SourceVolumeMode: volume.Spec.VolumeMode,
		},
	}, nil
}
