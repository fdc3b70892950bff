package snapshotcontroller_test

import (
	"strings"
	"testing"
	"time"

	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
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

// groupWorld has a second claim beside that of world, both of one application, and a class.
const groupWorld = `
{apiVersion: v1, kind: PersistentVolume, metadata: {name: pv-2}, spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce],
  claimRef: {namespace: default, name: log}, SECOND}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: log, labels: {app: db}}, spec: {accessModes: [ReadWriteOnce], volumeName: pv-2,
  storageClassName: "", resources: {requests: {storage: 1Gi}}}}
---
{apiVersion: groupsnapshot.storage.k8s.io/v1, kind: VolumeGroupSnapshotClass, metadata: {name: groups, annotations: {DEFAULT}},
  driver: plain.csi.example.com, deletionPolicy: POLICY, parameters: {PARAMETERS}}
---
`

const (
	group = `{apiVersion: groupsnapshot.storage.k8s.io/v1, kind: VolumeGroupSnapshot, metadata: {name: g}, spec: {volumeGroupSnapshotClassName: groups, ` +
		`source: {selector: {matchLabels: {app: db}}}}}`
	classed = "volumeGroupSnapshotClassName: groups, "
)

// newGroupRig returns a rig with the definitions of group snapshots, which come after the controller.
func newGroupRig(t testing.TB, change ...string) enginetest.SnapshotRig {
	t.Helper()
	r := enginetest.WithSnapshots(t, engine.Config{}, actor, snapshotcontroller.New(snapshotcontroller.Config{}))
	r.Settle()
	r.DefineGroups()
	change = append(change, "SOURCE", "csi: {driver: plain.csi.example.com, volumeHandle: h-1}", "SECOND",
		"csi: {driver: plain.csi.example.com, volumeHandle: h-2}",
		"POLICY", "Delete", "PARAMETERS", "", "DEFAULT", "", "{name: data}, spec: {accessModes", "{name: data, labels: {app: db}}, spec: {accessModes")
	r.Create(strings.NewReplacer(change...).Replace(world + groupWorld))
	bind(r, "data", v1.ClaimBound)
	bind(r, "log", v1.ClaimBound)
	r.Settle()
	return r
}

func groupOf(r enginetest.SnapshotRig) *groupv1.VolumeGroupSnapshot {
	return enginetest.Get[groupv1.VolumeGroupSnapshot](r, snapshots.GroupSnapshots(), "default", "g")
}

func groupContentOf(r enginetest.SnapshotRig, name string) *groupv1.VolumeGroupSnapshotContent {
	return enginetest.Get[groupv1.VolumeGroupSnapshotContent](r, snapshots.GroupContents(), "", name)
}

// groupTaken plays the sidecar, so that the group snapshot g is ready, and returns its content.
func groupTaken(r enginetest.SnapshotRig) *groupv1.VolumeGroupSnapshotContent {
	r.Helper()
	r.Settle()
	content := groupContentOf(r, "groupsnapcontent-"+string(groupOf(r).UID))
	require.NotNil(r, content)
	handle, ready, at, size := "gh", true, int64(1e18), int64(1<<30)
	content.Status = &groupv1.VolumeGroupSnapshotContentStatus{VolumeGroupSnapshotHandle: &handle, ReadyToUse: &ready,
		CreationTime: &metav1.Time{Time: time.Unix(1e9, 0)}}
	for _, volume := range content.Spec.Source.VolumeHandles {
		content.Status.VolumeSnapshotInfoList = append(content.Status.VolumeSnapshotInfoList, groupv1.VolumeSnapshotInfo{
			VolumeHandle: volume, SnapshotHandle: "s-" + volume, CreationTime: &at, ReadyToUse: &ready, RestoreSize: &size,
		})
	}
	r.Put(snapshots.GroupContents(), content, "status")
	require.NoError(r, r.Engine.RunFor(10*time.Second))
	require.True(r, snapshots.IsGroupReady(groupOf(r)))
	return groupContentOf(r, content.Name)
}

// The names are SHA-256 of the group's UID and the volume's handle.
func memberOf(r enginetest.SnapshotRig, claim string) (name string) {
	r.Helper()
	for _, key := range r.Names(snapshots.Snapshots(), "default") {
		if source := r.Snapshot(key).Spec.Source.PersistentVolumeClaimName; source != nil && *source == claim {
			name = key
		}
	}
	require.NotEmpty(r, name, "there is no member of %s", claim)
	return name
}

func TestEachVolumeOfAGroupGetsAMemberThatIsBound(t *testing.T) {
	r := newGroupRig(t)
	r.Create(group)
	content := groupTaken(r)
	assert.Equal(t, []string{"h-1", "h-2"}, content.Spec.Source.VolumeHandles)
	assert.Contains(t, content.Finalizers, snapshots.GroupContentFinalizer)
	assert.Equal(t, []string{snapshots.GroupBoundFinalizer}, groupOf(r).Finalizers)
	for claim, volume := range map[string]string{"data": "h-1", "log": "h-2"} {
		member := r.Snapshot(memberOf(r, claim))
		require.True(t, snapshots.IsReady(member))
		assert.Equal(t, "g", snapshots.GroupOf(member))
		assert.Equal(t, "g", *member.Status.VolumeGroupSnapshotName)
		assert.ElementsMatch(t, []string{snapshots.InGroupFinalizer, snapshots.AsSourceFinalizer}, member.Finalizers)
		assert.Nil(t, member.Spec.VolumeSnapshotClassName)
		of := r.Content(snapshots.BoundContent(member))
		assert.Equal(t, "s-"+volume, *of.Status.SnapshotHandle)
		assert.Equal(t, "gh", of.Annotations[snapshots.AnnGroupHandle])
		assert.Equal(t, "gh", *of.Status.VolumeGroupSnapshotHandle)
		assert.Equal(t, member.UID, of.Spec.VolumeSnapshotRef.UID)
		assert.Equal(t, v1.PersistentVolumeFilesystem, *of.Spec.SourceVolumeMode)
	}
}

// leaveGroup plays the last step of the sidecar with contents that are being deleted.
func leaveGroup(r enginetest.SnapshotRig, content *groupv1.VolumeGroupSnapshotContent, members ...string) {
	r.Helper()
	if content != nil {
		content = groupContentOf(r, content.Name)
		content.Finalizers = nil
		r.Put(snapshots.GroupContents(), content, "")
	}
	require.NoError(r, r.Engine.RunFor(10*time.Minute))
	for _, member := range members {
		if r.Content(member).DeletionTimestamp != nil {
			leave(r, member)
		}
	}
	require.NoError(r, r.Engine.RunFor(10*time.Second))
}

func TestAGroupGoesAfterItsContentAndTheMembersAfterTheGroup(t *testing.T) {
	r := newGroupRig(t)
	r.Create(group)
	content := groupTaken(r)
	member := memberOf(r, "log")
	contents := r.Names(snapshots.Contents(), "")
	r.Delete(snapshots.GroupSnapshots(), "default", "g")
	require.NoError(t, r.Engine.RunFor(10*time.Second))
	require.NotNil(t, groupContentOf(r, content.Name).DeletionTimestamp)
	require.Contains(t, groupContentOf(r, content.Name).Annotations, snapshots.AnnGroupBeingDeleted)
	require.NotNil(t, r.Snapshot(member).DeletionTimestamp)
	require.Contains(t, r.Events(), "Warning SnapshotDeletePending: deletion of the individual volume snapshot default/"+member+
		" is not allowed as it belongs to group snapshot default/g. Deleting the group snapshot will trigger the deletion of all the individual volume snapshots "+
		"that are part of the group.")
	leaveGroup(r, content, contents...)
	require.Nil(t, groupOf(r))
	require.Empty(t, r.Names(snapshots.Snapshots(), "default"))
	require.Empty(t, r.Names(snapshots.Contents(), ""))
}

func TestWithThePolicyRetainTheContentsOfAGroupStay(t *testing.T) {
	r := newGroupRig(t, "POLICY", "Retain")
	r.Create(group)
	content := groupTaken(r)
	r.Delete(snapshots.GroupSnapshots(), "default", "g")
	leaveGroup(r, nil)
	require.Nil(t, groupOf(r))
	require.Nil(t, groupContentOf(r, content.Name).DeletionTimestamp)
	require.Empty(t, r.Names(snapshots.Snapshots(), "default"))
	require.Len(t, r.Names(snapshots.Contents(), ""), 2)
}

func TestAGroupWaitsWithItsDeletionWhileAMemberIsRestored(t *testing.T) {
	r := newGroupRig(t)
	r.Create(group)
	content := groupTaken(r)
	member := memberOf(r, "data")
	r.Create(`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: copy}, spec: {accessModes: [ReadWriteOnce], storageClassName: "",
  dataSource: {apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: ` + member + `}, resources: {requests: {storage: 1Gi}}}}`)
	r.Settle()
	r.Delete(snapshots.GroupSnapshots(), "default", "g")
	require.NoError(t, r.Engine.RunFor(10*time.Second))
	require.Contains(t, r.Events(), "Warning SnapshotDeletePending: Snapshot default/"+member+
		" belonging to VolumeGroupSnapshot default/g is being used to restore a PVC")
	require.Nil(t, groupContentOf(r, content.Name).DeletionTimestamp)
	require.Nil(t, r.Snapshot(member).DeletionTimestamp)
	bind(r, "copy", v1.ClaimBound)
	require.NoError(t, r.Engine.RunFor(20*time.Second))
	require.NotNil(t, groupContentOf(r, content.Name).DeletionTimestamp)
}

// oldGroup is the content of a group snapshot that exists already, with one member.
const oldGroup = `{apiVersion: groupsnapshot.storage.k8s.io/v1, kind: VolumeGroupSnapshotContent, metadata: {name: mine},
  spec: {driver: plain.csi.example.com, deletionPolicy: Delete,
  source: {groupSnapshotHandles: {volumeGroupSnapshotHandle: gh, volumeSnapshotHandles: [sh-1]}}, volumeGroupSnapshotRef: {name: g, namespace: default}}}
---
`

const namedGroup = `{apiVersion: groupsnapshot.storage.k8s.io/v1, kind: VolumeGroupSnapshot, metadata: {name: g},
  spec: {source: {volumeGroupSnapshotContentName: mine}}}
---
`

func TestAGroupThatIsThereAlreadyIsBoundAndOwnsItsMembers(t *testing.T) {
	r := newGroupRig(t)
	r.Create(oldGroup + namedGroup + preprovisioned("s1", "") + named)
	r.Settle()
	content := groupContentOf(r, "mine")
	require.Equal(t, groupOf(r).UID, content.Spec.VolumeGroupSnapshotRef.UID)
	handle, ready := "gh", true
	content.Status = &groupv1.VolumeGroupSnapshotContentStatus{VolumeGroupSnapshotHandle: &handle, ReadyToUse: &ready}
	r.Put(snapshots.GroupContents(), content, "status")
	member := r.Content("mine")
	member.Status = &snapshotv1.VolumeSnapshotContentStatus{SnapshotHandle: &member.Name, VolumeGroupSnapshotHandle: &handle, ReadyToUse: &ready}
	r.Update(member, "status")
	require.NoError(t, r.Engine.RunFor(30*time.Minute)) // the resync processes the member again
	require.True(t, snapshots.IsGroupReady(groupOf(r)))
	require.Equal(t, "g", *r.Snapshot("s1").Status.VolumeGroupSnapshotName)
	require.Equal(t, "g", snapshots.GroupOf(r.Snapshot("s1")))
}

func TestWhatAGroupSnapshotCannotBeIsTold(t *testing.T) {
	const failed = "Warning GroupSnapshotContentCreationFailed: failed to create group snapshot content with error "
	const input = failed + "failed to get input parameters to create group snapshot g: "
	second := "csi: {driver: other.csi.example.com, volumeHandle: h-2}"
	for name, tt := range map[string]struct {
		change   []string
		manifest string
		unbound  bool
		want     string
	}{
		"of no claim": {
			manifest: strings.Replace(group, "app: db", "app: none", 1), want: input + `"label selector app=none for group snapshot not applied to any PVC"`,
		},
		"of a claim that is not bound": {
			manifest: group, unbound: true, want: input + `"the PVC log is not yet bound to a PV, will not attempt to take a group snapshot"`,
		},
		"of two drivers": {
			change: []string{"SECOND", second}, manifest: group,
			want: "Warning CreateGroupSnapshotContentFailed: Volume CSI driver (other.csi.example.com) mismatch with VolumeGroupSnapshotClass " +
				"(plain.csi.example.com) default/g: pv-2",
		},
		"of a volume that is not CSI's": {
			change: []string{"SECOND", "hostPath: {path: /x}"}, manifest: group,
			want: "Warning CreateGroupSnapshotContentFailed: Cannot snapshot a non-CSI volume: pv-2",
		},
		"of a class that is not there": {
			manifest: strings.Replace(group, "Name: groups", "Name: none", 1),
			want: `Warning GetGroupSnapshotClassFailed: failed to get group snapshot class with error ` +
				`volumegroupsnapshotclass.groupsnapshot.storage.k8s.io "none" not found`,
		},
		"without a class and a default": {
			manifest: strings.Replace(group, classed, "", 1),
			want:     "Warning SetDefaultGroupSnapshotClassFailed: Failed to set default group snapshot class with error cannot find default group snapshot class",
		},
		"with half a secret": {
			change: []string{"PARAMETERS", "csi.storage.k8s.io/group-snapshotter-secret-name: s"}, manifest: group,
			want: input + `"failed to get name and namespace template from params: either name and namespace for GroupSnapshotter secrets specified, ` +
				`Both must be specified"`,
		},
		"of a content that is not there": {
			manifest: namedGroup, want: "Warning GroupSnapshotContentMissing: VolumeGroupSnapshotContent is missing",
		},
		"of another's content": {
			manifest: strings.Replace(oldGroup, "{name: g,", "{name: other,", 1) + namedGroup,
			want:     "Warning GroupSnapshotContentMisbound: VolumeGroupSnapshotContent [mine] is bound to a different group snapshot",
		},
		"of a content that is to be made": {
			manifest: strings.Replace(oldGroup, "groupSnapshotHandles: {volumeGroupSnapshotHandle: gh, volumeSnapshotHandles: [sh-1]}", "volumeHandles: [h-1]", 1) +
				namedGroup,
			want: "Warning GroupSnapshotContentMismatch: VolumeGroupSnapshotContent is dynamically provisioned while expecting a pre-provisioned one",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newGroupRig(t, tt.change...)
			if tt.unbound {
				bind(r, "log", v1.ClaimPending)
			}
			r.Create(tt.manifest)
			require.NoError(t, r.Engine.RunFor(5*time.Second))
			require.Contains(t, r.Events(), tt.want)
			require.False(t, snapshots.IsGroupReady(groupOf(r)))
		})
	}
}

func TestAGroupWithoutAClassGetsTheDefaultOfItsDriver(t *testing.T) {
	r := newGroupRig(t, "DEFAULT", `groupsnapshot.storage.kubernetes.io/is-default-class: "true"`,
		"PARAMETERS", `csi.storage.k8s.io/group-snapshotter-secret-name: "${volumegroupsnapshot.name}-key", csi.storage.k8s.io/group-snapshotter-secret-namespace: `+
			`"${volumegroupsnapshot.namespace}"`)
	r.Create(strings.Replace(group, classed, "", 1))
	r.Settle()
	require.Equal(t, "groups", *groupOf(r).Spec.VolumeGroupSnapshotClassName)
	content := groupContentOf(r, "groupsnapcontent-"+string(groupOf(r).UID))
	require.Equal(t, "g-key", content.Annotations[snapshots.AnnGroupDeletionSecretName])
	require.Equal(t, "default", content.Annotations[snapshots.AnnGroupDeletionSecretNamespace])
}

// At each of its first calls the controller crashes once, while a group snapshot comes and goes.
func TestACrashOfTheControllerAtAnyCallLosesNoGroup(t *testing.T) {
	for skip := range 24 {
		for _, after := range []bool{false, true} {
			r := newGroupRig(t)
			require.NoError(t, r.Engine.Inject(engine.Fault{Actor: actor, Skip: skip, After: after, Crash: true, Times: 1}))
			r.Create(group)
			require.NoError(t, r.Engine.RunFor(10*time.Second))
			content := groupTaken(r)
			contents := r.Names(snapshots.Contents(), "")
			require.Len(t, contents, 2, "%d %v", skip, after)
			r.Delete(snapshots.GroupSnapshots(), "default", "g")
			require.NoError(t, r.Engine.RunFor(10*time.Second))
			leaveGroup(r, content, contents...)
			require.Nil(t, groupOf(r), "%d %v", skip, after)
			require.Empty(t, r.Names(snapshots.Snapshots(), "default"), "%d %v", skip, after)
			require.Empty(t, r.Names(snapshots.Contents(), ""), "%d %v", skip, after)
		}
	}
}
