package binding_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/binding"
)

// A case is one world, on which every rule is compared. CI runs
//
//	go test -timeout 10m ./binding -run Differential -cases 1000000
var (
	cases = flag.Int("cases", 20_000, "worlds in a differential run")
	base  = flag.Uint64("base", 1, "where a differential run's seeds begin; another gives other worlds")
)

func TestADifferentialRunFindsNoDifferenceFromUpstream(t *testing.T) {
	workers := runtime.GOMAXPROCS(0)
	tallies := make([]map[binding.Filter]int, workers)
	t.Run("workers", func(t *testing.T) {
		for n := range workers {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				t.Parallel()
				tallies[n] = differential(t, n, workers)
			})
		}
	})
	// The worlds must be such that each filter decides often, or the comparison would
	// not notice its loss.
	for filter := binding.Passed; filter <= binding.Outranked; filter++ {
		count := 0
		for _, tally := range tallies {
			count += tally[filter]
		}
		require.Greater(t, count, *cases/200, "too few volumes with verdict %d", filter)
		t.Logf("verdict %2d: %d volumes", filter, count)
	}
}

// differential is one worker's share of the run. It counts the verdicts.
func differential(t *testing.T, worker, workers int) map[binding.Filter]int {
	tally := map[binding.Filter]int{}
	source := rand.NewPCG(0, 0)
	d, seed := dice{rand.New(source)}, uint64(0)
	defer func() {
		if t.Failed() {
			t.Logf("seed (%d, %d)", *base, seed)
		}
	}()
	for i := worker; i < *cases; i += workers {
		seed = uint64(i)
		source.Seed(*base, seed)
		w := d.world()
		for _, verdict := range agree(t, w) {
			tally[verdict.Filter]++
		}
	}
	return tally
}

func FuzzTheRulesAgreeWithUpstream(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(seed, seed*7)
	}
	f.Fuzz(func(t *testing.T, a, b uint64) {
		agree(t, dice{rand.New(rand.NewPCG(a, b))}.world())
	})
}
