package csitest

import (
	"context"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// CreateSnapshot implements csi.ControllerServer.
func (d *Driver) CreateSnapshot(_ context.Context, req *csi.CreateSnapshotRequest) (*csi.CreateSnapshotResponse, error) {
	id := "s-" + req.GetName()
	d.Snapshots[id] = req.GetSourceVolumeId()
	answer := &csi.CreateSnapshotResponse{Snapshot: d.snapshot(id)}
	d.Unready = max(d.Unready-1, 0)
	return answer, nil
}

func (d *Driver) snapshot(id string) *csi.Snapshot {
	return &csi.Snapshot{
		SnapshotId: id, SourceVolumeId: d.Snapshots[id], SizeBytes: 1 << 30, ReadyToUse: d.Unready == 0,
		CreationTime: timestamppb.New(time.Unix(1e9, 0)),
	}
}

// DeleteSnapshot implements csi.ControllerServer.
func (d *Driver) DeleteSnapshot(_ context.Context, req *csi.DeleteSnapshotRequest) (*csi.DeleteSnapshotResponse, error) {
	delete(d.Snapshots, req.GetSnapshotId())
	return &csi.DeleteSnapshotResponse{}, nil
}

// ListSnapshots implements csi.ControllerServer, of one snapshot.
func (d *Driver) ListSnapshots(_ context.Context, req *csi.ListSnapshotsRequest) (*csi.ListSnapshotsResponse, error) {
	answer := &csi.ListSnapshotsResponse{}
	if _, ok := d.Snapshots[req.GetSnapshotId()]; ok {
		answer.Entries = []*csi.ListSnapshotsResponse_Entry{{Snapshot: d.snapshot(req.GetSnapshotId())}}
	}
	return answer, nil
}

// GroupControllerGetCapabilities implements csi.GroupControllerServer.
func (d *Driver) GroupControllerGetCapabilities(context.Context,
	*csi.GroupControllerGetCapabilitiesRequest) (*csi.GroupControllerGetCapabilitiesResponse, error) {
	answer := &csi.GroupControllerGetCapabilitiesResponse{}
	if d.Groups != nil {
		answer.Capabilities = []*csi.GroupControllerServiceCapability{{Type: &csi.GroupControllerServiceCapability_Rpc{
			Rpc: &csi.GroupControllerServiceCapability_RPC{Type: csi.GroupControllerServiceCapability_RPC_CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT},
		}}}
	}
	return answer, nil
}

// CreateVolumeGroupSnapshot implements csi.GroupControllerServer.
func (d *Driver) CreateVolumeGroupSnapshot(ctx context.Context, req *csi.CreateVolumeGroupSnapshotRequest) (*csi.CreateVolumeGroupSnapshotResponse, error) {
	if d.Groups == nil {
		return d.UnimplementedGroupControllerServer.CreateVolumeGroupSnapshot(ctx, req)
	}
	id := "g-" + req.GetName()
	d.Groups[id] = nil
	for _, volume := range req.GetSourceVolumeIds() {
		member := "s-" + req.GetName() + "-" + volume
		d.Snapshots[member], d.Groups[id] = volume, append(d.Groups[id], member)
	}
	answer := &csi.CreateVolumeGroupSnapshotResponse{GroupSnapshot: d.group(id)}
	d.Unready = max(d.Unready-1, 0)
	return answer, nil
}

func (d *Driver) group(id string) *csi.VolumeGroupSnapshot {
	group := &csi.VolumeGroupSnapshot{GroupSnapshotId: id, ReadyToUse: d.Unready == 0, CreationTime: timestamppb.New(time.Unix(1e9, 0))}
	for _, member := range d.Groups[id] {
		s := d.snapshot(member)
		s.GroupSnapshotId = id
		group.Snapshots = append(group.Snapshots, s)
	}
	return group
}

// GetVolumeGroupSnapshot implements csi.GroupControllerServer.
func (d *Driver) GetVolumeGroupSnapshot(_ context.Context, req *csi.GetVolumeGroupSnapshotRequest) (*csi.GetVolumeGroupSnapshotResponse, error) {
	if _, ok := d.Groups[req.GetGroupSnapshotId()]; !ok {
		return nil, gone("group snapshot", req.GetGroupSnapshotId())
	}
	return &csi.GetVolumeGroupSnapshotResponse{GroupSnapshot: d.group(req.GetGroupSnapshotId())}, nil
}

// DeleteVolumeGroupSnapshot implements csi.GroupControllerServer.
func (d *Driver) DeleteVolumeGroupSnapshot(_ context.Context, req *csi.DeleteVolumeGroupSnapshotRequest) (*csi.DeleteVolumeGroupSnapshotResponse, error) {
	for _, member := range d.Groups[req.GetGroupSnapshotId()] {
		delete(d.Snapshots, member)
	}
	delete(d.Groups, req.GetGroupSnapshotId())
	return &csi.DeleteVolumeGroupSnapshotResponse{}, nil
}
