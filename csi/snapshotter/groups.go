package snapshotter

import (
	"context"
	"errors"
	"fmt"

	"github.com/container-storage-interface/spec/lib/go/csi"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/control/snapshots"
)

// groups is the part of the sidecar for group snapshots.
//
// Upstream: external-snapshotter pkg/sidecar-controller/groupsnapshot_helper.go, v8.7.
type groups struct {
	*worker[*groupv1.VolumeGroupSnapshot, *groupContent]
	driver csi.GroupControllerClient
}

// create calls CreateVolumeGroupSnapshot.
//
// Upstream: csi_handler.go CreateGroupSnapshot, v8.7.
func (g *groups) create(ctx context.Context, found *groupContent, parameters, secrets map[string]string) (answer, error) {
	uid, volumes := found.Spec.VolumeGroupSnapshotRef.UID, found.Spec.Source.VolumeHandles
	switch {
	case uid == "":
		return answer{}, fmt.Errorf("cannot create group snapshot. Group snapshot content %s not bound to a group snapshot", found.Name)
	case len(volumes) == 0:
		return answer{}, fmt.Errorf("cannot create group snapshot. PVCs to be snapshotted not found in group snapshot content %s", found.Name)
	}
	made, err := g.driver.CreateVolumeGroupSnapshot(control.WithTimeout(ctx, g.env, g.cfg.Timeout), &csi.CreateVolumeGroupSnapshotRequest{
		Name: g.cfg.GroupSnapshotNamePrefix + "-" + string(uid), SourceVolumeIds: volumes, Secrets: secrets, Parameters: parameters,
	})
	state := made.GetGroupSnapshot()
	if err == nil && state == nil {
		err = errors.New("the CSI driver answered CreateVolumeGroupSnapshot with neither a group snapshot nor an error")
	}
	reply := answer{handle: state.GetGroupSnapshotId(), ready: state.GetReadyToUse(), created: state.GetCreationTime()}
	for _, member := range state.GetSnapshots() {
		reply.members = append(reply.members, infoOf(member))
	}
	return reply, err
}

func (g *groups) sources(found *groupContent) string {
	return fmt.Sprintf("volumes %s", found.Spec.Source.VolumeHandles)
}

// infoOf returns what a content says of one member.
//
// Upstream: pkg/utils/conversion.go CSITimestampToKubernetes and CSISizeToKubernetes, v8.7.
func infoOf(member *csi.Snapshot) groupv1.VolumeSnapshotInfo {
	info := groupv1.VolumeSnapshotInfo{VolumeHandle: member.GetSourceVolumeId(), SnapshotHandle: member.GetSnapshotId(), ReadyToUse: &member.ReadyToUse}
	if at := member.GetCreationTime(); at != nil {
		nanoseconds := at.AsTime().UnixNano()
		info.CreationTime = &nanoseconds
	}
	if member.GetSizeBytes() != 0 {
		info.RestoreSize = &member.SizeBytes
	}
	return info
}

// checkStatus asks how far a group snapshot is: for an existing one it calls GetVolumeGroupSnapshot, for another
// CreateVolumeGroupSnapshot.
//
// Upstream: groupsnapshot_helper.go checkandUpdateGroupSnapshotContentStatusOperation and csi_handler.go
// GetGroupSnapshotStatus, v8.7.
func (g *groups) checkStatus(ctx context.Context, found *groupContent) (*groupContent, error) {
	handles := found.Spec.Source.GroupSnapshotHandles
	if handles == nil {
		return g.createSnapshot(ctx, found)
	}
	secrets, err := g.lookSecrets(ctx, found)
	if err != nil {
		return found, err
	}
	if len(handles.VolumeSnapshotHandles) == 0 {
		return found, fmt.Errorf("cannot list group snapshot %s. No snapshots found in the group snapshot content", found.Name)
	}
	got, err := g.driver.GetVolumeGroupSnapshot(control.WithTimeout(ctx, g.env, g.cfg.Timeout), &csi.GetVolumeGroupSnapshotRequest{
		GroupSnapshotId: groupHandle(found), SnapshotIds: handles.VolumeSnapshotHandles, Secrets: secrets,
	})
	if err != nil {
		return found, fmt.Errorf("failed to list group snapshot for group snapshot content %s: %q", found.Name, err.Error())
	}
	state := got.GetGroupSnapshot()
	updated, err := g.updateStatus(ctx, found, answer{handle: handles.VolumeGroupSnapshotHandle, ready: state.GetReadyToUse(), created: state.GetCreationTime()})
	if err != nil {
		return found, err
	}
	return updated, nil
}

// groupHandle returns the handle of a group snapshot: that of the status or, before there is one, of the source; or "".
func groupHandle(found *groupContent) string {
	if found.Status != nil && found.Status.VolumeGroupSnapshotHandle != nil {
		return *found.Status.VolumeGroupSnapshotHandle
	}
	if handles := found.Spec.Source.GroupSnapshotHandles; handles != nil {
		return handles.VolumeGroupSnapshotHandle
	}
	return ""
}

func (g *groups) writeStatus(ctx context.Context, _, changed *groupContent) (*groupContent, error) {
	return g.contents.API.UpdateStatus(ctx, changed)
}

// delete does not call the driver with the policy Retain.
//
// Upstream: groupsnapshot_helper.go syncGroupSnapshotContent, v8.7.
func (g *groups) delete(ctx context.Context, found *groupContent) (err error) {
	if found.Spec.DeletionPolicy == snapshotv1.VolumeSnapshotContentDelete && found.Status != nil && found.Status.VolumeGroupSnapshotHandle != nil {
		if found, err = g.deleteSnapshot(ctx, found); err != nil {
			return err
		}
		if !g.contents.Take(found) {
			return nil
		}
	}
	return g.contents.RemoveContentFinalizer(ctx, found, snapshots.GroupContentFinalizer)
}

// deleteFromStorage calls DeleteVolumeGroupSnapshot. The driver needs the handles of the members.
//
// Upstream: groupsnapshot_helper.go deleteCSIGroupSnapshotOperation and csi_handler.go DeleteGroupSnapshot, v8.7.
func (g *groups) deleteFromStorage(ctx context.Context, found *groupContent, secrets map[string]string) error {
	var ids []string
	for _, member := range found.Status.VolumeSnapshotInfoList {
		ids = append(ids, member.SnapshotHandle)
	}
	if handles := found.Spec.Source.GroupSnapshotHandles; len(ids) == 0 && handles != nil {
		ids = handles.VolumeSnapshotHandles
	}
	if len(ids) == 0 {
		return fmt.Errorf("cannot delete group snapshot content %s. No snapshots found in the group snapshot", found.Name)
	}
	_, err := g.driver.DeleteVolumeGroupSnapshot(control.WithTimeout(ctx, g.env, g.cfg.Timeout), &csi.DeleteVolumeGroupSnapshotRequest{
		GroupSnapshotId: groupHandle(found), SnapshotIds: ids, Secrets: secrets,
	})
	return err
}

func (g *groups) clear(state *snapshots.Content) {
	state.Handle, state.ReadyToUse, state.CreationTime, state.Error = nil, nil, nil, nil
}
