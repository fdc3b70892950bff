package driver

import (
	"syscall"
	"testing"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/storagesim/storagesim/machine"
)

func (r *rig) groups() spec.GroupControllerServer { return r.controller.(spec.GroupControllerServer) }

func (r *rig) group(name string, of ...string) (*spec.VolumeGroupSnapshot, error) {
	answer, err := r.groups().CreateVolumeGroupSnapshot(ctx, &spec.CreateVolumeGroupSnapshotRequest{Name: name, SourceVolumeIds: of})
	return answer.GetGroupSnapshot(), err
}

// two returns two volumes with a file each.
func (r *rig) two() (data, log string) {
	data, log = r.create("data", capability()), r.create("log", capability())
	r.write(data, "file", "one")
	r.write(log, "file", "one")
	return data, log
}

// taken returns the content of the file of a member.
func (r *rig) taken(s *spec.Snapshot) string {
	r.t.Helper()
	data, err := r.host.Disk().ReadFile("/snapshots/" + s.SnapshotId + "/data/file")
	require.NoError(r.t, err)
	return string(data)
}

func TestAGroupSnapshotIsFoundAgainAndDeletedAsAWhole(t *testing.T) {
	r := newRig(t, Config{})
	data, log := r.two()
	g, err := r.group("g", data, log)
	require.NoError(t, err)
	require.True(t, g.ReadyToUse)
	require.Len(t, g.Snapshots, 2)
	for i, of := range []string{data, log} {
		require.Equal(t, of, g.Snapshots[i].SourceVolumeId)
		require.Equal(t, g.GroupSnapshotId, g.Snapshots[i].GroupSnapshotId)
	}
	again, err := r.group("g", log, data)
	require.NoError(t, err)
	require.Equal(t, g.GroupSnapshotId, again.GroupSnapshotId)
	_, err = r.group("g", data)
	require.Equal(t, codes.AlreadyExists, status.Code(err))

	_, err = r.controller.DeleteSnapshot(ctx, &spec.DeleteSnapshotRequest{SnapshotId: g.Snapshots[0].SnapshotId})
	require.Equal(t, codes.InvalidArgument, status.Code(err), "a member is deleted with its group")
	ids := []string{g.Snapshots[0].SnapshotId, g.Snapshots[1].SnapshotId}
	found, err := r.groups().GetVolumeGroupSnapshot(ctx, &spec.GetVolumeGroupSnapshotRequest{GroupSnapshotId: g.GroupSnapshotId, SnapshotIds: ids})
	require.NoError(t, err)
	require.Equal(t, g, found.GroupSnapshot)
	_, err = r.groups().DeleteVolumeGroupSnapshot(ctx,
		&spec.DeleteVolumeGroupSnapshotRequest{GroupSnapshotId: g.GroupSnapshotId, SnapshotIds: []string{"other", ids[0]}})
	require.Equal(t, codes.InvalidArgument, status.Code(err))
	for range 2 {
		_, err = r.groups().DeleteVolumeGroupSnapshot(ctx, &spec.DeleteVolumeGroupSnapshotRequest{GroupSnapshotId: g.GroupSnapshotId, SnapshotIds: ids})
		require.NoError(t, err)
	}
	require.Empty(t, r.driver.Inventory.Holdings().Snapshots)
	_, err = r.groups().GetVolumeGroupSnapshot(ctx, &spec.GetVolumeGroupSnapshotRequest{GroupSnapshotId: g.GroupSnapshotId})
	require.Equal(t, codes.NotFound, status.Code(err))
}

func TestGroupSnapshotsThatCannotBe(t *testing.T) {
	r := newRig(t, Config{})
	for want, req := range map[codes.Code]*spec.CreateVolumeGroupSnapshotRequest{
		codes.InvalidArgument: {Name: "g"}, codes.NotFound: {Name: "g", SourceVolumeIds: []string{"none"}},
	} {
		_, err := r.groups().CreateVolumeGroupSnapshot(ctx, req)
		require.Equal(t, want, status.Code(err))
	}
	_, err := newRig(t, Config{NoGroupSnapshots: true}).group("g", "v")
	require.Equal(t, codes.Unimplemented, status.Code(err))
}

// The disk fails once, at each operation in turn, and the application goes on writing before the next try.
func TestAllMembersAreOfOneMomentAlsoAfterAFailure(t *testing.T) {
	failed := map[string]int{}
	for skip := range 24 {
		r := newRig(t, Config{})
		data, log := r.two()
		require.NoError(t, r.machines.Inject(machine.Fault{Machine: r.host.String(), Op: "change", Skip: skip, Err: syscall.EIO}))
		_, err := r.group("g", data, log)
		r.machines.ClearFaults()
		r.write(data, "file", "two")
		r.write(log, "file", "two")
		g, again := r.group("g", data, log)
		require.NoError(t, again)
		is := r.taken(g.Snapshots[0])
		require.Equal(t, is, r.taken(g.Snapshots[1]), "operation %d", skip)
		if err != nil {
			failed[is]++
		}
		require.Len(t, r.driver.Inventory.Holdings().Snapshots, 2)
	}
	require.Greater(t, failed["two"], 5, "the first try is forgotten, or")
	require.Greater(t, failed["one"], 1, "only ended")
}
