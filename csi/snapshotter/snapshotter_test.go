package snapshotter_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/control/snapshots"
	"github.com/storagesim/storagesim/csi/internal/sidecar"
	"github.com/storagesim/storagesim/csi/snapshotter"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/rigs/csitest"
	"github.com/storagesim/storagesim/internal/rigs/enginetest"
)

const actor = "csi-snapshotter"

// rig is a snapshotter and its driver. The test plays the snapshot controller.
type rig struct {
	enginetest.SnapshotRig
	driver *csitest.Driver
}

const class = `{apiVersion: snapshot.storage.k8s.io/v1, kind: VolumeSnapshotClass, metadata: {name: snap}, driver: plain.csi.example.com,
  deletionPolicy: Delete, parameters: {colour: red}}
---
`

func newRig(t testing.TB, change ...func(*csitest.Driver)) *rig {
	t.Helper()
	driver := csitest.New()
	driver.Controller = append(driver.Controller, csi.ControllerServiceCapability_RPC_CREATE_DELETE_SNAPSHOT, csi.ControllerServiceCapability_RPC_LIST_SNAPSHOTS)
	for _, f := range change {
		f(driver)
	}
	r := &rig{enginetest.WithSnapshots(t, engine.Config{}, actor,
		snapshotter.New(snapshotter.Config{Common: sidecar.Common{Driver: csitest.Name, Dial: driver.Dial}})), driver}
	r.Create(class)
	r.Settle()
	return r
}

// content creates the content c, as the snapshot controller does, with some words replaced.
func (r *rig) content(change ...string) {
	r.Helper()
	r.Create(strings.NewReplacer(append(change, "ANNOTATIONS", "", "POLICY", "Delete", "HANDLE", "volumeHandle: h-1")...).Replace(`
{apiVersion: snapshot.storage.k8s.io/v1, kind: VolumeSnapshotContent, metadata: {name: c, annotations: {ANNOTATIONS},
  finalizers: [snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection]}, spec: {
  driver: plain.csi.example.com, deletionPolicy: POLICY, volumeSnapshotClassName: snap, source: {HANDLE},
  volumeSnapshotRef: {apiVersion: snapshot.storage.k8s.io/v1, kind: VolumeSnapshot, name: s1, namespace: default, uid: u-1}}}`))
}

func (r *rig) ready() bool {
	r.Helper()
	c := r.Content("c")
	return c != nil && c.Status != nil && c.Status.ReadyToUse != nil && *c.Status.ReadyToUse
}

// remove deletes the content as the snapshot controller does when its snapshot is deleted.
func (r *rig) remove() {
	r.Helper()
	c := r.Content("c")
	metav1.SetMetaDataAnnotation(&c.ObjectMeta, snapshots.AnnBeingDeleted, "yes")
	r.Update(c, "")
	r.Delete(snapshots.Contents(), "", "c")
}

func (r *rig) runFor(d time.Duration) {
	r.Helper()
	require.NoError(r, r.Engine.RunFor(d))
}

func (r *rig) isBeingCreated() bool {
	r.Helper()
	return metav1.HasAnnotation(r.Content("c").ObjectMeta, snapshots.AnnBeingCreated)
}

func TestASnapshotIsTakenAndDeleted(t *testing.T) {
	r := newRig(t)
	r.content()
	r.runFor(5 * time.Second)
	require.True(t, r.ready())
	assert.Equal(t, []string{"patch volumesnapshotcontents", "patch volumesnapshotcontents/status", "patch volumesnapshotcontents"}, r.Writes(actor))
	req := csitest.Last[*csi.CreateSnapshotRequest](r.driver)
	assert.Equal(t, "snapshot-u-1", req.GetName())
	assert.Equal(t, "h-1", req.GetSourceVolumeId())
	assert.Equal(t, map[string]string{"colour": "red"}, req.GetParameters())
	assert.Equal(t, int64(1<<30), *r.Content("c").Status.RestoreSize)
	assert.NotNil(t, r.Content("c").Status.CreationTime)

	r.remove()
	r.runFor(5 * time.Second)
	assert.Nil(t, r.Content("c"))
	assert.Equal(t, []string{"CreateSnapshot", "DeleteSnapshot"}, r.driver.Methods())
	assert.Empty(t, r.driver.Snapshots)
}

func TestASnapshotThatIsNotReadyIsAskedForAgainWithBackoff(t *testing.T) {
	r := newRig(t, func(d *csitest.Driver) { d.Unready = 3 })
	r.content()
	r.runFor(time.Minute)
	require.True(t, r.ready())
	calls := r.driver.Calls
	require.Len(t, calls, 4)
	for i, wait := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
		require.Equal(t, wait, calls[i+1].At.Sub(calls[i].At).Round(100*time.Millisecond))
	}
}

// The driver goes on after its caller has given up: the snapshot exists, and only the annotation says that it may.
func TestACreateSnapshotInDoubtKeepsItsContentUntilItIsClear(t *testing.T) {
	for _, code := range []codes.Code{codes.DeadlineExceeded, codes.Canceled, codes.Unavailable, codes.Aborted, codes.ResourceExhausted} {
		t.Run(code.String(), func(t *testing.T) {
			r := newRig(t)
			r.driver.Fail(csitest.Failure{Method: "CreateSnapshot", Code: code, After: true, Times: 3})
			r.content()
			r.runFor(500 * time.Millisecond)
			require.True(t, r.isBeingCreated())
			r.remove()
			r.runFor(time.Second)
			require.NotNil(t, r.Content("c"), "it waits for a final answer")
			require.NotEmpty(t, r.driver.Snapshots)
			r.runFor(time.Minute)
			require.Nil(t, r.Content("c"))
			require.Empty(t, r.driver.Snapshots, "what was made in the end is deleted")
		})
	}
}

func TestAnErrorThatIsFinalLetsTheContentGo(t *testing.T) {
	r := newRig(t)
	r.driver.Fail(csitest.Failure{Method: "CreateSnapshot", Code: codes.InvalidArgument})
	r.content()
	r.runFor(5 * time.Second)
	require.False(t, r.isBeingCreated())
	require.Contains(t, r.Events(), `Warning SnapshotCreationFailed: Failed to create snapshot: failed to take snapshot of the volume h-1: "rpc error: `+
		`code = InvalidArgument desc = injected InvalidArgument"`)
	require.Contains(t, *r.Content("c").Status.Error.Message, "injected InvalidArgument")
	r.remove()
	r.runFor(5 * time.Second)
	require.Nil(t, r.Content("c"))
	require.NotContains(t, r.driver.Methods(), "DeleteSnapshot")
}

func TestACallThatTakesTooLongIsGivenUpAndRepeated(t *testing.T) {
	r := newRig(t)
	r.driver.Fail(csitest.Failure{Method: "CreateSnapshot", Takes: time.Hour, Times: 1})
	r.content()
	r.runFor(59 * time.Second)
	require.Equal(t, 1, len(r.driver.Calls))
	r.runFor(5 * time.Second)
	require.True(t, r.ready())
	require.Equal(t, []string{"CreateSnapshot DeadlineExceeded", "CreateSnapshot"}, r.driver.Methods())
}

// semantics: section 7 must 9.
func TestWithThePolicyRetainTheDriverDeletesNothing(t *testing.T) {
	r := newRig(t)
	r.content("POLICY", "Retain")
	r.runFor(5 * time.Second)
	r.remove()
	r.runFor(5 * time.Second)
	require.Nil(t, r.Content("c"))
	require.Equal(t, []string{"CreateSnapshot"}, r.driver.Methods())
}

func TestAFailedDeleteSnapshotKeepsTheContentAndIsTriedAgain(t *testing.T) {
	r := newRig(t)
	r.content()
	r.runFor(5 * time.Second)
	r.driver.Fail(csitest.Failure{Method: "DeleteSnapshot", Code: codes.Internal, Times: 2})
	r.remove()
	r.runFor(500 * time.Millisecond)
	require.NotNil(t, r.Content("c"))
	require.Contains(t, r.Events(), "Warning SnapshotDeleteError: Failed to delete snapshot")
	r.runFor(10 * time.Second)
	require.Nil(t, r.Content("c"))
	require.Equal(t, []string{"CreateSnapshot", "DeleteSnapshot Internal", "DeleteSnapshot Internal", "DeleteSnapshot"}, r.driver.Methods())
}

func TestTheSecretOfTheContentIsPassedToEveryCall(t *testing.T) {
	r := newRig(t)
	const noted = "snapshot.storage.kubernetes.io/deletion-secret-name: key, snapshot.storage.kubernetes.io/deletion-secret-namespace: default"
	r.content("ANNOTATIONS", noted)
	r.runFor(5 * time.Second)
	require.Contains(t, r.Events(), `Warning SnapshotCreationFailed: Failed to create snapshot: failed to get input parameters to create snapshot for content `+
		`c: "cannot get credentials for snapshot content \"c\""`)
	require.Empty(t, r.driver.Calls)
	_, err := r.User.CoreV1().Secrets("default").Create(context.Background(),
		&v1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "key"}, Data: map[string][]byte{"k": []byte("v")}}, metav1.CreateOptions{})
	require.NoError(t, err)
	r.runFor(10 * time.Second)
	require.True(t, r.ready())
	r.remove()
	r.runFor(5 * time.Second)
	require.Equal(t, map[string]string{"k": "v"}, csitest.Last[*csi.CreateSnapshotRequest](r.driver).GetSecrets())
	require.Equal(t, map[string]string{"k": "v"}, csitest.Last[*csi.DeleteSnapshotRequest](r.driver).GetSecrets())
}

func TestASnapshotThatIsThereAlreadyIsOnlyLookedAt(t *testing.T) {
	r := newRig(t, func(d *csitest.Driver) { d.Snapshots["s-old"] = "h-1" })
	r.content("HANDLE", "snapshotHandle: s-old")
	r.runFor(5 * time.Second)
	require.True(t, r.ready())
	require.Equal(t, "s-old", *r.Content("c").Status.SnapshotHandle)
	require.Equal(t, []string{"ListSnapshots"}, r.driver.Methods())
}

func TestASnapshotThatTheDriverDoesNotKnowIsTold(t *testing.T) {
	r := newRig(t)
	r.content("HANDLE", "snapshotHandle: s-none")
	r.runFor(5 * time.Second)
	require.False(t, r.ready())
	require.Contains(t, r.Events(), `Warning SnapshotContentCheckandUpdateFailed: Failed to check and update snapshot content: failed to list snapshot for `+
		`content c: "can not find snapshot for snapshotID s-none"`)
}

func TestADriverWithoutSnapshotsIsNeverAsked(t *testing.T) {
	r := newRig(t, func(d *csitest.Driver) {
		d.Controller = []csi.ControllerServiceCapability_RPC_Type{csi.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME}
	})
	r.content()
	r.runFor(time.Hour)
	require.Empty(t, r.driver.Calls)
	require.Empty(t, r.Writes(actor))
}

// At each of its first calls the sidecar crashes once, while a snapshot is taken and deleted: there is one
// snapshot, and then none.
func TestACrashOfTheSidecarAtAnyCallLosesNothing(t *testing.T) {
	for skip := range 10 {
		for _, after := range []bool{false, true} {
			r := newRig(t)
			require.NoError(t, r.Engine.Inject(engine.Fault{Actor: actor, Skip: skip, After: after, Crash: true, Times: 1}))
			r.content()
			r.runFor(10 * time.Second)
			require.True(t, r.ready(), "%d %v", skip, after)
			require.Len(t, r.driver.Snapshots, 1, "%d %v", skip, after)
			r.remove()
			r.runFor(10 * time.Second)
			require.Nil(t, r.Content("c"), "%d %v", skip, after)
			require.Empty(t, r.driver.Snapshots, "%d %v", skip, after)
		}
	}
}
