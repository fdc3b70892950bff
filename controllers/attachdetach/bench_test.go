package attachdetach_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/controllers/attachdetach"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/rigs/enginetest"
)

// BenchmarkAttach measures the number of volumes a second that are attached to 5,000 nodes: from the first pod,
// which is on a node already, to the last node's status that lists its volume. The attacher answers at once. With
// -short it does a hundredth of that.
func BenchmarkAttach(b *testing.B) {
	for _, volumes := range []int{10_000, 20_000} {
		b.Run(fmt.Sprintf("5000/%d", volumes), func(b *testing.B) {
			for b.Loop() {
				if testing.Short() {
					attachMany(b, 50, volumes/100)
				} else {
					attachMany(b, 5_000, volumes)
				}
			}
		})
	}
}

func attachMany(b *testing.B, nodes, volumes int) {
	b.StopTimer()
	r := &rig{enginetest.New(b, engine.Config{TraceLimit: 10_000}, attachdetach.ActorName, attachdetach.New(attachdetach.Config{}))}
	require.NoError(b, r.Engine.Add("csi-attacher", attacher))
	for i := range nodes {
		r.node(fmt.Sprintf("node-%d", i))
	}
	for i := range volumes {
		r.volume(fmt.Sprintf("v-%d", i), rwo)
	}
	r.Settle()
	b.StartTimer()
	began := time.Now()
	for i := range volumes {
		r.pod(fmt.Sprintf("p-%d", i), fmt.Sprintf("node-%d", i%nodes), fmt.Sprintf("v-%d", i))
	}
	r.Settle()
	b.ReportMetric(float64(volumes)/time.Since(began).Seconds(), "attached/s")
	b.StopTimer()
	listed := 0
	for i := range nodes {
		listed += len(r.listed(fmt.Sprintf("node-%d", i)))
	}
	require.Equal(b, volumes, listed)
	b.StartTimer()
}

// BenchmarkMoveOffDeadNode moves a pod with a volume for one node off a node that is not ready: from the deletion of
// the pod and its creation elsewhere until the volume is attached at the new node, 6 virtual minutes later.
func BenchmarkMoveOffDeadNode(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		r := newRig(b, engine.Config{}, attachdetach.Config{})
		require.NoError(b, r.Engine.Add("csi-attacher", attacher))
		inUseAt(b, r)
		r.ready("node-1", v1.ConditionUnknown)
		b.StartTimer()
		r.pod("web", "node-2", "data")
		began := r.Engine.Now()
		require.NoError(b, r.Engine.RunUntil(time.Hour, func() bool { return r.attachments() == "data@node-2" }))
		b.StopTimer()
		require.InDelta(b, 360, r.Engine.Now().Sub(began).Seconds(), 2)
		b.StartTimer()
	}
}
