package binding

import (
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestASortedListKeepsEachEntryOnceHoweverLong(t *testing.T) {
	list, all := &sorted[int]{compare: cmp.Compare[int]}, []int{}
	for i := range 5 * chunkSize {
		x := i * 7 % (3 * chunkSize) // the later ones are there already
		list.add(x)
		if !slices.Contains(all, x) {
			all = append(all, x)
		}
	}
	slices.Sort(all)
	require.Equal(t, all, slices.Collect(list.all()))
	require.Equal(t, all[1000:], slices.Collect(list.from(func(x int) bool { return x < all[1000] })))
	list.remove(-1) // not there
	for _, x := range all {
		require.False(t, list.empty())
		list.remove(x)
	}
	require.True(t, list.empty())
	require.Empty(t, slices.Collect((*sorted[int])(nil).all()))
}
