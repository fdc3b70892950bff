package csi_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/control/snapshots"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/storagesimtest"
)

// applyGroups gives a cluster the definitions of group snapshots, and a class.
func applyGroups(t *testing.T, c *storagesimtest.Cluster) {
	t.Helper()
	definitions, err := snapshots.GroupDefinitions()
	require.NoError(t, err)
	require.Len(t, definitions, 3)
	c.Apply(definitions...)
	c.Apply(`
apiVersion: groupsnapshot.storage.k8s.io/v1
kind: VolumeGroupSnapshotClass
metadata: {name: groups}
driver: csi.storagesim.io
deletionPolicy: Delete
`)
}

const groupOfApp = `
apiVersion: groupsnapshot.storage.k8s.io/v1
kind: VolumeGroupSnapshot
metadata: {name: monday}
spec:
  volumeGroupSnapshotClassName: groups
  source: {selector: {matchLabels: {app: db}}}
`

// database returns a cluster with two claims of one application, data and log, and a pod that has both.
func database(t *testing.T, cfg driver.Config) *storagesimtest.Cluster {
	t.Helper()
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks, Nodes: storagesim.Nodes("node-1")})
	c.InstallCSIDriver(cfg)
	labelled := strings.Replace(growingClaim("1Gi"), "{name: data}", "{name: data, labels: {app: db}}", 1)
	pod := strings.Replace(growingPod("db", "node-1"), "volumeMounts: [", "volumeMounts: [{name: log, mountPath: /log}, ", 1) +
		"  - name: log\n    persistentVolumeClaim: {claimName: log}\n"
	c.Apply(growingClass + labelled + "---\n" + strings.Replace(labelled, "{name: data", "{name: log", 1) + "---" + pod)
	c.RunFor(30 * time.Second)
	return c
}

// members returns the snapshots of the group snapshot monday, by the claim that they are of.
func members(t *testing.T, c *storagesimtest.Cluster) map[string]*unstructured.Unstructured {
	t.Helper()
	list, err := c.Cluster.Lab().Do(api.Request{Verb: "list", Resource: snapshots.Snapshots(), Namespace: "default"})
	require.NoError(t, err)
	found := map[string]*unstructured.Unstructured{}
	for _, s := range list.(*unstructured.UnstructuredList).Items {
		claim, _, _ := unstructured.NestedString(s.Object, "spec", "source", "persistentVolumeClaimName")
		found[claim] = &s
	}
	return found
}

func groupReady(c *storagesimtest.Cluster) bool {
	ready, _, _ := unstructured.NestedBool(object(c, snapshots.GroupSnapshots(), "default", "monday"), "status", "readyToUse")
	return ready
}

func TestTheVolumesOfAnApplicationAreRestoredToOnePoint(t *testing.T) {
	c := database(t, driver.Config{})
	run(t, c, "db", "echo one > /data/file; echo one > /log/file")
	applyGroups(t, c)
	c.Apply(groupOfApp)
	c.RunFor(10 * time.Second)
	require.True(t, groupReady(c))
	assert.Equal(t, []string{
		"Normal CreatingGroupSnapshot: Waiting for a group snapshot default/monday to be created by the CSI driver.",
		"Normal GroupSnapshotCreated: GroupSnapshot default/monday was successfully created by the CSI driver.",
		"Normal GroupSnapshotReady: GroupSnapshot default/monday is ready to use.",
	}, saidOf(c, "volumegroupsnapshot default/monday"))
	run(t, c, "db", "echo two > /data/file; echo two > /log/file")

	c.RunFor(30 * time.Second)
	taken := members(t, c)
	require.Len(t, taken, 2)
	for _, claim := range []string{"data", "log"} {
		s := taken[claim]
		require.NotNil(t, s, claim)
		ready, _, _ := unstructured.NestedBool(s.Object, "status", "readyToUse")
		require.True(t, ready, claim)
		group, _, _ := unstructured.NestedString(s.Object, "status", "volumeGroupSnapshotName")
		require.Equal(t, "monday", group)
		require.Equal(t, "VolumeGroupSnapshot", s.GetOwnerReferences()[0].Kind)
		c.Apply(strings.Replace(strings.Replace(copyOf("VolumeSnapshot "+s.GetName()), "name: copy", "name: "+claim+"-copy", 1), "VolumeSnapshot s1",
			"VolumeSnapshot "+s.GetName(), 1))
	}
	pod := strings.ReplaceAll(strings.Replace(growingPod("reader", "node-1"), "volumeMounts: [", "volumeMounts: [{name: log, mountPath: /log}, ", 1)+
		"  - name: log\n    persistentVolumeClaim: {claimName: log}\n", "claimName: data", "claimName: data-copy")
	c.Apply(strings.ReplaceAll(pod, "claimName: log", "claimName: log-copy"))
	c.RunFor(30 * time.Second)
	assert.Equal(t, "one\none\n", run(t, c, "reader", "cat /data/file /log/file"))
	c.RequireNoLeaks()

	c.Delete("pod/reader", "pvc/data-copy", "pvc/log-copy", "volumegroupsnapshot/monday", "pvc/log")
	leavesNothing(c, "db")
	assert.Empty(t, members(t, c))
	assert.Nil(t, object(c, snapshots.GroupSnapshots(), "default", "monday"))
}

func TestAMemberIsNotDeletedWithoutItsGroup(t *testing.T) {
	c := database(t, driver.Config{})
	applyGroups(t, c)
	c.Apply(groupOfApp)
	c.RunFor(30 * time.Second)
	name := members(t, c)["log"].GetName()
	c.Delete("volumesnapshot/" + name)
	c.RunFor(30 * time.Second)
	require.Len(t, members(t, c), 2)
	assert.Contains(t, saidOf(c, "volumesnapshot default/"+name), "Warning SnapshotDeletePending: deletion of the individual volume snapshot default/"+name+
		" is not allowed as it belongs to group snapshot default/monday. Deleting the group snapshot will trigger the deletion of all the individual volume "+
		"snapshots that are part of the group.")
	c.Delete("volumegroupsnapshot/monday")
	c.RunFor(2 * time.Minute)
	assert.Empty(t, members(t, c))
	c.RequireNoLeaks()
}

func TestADriverWithoutGroupSnapshotsFailsEachGroupSnapshot(t *testing.T) {
	c := database(t, driver.Config{NoGroupSnapshots: true})
	applyGroups(t, c)
	c.Apply(groupOfApp)
	c.RunFor(30 * time.Second)
	require.False(t, groupReady(c))
	uid := object(c, snapshots.GroupSnapshots(), "default", "monday")["metadata"].(map[string]any)["uid"].(string)
	said := saidOf(c, "volumegroupsnapshotcontent groupsnapcontent-"+uid)
	require.NotEmpty(t, said)
	require.Contains(t, said[0], "Warning GroupSnapshotCreationFailed: Failed to create group snapshot: failed to take group snapshot of the volumes [vol-")
	require.Contains(t, said[0], `"rpc error: code = Unimplemented desc = group snapshots are switched off"`)
}

func TestGroupSnapshotsWorkInEveryVersionThatTheDefinitionsServe(t *testing.T) {
	c := database(t, driver.Config{})
	applyGroups(t, c)
	c.Apply(strings.Replace(groupOfApp, "k8s.io/v1\n", "k8s.io/v1beta2\n", 1))
	c.RunFor(10 * time.Second)
	require.True(t, groupReady(c))
	is := object(c, snapshots.GroupSnapshots(), "default", "monday")
	at, _, _ := unstructured.NestedString(is, "status", "creationTime")
	taken, err := time.Parse(time.RFC3339, at)
	require.NoError(t, err)
	require.False(t, metav1.NewTime(taken).After(c.Now()))
	text, err := c.Cluster.Get("volumegroupsnapshot")
	require.NoError(t, err)
	require.Contains(t, text, "monday")
}
