package snapshotcontroller_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/control/snapshots"
	"github.com/storagesim/storagesim/controllers/snapshotcontroller"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/rigs/enginetest"
)

const actor = "snapshot-controller"

// world has a bound claim, its volume and a class.
const world = `
{apiVersion: v1, kind: PersistentVolume, metadata: {name: pv-1}, spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce],
  claimRef: {namespace: default, name: data}, SOURCE}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], volumeName: pv-1, storageClassName: "",
  resources: {requests: {storage: 1Gi}}}}
---
{apiVersion: snapshot.storage.k8s.io/v1, kind: VolumeSnapshotClass, metadata: {name: snap}, driver: plain.csi.example.com, deletionPolicy: POLICY,
  parameters: {PARAMETERS}}
---
`

const dynamic = `{apiVersion: snapshot.storage.k8s.io/v1, kind: VolumeSnapshot, metadata: {name: s1}, spec: {volumeSnapshotClassName: snap, source: ` +
	`{persistentVolumeClaimName: data}}}`

// newRig returns a rig with the controller, in a world with some words replaced. The test plays the other actors.
func newRig(t testing.TB, change ...string) enginetest.SnapshotRig {
	t.Helper()
	r := enginetest.WithSnapshots(t, engine.Config{}, actor, snapshotcontroller.New(snapshotcontroller.Config{}))
	r.Create(strings.NewReplacer(append(change, "SOURCE", "csi: {driver: plain.csi.example.com, volumeHandle: h-1}", "POLICY", "Delete", "PARAMETERS",
		"")...).Replace(world))
	bind(r, "data", v1.ClaimBound)
	r.Settle()
	return r
}

// bind gives a claim a phase, as the PV controller does.
func bind(r enginetest.SnapshotRig, name string, phase v1.PersistentVolumeClaimPhase) {
	r.Helper()
	claims := r.User.CoreV1().PersistentVolumeClaims("default")
	claim, err := claims.Get(context.Background(), name, metav1.GetOptions{})
	require.NoError(r, err)
	claim.Status.Phase = phase
	_, err = claims.UpdateStatus(context.Background(), claim, metav1.UpdateOptions{})
	require.NoError(r, err)
}

// taken plays the sidecar, so that the snapshot s1 is ready, and returns its content.
func taken(r enginetest.SnapshotRig) *snapshotv1.VolumeSnapshotContent {
	r.Helper()
	r.Settle()
	content := r.Content("snapcontent-" + string(r.Snapshot("s1").UID))
	require.NotNil(r, content)
	handle, ready, at, size := "sh-1", true, int64(1e18), int64(1<<30)
	content.Status = &snapshotv1.VolumeSnapshotContentStatus{SnapshotHandle: &handle, ReadyToUse: &ready, CreationTime: &at, RestoreSize: &size}
	r.Update(content, "status")
	r.Settle()
	require.True(r, snapshots.IsReady(r.Snapshot("s1")))
	return r.Content(content.Name)
}

// leave plays the last step of the sidecar with a content that is being deleted.
func leave(r enginetest.SnapshotRig, name string) {
	r.Helper()
	content := r.Content(name)
	content.Finalizers = nil
	r.Update(content, "")
	r.Settle()
}

func claimFinalizers(r enginetest.SnapshotRig) []string {
	r.Helper()
	claim, err := r.User.CoreV1().PersistentVolumeClaims("default").Get(context.Background(), "data", metav1.GetOptions{})
	require.NoError(r, err)
	return claim.Finalizers
}

func TestASnapshotIsProtectedBeforeItsContentIsMade(t *testing.T) {
	r := newRig(t)
	r.Create(dynamic)
	r.Settle()
	assert.Equal(t, []string{
		"update volumesnapshots", // as-source
		"update persistentvolumeclaims",
		"create volumesnapshotcontents",
		"update volumesnapshots/status",
	}, r.Writes(actor)[:4])
	assert.Contains(t, claimFinalizers(r), snapshots.PVCFinalizer)
	content := taken(r)
	status := r.Snapshot("s1").Status
	assert.Equal(t, time.Unix(1e9, 0).UTC(), status.CreationTime.UTC())
	assert.Equal(t, "1Gi", status.RestoreSize.String())
	assert.Contains(t, content.Finalizers, snapshots.ContentFinalizer)
	assert.ElementsMatch(t, []string{snapshots.AsSourceFinalizer, snapshots.BoundFinalizer}, r.Snapshot("s1").Finalizers)
	assert.NotContains(t, claimFinalizers(r), snapshots.PVCFinalizer)
	assert.Equal(t, "h-1", *content.Spec.Source.VolumeHandle)
}

func TestWithThePolicyDeleteTheSnapshotGoesAfterItsContent(t *testing.T) {
	r := newRig(t)
	r.Create(dynamic)
	content := taken(r)
	r.Delete(snapshots.Snapshots(), "default", "s1")
	r.Settle()
	state := r.Content(content.Name)
	require.NotNil(t, state.DeletionTimestamp)
	require.Contains(t, state.Annotations, snapshots.AnnBeingDeleted)
	require.Equal(t, []string{snapshots.BoundFinalizer}, r.Snapshot("s1").Finalizers)
	leave(r, content.Name)
	require.Nil(t, r.Snapshot("s1"))
}

func TestWithThePolicyRetainTheContentStays(t *testing.T) {
	r := newRig(t, "POLICY", "Retain")
	r.Create(dynamic)
	content := taken(r)
	r.Delete(snapshots.Snapshots(), "default", "s1")
	r.Settle()
	require.Nil(t, r.Snapshot("s1"))
	state := r.Content(content.Name)
	require.Nil(t, state.DeletionTimestamp)
	require.Contains(t, state.Annotations, snapshots.AnnBeingDeleted)
}

func TestASnapshotThatAClaimIsRestoredFromWaitsWithItsDeletion(t *testing.T) {
	r := newRig(t)
	r.Create(dynamic)
	content := taken(r)
	r.Create(`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: copy}, spec: {accessModes: [ReadWriteOnce], storageClassName: "",
  dataSource: {apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: s1}, resources: {requests: {storage: 1Gi}}}}`)
	r.Settle()
	r.Delete(snapshots.Snapshots(), "default", "s1")
	require.NoError(t, r.Engine.RunFor(10*time.Second))
	require.Contains(t, r.Events(), "Warning SnapshotDeletePending: Snapshot is being used to restore a PVC")
	require.Nil(t, r.Content(content.Name).DeletionTimestamp)
	bind(r, "copy", v1.ClaimBound)
	require.NoError(t, r.Engine.RunFor(10*time.Second)) // the next try
	require.NotNil(t, r.Content(content.Name).DeletionTimestamp)
	leave(r, content.Name)
	require.Nil(t, r.Snapshot("s1"))
}

// A snapshot may be missing only in the cache. Its data would be lost.
func TestAContentWithoutItsSnapshotIsNotDeleted(t *testing.T) {
	r := newRig(t)
	r.Create(preprovisioned("s1", ", uid: gone"))
	require.NoError(t, r.Engine.RunFor(time.Hour))
	content := r.Content("mine")
	require.Nil(t, content.DeletionTimestamp)
	require.NotContains(t, content.Annotations, snapshots.AnnBeingDeleted)
}

// preprovisioned returns the content mine, which names a snapshot.
func preprovisioned(snapshot, uid string) string {
	return `{apiVersion: snapshot.storage.k8s.io/v1, kind: VolumeSnapshotContent, metadata: {name: mine}, spec: {driver: plain.csi.example.com,
  deletionPolicy: Delete,
  source: {snapshotHandle: sh-1}, volumeSnapshotRef: {apiVersion: snapshot.storage.k8s.io/v1, kind: VolumeSnapshot, name: ` + snapshot +
		`, namespace: default` + uid + `}}}
---
`
}

const named = `{apiVersion: snapshot.storage.k8s.io/v1, kind: VolumeSnapshot, metadata: {name: s1}, spec: {source: {volumeSnapshotContentName: mine}}}`

// semantics: section 7 must 12.
func TestWhatASnapshotCannotBeIsTold(t *testing.T) {
	for name, tt := range map[string]struct {
		change   []string
		manifest string
		want     string
	}{
		"made anew, of the old content": {
			manifest: preprovisioned("s1", ", uid: old") + named, want: "Warning SnapshotContentMisbound: VolumeSnapshotContent [mine] is bound to a different snapshot",
		},
		"of another's content": {
			manifest: preprovisioned("other", "") + named, want: "Warning SnapshotContentMisbound: VolumeSnapshotContent [mine] is bound to a different snapshot",
		},
		"of a content that is to be made": {
			manifest: strings.Replace(preprovisioned("s1", ""), "snapshotHandle: sh-1", "volumeHandle: h-1", 1) + named,
			want:     "Warning SnapshotContentMismatch: VolumeSnapshotContent is dynamically provisioned while expecting a pre-provisioned one",
		},
		"of a volume that is not CSI's": {
			change: []string{"SOURCE", "hostPath: {path: /x}"}, manifest: dynamic,
			want: "Warning SnapshotContentCreationFailed: Failed to create snapshot content with error cannot find CSI PersistentVolumeSource for volume pv-1",
		},
		"of such a volume, without a class": {
			change: []string{"SOURCE", "hostPath: {path: /x}"}, manifest: strings.Replace(dynamic, "volumeSnapshotClassName: snap, ", "", 1),
			want: "Warning SetDefaultSnapshotClassFailed: Failed to set default snapshot class with error snapshotting non-CSI volumes is not supported, " +
				"snapshot:default/s1",
		},
		"with half a secret": {
			change: []string{"PARAMETERS", "csi.storage.k8s.io/snapshotter-secret-name: s"}, manifest: dynamic,
			want: `Warning SnapshotContentCreationFailed: Failed to create snapshot content with error failed to get input parameters to create snapshot s1: ` +
				`"failed to get name and namespace template from params: either name and namespace for Snapshotter secrets specified, Both must be specified"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, tt.change...)
			r.Create(tt.manifest)
			require.NoError(t, r.Engine.RunFor(5*time.Second))
			require.Contains(t, r.Events(), tt.want)
			require.False(t, snapshots.IsReady(r.Snapshot("s1")))
			_, said, _ := strings.Cut(tt.want, ": ")
			require.Equal(t, said, *r.Snapshot("s1").Status.Error.Message)
		})
	}
}

func TestTheSecretOfTheClassIsNotedOnTheContent(t *testing.T) {
	r := newRig(t, "PARAMETERS", `csi.storage.k8s.io/snapshotter-secret-name: "${volumesnapshot.name}-key", csi.storage.k8s.io/snapshotter-secret-namespace: `+
		`"${volumesnapshot.namespace}"`)
	r.Create(dynamic)
	content := taken(r)
	require.Equal(t, "s1-key", content.Annotations[snapshots.AnnDeletionSecretName])
	require.Equal(t, "default", content.Annotations[snapshots.AnnDeletionSecretNamespace])
}

// A controller that starts again knows the contents before it works on the first snapshot.
func TestAControllerThatEndsBeforeItDeletesAContentDeletesItAfterwards(t *testing.T) {
	r := newRig(t)
	r.Create(dynamic)
	content := taken(r)
	require.NoError(t, r.Engine.Inject(engine.Fault{Actor: actor, Verb: "delete", Resource: "volumesnapshotcontents", Crash: true}))
	r.Delete(snapshots.Snapshots(), "default", "s1")
	require.NoError(t, r.Engine.RunFor(10*time.Second))
	require.NotNil(t, r.Snapshot("s1"))
	require.NotNil(t, r.Content(content.Name).DeletionTimestamp)
}

// At each of its first calls the controller crashes once, while a snapshot comes and goes.
func TestACrashOfTheControllerAtAnyCallLosesNothing(t *testing.T) {
	for skip := range 12 {
		for _, after := range []bool{false, true} {
			r := newRig(t)
			require.NoError(t, r.Engine.Inject(engine.Fault{Actor: actor, Skip: skip, After: after, Crash: true, Times: 1}))
			r.Create(dynamic)
			require.NoError(t, r.Engine.RunFor(10*time.Second))
			content := taken(r)
			require.NoError(t, r.Engine.RunFor(10*time.Second))
			require.NotContains(t, claimFinalizers(r), snapshots.PVCFinalizer, "%d %v", skip, after)
			r.Delete(snapshots.Snapshots(), "default", "s1")
			require.NoError(t, r.Engine.RunFor(10*time.Second))
			require.True(t, slices.Contains(r.Content(content.Name).Finalizers, snapshots.ContentFinalizer), "%d %v", skip, after)
			leave(r, content.Name)
			require.NoError(t, r.Engine.RunFor(10*time.Second))
			require.Nil(t, r.Snapshot("s1"), "%d %v", skip, after)
		}
	}
}
