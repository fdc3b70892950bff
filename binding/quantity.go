package binding

import (
	"cmp"

	"k8s.io/apimachinery/pkg/api/resource"
)

// compareSizes orders quantities as their Cmp does. Nearly all are whole numbers, for
// which this saves copying them: it runs for every candidate of every search.
func compareSizes(a, b *resource.Quantity) int {
	x, whole := a.AsInt64()
	if whole {
		if y, whole := b.AsInt64(); whole {
			return cmp.Compare(x, y)
		}
	}
	return a.Cmp(*b)
}

// interval holds the sizes from least up to, but not including, below. If below is nil,
// it has no upper bound.
type interval struct{ least, below *resource.Quantity }

func (i *interval) contains(size *resource.Quantity) bool {
	return compareSizes(size, i.least) >= 0 && (i.below == nil || compareSizes(size, i.below) < 0)
}
