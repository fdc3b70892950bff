package csi_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi"
	"github.com/storagesim/storagesim/csi/call"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/storagesimtest"
	"github.com/storagesim/storagesim/trace"
)

// growing returns a cluster with a bound claim of 1Gi, whose class allows that it grows.
func growing(t *testing.T, nodes int, change ...string) *storagesimtest.Cluster {
	t.Helper()
	names := []string{"node-1", "node-2"}[:nodes]
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks, Nodes: storagesim.Nodes(names...)})
	c.InstallCSIDriver(driver.Config{})
	class, claim := growingClass, growingClaim("1Gi")
	for i := 0; i+1 < len(change); i += 2 {
		claim = strings.ReplaceAll(claim, change[i], change[i+1])
	}
	c.Apply(class + claim)
	c.RunFor(10 * time.Second)
	require.Equal(t, v1.ClaimBound, c.Claim("data").Status.Phase)
	return c
}

const growingClass = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: csi}
provisioner: csi.storagesim.io
allowVolumeExpansion: true
---
`

func growingClaim(size string) string {
	return `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: csi
  resources: {requests: {storage: ` + size + `}}
`
}

func growingPod(name, node string) string {
	return `
apiVersion: v1
kind: Pod
metadata: {name: ` + name + `}
spec:
  nodeSelector: {kubernetes.io/hostname: ` + node + `}
  containers:
  - name: c
    image: busybox
    command: [sleep, "36000"]
    volumeMounts: [{name: data, mountPath: /data}]
  volumes:
  - name: data
    persistentVolumeClaim: {claimName: data}
`
}

// expansions returns the calls of NodeExpandVolume: where, and with what answer.
func expansions(c *storagesimtest.Cluster) (calls []string) {
	for _, entry := range c.Engine().Trace().Entries() {
		if rpc, ok := entry.Record.(trace.RPC); ok && rpc.Method == "NodeExpandVolume" {
			calls = append(calls, rpc.Machine+" "+rpc.Code)
		}
	}
	return calls
}

func grown(t *testing.T, c *storagesimtest.Cluster, size string) {
	t.Helper()
	claim := c.Claim("data")
	assert.Equal(t, size, claim.Status.Capacity.Storage().String())
	require.Len(t, claim.Status.Conditions, 1)
	assert.Equal(t, v1.PersistentVolumeClaimUnused, claim.Status.Conditions[0].Type)
	assert.Empty(t, claim.Status.AllocatedResourceStatuses)
	pv := c.Volume(claim.Spec.VolumeName)
	assert.Equal(t, size, pv.Spec.Capacity.Storage().String())
	assert.NotContains(t, pv.Annotations, "volume.alpha.kubernetes.io/pre-resize-capacity")
}

// leavesNothing takes pods and claim away again.
func leavesNothing(c *storagesimtest.Cluster, pods ...string) {
	for _, pod := range pods {
		c.Delete("pod/" + pod)
	}
	c.Delete("pvc/data")
	c.RunFor(2 * time.Minute)
	c.RequireNoLeaks()
}

func TestAVolumeGrowsWhileAPodUsesIt(t *testing.T) {
	c := growing(t, 1)
	c.Apply(growingPod("web", "node-1"))
	c.RunFor(30 * time.Second)
	c.Apply(growingClaim("2Gi"))
	c.RunFor(2 * time.Minute)
	grown(t, c, "2Gi")
	assert.Equal(t, []string{"node/node-1 OK"}, expansions(c))
	leavesNothing(c, "web")
}

// The resizer ends between the writes to the volume and to the claim: the volume is larger, and the node may not expand it yet.
func TestAVolumeWhoseResizerHasEndedIsExpandedWhenItIsBack(t *testing.T) {
	c := growing(t, 1)
	c.Apply(growingPod("web", "node-1"))
	c.RunFor(30 * time.Second)
	c.Inject(engine.Fault{Actor: csi.ResizerActor(driver.Name), Verb: "patch", Resource: "persistentvolumes", After: true, Crash: true, Restart: 3 * time.Minute})
	c.Apply(growingClaim("2Gi"))
	c.RunFor(150 * time.Second)
	assert.Empty(t, expansions(c))
	c.RunFor(3 * time.Minute)
	grown(t, c, "2Gi")
	assert.Equal(t, []string{"node/node-1 OK"}, expansions(c))
	leavesNothing(c, "web")
}

// The volume is expanded on the node, and the new size cannot be written to the claim.
func TestAVolumeWhoseSizeCannotBeWrittenIsExpandedAgain(t *testing.T) {
	c := growing(t, 1)
	c.Apply(growingPod("web", "node-1"))
	c.RunFor(30 * time.Second)
	c.Inject(engine.Fault{Actor: "kubelet/node-1", Verb: "patch", Resource: "persistentvolumeclaims/status", Skip: 1,
		Err: errors.New("etcdserver: request timed out")})
	c.Apply(growingClaim("2Gi"))
	c.RunFor(3 * time.Minute)
	grown(t, c, "2Gi")
	assert.Equal(t, []string{"node/node-1 OK", "node/node-1 OK"}, expansions(c))
	leavesNothing(c, "web")
}

func TestAVolumeThatGrewBeforeItsPodCameIsExpandedWhenItIsMounted(t *testing.T) {
	c := growing(t, 1)
	c.Apply(growingClaim("2Gi"))
	c.RunFor(5 * time.Minute)
	assert.Equal(t, "1Gi", c.Claim("data").Status.Capacity.Storage().String())
	assert.Empty(t, expansions(c))
	c.Apply(growingPod("web", "node-1"))
	c.RunFor(30 * time.Second)
	grown(t, c, "2Gi")
	assert.Equal(t, []string{"node/node-1 OK"}, expansions(c))
	leavesNothing(c, "web")
}

// The kubelet has read the volume's size before it was attached, and reads it again when the container has started.
func TestAVolumeThatGrowsWhileItsPodWaitsForItIsExpandedWhenTheContainerStarts(t *testing.T) {
	c := growing(t, 1)
	c.Apply(growingPod("web", "node-1"))
	c.RunFor(2 * time.Second)
	require.Equal(t, v1.PodPending, c.Pod("web").Status.Phase)
	c.Apply(growingClaim("2Gi"))
	c.RunFor(20 * time.Second)
	require.Equal(t, v1.PodRunning, c.Pod("web").Status.Phase)
	grown(t, c, "2Gi")
	assert.Equal(t, []string{"node/node-1 OK"}, expansions(c))
	leavesNothing(c, "web")
}

func TestARawDeviceGrowsWithoutItsNode(t *testing.T) {
	c := growing(t, 1, "spec:\n", "spec:\n  volumeMode: Block\n")
	pod := strings.Replace(growingPod("web", "node-1"), "volumeMounts: [{name: data, mountPath: /data}]", "volumeDevices: [{name: data, devicePath: /dev/x}]", 1)
	c.Apply(pod)
	c.RunFor(30 * time.Second)
	c.Apply(strings.ReplaceAll(growingClaim("2Gi"), "spec:\n", "spec:\n  volumeMode: Block\n"))
	c.RunFor(2 * time.Minute)
	grown(t, c, "2Gi")
	assert.Empty(t, expansions(c), "the controller said that nodes have nothing to do")
	assert.Equal(t, "true", c.Claim("data").Annotations["volume.kubernetes.io/node-expansion-not-required"])
	leavesNothing(c, "web")
}

func TestAVolumeForManyNodesIsExpandedOnEach(t *testing.T) {
	c := growing(t, 2, "ReadWriteOnce", "ReadWriteMany")
	c.Apply(growingPod("one", "node-1") + "---" + growingPod("two", "node-2"))
	c.RunFor(30 * time.Second)
	c.Apply(strings.ReplaceAll(growingClaim("2Gi"), "ReadWriteOnce", "ReadWriteMany"))
	c.RunFor(3 * time.Minute)
	grown(t, c, "2Gi")
	calls := expansions(c)
	slices.Sort(calls)
	assert.Equal(t, []string{"node/node-1 OK", "node/node-2 OK"}, calls)
	leavesNothing(c, "one", "two")
}

// As recorded: full/csi09d_node_expand_fails.
func TestAFailureOfTheNodesWorkIsToldAndTriedAgain(t *testing.T) {
	c := growing(t, 1)
	c.Apply(growingPod("web", "node-1"))
	c.RunFor(30 * time.Second)
	c.Inject(call.Fault{Method: "NodeExpandVolume", Times: 1, Code: codes.Internal, Message: "no"})
	c.Apply(growingClaim("2Gi"))
	c.RunFor(3 * time.Minute)
	grown(t, c, "2Gi")
	assert.Equal(t, []string{"node/node-1 Internal", "node/node-1 OK"}, expansions(c))
	assert.Contains(t, c.Story(), `NodeExpandVolume.NodeExpandVolume failed for volume "`)
	leavesNothing(c, "web")
}

// The node says that it can never be; the controller makes the claim's status such that it is
// tried again, and the user can ask for less.
func TestAVolumeThatTheNodeCannotExpandIsReportedInfeasible(t *testing.T) {
	c := growing(t, 1)
	c.Apply(growingPod("web", "node-1"))
	c.RunFor(30 * time.Second)
	c.Inject(call.Fault{Method: "NodeExpandVolume", Times: 1, Code: codes.OutOfRange, Message: "too large"})
	c.Apply(growingClaim("2Gi"))
	c.RunFor(75 * time.Second)
	assert.Contains(t, c.Story(), "NodeResizeInfeasible")
	c.RunFor(5 * time.Minute)
	grown(t, c, "2Gi")
	leavesNothing(c, "web")
}

func TestAVolumeThatCannotGrowInUseOnItsNodeWaitsForTheNextPod(t *testing.T) {
	c := growing(t, 1)
	c.Apply(growingPod("web", "node-1"))
	c.RunFor(30 * time.Second)
	c.Inject(call.Fault{Method: "NodeExpandVolume", Times: 1, Code: codes.FailedPrecondition, Message: "in use"})
	c.Apply(growingClaim("2Gi"))
	c.RunFor(10 * time.Minute)
	assert.Equal(t, []string{"node/node-1 FailedPrecondition"}, expansions(c), "not as long as the pod has it")
	assert.Equal(t, "1Gi", c.Claim("data").Status.Capacity.Storage().String())
	c.Delete("pod/web")
	c.RunFor(time.Minute)
	c.Apply(growingPod("again", "node-1"))
	c.RunFor(time.Minute)
	grown(t, c, "2Gi")
	leavesNothing(c, "again")
}

// After each of the kubelet's writes to the claim, and before each.
func TestACrashOfTheKubeletWhileAVolumeGrowsLosesNothing(t *testing.T) {
	for _, after := range []bool{false, true} {
		for skip := range 2 {
			c := growing(t, 1)
			c.Apply(growingPod("web", "node-1"))
			c.RunFor(30 * time.Second)
			c.Inject(engine.Fault{Actor: "kubelet/node-1", Verb: "patch", Resource: "persistentvolumeclaims/status", Skip: skip, After: after, Crash: true})
			c.Apply(growingClaim("2Gi"))
			c.RunFor(5 * time.Minute)
			grown(t, c, "2Gi")
			leavesNothing(c, "web")
		}
	}
}

// A claim's request is refused by the API server: nothing is written, so there is no event.
//
// Upstream: plugin/pkg/admission/storage/persistentvolume/resize and validation.go
// ValidatePersistentVolumeClaimUpdate, v1.37.
func TestARequestThatCannotBeIsRefusedAndChangesNothing(t *testing.T) {
	c := growing(t, 1)
	require.ErrorContains(t, c.Cluster.Apply(growingClaim("512Mi")), "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity")
	c.Apply(strings.Replace(growingClass, "allowVolumeExpansion: true", "allowVolumeExpansion: false", 1))
	require.ErrorContains(t, c.Cluster.Apply(growingClaim("2Gi")), `persistentvolumeclaims "data" is forbidden: `+
		"only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize")
	c.RunFor(time.Minute)
	grown(t, c, "1Gi")
	require.NotContains(t, c.Story(), "ControllerExpandVolume")
}
