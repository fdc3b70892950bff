package sorted_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/internal/sorted"
)

// Thousands of random changes, beside a slice that is sorted each time.
func TestKeysAreInOrderWhateverComesAndGoes(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 2))
	keys, want := &sorted.Keys{}, []string{}
	for range 3_000 {
		key := fmt.Sprintf("ns-%d/%d", chance.IntN(5), chance.IntN(300))
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
	require.Len(t, want, keys.Len())

	from, _ := slices.BinarySearch(want, "ns-2/")
	before, _ := slices.BinarySearch(want, "ns-20")
	require.Equal(t, want[from:before], slices.Collect(keys.Range("ns-2/", "ns-20")))
	for first := range keys.All() {
		require.Equal(t, want[0], first)
		break
	}
}

func TestACloneStaysAsItWas(t *testing.T) {
	keys := &sorted.Keys{}
	for i := range 1_000 {
		keys.Add(fmt.Sprintf("%03d", i))
	}
	clone := keys.Clone()
	var walked []string
	for key := range clone.All() { // changed while it is walked
		walked = append(walked, key)
		keys.Remove(key)
		keys.Add(key + "'")
	}
	require.Len(t, walked, 1_000)
	require.Equal(t, "999'", slices.Max(slices.Collect(keys.All())))
	require.Equal(t, "000'", slices.Min(slices.Collect(keys.All())))
	require.Equal(t, 1_000, keys.Len())
	require.Equal(t, walked, slices.Collect(clone.All()))
}
