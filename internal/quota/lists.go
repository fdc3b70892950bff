package quota

import (
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Names returns the names in a list, in order.
func Names(list v1.ResourceList) []v1.ResourceName { return slices.Sorted(maps.Keys(list)) }

// Equal reports whether two lists have the same names with equal quantities.
// Upstream: quota/v1 Equals, v1.37.
func Equal(a, b v1.ResourceList) bool {
	return maps.EqualFunc(a, b, func(x, y resource.Quantity) bool { return x.Cmp(y) == 0 })
}

// Add returns the sum of two lists.
// Upstream: quota/v1 Add, v1.37.
func Add(a, b v1.ResourceList) v1.ResourceList {
	sum := v1.ResourceList{}
	for name, q := range a {
		q = q.DeepCopy()
		if other, found := b[name]; found {
			q.Add(other)
		}
		sum[name] = q
	}
	for name, q := range b {
		if _, found := sum[name]; !found {
			sum[name] = q.DeepCopy()
		}
	}
	return sum
}

// Mask returns the entries of a list that have one of the names.
// Upstream: quota/v1 Mask, v1.37.
func Mask(list v1.ResourceList, names []v1.ResourceName) v1.ResourceList {
	kept := v1.ResourceList{}
	for _, name := range names {
		if q, found := list[name]; found {
			kept[name] = q.DeepCopy()
		}
	}
	return kept
}

// growth returns by how much each entry of a list is more than before: entries that did not grow are left out.
// Upstream: quota/v1 SubtractWithNonNegativeResult and RemoveZeros, v1.37.
func growth(is, was v1.ResourceList) v1.ResourceList {
	more := v1.ResourceList{}
	for name, q := range is {
		q = q.DeepCopy()
		if before, found := was[name]; found {
			q.Sub(before)
		}
		if q.Sign() > 0 {
			more[name] = q
		}
	}
	return more
}

// beyond returns the names, in order, of the entries of a list that are more than the limits.
// Upstream: quota/v1 LessThanOrEqual, v1.37.
func beyond(list, limits v1.ResourceList) []v1.ResourceName {
	var names []v1.ResourceName
	for _, name := range Names(list) {
		q := list[name]
		if limit, found := limits[name]; found && q.Cmp(limit) > 0 {
			names = append(names, name)
		}
	}
	return names
}

// text returns a list as refusals show it: "cpu=1,pods=2".
// Upstream: admission/plugin/resourcequota prettyPrint, v1.37.
func text(list v1.ResourceList) string {
	var parts []string
	for _, name := range Names(list) {
		q := list[name]
		parts = append(parts, string(name)+"="+q.String())
	}
	return strings.Join(parts, ",")
}

// joined returns names as refusals show them.
// Upstream: admission/plugin/resourcequota prettyPrintResourceNames, v1.37.
func joined(names []v1.ResourceName) string {
	var parts []string
	for _, name := range slices.Sorted(slices.Values(names)) {
		parts = append(parts, string(name))
	}
	return strings.Join(parts, ",")
}

// None returns a list that says that nothing is used.
func None(names []v1.ResourceName) v1.ResourceList {
	list := v1.ResourceList{}
	for _, name := range names {
		list[name] = resource.Quantity{Format: resource.DecimalSI}
	}
	return list
}

// one returns the usage of an object that is counted.
func one() resource.Quantity { return *resource.NewQuantity(1, resource.DecimalSI) }
