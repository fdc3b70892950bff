package sorted_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/internal/sorted"
)

// Thousands of random changes, beside a slice that is sorted each time: of few keys, which a list keeps, and of many.
func TestKeysAreInOrderWhateverComesAndGoes(t *testing.T) {
	for _, names := range []int{4, 300} {
		comeAndGo(t, names)
	}
}

func comeAndGo(t *testing.T, names int) {
	t.Helper()
	chance := rand.New(rand.NewPCG(1, 2))
	keys, want := &sorted.Keys{}, []string{}
	for range 3_000 {
		key := fmt.Sprintf("ns-%d/%d", chance.IntN(5), chance.IntN(names))
		at, there := slices.BinarySearch(want, key)
		if chance.IntN(3) > 0 {
			keys.Add(key)
			if !there {
				want = slices.Insert(want, at, key)
			}
		} else {
			keys.Remove(key)
			if there {
				want = slices.Delete(want, at, at+1)
			}
		}
		require.Equal(t, len(want), keys.Len())
	}
	require.Equal(t, want, slices.Collect(keys.All()))
	require.Equal(t, want, keys.List())

	from, _ := slices.BinarySearch(want, "ns-2/")
	before, _ := slices.BinarySearch(want, "ns-20")
	require.Equal(t, want[from:before], slices.Collect(keys.Range("ns-2/", "ns-20")))
	require.Empty(t, slices.Collect(keys.Range("ns-3", "ns-2")))
	for first := range keys.All() {
		require.Equal(t, want[0], first)
		break
	}
}

func TestACloneStaysAsItWas(t *testing.T) {
	for _, n := range []int{10, 1_000} {
		cloneOf(t, n)
	}
}

func cloneOf(t *testing.T, n int) {
	t.Helper()
	keys := &sorted.Keys{}
	for i := range n {
		keys.Add(fmt.Sprintf("%03d", i))
	}
	clone := keys.Clone()
	var walked []string
	for key := range clone.All() { // changed while it is walked
		walked = append(walked, key)
		keys.Remove(key)
		keys.Add(key + "'")
	}
	require.Len(t, walked, n)
	require.Equal(t, fmt.Sprintf("%03d'", n-1), slices.Max(slices.Collect(keys.All())))
	require.Equal(t, "000'", slices.Min(slices.Collect(keys.All())))
	require.Equal(t, n, keys.Len())
	require.Equal(t, walked, slices.Collect(clone.All()))
}
