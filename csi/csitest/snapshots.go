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
