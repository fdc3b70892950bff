package driver

import (
	"testing"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
)

func (r *rig) snapshot(name, of string) (*spec.Snapshot, error) {
	answer, err := r.controller.CreateSnapshot(ctx, &spec.CreateSnapshotRequest{Name: name, SourceVolumeId: of})
	return answer.GetSnapshot(), err
}

func fromSnapshot(id string) *spec.VolumeContentSource { return content{Snapshot: id}.describe() }
func fromVolume(id string) *spec.VolumeContentSource   { return content{Volume: id}.describe() }

// write writes a file of a volume on the host, and read reads one.
func (r *rig) write(id, name, text string) {
	r.t.Helper()
	require.NoError(r.t, r.host.Disk().WriteFile("/volumes/"+id+"/data/"+name, []byte(text), 0o640))
}

func (r *rig) read(id, name string) string {
	r.t.Helper()
	data, err := r.host.Disk().ReadFile("/volumes/" + id + "/data/" + name)
	require.NoError(r.t, err)
	return string(data)
}

func TestASnapshotKeepsWhatTheVolumeHadAndOutlivesIt(t *testing.T) {
	r := newRig(t, Config{})
	id := r.create("v", capability())
	disk := r.host.Disk()
	require.NoError(t, disk.MkdirAll("/volumes/"+id+"/data/dir", 0o750))
	r.write(id, "dir/file", "before")
	_, err := disk.Symlink("/volumes/"+id+"/data/dir/file", "/volumes/"+id+"/data/link")
	require.NoError(t, err)
	s, err := r.snapshot("s", id)
	require.NoError(t, err)
	require.True(t, s.ReadyToUse)
	require.EqualValues(t, 1<<30, s.SizeBytes)
	r.write(id, "dir/file", "after")
	again, err := r.snapshot("s", id)
	require.NoError(t, err)
	require.Equal(t, s, again, "a repeated call finds it")
	_, err = r.controller.DeleteVolume(ctx, &spec.DeleteVolumeRequest{VolumeId: id})
	require.NoError(t, err)

	v, err := r.createWith(&spec.CreateVolumeRequest{Name: "restored", VolumeCapabilities: caps(capability()), VolumeContentSource: fromSnapshot(s.SnapshotId)})
	require.NoError(t, err)
	require.Equal(t, s.SnapshotId, v.ContentSource.GetSnapshot().SnapshotId)
	require.Equal(t, "before", r.read(v.VolumeId, "dir/file"))
	target, err := disk.Readlink("/volumes/" + v.VolumeId + "/data/link")
	require.NoError(t, err)
	require.Equal(t, "dir/file", target)
	info, err := disk.Stat("/volumes/" + v.VolumeId + "/data/dir")
	require.NoError(t, err)
	require.EqualValues(t, 0o750, info.Mode().Perm())

	require.Equal(t, []string{s.SnapshotId}, r.driver.Inventory.Holdings().Snapshots)
	for range 2 {
		_, err = r.controller.DeleteSnapshot(ctx, &spec.DeleteSnapshotRequest{SnapshotId: s.SnapshotId})
		require.NoError(t, err)
	}
	require.Empty(t, r.driver.Inventory.Holdings().Snapshots)
}

func TestACloneIsACopyThatGoesItsOwnWay(t *testing.T) {
	r := newRig(t, Config{})
	id := r.create("v", capability())
	r.write(id, "file", "before")
	req := &spec.CreateVolumeRequest{Name: "clone", VolumeCapabilities: caps(capability()), VolumeContentSource: fromVolume(id)}
	v, err := r.createWith(req)
	require.NoError(t, err)
	r.write(id, "file", "after")
	require.Equal(t, "before", r.read(v.VolumeId, "file"))
	again, err := r.createWith(req)
	require.NoError(t, err)
	require.Equal(t, v.VolumeId, again.VolumeId)
	require.Equal(t, "before", r.read(v.VolumeId, "file"), "a repeated call copies nothing")
	_, err = r.createWith(&spec.CreateVolumeRequest{Name: "clone", VolumeCapabilities: caps(capability())})
	requireCode(t, codes.AlreadyExists, err, "exists with another content")
}

func TestWhatACrashLeftOfACopyIsRemovedFirst(t *testing.T) {
	r := newRig(t, Config{})
	id := r.create("v", capability())
	disk := r.host.Disk()
	for _, dir := range []string{"/snapshots/" + snapshotIDOf("s"), "/volumes/" + idOf("restored")} {
		require.NoError(t, disk.MkdirAll(dir+"/data", 0o755))
		require.NoError(t, disk.WriteFile(dir+"/data/half", nil, 0o644))
	}
	require.Empty(t, r.driver.Inventory.Holdings().Snapshots)
	s, err := r.snapshot("s", id)
	require.NoError(t, err)
	v, err := r.createWith(&spec.CreateVolumeRequest{Name: "restored", VolumeCapabilities: caps(capability()), VolumeContentSource: fromSnapshot(s.SnapshotId)})
	require.NoError(t, err)
	for _, dir := range []string{"/snapshots/" + s.SnapshotId, "/volumes/" + v.VolumeId} {
		names, err := disk.List(dir + "/data")
		require.NoError(t, err)
		require.Empty(t, names)
	}
}

func TestSourcesThatDoNotFitAreRefused(t *testing.T) {
	r := newRig(t, Config{})
	small, block := r.create("small", capability()), r.create("block", blockCapability())
	s, err := r.snapshot("s", small)
	require.NoError(t, err)
	_, err = r.snapshot("s", block)
	requireCode(t, codes.AlreadyExists, err, "of volume "+small)
	_, err = r.snapshot("other", "vol-none")
	requireCode(t, codes.NotFound, err, "there is no volume vol-none")
	for _, c := range []struct {
		name   string
		source *spec.VolumeContentSource
		size   int64
		code   codes.Code
		words  string
	}{
		{"no snapshot", fromSnapshot("snap-none"), 0, codes.NotFound, "there is no snapshot snap-none"},
		{"no volume", fromVolume("vol-none"), 0, codes.NotFound, "there is no volume vol-none"},
		{"too small", fromSnapshot(s.SnapshotId), 1 << 20, codes.OutOfRange, "its source has 1073741824"},
		{"another type", fromVolume(block), 0, codes.InvalidArgument, "must both be block volumes"},
	} {
		_, err := r.createWith(&spec.CreateVolumeRequest{
			Name: c.name, VolumeCapabilities: caps(capability()), VolumeContentSource: c.source, CapacityRange: &spec.CapacityRange{RequiredBytes: c.size},
		})
		requireCode(t, c.code, err, c.words)
	}
	require.Len(t, r.driver.Inventory.Holdings().Volumes, 2)
}

func TestADriverCanDoWithoutSnapshotsAndClones(t *testing.T) {
	r := newRig(t, Config{NoSnapshots: true, NoClones: true})
	answer, err := r.controller.ControllerGetCapabilities(ctx, &spec.ControllerGetCapabilitiesRequest{})
	require.NoError(t, err)
	for _, capability := range answer.Capabilities {
		require.NotContains(t, []spec.ControllerServiceCapability_RPC_Type{
			spec.ControllerServiceCapability_RPC_CREATE_DELETE_SNAPSHOT, spec.ControllerServiceCapability_RPC_LIST_SNAPSHOTS,
			spec.ControllerServiceCapability_RPC_CLONE_VOLUME,
		}, capability.GetRpc().GetType())
	}
	id := r.create("v", capability())
	_, err = r.snapshot("s", id)
	requireCode(t, codes.Unimplemented, err, "snapshots are switched off")
	for _, source := range []*spec.VolumeContentSource{fromVolume(id), fromSnapshot("snap-1")} {
		_, err = r.createWith(&spec.CreateVolumeRequest{Name: "copy", VolumeCapabilities: caps(capability()), VolumeContentSource: source})
		requireCode(t, codes.InvalidArgument, err, "is not supported")
	}
}
