package binding

import (
	"cmp"
	"math"

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

// span are the sizes that a search still cares for: at least least, and less than
// below, if that is set. Its numbers spare the search most of comparing quantities.
type span struct {
	least, below resource.Quantity
	bounded      bool
	from, to     int64
	whole        bool // from and to stand for least and below
}

func spanFrom(least resource.Quantity) span {
	from, whole := least.AsInt64()
	return span{least: least, from: from, to: math.MaxInt64, whole: whole}
}

// narrow leaves only what is smaller than size.
func (s *span) narrow(size resource.Quantity) {
	to, whole := size.AsInt64()
	s.below, s.bounded, s.to, s.whole = size, true, to, whole && s.whole
}

func (s *span) contains(size *resource.Quantity) bool {
	if x, whole := size.AsInt64(); whole && s.whole {
		return x >= s.from && (x < s.to || !s.bounded)
	}
	return size.Cmp(s.least) >= 0 && (!s.bounded || size.Cmp(s.below) < 0)
}
