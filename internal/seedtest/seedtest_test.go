package seedtest_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/internal/seedtest"
)

// tried returns the seeds that a test with 30 usual ones tries.
func tried(t *testing.T) []uint64 {
	t.Helper()
	var mu sync.Mutex
	var list []uint64
	n := seedtest.Each(t, 30, func(_ testing.TB, seed uint64) {
		mu.Lock()
		defer mu.Unlock()
		list = append(list, seed)
	})
	slices.Sort(list)
	require.Len(t, list, n)
	for i, seed := range list {
		require.EqualValues(t, i+1, seed, "each seed once, from 1 on")
	}
	return list
}

// set sets the variables, and unsets those that are not named.
func set(t *testing.T, variables map[string]string) {
	t.Helper()
	for _, name := range []string{"STORAGESIM_SEEDS", "STORAGESIM_BUDGET", "STORAGESIM_SEED"} {
		t.Setenv(name, variables[name])
	}
}

func TestWithoutABudgetAllSeedsAreTried(t *testing.T) {
	usual := 30
	if testing.Short() {
		usual = 3
	}
	set(t, nil)
	require.Len(t, tried(t), usual)
	set(t, map[string]string{"STORAGESIM_SEEDS": "500"})
	require.Len(t, tried(t), 500)
}

func TestABudgetEndsARunButNotBeforeTheUsualNumberIsTried(t *testing.T) {
	set(t, nil)
	usual := len(tried(t))
	set(t, map[string]string{"STORAGESIM_SEEDS": "1000000000", "STORAGESIM_BUDGET": "1ns"})
	require.Len(t, tried(t), usual, "the budget was spent before the first seed")
	set(t, map[string]string{"STORAGESIM_SEEDS": "1000000000", "STORAGESIM_BUDGET": "10ms"})
	more := len(tried(t))
	require.GreaterOrEqual(t, more, usual)
	require.Less(t, more, 1_000_000_000)
	set(t, map[string]string{"STORAGESIM_SEEDS": "2", "STORAGESIM_BUDGET": "1h"})
	require.Len(t, tried(t), 2)
}

func TestASeedAloneIsPlayedOnce(t *testing.T) {
	set(t, map[string]string{"STORAGESIM_SEED": "17"})
	var played []uint64
	require.Equal(t, 1, seedtest.Each(t, 30, func(_ testing.TB, seed uint64) { played = append(played, seed) }))
	require.Equal(t, []uint64{17}, played)
}

func TestEachSeedHasATestOfItsOwn(t *testing.T) {
	set(t, map[string]string{"STORAGESIM_SEEDS": "20"})
	var mu sync.Mutex
	var ended []uint64
	seedtest.Each(t, 20, func(t testing.TB, seed uint64) {
		dir := t.TempDir()
		t.Cleanup(func() {
			mu.Lock()
			defer mu.Unlock()
			ended = append(ended, seed)
			require.DirExists(t, dir, "cleanups run in reverse order")
		})
		if seed%2 == 0 {
			t.Skip("and nothing is said of it")
		}
		require.False(t, t.Failed())
	})
	require.Len(t, ended, 20, "also of those that were skipped")
}

// What a test that fails says is seen from outside only: it runs in a process of its own.
func TestTheSmallestSeedThatFailsIsNamedWithACommandThatRepeatsIt(t *testing.T) {
	if os.Getenv("FAILS") != "" {
		t.Run("a b", func(t *testing.T) {
			seedtest.Each(t, 30, func(t testing.TB, seed uint64) {
				t.Logf("the story of %d", seed)
				require.NotContains(t, []uint64{4, 5, 6}, seed)
			})
		})
		return
	}
	t.Setenv("FAILS", "1")
	again := func(variables map[string]string) string {
		set(t, variables)
		out, err := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v").CombinedOutput()
		require.Error(t, err)
		return string(out)
	}
	out := again(map[string]string{"STORAGESIM_SEEDS": "1200", "STORAGESIM_BUDGET": "1h"})
	require.Contains(t, out, "seed 4 fails; this repeats it: STORAGESIM_SEED=4 go test -run '^"+t.Name()+"$/^a_b$' .\n")
	require.Contains(t, out, "the story of 4\n")
	require.NotContains(t, out, "the story of 5\n")
	require.Contains(t, out, "tried 4 of 1,200 seeds in ")
	require.Contains(t, again(map[string]string{"STORAGESIM_SEED": "4"}), "the story of 4\n")
	for _, wrong := range []map[string]string{{"STORAGESIM_SEEDS": "many"}, {"STORAGESIM_SEEDS": "0"}, {"STORAGESIM_SEED": "-1"}} {
		require.Contains(t, again(wrong), "is not a whole number from 1 to 2147483647")
	}
	require.Contains(t, again(map[string]string{"STORAGESIM_BUDGET": "60"}), `STORAGESIM_BUDGET: "60" is not a duration above 0, such as 60s`)
}

func TestAPanicFailsItsSeedAndSaysWhere(t *testing.T) {
	set(t, map[string]string{"STORAGESIM_SEEDS": "3"})
	o := &outer{TB: t}
	seedtest.Each(o, 3, func(testing.TB, uint64) { panics() })
	require.Contains(t, o.fatal, "seed 1 fails; ")
	require.Contains(t, o.fatal, "panic: oh\n")
	require.Contains(t, o.fatal, "panics(", "where it was")
}

func panics() { panic("oh") }

// outer stands for the test of a user.
type outer struct {
	testing.TB
	fatal string
}

func (o *outer) Fatalf(form string, a ...any) { o.fatal = fmt.Sprintf(form, a...) }
