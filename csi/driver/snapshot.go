package driver

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// snapshotsDir is the directory of the snapshots on the backend's disk.
const snapshotsDir = "/snapshots"

// snapshot is the backend's record of one snapshot. Its data are a copy of the volume's.
type snapshot struct {
	ID    string    `json:"id"`
	Name  string    `json:"name"`
	Of    string    `json:"of"` // the ID of the volume
	Size  int64     `json:"size"`
	Block bool      `json:"block,omitempty"`
	Made  time.Time `json:"made"`
	// Group is the ID of the group snapshot that it was taken with; "" if alone.
	Group string `json:"group,omitempty"`
}

// snapshotIDOf returns the ID of the snapshot with a name.
func snapshotIDOf(name string) string {
	return fmt.Sprintf("snap-%x", sha256.Sum256([]byte(name)))[:21]
}

func snapshotDir(id string) string { return path.Join(snapshotsDir, fileOf(id)) }

var errNoSnapshot = errors.New("no such snapshot")

// loadSnapshot reads a snapshot. It returns errNoSnapshot if there is none.
func (b *Backend) loadSnapshot(id string) (*snapshot, error) {
	s := &snapshot{}
	return s, b.readJSON(fileOf(id), path.Join(snapshotDir(id), "snapshot.json"), s, errNoSnapshot)
}

// snapshots returns all snapshots, by ID.
func (b *Backend) snapshots() ([]*snapshot, error) {
	names, err := b.disk.List(snapshotsDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var all []*snapshot
	for _, name := range names {
		s, failed := b.loadSnapshot(idOfFile(path.Clean(name)))
		switch {
		case failed == nil:
			all = append(all, s)
		case !errors.Is(failed, errNoSnapshot): // incomplete: the crash was before snapshot.json
			err = errors.Join(err, failed)
		}
	}
	return all, err
}

// CreateSnapshot copies the data of a volume, or returns the snapshot of that name.
func (c *controller) CreateSnapshot(_ context.Context, req *spec.CreateSnapshotRequest) (*spec.CreateSnapshotResponse, error) {
	switch {
	case c.cfg.NoSnapshots:
		return nil, status.Error(codes.Unimplemented, "snapshots are switched off")
	case req.GetName() == "":
		return nil, status.Error(codes.InvalidArgument, "name is missing")
	case req.GetSourceVolumeId() == "":
		return nil, status.Error(codes.InvalidArgument, "source_volume_id is missing")
	}
	found, err := c.loadSnapshot(snapshotIDOf(req.GetName()))
	switch {
	case err == nil && found.Of != req.GetSourceVolumeId():
		return nil, status.Errorf(codes.AlreadyExists, "snapshot %s exists, of volume %s", found.Name, found.Of)
	case err == nil:
		return &spec.CreateSnapshotResponse{Snapshot: found.describe()}, nil
	case !errors.Is(err, errNoSnapshot):
		return nil, status.Error(codes.Internal, err.Error())
	}
	v, err := c.findOrMake(req.GetSourceVolumeId(), false)
	if err != nil {
		return nil, err
	}
	s := &snapshot{ID: snapshotIDOf(req.GetName()), Name: req.GetName(), Of: v.ID, Size: v.Size, Block: v.Block, Made: c.now()}
	if err := c.makeSnapshot(s); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &spec.CreateSnapshotResponse{Snapshot: s.describe()}, nil
}

// makeSnapshot creates the snapshot's files. snapshot.json comes last: with it the snapshot exists.
func (c *controller) makeSnapshot(s *snapshot) error {
	if err := c.copyOf(s); err != nil {
		return err
	}
	return c.writeJSON(path.Join(snapshotDir(s.ID), "snapshot.json"), s)
}

// copyOf copies what the snapshot's volume has.
func (c *controller) copyOf(s *snapshot) error {
	if err := c.flush(s.Of); err != nil {
		return err
	}
	return c.copyData(path.Join(c.dir(s.Of), "data"), snapshotDir(s.ID))
}

// describe returns a snapshot as answers have it.
func (s *snapshot) describe() *spec.Snapshot {
	return &spec.Snapshot{SnapshotId: s.ID, SourceVolumeId: s.Of, SizeBytes: s.Size, CreationTime: timestamppb.New(s.Made), ReadyToUse: true,
		GroupSnapshotId: s.Group}
}

// DeleteSnapshot removes a snapshot. A snapshot that does not exist is no error.
func (c *controller) DeleteSnapshot(_ context.Context, req *spec.DeleteSnapshotRequest) (*spec.DeleteSnapshotResponse, error) {
	if req.GetSnapshotId() == "" {
		return nil, status.Error(codes.InvalidArgument, "snapshot_id is missing")
	}
	s, err := c.loadSnapshot(req.GetSnapshotId())
	if err == nil && s.Group != "" {
		return nil, status.Errorf(codes.InvalidArgument, "snapshot %s is part of group snapshot %s, and is deleted with it", s.ID, s.Group)
	}
	if err == nil {
		err = c.disk.RemoveAll(snapshotDir(req.GetSnapshotId()))
	}
	if err != nil && !errors.Is(err, errNoSnapshot) {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &spec.DeleteSnapshotResponse{}, nil
}

// ListSnapshots lists snapshots by ID: all, those of one volume, or one.
func (c *controller) ListSnapshots(_ context.Context, req *spec.ListSnapshotsRequest) (*spec.ListSnapshotsResponse, error) {
	if req.GetSnapshotId() != "" && req.GetSourceVolumeId() == "" {
		if _, err := c.findOrMakeSnapshot(req.GetSnapshotId()); err != nil && !errors.Is(err, errNoSnapshot) {
			return nil, status.Error(codes.Internal, err.Error())
		}
	}
	all, err := c.snapshots()
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	var found []*snapshot
	for _, s := range all {
		if (req.GetSnapshotId() == "" || s.ID == req.GetSnapshotId()) && (req.GetSourceVolumeId() == "" || s.Of == req.GetSourceVolumeId()) {
			found = append(found, s)
		}
	}
	from, to, next, err := page(len(found), req.GetStartingToken(), int(req.GetMaxEntries()))
	if err != nil {
		return nil, err
	}
	answer := &spec.ListSnapshotsResponse{NextToken: next}
	for _, s := range found[from:to] {
		answer.Entries = append(answer.Entries, &spec.ListSnapshotsResponse_Entry{Snapshot: s.describe()})
	}
	return answer, nil
}
