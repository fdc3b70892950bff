package binding

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestABucketKeepsEachCandidateOnceHoweverMany(t *testing.T) {
	// Three of each size, in order of name.
	number := func(x int) *candidate {
		return &candidate{volume: &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(x % 3)}},
			size: *resource.NewQuantity(int64(x/3), resource.DecimalSI)}
	}
	numbers := func(candidates []*candidate) (list []int) {
		for _, c := range candidates {
			var digit int
			_, err := fmt.Sscan(c.volume.Name, &digit)
			require.NoError(t, err)
			list = append(list, int(c.size.Value())*3+digit)
		}
		return list
	}
	b, all := &bucket{}, []int{}
	for i := range 5 * chunkSize {
		x := i * 7 % (3 * chunkSize) // the later ones are there already
		b.add(number(x))
		if !slices.Contains(all, x) {
			all = append(all, x)
		}
	}
	slices.Sort(all)
	require.Equal(t, all, numbers(slices.Concat(b.chunks...)))
	require.LessOrEqual(t, len(b.chunks), 6, "each chunk is about half full at least")
	for _, size := range []int{0, 1, chunkSize / 3, chunkSize / 2, chunkSize - 1} {
		var from []*candidate
		for at := b.seek(resource.NewQuantity(int64(size), resource.DecimalSI)); at.candidate != nil; at.advance() {
			from = append(from, at.candidate)
		}
		require.Equal(t, all[3*size:], numbers(from))
		require.Equal(t, all[3*size:3*size+3], numbers(slices.Concat(b.equal(resource.NewQuantity(int64(size), resource.DecimalSI))...)))
	}
	require.Nil(t, b.seek(resource.NewQuantity(chunkSize, resource.DecimalSI)).candidate)
	b.remove(number(3 * chunkSize)) // not there
	for _, x := range all {
		require.NotNil(t, b.head)
		b.remove(number(x))
	}
	require.Nil(t, b.head)
	require.Nil(t, (*bucket)(nil).seek(resource.NewQuantity(0, resource.DecimalSI)).candidate)
}

// Those of one size may fill several chunks, begin or end in one, or not be there.
func TestABucketKnowsAllOfASize(t *testing.T) {
	quantity := func(size int) *resource.Quantity { return resource.NewQuantity(int64(size), resource.DecimalSI) }
	b, want := &bucket{}, map[int]int{2: 1, 4: 3 * chunkSize, 6: 2}
	for size, n := range want {
		for i := range n {
			b.add(&candidate{volume: &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%05d", i)}}, size: *quantity(size)})
		}
	}
	require.Greater(t, len(b.chunks), 3)
	for size := 1; size <= 7; size++ {
		var names []string
		for _, part := range b.equal(quantity(size)) {
			require.NotEmpty(t, part)
			for _, c := range part {
				require.Zero(t, c.size.Cmp(*quantity(size)))
				names = append(names, c.volume.Name)
			}
		}
		require.Len(t, names, want[size], "size %d", size)
		require.IsIncreasing(t, append([]string{""}, append(names, "x")...))
	}
	require.Empty(t, (*bucket)(nil).equal(quantity(4)))
}
