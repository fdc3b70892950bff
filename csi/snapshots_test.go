package csi_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/control/snapshots"
	"github.com/storagesim/storagesim/csi"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/csi/socket"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/machine"
	"github.com/storagesim/storagesim/storagesimtest"
	"github.com/storagesim/storagesim/trace"
)

const snapClass = `
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshotClass
metadata: {name: snap}
driver: csi.storagesim.io
deletionPolicy: Delete
---
`

func snapOf(claim string) string {
	return `
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshot
metadata: {name: s1}
spec:
  volumeSnapshotClassName: snap
  source: {persistentVolumeClaimName: ` + claim + `}
---
`
}

// copyOf returns a claim that is filled from a source, "VolumeSnapshot s1" or "PersistentVolumeClaim data".
func copyOf(source string) string {
	kind, name, _ := strings.Cut(source, " ")
	group := ""
	if kind == "VolumeSnapshot" {
		group = "apiGroup: snapshot.storage.k8s.io, "
	}
	return strings.Replace(strings.Replace(growingClaim("1Gi"), "name: data", "name: copy", 1), "storageClassName: csi",
		"storageClassName: csi\n  dataSource: {"+group+"kind: "+kind+", name: "+name+"}", 1)
}

// object returns an object of snapshots, nil if there is none.
func object(c *storagesimtest.Cluster, resource schema.GroupVersionResource, namespace, name string) map[string]any {
	obj, err := c.Cluster.Lab().Do(api.Request{Verb: "get", Resource: resource, Namespace: namespace, Name: name})
	if err != nil {
		return nil
	}
	return obj.(*unstructured.Unstructured).Object
}

func snapshotReady(c *storagesimtest.Cluster) bool {
	ready, _, _ := unstructured.NestedBool(object(c, snapshots.Snapshots(), "default", "s1"), "status", "readyToUse")
	return ready
}

// saidOf returns the events about an object, "Warning Reason: message", each once.
func saidOf(c *storagesimtest.Cluster, about string) (said []string) {
	for _, entry := range c.Engine().Trace().Entries() {
		if e, ok := entry.Record.(trace.Event); ok && !e.Repeated && e.About.String() == about {
			said = append(said, e.Type+" "+e.Reason+": "+e.Message)
		}
	}
	return said
}

// run runs a command in a pod and returns what it printed.
func run(t *testing.T, c *storagesimtest.Cluster, pod, command string) string {
	t.Helper()
	out, err := c.Cluster.Machine("pod/"+pod).Exec("", "sh", "-c", command)
	require.NoError(t, err)
	require.Zero(t, out.ExitCode, out.Stderr)
	return out.Stdout
}

func TestAVolumeIsRestoredFromASnapshotThatAManifestAsksForWithoutDefinitions(t *testing.T) {
	c := growing(t, 1)
	c.Apply(growingPod("writer", "node-1"))
	c.RunFor(30 * time.Second)
	run(t, c, "writer", "echo one > /data/file")
	c.Apply(snapClass + snapOf("data"))
	c.RunFor(5 * time.Second)
	require.True(t, snapshotReady(c))
	assert.Equal(t, []string{
		"Normal CreatingSnapshot: Waiting for a snapshot default/s1 to be created by the CSI driver.",
		"Normal SnapshotCreated: Snapshot default/s1 was successfully created by the CSI driver.",
		"Normal SnapshotReady: Snapshot default/s1 is ready to use.",
	}, saidOf(c, "volumesnapshot default/s1"))
	run(t, c, "writer", "echo two > /data/file")
	c.Apply(copyOf("VolumeSnapshot s1") + "---" + strings.ReplaceAll(growingPod("reader", "node-1"), "claimName: data", "claimName: copy"))
	c.RunFor(30 * time.Second)
	assert.Equal(t, "one\n", run(t, c, "reader", "cat /data/file"))
	assert.NotContains(t, c.Claim("data").Finalizers, snapshots.PVCFinalizer)
	c.RequireNoLeaks()

	c.Delete("pvc/copy", "volumesnapshot/s1")
	leavesNothing(c, "writer", "reader")
	assert.Nil(t, object(c, snapshots.Snapshots(), "default", "s1"))
}

func TestACloneHasTheFilesOfItsSourceWhichStaysUntilItIsDone(t *testing.T) {
	c := growing(t, 1)
	c.Apply(growingPod("writer", "node-1"))
	c.RunFor(30 * time.Second)
	run(t, c, "writer", "echo one > /data/file")
	c.Apply(copyOf("PersistentVolumeClaim data"))
	c.RunFor(5 * time.Second)
	require.Contains(t, c.Claim("data").Finalizers, "provisioner.storage.kubernetes.io/cloning-protection")
	run(t, c, "writer", "echo two > /data/file")
	c.Apply(strings.ReplaceAll(growingPod("reader", "node-1"), "claimName: data", "claimName: copy"))
	c.RunFor(30 * time.Second)
	assert.Equal(t, "one\n", run(t, c, "reader", "cat /data/file"))
	c.Delete("pvc/copy")
	leavesNothing(c, "writer", "reader")
}

const preprovisioned = `
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshotContent
metadata: {name: mine}
spec:
  driver: csi.storagesim.io
  deletionPolicy: Retain
  source: {snapshotHandle: HANDLE}
  volumeSnapshotRef: {name: s1, namespace: default}
---
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshot
metadata: {name: s1}
spec:
  source: {volumeSnapshotContentName: mine}
---
`

// handleOf returns the handle of the snapshot s1's content.
func handleOf(c *storagesimtest.Cluster) (content, handle string) {
	content, _, _ = unstructured.NestedString(object(c, snapshots.Snapshots(), "default", "s1"), "status", "boundVolumeSnapshotContentName")
	handle, _, _ = unstructured.NestedString(object(c, snapshots.Contents(), "", content), "status", "snapshotHandle")
	return content, handle
}

func TestASnapshotIsKeptByThePolicyRetainAndBoundAgainByHand(t *testing.T) {
	c := growing(t, 1)
	c.Apply(strings.Replace(snapClass, "Delete", "Retain", 1) + snapOf("data"))
	c.RunFor(5 * time.Second)
	content, handle := handleOf(c)
	require.NotEmpty(t, handle)
	c.Delete("volumesnapshot/s1")
	c.RunFor(5 * time.Second)
	require.Nil(t, object(c, snapshots.Snapshots(), "default", "s1"))
	require.NotNil(t, object(c, snapshots.Contents(), "", content), "the content stays")
	c.Delete("volumesnapshotcontent/" + content)
	c.RunFor(5 * time.Second)
	require.Nil(t, object(c, snapshots.Contents(), "", content))
	require.ErrorContains(t, c.Cluster.RequireNoLeaks(), "snapshot "+handle+" of driver csi.storagesim.io, for which there is no volumesnapshotcontent")

	c.Apply(strings.Replace(preprovisioned, "HANDLE", handle, 1))
	c.RunFor(5 * time.Second)
	require.True(t, snapshotReady(c))
	c.RequireNoLeaks()
	c.Apply(copyOf("VolumeSnapshot s1"))
	c.RunFor(5 * time.Second)
	require.Equal(t, v1.ClaimBound, c.Claim("copy").Status.Phase)
}

func TestASnapshotThatIsMadeAnewIsNotBoundToTheOldContent(t *testing.T) {
	c := growing(t, 1)
	c.Apply(strings.Replace(snapClass, "Delete", "Retain", 1) + snapOf("data"))
	c.RunFor(5 * time.Second)
	old, _ := handleOf(c)
	c.Delete("volumesnapshot/s1")
	c.RunFor(5 * time.Second)
	c.Apply(snapOf("data"))
	c.RunFor(5 * time.Second)
	is, handle := handleOf(c)
	require.NotEqual(t, old, is)
	require.NotEmpty(t, handle)
}

// TestBadSnapshotsAreToldAsUpstreamTells covers what a user may get wrong: the event is upstream's, and
// nothing is made.
func TestBadSnapshotsAreToldAsUpstreamTells(t *testing.T) {
	unbound := strings.Replace(growingClaim("1Gi"), "storageClassName: csi", "storageClassName: none", 1)
	for name, tt := range map[string]struct {
		before, manifest string
		event            string
	}{
		"a claim that is not bound": {
			before: strings.Replace(unbound, "name: data", "name: pending", 1), manifest: snapClass + snapOf("pending"),
			event: `Warning SnapshotContentCreationFailed: Failed to create snapshot content with error failed to get input parameters to create snapshot s1: ` +
				`"the PVC pending is not yet bound to a PV, will not attempt to take a snapshot"`,
		},
		"a claim that is not there": {
			manifest: snapClass + snapOf("nobody"),
			event: `Warning SnapshotContentCreationFailed: Failed to create snapshot content with error snapshot controller failed to update s1 on API server: ` +
				`cannot get claim from snapshot`,
		},
		"a class that is not there": {
			manifest: snapOf("data"),
			event:    `Warning GetSnapshotClassFailed: Failed to get snapshot class with error volumesnapshotclass.snapshot.storage.k8s.io "snap" not found`,
		},
		"no default class": {
			manifest: strings.Replace(snapOf("data"), "volumeSnapshotClassName: snap", "", 1),
			event:    `Warning SetDefaultSnapshotClassFailed: Failed to set default snapshot class with error cannot find default snapshot class`,
		},
		"two default classes": {
			manifest: strings.Replace(snapOf("data"), "volumeSnapshotClassName: snap", "", 1), before: defaultClass("a") + defaultClass("b"),
			event: `Warning SetDefaultSnapshotClassFailed: Failed to set default snapshot class with error 2 default snapshot classes were found`,
		},
		"a content that names another snapshot": {
			manifest: strings.Replace(preprovisioned, "{name: s1, namespace: default}", "{name: other, namespace: default}", 1),
			event:    `Warning SnapshotContentMisbound: VolumeSnapshotContent [mine] is bound to a different snapshot`,
		},
		"a content that is not there": {
			manifest: preprovisioned[strings.Index(preprovisioned, "---")+4:],
			event:    `Warning SnapshotContentMissing: VolumeSnapshotContent is missing`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := growing(t, 1)
			if tt.before != "" {
				c.Apply(tt.before)
			}
			c.Apply(tt.manifest)
			c.RunFor(30 * time.Second)
			require.False(t, snapshotReady(c))
			require.Contains(t, saidOf(c, "volumesnapshot default/s1"), tt.event)
			c.RequireNoLeaks()
		})
	}
}

func defaultClass(name string) string {
	return strings.Replace(snapClass, "{name: snap}", "{name: "+name+", annotations: {snapshot.storage.kubernetes.io/is-default-class: \"true\"}}", 1)
}

func TestASnapshotWithoutAClassGetsTheDefaultOfTheDriver(t *testing.T) {
	c := growing(t, 1)
	c.Apply(defaultClass("mine") + strings.Replace(defaultClass("theirs"), "csi.storagesim.io", "other.example.com", 1) +
		strings.Replace(snapOf("data"), "volumeSnapshotClassName: snap", "", 1))
	c.RunFor(5 * time.Second)
	require.True(t, snapshotReady(c))
	class, _, _ := unstructured.NestedString(object(c, snapshots.Snapshots(), "default", "s1"), "spec", "volumeSnapshotClassName")
	require.Equal(t, "mine", class)
}

func TestASnapshotWithAClassOfAnotherDriverIsNeverTaken(t *testing.T) {
	c := growing(t, 1)
	c.Apply(strings.Replace(snapClass, "csi.storagesim.io", "other.example.com", 1) + snapOf("data"))
	c.RunFor(30 * time.Second)
	require.False(t, snapshotReady(c), "no sidecar is that driver's")
	content, handle := handleOf(c)
	require.NotEmpty(t, content)
	require.Empty(t, handle)
	require.Equal(t, []string{"Normal CreatingSnapshot: Waiting for a snapshot default/s1 to be created by the CSI driver."},
		saidOf(c, "volumesnapshot default/s1"))
	require.Zero(t, calls(c, "CreateSnapshot"))
}

func TestASnapshotOfAClaimThatIsBeingDeletedIsNotTaken(t *testing.T) {
	c := growing(t, 1)
	c.Apply(growingPod("writer", "node-1"))
	c.RunFor(30 * time.Second)
	c.Delete("pvc/data") // the pod keeps it
	c.Apply(snapClass + snapOf("data"))
	c.RunFor(10 * time.Second)
	require.Contains(t, saidOf(c, "volumesnapshot default/s1"),
		"Warning SnapshotContentCreationFailed: Failed to create snapshot content with error snapshot controller failed to update data on API server: "+
			"cannot add finalizer on claim because it is being deleted")
}

// TestSourcesThatCannotBeAreToldAsUpstreamTells restores and clones what cannot be.
func TestSourcesThatCannotBeAreToldAsUpstreamTells(t *testing.T) {
	const failed = "Warning ProvisioningFailed: "
	snapshot, clone := copyOf("VolumeSnapshot s1"), copyOf("PersistentVolumeClaim data")
	block := func(claim string) string { return strings.Replace(claim, "spec:", "spec:\n  volumeMode: Block", 1) }
	smaller := func(claim string) string { return strings.Replace(claim, "1Gi", "1Mi", 1) }
	for name, tt := range map[string]struct {
		driver driver.Config
		claim  string
		event  string
	}{
		"a smaller claim": {claim: smaller(snapshot), event: failed + "error getting handle for DataSource Type VolumeSnapshot by Name s1: " +
			"requested volume size 1048576 is less than the size 1073741824 for the source snapshot s1"},
		"another volume mode": {claim: block(snapshot),
			event: failed + "error getting handle for DataSource Type VolumeSnapshot by Name s1: requested volume default/copy modifies the mode of the source " +
				"volume but does not have permission to do so. snapshot.storage.kubernetes.io/allow-volume-mode-change annotation is not present on " +
				"snapshotcontent CONTENT"},
		"a smaller clone": {claim: smaller(clone), event: failed + "error getting handle for DataSource Type PersistentVolumeClaim by Name data: error, " +
			"new PVC request must be greater than or equal in size to the specified PVC data source, requested 1048576 but source is 1073741824"},
		"a clone in another mode": {claim: block(clone),
			event: failed + "error getting handle for DataSource Type PersistentVolumeClaim by Name data: the source PVC and destination PVCs " +
				"must have the same volume mode for cloning.  Source is Filesystem, but new PVC requested Block"},
		"a clone of nothing": {claim: copyOf("PersistentVolumeClaim nobody"),
			event: failed + `error getting handle for DataSource Type PersistentVolumeClaim by Name nobody: ` +
				`error getting PVC nobody (namespace "default") from api server: persistentvolumeclaim "nobody" not found`},
		"a driver without clones": {driver: driver.Config{NoClones: true}, claim: clone,
			event: failed + "CSI driver does not support clone operations: controller CLONE_VOLUME capability is not reported"},
		"a driver without snapshots": {driver: driver.Config{NoSnapshots: true}, claim: snapshot,
			event: failed + "CSI driver does not support snapshot restore: controller CREATE_DELETE_SNAPSHOT capability is not reported"},
		"a custom kind": {claim: strings.Replace(snapshot, "apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot", "apiGroup: example.com, kind: Backup", 1),
			event: "Normal Provisioning: Assuming an external populator will provision the volume"},
	} {
		t.Run(name, func(t *testing.T) {
			c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks})
			c.InstallCSIDriver(tt.driver)
			c.Apply(growingClass + growingClaim("1Gi") + "---" + snapClass + snapOf("data"))
			c.RunFor(20 * time.Second)
			content, _ := handleOf(c)
			claim := strings.Replace(tt.claim, "dataSource:", "dataSourceRef:", 1)
			if name != "a custom kind" {
				claim = tt.claim
			}
			c.Apply(claim)
			c.RunFor(10 * time.Second)
			require.Equal(t, v1.ClaimPending, c.Claim("copy").Status.Phase)
			require.Contains(t, saidOf(c, "pvc default/copy"), strings.Replace(tt.event, "CONTENT", content, 1))
			c.RequireNoLeaks()
		})
	}
}

// TestSourcesThatChangeOrBelongToAnotherDriverAreToldAsUpstreamTells has sources that were right once, or are right
// for another driver.
//
// Upstream: external-provisioner pkg/controller/controller.go getSnapshotSource and getPVCSource, v6.4.
func TestSourcesThatChangeOrBelongToAnotherDriverAreToldAsUpstreamTells(t *testing.T) {
	const of = "Warning ProvisioningFailed: error getting handle for DataSource Type "
	snapshot, clone := copyOf("VolumeSnapshot s1"), copyOf("PersistentVolumeClaim data")
	elsewhere := func(claim string) string {
		return strings.Replace(claim, "storageClassName: csi", "storageClassName: other", 1)
	}
	for name, tt := range map[string]struct {
		before func(t *testing.T, c *storagesimtest.Cluster)
		claim  string
		event  string
	}{
		"a snapshot that is not bound": {
			before: func(_ *testing.T, c *storagesimtest.Cluster) { c.Apply(snapOf("data")) }, // its class is not there
			claim:  snapshot, event: of + "VolumeSnapshot by Name s1: snapshot s1 not bound",
		},
		"a snapshot that is not ready": {
			before: func(t *testing.T, c *storagesimtest.Cluster) {
				c.Inject(socket.Fault{Method: "CreateSnapshot", Times: 1000, Code: codes.Internal, Message: "no"})
				c.Apply(snapClass + snapOf("data"))
			},
			claim: snapshot, event: of + "VolumeSnapshot by Name s1: snapshot s1 is not Ready",
		},
		"a snapshot that is being deleted": {
			before: func(t *testing.T, c *storagesimtest.Cluster) {
				c.Apply(snapClass + snapOf("data"))
				c.RunFor(5 * time.Second)
				c.Inject(socket.Fault{Method: "DeleteSnapshot", Times: 1000, Code: codes.Internal, Message: "no"})
				c.Delete("volumesnapshot/s1")
			},
			claim: snapshot, event: of + "VolumeSnapshot by Name s1: snapshot s1 is being deleted",
		},
		"a snapshot of another driver": {
			before: func(_ *testing.T, c *storagesimtest.Cluster) { c.Apply(snapClass + snapOf("data")) },
			claim:  elsewhere(snapshot),
			event:  of + "VolumeSnapshot by Name s1: snapshotcontent CONTENT for snapshot s1 is not handled by CSI driver of StorageClass other",
		},
		"a clone of a claim that is being deleted": {
			before: func(_ *testing.T, c *storagesimtest.Cluster) {
				c.Apply(growingPod("writer", "node-1"))
				c.RunFor(30 * time.Second)
				c.Delete("pvc/data") // the pod keeps it
			},
			claim: clone, event: of + "PersistentVolumeClaim by Name data: the PVC DataSource data is currently being deleted",
		},
		"a clone of another driver's volume": {
			claim: elsewhere(clone), event: of + "PersistentVolumeClaim by Name data: claim in dataSource not bound or invalid",
		},
		"a clone of a claim that is not bound": {
			before: func(_ *testing.T, c *storagesimtest.Cluster) {
				c.Apply(strings.NewReplacer("name: data", "name: pending", "storageClassName: csi", "storageClassName: none").Replace(growingClaim("1Gi")))
			},
			claim: copyOf("PersistentVolumeClaim pending"),
			event: of + "PersistentVolumeClaim by Name pending: the PVC DataSource pending must have a status of Bound.  Got {Pending [] map[] [] map[] " +
				"map[] <nil> nil}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := growing(t, 1)
			c.InstallCSIDriver(driver.Config{Name: "other.example.com"})
			c.Must(c.Lab().InstallSnapshots())
			c.Apply(strings.NewReplacer("name: csi}", "name: other}", "csi.storagesim.io", "other.example.com").Replace(growingClass))
			if tt.before != nil {
				tt.before(t, c)
			}
			c.RunFor(10 * time.Second)
			content, _ := handleOf(c)
			made := calls(c, "CreateVolume")
			c.Apply(tt.claim)
			c.RunFor(10 * time.Second)
			require.Equal(t, v1.ClaimPending, c.Claim("copy").Status.Phase)
			require.Contains(t, saidOf(c, "pvc default/copy"), strings.Replace(tt.event, "CONTENT", content, 1))
			require.Equal(t, made, calls(c, "CreateVolume"), "no driver is asked")
		})
	}
}

// calls returns the number of calls of a method.
func calls(c *storagesimtest.Cluster, method string) (n int) {
	for _, entry := range c.Trace().Records() {
		if rpc, ok := entry.Record.(trace.RPC); ok && rpc.Method == method {
			n++
		}
	}
	return n
}

// TestACrashOfAnyActorAtAnyWriteLosesNoSnapshot takes, restores and deletes a snapshot, with a crash of one
// actor before or after one of its calls.
func TestACrashOfAnyActorAtAnyWriteLosesNoSnapshot(t *testing.T) {
	step := 1
	if testing.Short() {
		step = 3
	}
	for _, actor := range []string{storagesim.SnapshotController, csi.SnapshotterActor(driver.Name), csi.ProvisionerActor(driver.Name)} {
		for skip := 0; skip < 15; skip += step {
			for _, after := range []bool{false, true} {
				c := growing(t, 1)
				c.Must(c.Lab().InstallSnapshots())
				c.RunFor(time.Second)
				for _, verb := range []string{"create", "update", "patch", "delete"} {
					c.Inject(engine.Fault{Actor: actor, Verb: verb, Skip: skip / 2, After: after, Crash: true, Restart: time.Duration(skip%2) * 5 * time.Second})
				}
				c.Apply(snapClass + snapOf("data"))
				c.RunFor(time.Minute)
				require.True(t, snapshotReady(c), "%s %d %v", actor, skip, after)
				c.Apply(copyOf("VolumeSnapshot s1"))
				c.RunFor(time.Minute)
				require.Equal(t, v1.ClaimBound, c.Claim("copy").Status.Phase, "%s %d %v", actor, skip, after)
				c.Delete("volumesnapshot/s1", "pvc/copy")
				c.RunFor(10 * time.Minute)
				require.Nil(t, object(c, snapshots.Snapshots(), "default", "s1"), "%s %d %v", actor, skip, after)
				require.NotContains(t, c.Claim("data").Finalizers, snapshots.PVCFinalizer)
				leavesNothing(c)
			}
		}
	}
}

// A driver is interrupted in the middle of its copy, wherever that is: an operation on its disk
// fails, and in half of the cases its process ends with that call. No pod gets half of a copy, and
// nothing of it is left.
func TestADriverThatIsInterruptedWhileItCopiesServesNoHalfOfIt(t *testing.T) {
	clone, restore := copyOf("PersistentVolumeClaim data"), copyOf("VolumeSnapshot s1")
	for name, copies := range map[string]struct {
		method string // that copies
		before string // what is applied first
		copied string // what is applied then, so that the driver copies
		after  string // what is applied at the end
	}{
		"a clone":    {"CreateVolume", "", clone, ""},
		"a restore":  {"CreateVolume", snapClass + snapOf("data"), restore, ""},
		"a snapshot": {"CreateSnapshot", "", snapClass + snapOf("data"), restore},
	} {
		t.Run(name, func(t *testing.T) {
			interrupted := 0
			for op := range 16 {
				for _, crash := range []bool{false, true} {
					c := growing(t, 1)
					c.Must(c.Lab().InstallSnapshots())
					c.Apply(growingPod("writer", "node-1"))
					c.RunFor(30 * time.Second)
					run(t, c, "writer", "mkdir /data/dir; echo one > /data/file; echo two > /data/dir/file; ln -s file /data/link")
					applyIf(c, copies.before)
					c.Inject(machine.Fault{Machine: "host/" + driver.Name, Op: "change", Skip: op, Err: syscall.EIO})
					if crash {
						c.Inject(socket.Fault{Method: copies.method, After: true, Crash: true, Restart: 3 * time.Second})
					}
					applyIf(c, copies.copied)
					c.Lab().ClearFaults()
					applyIf(c, copies.after)
					copyIsWhole(t, c, op)
					interrupted += failures(c, copies.method)
				}
			}
			require.GreaterOrEqual(t, interrupted, 10, "where the copy was interrupted without a crash, which hides the error")
		})
	}
}

func applyIf(c *storagesimtest.Cluster, manifest string) {
	if manifest != "" {
		c.Apply(manifest)
		c.RunFor(2 * time.Minute)
	}
}

// copyIsWhole reads the copy, and deletes everything.
func copyIsWhole(t *testing.T, c *storagesimtest.Cluster, op int) {
	require.Equal(t, v1.ClaimBound, c.Claim("copy").Status.Phase, "operation %d\n%s", op, c.Story())
	c.Apply(strings.ReplaceAll(growingPod("reader", "node-1"), "claimName: data", "claimName: copy"))
	c.RunFor(30 * time.Second)
	require.Equal(t, "one\ntwo\none\n", run(t, c, "reader", "cat /data/file /data/dir/file /data/link"), "operation %d", op)
	if object(c, snapshots.Snapshots(), "default", "s1") != nil {
		require.True(t, snapshotReady(c))
		c.Delete("volumesnapshot/s1")
	}
	c.Delete("pvc/copy")
	leavesNothing(c, "writer", "reader")
}

// failures returns the number of copies of a driver that failed on its disk.
func failures(c *storagesimtest.Cluster, method string) (n int) {
	for _, entry := range c.Trace().Records() {
		if rpc, ok := entry.Record.(trace.RPC); ok && rpc.Method == method && strings.Contains(rpc.Err, "input/output error") {
			n++
		}
	}
	return n
}
