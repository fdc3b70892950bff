package binding

import (
	"cmp"

	"k8s.io/apimachinery/pkg/api/resource"
)

// compareSizes orders quantities as their Cmp does. Nearly all are whole numbers, for
// which this saves copying them: it runs for every volume of every search.
func compareSizes(a, b *resource.Quantity) int {
	x, whole := a.AsInt64()
	if whole {
		if y, whole := b.AsInt64(); whole {
			return cmp.Compare(x, y)
		}
	}
	return a.Cmp(*b)
}
