package snapshotter

import (
	"context"
	"errors"
	"fmt"

	"github.com/container-storage-interface/spec/lib/go/csi"
	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/control/snapshots"
)

// singles is the part of the sidecar for snapshots of one volume.
type singles struct {
	*worker[*snapshotv1.VolumeSnapshot, *content]
	driver csi.ControllerClient
}

// create calls CreateSnapshot.
//
// Upstream: csi_handler.go CreateSnapshot, v8.7.
func (s *singles) create(ctx context.Context, found *content, parameters, secrets map[string]string) (answer, error) {
	uid, volume := found.Spec.VolumeSnapshotRef.UID, found.Spec.Source.VolumeHandle
	switch {
	case uid == "":
		return answer{}, fmt.Errorf("cannot create snapshot. Snapshot content %s not bound to a snapshot", found.Name)
	case volume == nil:
		return answer{}, fmt.Errorf("cannot create snapshot. Volume handle not found in snapshot content %s", found.Name)
	}
	made, err := s.driver.CreateSnapshot(control.WithTimeout(ctx, s.env, s.cfg.Timeout), &csi.CreateSnapshotRequest{
		SourceVolumeId: *volume, Name: s.cfg.SnapshotNamePrefix + "-" + string(uid), Parameters: parameters, Secrets: secrets,
	})
	if err == nil && made.GetSnapshot() == nil {
		const nilPointer = "runtime error: invalid memory address or nil pointer dereference"
		control.End(s.env, control.Ending{Why: nilPointer + " (the CSI driver answered CreateSnapshot with neither a snapshot nor an error)", Panics: true})
		err = errors.New("the CSI driver answered CreateSnapshot with neither a snapshot nor an error")
	}
	return answered(made.GetSnapshot().GetSnapshotId(), made.GetSnapshot()), err
}

func (s *singles) sources(found *content) string { return "volume " + *found.Spec.Source.VolumeHandle }

func answered(handle string, state *csi.Snapshot) answer {
	return answer{handle: handle, ready: state.GetReadyToUse(), created: state.GetCreationTime(), size: state.GetSizeBytes(), group: state.GetGroupSnapshotId()}
}

// checkStatus asks how far a snapshot is: for an existing one it calls ListSnapshots, for another CreateSnapshot.
//
// Upstream: snapshot_controller.go checkandUpdateContentStatusOperation and snapshotter.go
// GetSnapshotStatus, v8.7.
func (s *singles) checkStatus(ctx context.Context, found *content) (*content, error) {
	given := found.Spec.Source.SnapshotHandle
	if given == nil && ofGroup(found) {
		given = found.Status.SnapshotHandle
	}
	switch {
	case given == nil && isMember(found):
		return found, nil // the snapshot controller writes its status
	case given == nil:
		return s.createSnapshot(ctx, found)
	}
	secrets, err := s.listSecrets(ctx, found)
	if err != nil {
		return found, err
	}
	handle := *given
	if found.Status != nil && found.Status.SnapshotHandle != nil {
		handle = *found.Status.SnapshotHandle
	}
	state := &csi.Snapshot{ReadyToUse: true}
	if s.reported.Controller[csi.ControllerServiceCapability_RPC_LIST_SNAPSHOTS] {
		list, err := s.driver.ListSnapshots(control.WithTimeout(ctx, s.env, s.cfg.Timeout), &csi.ListSnapshotsRequest{SnapshotId: handle, Secrets: secrets})
		if err == nil && len(list.GetEntries()) == 0 {
			err = fmt.Errorf("can not find snapshot for snapshotID %s", handle)
		}
		if err != nil {
			return found, fmt.Errorf("failed to list snapshot for content %s: %q", found.Name, err.Error())
		}
		state = list.GetEntries()[0].GetSnapshot()
	}
	updated, err := s.updateStatus(ctx, found, answered(*given, state))
	if err != nil {
		return found, err
	}
	return updated, nil
}

// ofGroup reports whether a content's snapshot is known to be a member of a group snapshot.
func ofGroup(found *content) bool {
	return found.Status != nil && found.Status.VolumeGroupSnapshotHandle != nil
}

// listSecrets returns the values of the secret for ListSnapshots. A member has no class: its annotations name the secret.
func (s *singles) listSecrets(ctx context.Context, found *content) (map[string]string, error) {
	if !ofGroup(found) {
		return s.lookSecrets(ctx, found)
	}
	values, err := s.credentials(ctx, found)
	if err != nil {
		return nil, fmt.Errorf("failed to get credentials from annotation for snapshot content %s: %w", found.Name, err)
	}
	return values, nil
}

func (s *singles) writeStatus(ctx context.Context, latest, changed *content) (*content, error) {
	return s.contents.API.PatchStatus(ctx, latest, snapshots.Op{Op: "replace", Path: "/status", Value: changed.Status})
}

// delete does not call the driver with the policy Retain, and for a member, which is deleted with its group snapshot.
//
// Upstream: snapshot_controller.go syncContent, v8.7.
func (s *singles) delete(ctx context.Context, found *content) (err error) {
	if found.Spec.DeletionPolicy == snapshotv1.VolumeSnapshotContentDelete && found.Status != nil && found.Status.SnapshotHandle != nil && !ofGroup(found) {
		if found, err = s.deleteSnapshot(ctx, found); err != nil {
			return err
		}
	}
	return s.contents.RemoveContentFinalizer(ctx, found, snapshots.ContentFinalizer)
}

// deleteFromStorage calls DeleteSnapshot.
func (s *singles) deleteFromStorage(ctx context.Context, found *content, secrets map[string]string) error {
	_, err := s.driver.DeleteSnapshot(control.WithTimeout(ctx, s.env, s.cfg.Timeout),
		&csi.DeleteSnapshotRequest{SnapshotId: *found.Status.SnapshotHandle, Secrets: secrets})
	if err != nil {
		return fmt.Errorf("failed to delete snapshot content %s: %q", found.Name, err.Error())
	}
	return nil
}

func (s *singles) clear(state *snapshots.Content) {
	state.Handle, state.ReadyToUse, state.CreationTime, state.RestoreSize = nil, nil, nil, nil
}
