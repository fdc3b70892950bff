package scheduler_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/explore"
	"github.com/storagesim/storagesim/storagesimtest"
)

// staleFrom holds one of the scheduler's caches back after each step, from the pod's
// creation to its binding; meanwhile something happens that it should know. What the scheduler
// does with the old state does no harm, and after the cache has caught up it does what is
// right.
func staleFrom(t *testing.T, resource string, meanwhile, afterwards func(x *prebind)) {
	t.Helper()
	whole := func(t testing.TB, seed uint64) (int, int) {
		_, last := window(t, seed)
		return 0, last
	}
	eachStep(t, whole, func(x *prebind) {
		long := 30 * time.Second
		if x.steps%3 == 0 {
			long = 11 * time.Minute // longer than the scheduler waits for volumes
		}
		x.Hold(storagesim.Scheduler, resource)
		meanwhile(x)
		x.RunFor(long)
		x.safe()
		x.Release(storagesim.Scheduler, resource)
		x.Settle()
		x.RunFor(flushed)
		afterwards(x)
		x.settled()
		x.cleared()
	})
}

// Another claim takes a disk, or tries to.
func TestAStaleCacheOfVolumesGivesNoVolumeTwice(t *testing.T) {
	staleFrom(t, "persistentvolumes",
		func(x *prebind) { x.claimOf("thief", "disk-1") },
		func(x *prebind) {
			web, thief := x.claims["default/disk"], x.claims["default/thief"]
			if x.nodeOf("web") == "" || bound(thief) == (web.Spec.VolumeName == "disk-1") {
				x.T.Fatalf("web is on %q with %q, the thief has %q", x.nodeOf("web"), web.Spec.VolumeName, thief.Spec.VolumeName)
			}
			x.Delete("pvc/thief")
		})
}

// A user edits both claims.
func TestAStaleCacheOfClaimsLosesNoEdit(t *testing.T) {
	staleFrom(t, "persistentvolumeclaims",
		func(x *prebind) {
			for _, claim := range []string{"disk", "cache"} {
				_, err := x.Client().CoreV1().PersistentVolumeClaims("default").Patch(context.Background(), claim, types.MergePatchType,
					[]byte(`{"metadata":{"annotations":{"edited":"yes"}}}`), metav1.PatchOptions{})
				x.Must(err)
			}
		},
		func(x *prebind) {
			for _, claim := range []string{"disk", "cache"} {
				require.Equal(x.T, "yes", x.claims["default/"+claim].Annotations["edited"], "the edit of claim %s is lost", claim)
			}
		})
}

// The pod is replaced by one of the same name that must go to the other node and has no
// volumes: nothing done for the old one reaches it.
func TestAStaleCacheOfPodsBindsNoPodForAnother(t *testing.T) {
	staleFrom(t, "pods",
		func(x *prebind) {
			other := "node-2"
			if x.chosen() == other {
				other = "node-1"
			}
			x.deletePod("web")
			x.pod("web", other)
		},
		func(*prebind) {})
}

// The node goes. The scheduler may still bind the pod to it, and nothing prevents that; as on
// a cluster the pod is collected then. What ties it to the node waits for the node.
func TestAStaleCacheOfNodesSendsThePodNowhereWithoutItsVolumes(t *testing.T) {
	staleFrom(t, "nodes",
		func(x *prebind) {
			if x.gone = x.chosen(); x.gone == "" {
				x.gone = "node-1"
			}
			x.Must(x.Client().CoreV1().Nodes().Delete(context.Background(), x.gone, metav1.DeleteOptions{}))
		},
		func(x *prebind) {
			if x.nodeOf("web") == x.gone {
				x.replaced("")
				x.Settle()
				x.RunFor(flushed)
			}
			switch node := x.nodeOf("web"); {
			case node == x.gone:
				x.T.Fatalf("the pod is bound to %s, known to be gone", node)
			case node == "" && x.written() == "":
				x.T.Fatal("nothing ties the pod to the node, and it goes to no other")
			}
			x.node(x.gone)
		})
}

// While the news of its own writes is under way the scheduler waits, and takes the old
// state neither for a failure nor for an answer.
// semantics: section 2.3, checkBindings
func TestTheSchedulerWaitsForTheNewsOfItsOwnWrites(t *testing.T) {
	for _, resource := range []string{"persistentvolumes", "persistentvolumeclaims"} {
		t.Run(resource, func(t *testing.T) {
			x := newPrebind(t, 0)
			x.RunUntil(func() bool { return x.chosen() != "" })
			x.Hold(storagesim.Scheduler, resource)
			x.RunFor(9 * time.Minute)
			require.NotEmpty(t, x.written())
			require.Empty(t, x.nodeOf("web"))
			require.NotContains(t, x.Story(), "FailedScheduling")
			x.Release(storagesim.Scheduler, resource)
			x.RunFor(time.Second)
			x.placed("web")
			x.consistent()
		})
	}
}

// What the scheduler has decided counts for it, although its cache has not heard of it.
// semantics: section 2 must 2
func TestAVolumeGivenAwayAndNotYetSeenGivenIsNotGivenAgain(t *testing.T) {
	r := newRig(t, storagesim.Config{}, "node-1")
	r.volume("disk", "5Gi", "node-1")
	r.claim("a", "5Gi", "local")
	r.claim("b", "5Gi", "local")
	r.Settle()
	r.Hold(storagesim.Scheduler, "persistentvolumes")
	r.pod("first", "", "a")
	r.RunFor(5 * time.Second)
	r.pod("second", "", "b")
	r.RunFor(time.Minute)
	require.ErrorContains(t, r.placement("second"), "didn't find available persistent volumes to bind")
	require.NotContains(t, r.Story(), "pvc default/b gets pv disk")
	r.Release(storagesim.Scheduler, "persistentvolumes")
	r.Settle()
	r.placed("first")
	r.consistent()
}

const lateSetYAML = `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 1
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      containers: [{name: db, image: mysql, volumeMounts: [{name: data, mountPath: /var/lib/mysql}]}]
  volumeClaimTemplates:
  - metadata: {name: data}
    spec:
      storageClassName: disks
      accessModes: [ReadWriteOnce]
      resources: {requests: {storage: 5Gi}}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: disks}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: MODE
`

const diskYAML = `
apiVersion: v1
kind: PersistentVolume
metadata: {name: disk-NUM}
spec:
  storageClassName: disks
  capacity: {storage: 5Gi}
  accessModes: [ReadWriteOnce]
  hostPath: {path: /disks/NUM, type: DirectoryOrCreate}
  nodeAffinity:
    required:
      nodeSelectorTerms:
      - matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [node-NUM]}]
`

// A replica and its claim are deleted and made anew, and the scheduler sees the pod
// first. It places the new pod by the old claim, on the node of a disk that the new
// claim does not get; no controller repairs that, as upstream. The replica is helped by
// being deleted once more.
// bugs: 21 (k/k 128164)
func TestAReplicaPlacedByItsOldClaimIsStuck(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]struct {
		phase  v1.PersistentVolumeClaimPhase
		volume string
	}{
		"Immediate":            {v1.ClaimBound, "disk-2"}, // while the pod is on node-1
		"WaitForFirstConsumer": {v1.ClaimPending, ""},     // and the consumer will never be scheduled again
	} {
		t.Run(mode, func(t *testing.T) {
			c := storagesimtest.New(t, storagesim.Config{Nodes: storagesim.Nodes("node-1", "node-2"), Disks: storagesim.MemoryDisks})
			disk := func(n string) string { return strings.ReplaceAll(diskYAML, "NUM", n) }
			c.Apply(strings.ReplaceAll(lateSetYAML, "MODE", mode), disk("1"))
			c.Settle()
			require.Equal(t, v1.PodRunning, c.Pod("db-0").Status.Phase)
			require.Equal(t, "node-1", c.Pod("db-0").Spec.NodeName)
			before := c.Pod("db-0").UID
			c.Apply(disk("2"))
			c.Settle()

			c.Hold(storagesim.Scheduler, "persistentvolumeclaims")
			c.Delete("pvc/data-db-0", "pod/db-0")
			c.Settle()
			c.Release(storagesim.Scheduler, "persistentvolumeclaims")
			c.Settle()
			c.RunFor(3 * time.Hour)
			require.NotEqual(t, before, c.Pod("db-0").UID)
			require.Equal(t, "node-1", c.Pod("db-0").Spec.NodeName, "where the old claim's disk is")
			require.Equal(t, v1.PodPending, c.Pod("db-0").Status.Phase, "and it never runs")
			require.Equal(t, want.phase, c.Claim("data-db-0").Status.Phase)
			require.Equal(t, want.volume, c.Claim("data-db-0").Spec.VolumeName)
			require.Equal(t, v1.VolumeReleased, c.Volume("disk-1").Status.Phase)

			c.Delete("pod/db-0")
			c.Settle()
			require.Equal(t, v1.PodRunning, c.Pod("db-0").Status.Phase)
			require.Equal(t, "node-2", c.Pod("db-0").Spec.NodeName)
		})
	}
}

// With its caches up to date it waits for the new claim.
func TestAReplicaIsNotPlacedByAClaimKnownToBeGone(t *testing.T) {
	explore.Test(t, randomly(30, storagesim.Config{Nodes: storagesim.Nodes("node-1", "node-2")}), func(c *explore.Cluster) {
		c.Apply(strings.ReplaceAll(lateSetYAML, "MODE", "WaitForFirstConsumer"), strings.ReplaceAll(diskYAML, "NUM", "1"))
		c.Settle()
		c.Apply(strings.ReplaceAll(diskYAML, "NUM", "2"))
		c.Settle()
		c.Delete("pvc/data-db-0")
		c.Settle() // the claim is being deleted, and all caches show it
		c.Delete("pod/db-0")
		c.Settle()
		require.Equal(c.T, v1.PodRunning, c.Pod("db-0").Status.Phase)
		require.Equal(c.T, "node-2", c.Pod("db-0").Spec.NodeName)
	})
}
