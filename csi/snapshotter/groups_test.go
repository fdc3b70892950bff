package snapshotter_test

import (
	"strings"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/control/snapshots"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/rigs/csitest"
	"github.com/storagesim/storagesim/internal/rigs/enginetest"
)

// newGroupRig returns a rig with the definitions of group snapshots, which come after the sidecar, and a driver that
// takes them.
func newGroupRig(t testing.TB, change ...func(*csitest.Driver)) *rig {
	t.Helper()
	r := newRig(t, append([]func(*csitest.Driver){func(d *csitest.Driver) { d.Groups = map[string][]string{} }}, change...)...)
	r.DefineGroups()
	r.Create(`{apiVersion: groupsnapshot.storage.k8s.io/v1, kind: VolumeGroupSnapshotClass, metadata: {name: groups}, driver: plain.csi.example.com, ` +
		`deletionPolicy: Delete, parameters: {colour: red}}`)
	r.Settle()
	return r
}

// groupContent creates the content gc, as the snapshot controller does, with some words replaced.
func (r *rig) groupContent(change ...string) {
	r.Helper()
	r.Create(strings.NewReplacer(append(change, "POLICY", "Delete", "SOURCE", "volumeHandles: [h-1, h-2]")...).Replace(`
{apiVersion: groupsnapshot.storage.k8s.io/v1, kind: VolumeGroupSnapshotContent,
  metadata: {name: gc, finalizers: [groupsnapshot.storage.kubernetes.io/volumegroupsnapshotcontent-bound-protection]}, spec: {
  driver: plain.csi.example.com, deletionPolicy: POLICY, volumeGroupSnapshotClassName: groups, source: {SOURCE},
  volumeGroupSnapshotRef: {apiVersion: groupsnapshot.storage.k8s.io/v1, kind: VolumeGroupSnapshot, name: g, namespace: default, uid: u-1}}}`))
}

func (r *rig) gc() *groupv1.VolumeGroupSnapshotContent {
	return enginetest.Get[groupv1.VolumeGroupSnapshotContent](r.SnapshotRig, snapshots.GroupContents(), "", "gc")
}

func (r *rig) groupReady() bool {
	state := r.gc()
	return state != nil && state.Status != nil && state.Status.ReadyToUse != nil && *state.Status.ReadyToUse
}

// removeGroup deletes the content as the snapshot controller does when its group snapshot is deleted.
func (r *rig) removeGroup() {
	r.Helper()
	state := r.gc()
	metav1.SetMetaDataAnnotation(&state.ObjectMeta, snapshots.AnnGroupBeingDeleted, "yes")
	r.Put(snapshots.GroupContents(), state, "")
	r.Delete(snapshots.GroupContents(), "", "gc")
}

func TestAGroupSnapshotIsTakenAndDeleted(t *testing.T) {
	r := newGroupRig(t)
	r.groupContent()
	r.runFor(5 * time.Second)
	require.True(t, r.groupReady())
	assert.Equal(t, []string{"patch volumegroupsnapshotcontents", "update volumegroupsnapshotcontents/status", "patch volumegroupsnapshotcontents"},
		r.Writes(actor))
	req := csitest.Last[*csi.CreateVolumeGroupSnapshotRequest](r.driver)
	assert.Equal(t, "groupsnapshot-u-1", req.GetName())
	assert.Equal(t, []string{"h-1", "h-2"}, req.GetSourceVolumeIds())
	assert.Equal(t, map[string]string{"colour": "red"}, req.GetParameters())
	status := r.gc().Status
	assert.Equal(t, "g-groupsnapshot-u-1", *status.VolumeGroupSnapshotHandle)
	require.Len(t, status.VolumeSnapshotInfoList, 2)
	assert.Equal(t, "h-2", status.VolumeSnapshotInfoList[1].VolumeHandle)
	assert.Equal(t, int64(1<<30), *status.VolumeSnapshotInfoList[1].RestoreSize)

	r.removeGroup()
	r.runFor(5 * time.Second)
	assert.Nil(t, r.gc())
	assert.Equal(t, []string{"CreateVolumeGroupSnapshot", "DeleteVolumeGroupSnapshot"}, r.driver.Methods())
	deleted := csitest.Last[*csi.DeleteVolumeGroupSnapshotRequest](r.driver)
	assert.Equal(t, []string{"s-groupsnapshot-u-1-h-1", "s-groupsnapshot-u-1-h-2"}, deleted.GetSnapshotIds())
	assert.Empty(t, r.driver.Snapshots)
}

func TestWithThePolicyRetainTheDriverDeletesNoGroup(t *testing.T) {
	r := newGroupRig(t)
	r.groupContent("POLICY", "Retain")
	r.runFor(5 * time.Second)
	r.removeGroup()
	r.runFor(5 * time.Second)
	require.Nil(t, r.gc())
	require.Equal(t, []string{"CreateVolumeGroupSnapshot"}, r.driver.Methods())
}

func TestAGroupSnapshotThatIsNotReadyIsAskedForAgain(t *testing.T) {
	r := newGroupRig(t, func(d *csitest.Driver) { d.Unready = 2 })
	r.groupContent()
	r.runFor(500 * time.Millisecond)
	require.False(t, r.groupReady())
	r.runFor(time.Minute)
	require.True(t, r.groupReady())
	require.Len(t, r.driver.Calls, 3)
}

func TestAGroupSnapshotInDoubtKeepsItsContentUntilItIsClear(t *testing.T) {
	r := newGroupRig(t)
	r.driver.Fail(csitest.Failure{Method: "CreateVolumeGroupSnapshot", Code: codes.DeadlineExceeded, After: true, Times: 3})
	r.groupContent()
	r.runFor(500 * time.Millisecond)
	require.Contains(t, r.gc().Annotations, snapshots.AnnGroupBeingCreated)
	r.removeGroup()
	r.runFor(time.Second)
	require.NotNil(t, r.gc(), "it waits for a final answer")
	r.runFor(time.Minute)
	require.Nil(t, r.gc())
	require.Empty(t, r.driver.Snapshots, "what was made in the end is deleted")
}

func TestADriverWithoutGroupSnapshotsIsToldOf(t *testing.T) {
	r := newGroupRig(t, func(d *csitest.Driver) { d.Groups = nil })
	r.groupContent()
	r.runFor(5 * time.Second)
	require.NotContains(t, r.gc().Annotations, snapshots.AnnGroupBeingCreated)
	require.Contains(t, r.Events(),
		`Warning GroupSnapshotCreationFailed: Failed to create group snapshot: failed to take group snapshot of the volumes [h-1 h-2]: `+
			`"rpc error: code = Unimplemented desc = method CreateVolumeGroupSnapshot not implemented"`)
	require.Contains(t, r.Engine.Trace().Story(engine.Start()), "it has no capability CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT")
}

func TestAFailedDeletionOfAGroupIsTriedAgain(t *testing.T) {
	r := newGroupRig(t)
	r.groupContent()
	r.runFor(5 * time.Second)
	r.driver.Fail(csitest.Failure{Method: "DeleteVolumeGroupSnapshot", Code: codes.Internal, Times: 2})
	r.removeGroup()
	r.runFor(500 * time.Millisecond)
	require.NotNil(t, r.gc())
	require.Contains(t, r.Events(), "Warning GroupSnapshotDeleteError: Failed to delete group snapshot")
	r.runFor(10 * time.Second)
	require.Nil(t, r.gc())
	require.Empty(t, r.driver.Snapshots)
}

func TestAGroupSnapshotThatIsThereAlreadyIsOnlyLookedAt(t *testing.T) {
	const handles = "groupSnapshotHandles: {volumeGroupSnapshotHandle: old, volumeSnapshotHandles: [s-old]}"
	r := newGroupRig(t, func(d *csitest.Driver) { d.Groups["old"], d.Snapshots["s-old"] = []string{"s-old"}, "h-1" })
	r.groupContent("SOURCE", handles)
	r.runFor(5 * time.Second)
	require.True(t, r.groupReady())
	require.Equal(t, []string{"GetVolumeGroupSnapshot"}, r.driver.Methods())
	r.removeGroup()
	r.runFor(5 * time.Second)
	require.Nil(t, r.gc())
	require.Equal(t, []string{"s-old"}, csitest.Last[*csi.DeleteVolumeGroupSnapshotRequest](r.driver).GetSnapshotIds())

	r = newGroupRig(t)
	r.groupContent("SOURCE", handles)
	r.runFor(5 * time.Second)
	require.False(t, r.groupReady())
	require.Contains(t, r.Events(), `Warning GroupSnapshotContentCheckandUpdateFailed: Failed to check and update group snapshot content: `+
		`failed to list group snapshot for group snapshot content gc: "rpc error: code = NotFound desc = no group snapshot old"`)
}

func TestTheDriverIsAskedNeitherToTakeNorToDeleteAMember(t *testing.T) {
	r := newGroupRig(t)
	r.content("ANNOTATIONS", "groupsnapshot.storage.k8s.io/volumeGroupSnapshotHandle: gh")
	r.runFor(5 * time.Second)
	require.Nil(t, r.Content("c").Status)
	c := r.Content("c")
	handle, group, ready := "s-1", "gh", true
	c.Status = &snapshotv1.VolumeSnapshotContentStatus{SnapshotHandle: &handle, VolumeGroupSnapshotHandle: &group, ReadyToUse: &ready}
	r.Update(c, "status")
	r.runFor(5 * time.Second)
	r.remove()
	r.runFor(5 * time.Second)
	require.Nil(t, r.Content("c"))
	require.Empty(t, r.driver.Calls)
}

// At each of its first calls the sidecar crashes once, while a group snapshot is taken and deleted.
func TestACrashOfTheSidecarAtAnyCallLosesNoGroup(t *testing.T) {
	for skip := range 12 {
		for _, after := range []bool{false, true} {
			r := newGroupRig(t)
			require.NoError(t, r.Engine.Inject(engine.Fault{Actor: actor, Skip: skip, After: after, Crash: true, Times: 1}))
			r.groupContent()
			r.runFor(10 * time.Second)
			require.True(t, r.groupReady(), "%d %v", skip, after)
			require.Len(t, r.driver.Groups, 1, "%d %v", skip, after)
			r.removeGroup()
			r.runFor(10 * time.Second)
			require.Nil(t, r.gc(), "%d %v", skip, after)
			require.Empty(t, r.driver.Snapshots, "%d %v", skip, after)
		}
	}
}
