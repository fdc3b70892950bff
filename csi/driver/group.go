package driver

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path"
	"slices"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// groupsDir is the directory of the group snapshots on the backend's disk.
const groupsDir = "/groups"

// group is the backend's record of one group snapshot. Its members are snapshots.
type group struct {
	ID      string      `json:"id"`
	Name    string      `json:"name"`
	Members []*snapshot `json:"members"`
}

// groupIDOf returns the ID of the group snapshot with a name.
func groupIDOf(name string) string {
	return fmt.Sprintf("group-%x", sha256.Sum256([]byte(name)))[:22]
}

func groupDir(id string) string { return path.Join(groupsDir, id) }

var errNoGroup = errors.New("no such group snapshot")

// loadGroup reads a group snapshot. It returns errNoGroup if there is none.
func (b *Backend) loadGroup(id string) (*group, error) {
	g := &group{}
	return g, b.readJSON(id, path.Join(groupDir(id), "group.json"), g, errNoGroup)
}

// groups reports whether the driver takes group snapshots.
func (cfg Config) groups() bool { return !cfg.NoSnapshots && !cfg.NoGroupSnapshots }

// GroupControllerGetCapabilities returns the one capability that the specification has.
func (c *controller) GroupControllerGetCapabilities(context.Context,
	*spec.GroupControllerGetCapabilitiesRequest) (*spec.GroupControllerGetCapabilitiesResponse, error) {
	answer := &spec.GroupControllerGetCapabilitiesResponse{}
	if c.cfg.groups() {
		answer.Capabilities = []*spec.GroupControllerServiceCapability{{Type: &spec.GroupControllerServiceCapability_Rpc{
			Rpc: &spec.GroupControllerServiceCapability_RPC{Type: spec.GroupControllerServiceCapability_RPC_CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT},
		}}}
	}
	return answer, nil
}

// CreateVolumeGroupSnapshot copies the data of several volumes at one moment, or returns the group snapshot of that
// name.
func (c *controller) CreateVolumeGroupSnapshot(_ context.Context, req *spec.CreateVolumeGroupSnapshotRequest) (*spec.CreateVolumeGroupSnapshotResponse, error) {
	switch {
	case !c.cfg.groups():
		return nil, status.Error(codes.Unimplemented, "group snapshots are switched off")
	case req.GetName() == "":
		return nil, status.Error(codes.InvalidArgument, "name is missing")
	case len(req.GetSourceVolumeIds()) == 0:
		return nil, status.Error(codes.InvalidArgument, "source_volume_ids are missing")
	}
	g, err := c.loadGroup(groupIDOf(req.GetName()))
	switch {
	case errors.Is(err, errNoGroup):
		if g, err = c.newGroup(req); err != nil {
			return nil, err
		}
		err = c.takeGroup(g)
	case err == nil && !g.isOf(req.GetSourceVolumeIds()):
		return nil, status.Errorf(codes.AlreadyExists, "group snapshot %s exists, of other volumes", g.Name)
	case err == nil:
		err = c.showMembers(g)
	}
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &spec.CreateVolumeGroupSnapshotResponse{GroupSnapshot: g.describe()}, nil
}

// newGroup returns the requested group snapshot, before it is taken.
func (c *controller) newGroup(req *spec.CreateVolumeGroupSnapshotRequest) (*group, error) {
	g := &group{ID: groupIDOf(req.GetName()), Name: req.GetName()}
	for _, id := range req.GetSourceVolumeIds() {
		v, err := c.find(id)
		if err != nil {
			return nil, err
		}
		name := req.GetName() + "/" + id
		g.Members = append(g.Members, &snapshot{ID: snapshotIDOf(name), Name: name, Of: id, Size: v.Size, Block: v.Block, Made: c.now(), Group: g.ID})
	}
	return g, nil
}

// takeGroup copies the data of all members, and then writes group.json: with it the group snapshot exists. After a
// crash before that all are copied again, so that none is older than the others.
func (c *controller) takeGroup(g *group) error {
	for _, s := range g.Members {
		if err := c.copyOf(s); err != nil {
			return err
		}
	}
	if err := c.disk.MkdirAll(groupDir(g.ID), 0o755); err != nil {
		return err
	}
	if err := c.writeJSON(path.Join(groupDir(g.ID), "group.json"), g); err != nil {
		return err
	}
	return c.showMembers(g)
}

// showMembers writes the members' snapshot.json: with it each exists.
func (c *controller) showMembers(g *group) error {
	for _, s := range g.Members {
		if _, err := c.loadSnapshot(s.ID); !errors.Is(err, errNoSnapshot) {
			continue
		}
		if err := c.writeJSON(path.Join(snapshotDir(s.ID), "snapshot.json"), s); err != nil {
			return err
		}
	}
	return nil
}

// isOf reports whether a group snapshot is of these volumes.
func (g *group) isOf(volumes []string) bool {
	return len(g.Members) == len(volumes) && !slices.ContainsFunc(g.Members, func(s *snapshot) bool { return !slices.Contains(volumes, s.Of) })
}

// has reports whether a group snapshot has these members. It is true if none are given.
func (g *group) has(ids []string) bool {
	return len(ids) == 0 || len(g.Members) == len(ids) && !slices.ContainsFunc(g.Members, func(s *snapshot) bool { return !slices.Contains(ids, s.ID) })
}

// describe returns a group snapshot as answers have it.
func (g *group) describe() *spec.VolumeGroupSnapshot {
	answer := &spec.VolumeGroupSnapshot{GroupSnapshotId: g.ID, ReadyToUse: true, CreationTime: timestamppb.New(g.Members[0].Made)}
	for _, s := range g.Members {
		answer.Snapshots = append(answer.Snapshots, s.describe())
	}
	return answer
}

// findGroup returns the group snapshot that a request names. The error is a status, NotFound if it does not exist.
func (c *controller) findGroup(id string, members []string) (*group, error) {
	if id == "" {
		return nil, status.Error(codes.InvalidArgument, "group_snapshot_id is missing")
	}
	g, err := c.loadGroup(id)
	switch {
	case errors.Is(err, errNoGroup):
		return nil, status.Errorf(codes.NotFound, "there is no group snapshot %s", id)
	case err != nil:
		return nil, status.Error(codes.Internal, err.Error())
	case !g.has(members):
		return nil, status.Errorf(codes.InvalidArgument, "snapshot_ids: %v are not the members of group snapshot %s", members, id)
	}
	return g, nil
}

// GetVolumeGroupSnapshot returns a group snapshot.
func (c *controller) GetVolumeGroupSnapshot(_ context.Context, req *spec.GetVolumeGroupSnapshotRequest) (*spec.GetVolumeGroupSnapshotResponse, error) {
	g, err := c.findGroup(req.GetGroupSnapshotId(), req.GetSnapshotIds())
	if err != nil {
		return nil, err
	}
	return &spec.GetVolumeGroupSnapshotResponse{GroupSnapshot: g.describe()}, nil
}

// DeleteVolumeGroupSnapshot removes a group snapshot with its members. One that does not exist is no error.
func (c *controller) DeleteVolumeGroupSnapshot(_ context.Context, req *spec.DeleteVolumeGroupSnapshotRequest) (*spec.DeleteVolumeGroupSnapshotResponse, error) {
	g, err := c.findGroup(req.GetGroupSnapshotId(), req.GetSnapshotIds())
	switch {
	case status.Code(err) == codes.NotFound:
		return &spec.DeleteVolumeGroupSnapshotResponse{}, nil
	case err != nil:
		return nil, err
	}
	for _, s := range g.Members {
		if err := c.disk.RemoveAll(snapshotDir(s.ID)); err != nil {
			return nil, status.Error(codes.Internal, err.Error())
		}
	}
	if err := c.disk.RemoveAll(groupDir(g.ID)); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &spec.DeleteVolumeGroupSnapshotResponse{}, nil
}
