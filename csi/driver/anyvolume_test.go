package driver

import (
	"strings"
	"testing"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestAVolumeThatTheDriverHasNotCreatedExistsWithAnyVolume(t *testing.T) {
	for _, id := range []string{"vol-0123456789abcdef0", "server/share##", "..", "."} {
		r := newRig(t, Config{AnyVolume: true})
		req := &spec.ControllerPublishVolumeRequest{VolumeId: id, NodeId: "node-1", VolumeCapability: capability()}
		_, err := r.controller.ControllerPublishVolume(ctx, req)
		if strings.Trim(id, ".") == "" {
			assert.Equal(t, codes.InvalidArgument, status.Code(err), id)
			continue
		}
		require.NoError(t, err)
		_, err = r.server.NodeStageVolume(ctx, &spec.NodeStageVolumeRequest{VolumeId: id, StagingTargetPath: staging, VolumeCapability: capability()})
		require.NoError(t, err)
		_, err = r.server.NodePublishVolume(ctx,
			&spec.NodePublishVolumeRequest{VolumeId: id, StagingTargetPath: staging, TargetPath: target, VolumeCapability: capability()})
		require.NoError(t, err)
		require.NoError(t, r.node.Disk().WriteFile(target+"/f", []byte("kept"), 0o644))
		held := r.driver.Inventory.Holdings()
		assert.Empty(t, held.Volumes, "it is not the driver's to account for")
		assert.Equal(t, id, held.Attached[0].Volume)
		_, err = r.server.NodeUnpublishVolume(ctx, &spec.NodeUnpublishVolumeRequest{VolumeId: id, TargetPath: target})
		require.NoError(t, err)
		_, err = r.server.NodeUnstageVolume(ctx, &spec.NodeUnstageVolumeRequest{VolumeId: id, StagingTargetPath: staging})
		require.NoError(t, err)
	}
	r := newRig(t, Config{})
	_, err := r.controller.ControllerPublishVolume(ctx,
		&spec.ControllerPublishVolumeRequest{VolumeId: "server/share", NodeId: "node-1", VolumeCapability: capability()})
	assert.Equal(t, codes.NotFound, status.Code(err))
}

func TestADeletedVolumeOfTheDriverStaysDeletedWithAnyVolume(t *testing.T) {
	r := newRig(t, Config{AnyVolume: true})
	_, err := r.controller.ControllerPublishVolume(ctx,
		&spec.ControllerPublishVolumeRequest{VolumeId: idOf("pvc-1"), NodeId: "node-1", VolumeCapability: capability()})
	assert.Equal(t, codes.NotFound, status.Code(err))
}

func TestAnInlineVolumeLivesWhileItIsPublished(t *testing.T) {
	r := newRig(t, Config{AnyVolume: true})
	publish := &spec.NodePublishVolumeRequest{VolumeId: "csi-1", TargetPath: target, VolumeCapability: capability()}
	for range 2 {
		_, err := r.server.NodePublishVolume(ctx, publish)
		require.NoError(t, err)
		_, err = r.node.Disk().Stat(target + "/f")
		require.Error(t, err, "it is empty")
		require.NoError(t, r.node.Disk().WriteFile(target+"/f", []byte("gone soon"), 0o644))
		_, err = r.server.NodeUnpublishVolume(ctx, &spec.NodeUnpublishVolumeRequest{VolumeId: "csi-1", TargetPath: target})
		require.NoError(t, err)
	}
	assert.Empty(t, r.driver.Inventory.Holdings().Volumes)
	assert.Empty(t, r.driver.Inventory.Holdings().Published)
}

func TestASnapshotThatTheDriverHasNotTakenExistsWithAnyVolume(t *testing.T) {
	of := func(r *rig, id string) (*spec.Volume, error) {
		return r.createWith(&spec.CreateVolumeRequest{Name: "data", VolumeCapabilities: caps(capability()), VolumeContentSource: fromSnapshot(id)})
	}
	list := func(r *rig, id string) int {
		answer, err := r.controller.ListSnapshots(ctx, &spec.ListSnapshotsRequest{SnapshotId: id})
		require.NoError(t, err)
		return len(answer.GetEntries())
	}
	for _, id := range []string{"snap-0123456789abcdef0", "bs://volume/backup-1"} {
		r := newRig(t, Config{AnyVolume: true})
		_, err := of(r, id)
		require.NoError(t, err, id)
		require.Equal(t, 1, list(r, id))
		_, err = r.controller.DeleteSnapshot(ctx, &spec.DeleteSnapshotRequest{SnapshotId: id})
		require.NoError(t, err)
		require.Equal(t, 1, list(newRig(t, Config{AnyVolume: true}), id), "also if it is asked for first")
	}
	r := newRig(t, Config{AnyVolume: true})
	require.Zero(t, list(r, snapshotIDOf("s")), "one of its own that is deleted stays so")
	require.Zero(t, list(r, ".."))
	plain := newRig(t, Config{})
	require.Zero(t, list(plain, "snap-0123456789abcdef0"))
	_, err := of(plain, "snap-0123456789abcdef0")
	assert.Equal(t, codes.NotFound, status.Code(err))
}

func TestParametersOfAttributesClassesAreNotCheckedWithAnyVolume(t *testing.T) {
	r := newRig(t, Config{AnyVolume: true, AttributesClasses: true})
	_, err := r.createWith(&spec.CreateVolumeRequest{Name: "data", VolumeCapabilities: caps(capability()), MutableParameters: map[string]string{"colour": "blue"}})
	require.NoError(t, err)
}
