package binding_test

import (
	"flag"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/internal/seedtest"
)

// base selects other worlds for the same seeds.
var base = flag.Uint64("base", 1, "where a differential run's seeds begin")

// Each seed makes one world, on which every rule is compared. CI tries more.
func TestADifferentialRunFindsNoDifferenceFromUpstream(t *testing.T) {
	var mu sync.Mutex
	tally := map[binding.Filter]int{}
	worlds := seedtest.Each(t, 20_000, func(t testing.TB, seed uint64) {
		verdicts := agree(t, dice{rand.New(rand.NewPCG(*base, seed))}.world())
		mu.Lock()
		defer mu.Unlock()
		for _, verdict := range verdicts {
			tally[verdict.Filter]++
		}
	})
	// Each filter must decide often, or the comparison would not notice its loss.
	for filter := binding.Passed; filter <= binding.Outranked; filter++ {
		require.Greater(t, tally[filter], worlds/200, "too few volumes with verdict %d", filter)
		t.Logf("verdict %2d: %d volumes", filter, tally[filter])
	}
}

func FuzzTheRulesAgreeWithUpstream(f *testing.F) {
	seedtest.Corpus(f, 100, []any{uint64(0), uint64(7)})
	f.Fuzz(func(t *testing.T, a, b uint64) {
		agree(t, dice{rand.New(rand.NewPCG(a, b))}.world())
	})
}
