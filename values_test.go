package storagesim_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/internal/seedtest"
	"github.com/storagesim/storagesim/storagesimtest"
	"github.com/storagesim/storagesim/trace"
)

// delayed has two nodes with a local volume each, of which one is too small, and a pod with a claim.
const delayed = `apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: local}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: large}
spec:
  capacity: {storage: 5Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: local
  hostPath: {path: /tmp/large}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: small}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: local
  hostPath: {path: /tmp/small}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  storageClassName: local
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 2Gi}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: web, image: busybox, volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`

// played returns a cluster at rest to which delayed was applied.
func played(t testing.TB, cfg storagesim.Config) *storagesimtest.Cluster {
	t.Helper()
	cfg.Nodes, cfg.Disks = storagesim.Nodes("node-1", "node-2", "node-3"), storagesim.MemoryDisks
	cfg.Nodes[2].Taints = []v1.Taint{{Key: "slow", Effect: v1.TaintEffectNoSchedule}}
	c := storagesimtest.New(t, cfg)
	c.Apply(delayed)
	c.Settle()
	return c
}

func TestTheSchedulersDecisionHasNodesAndVolumesWithReasonsAndScores(t *testing.T) {
	c := played(t, storagesim.Config{RecordValues: true})
	var choice *trace.Choice
	for _, e := range c.Trace().Records() {
		if d, ok := e.Record.(trace.Decision); ok && e.Actor == storagesim.Scheduler {
			choice = d.Choice
		}
	}
	require.NotNil(t, choice)
	require.Equal(t, "node-1", choice.Chosen)
	require.Equal(t, "schedulePod", choice.Function)
	var names []string
	for _, candidate := range choice.Candidates {
		names = append(names, candidate.Name)
	}
	require.Equal(t, []string{"node-1", "node-2", "node-3"}, names)
	require.True(t, choice.Candidates[0].OK)
	require.NotEmpty(t, choice.Candidates[0].Scores)
	var sum int64
	for _, score := range choice.Candidates[0].Scores {
		sum += score
	}
	require.Equal(t, sum, choice.Candidates[0].Score)
	require.Equal(t, trace.Candidate{Name: "node-3", Filter: "TaintToleration", Reason: "node(s) had untolerated taint(s)"}, choice.Candidates[2])
	require.Len(t, choice.Volumes, 1)
	require.Equal(t, []trace.Candidate{
		{Name: "large", OK: true, Reason: "the smallest that fits on the node"},
		{Name: "small", Filter: "TooSmall", Reason: "capacity 1Gi is less than the requested 2Gi"},
	}, choice.Volumes[0].Candidates)
}

func TestDeliveriesAreThoseOfWritesInOrder(t *testing.T) {
	c := played(t, storagesim.Config{RecordValues: true})
	log := c.Engine().Trace()
	written := map[uint64]int{} // the number of records with each write's
	for i, e := range log.Entries() {
		if w, ok := e.Record.(trace.Write); ok && w.Err == nil && w.Old != w.New {
			written[w.RV] = i + 1
		}
	}
	heard := log.Deliveries()
	require.NotEmpty(t, heard)
	require.True(t, slices.IsSortedFunc(heard, func(a, b trace.Delivery) int { return a.After - b.After }))
	known := 0
	for _, d := range heard {
		if at, ok := written[d.RV]; ok {
			known++
			require.LessOrEqual(t, at, d.After, "%s heard of version %d before it was written", d.Actor, d.RV)
		}
	}
	require.Greater(t, known, len(heard)*9/10)
}

// A view must not change what it shows: records, their numbers and the steps are the same.
func TestARunIsTheSameWithValues(t *testing.T) {
	seedtest.Each(t, 30, func(t testing.TB, seed uint64) {
		plain, full := played(t, storagesim.Config{Seed: seed}), played(t, storagesim.Config{Seed: seed, RecordValues: true})
		require.Equal(t, plain.Engine().Trace().String(), full.Engine().Trace().String())
		require.Equal(t, plain.Engine().Choices(), full.Engine().Choices())
	})
}
