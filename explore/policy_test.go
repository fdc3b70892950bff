package explore

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/engine"
)

// With PCT alone the StatefulSet controller made a pod again and again that the garbage
// collector deleted: its cache, which had the lowest priority, never heard that the set was
// gone.
func TestNoCacheIsStarvedForEver(t *testing.T) {
	both := []engine.Alternative{{Actor: "statefulset-controller", Does: "work"}, {Actor: "statefulset-controller", Hears: "statefulsets"}}
	p := newPCT(1, 1, pctSteps)
	count := func(picks int) (counts [2]int) {
		for range picks {
			counts[p.Pick(2, func(i int) engine.Alternative { return both[i] })]++
		}
		return counts
	}
	require.Contains(t, count(fairAfter), 0, "the one with the higher priority goes on as long as it can")
	for _, n := range count(1000) {
		require.Greater(t, n, 300)
	}
}
