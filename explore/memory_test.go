package explore_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/explore"
)

// liveHeap returns the bytes of the heap that are in use.
func liveHeap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // objects with finalizers, and what is in pools, go with the second
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// keepsAtMost is the number of bytes that an exploration may keep of a run: the hashes of its states, and nothing of its
// cluster, whose objects and records are ten times as much.
const keepsAtMost = 32 << 10

// What an exploration of a CSI driver holds does not grow with the runs that have ended.
func TestRunsOfACSIDriverAreNotKept(t *testing.T) {
	few := 30
	if testing.Short() {
		few = 10
	}
	many := 4 * few
	held := map[int]uint64{}
	cfg := explore.Config{Runs: many, Workers: 1, Cluster: storagesim.Config{Nodes: storagesim.Nodes("node-1", "node-2")}}
	cfg.Progress = func(run int) {
		if run == few || run == many {
			held[run] = liveHeap()
		}
	}
	report, err := explore.Run(t.Context(), cfg, threeComeAndGo)
	require.NoError(t, err)
	require.Equal(t, many, report.Runs)
	grown := int64(held[many]) - int64(held[few])
	t.Logf("%d bytes after %d runs, %d after %d: %d a run", held[few], few, held[many], many, grown/int64(many-few))
	require.Less(t, grown, int64((many-few)*keepsAtMost))
}
