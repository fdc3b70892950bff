package seeds_test

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/internal/seeds"
)

// tried are the seeds that a test with 30 usual ones tries.
func tried(t *testing.T) []uint64 {
	t.Helper()
	var mu sync.Mutex
	var list []uint64
	n := seeds.Run(t, "seeds", 30, func(_ *testing.T, seed uint64) {
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
	require.Equal(t, usual, seeds.Number(t, 30))
	set(t, map[string]string{"STORAGESIM_SEEDS": "500"})
	require.Len(t, tried(t), 500)
	require.Equal(t, 500, seeds.Number(t, 30))
}

func TestABudgetEndsARunButNotBeforeTheUsualNumberIsTried(t *testing.T) {
	usual := seeds.Number(t, 30)
	set(t, map[string]string{"STORAGESIM_SEEDS": "1000000000", "STORAGESIM_BUDGET": "1ns"})
	require.Len(t, tried(t), usual, "the budget was spent before the first seed")
	set(t, map[string]string{"STORAGESIM_SEEDS": "1000000000", "STORAGESIM_BUDGET": "10ms"})
	more := len(tried(t))
	require.GreaterOrEqual(t, more, usual)
	require.Less(t, more, 1_000_000_000)
	set(t, map[string]string{"STORAGESIM_SEEDS": "2", "STORAGESIM_BUDGET": "1h"})
	require.Len(t, tried(t), 2)
}

func TestOneSeedIsPlayedAloneAndTellsItsStory(t *testing.T) {
	set(t, map[string]string{"STORAGESIM_SEED": "17"})
	var played []uint64
	seeds.Each(t, 30, func(seed uint64) (string, error) {
		played = append(played, seed)
		return "", nil
	})
	require.Equal(t, []uint64{17}, played)
}

// What a test that fails says is seen from outside only: it runs in a process of its own.
func TestASeedThatFailsIsNamedAndTheOthersAreTried(t *testing.T) {
	if os.Getenv("FAILS") != "" {
		seeds.Each(t, 30, func(seed uint64) (string, error) {
			if seed == 4 {
				return "the story", errors.New("it is red")
			}
			return "", nil
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
	require.Contains(t, out, "seed 4 (STORAGESIM_SEED=4 tells its story): it is red")
	require.Contains(t, out, "tried 1,200 of 1,200 seeds in ")
	require.NotContains(t, out, "the story\n")
	require.Contains(t, again(map[string]string{"STORAGESIM_SEED": "4"}), "the story\n")
	for _, wrong := range []map[string]string{{"STORAGESIM_SEEDS": "many"}, {"STORAGESIM_SEEDS": "0"}, {"STORAGESIM_SEED": "-1"}} {
		require.Contains(t, again(wrong), "is not a whole number from 1 to 2147483647")
	}
	require.Contains(t, again(map[string]string{"STORAGESIM_BUDGET": "60"}), `STORAGESIM_BUDGET: "60" is not a duration above 0, such as 60s`)
}
