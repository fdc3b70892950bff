package strategy

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// LimitRanges returns the defaults and preparation of limitranges.
func LimitRanges() Kind {
	return Of[*v1.LimitRange]{
		Default: func(limits *v1.LimitRange) {
			for i := range limits.Spec.Limits {
				defaultLimit(&limits.Spec.Limits[i])
			}
		},
		// Upstream: pkg/registry/core/limitrange strategy.PrepareForCreate, v1.37.2: the name is a UUID.
		Create: func(limits *v1.LimitRange, _ metav1.Time) { setDefault(&limits.Name, string(limits.UID)) },
	}.Kind()
}

// defaultLimit fills in what a container gets that says nothing: the maximum is its limit, the limit its request, and
// without a limit the minimum.
// Upstream: core/v1 SetDefaults_LimitRangeItem, v1.37.
func defaultLimit(item *v1.LimitRangeItem) {
	if item.Type != v1.LimitTypeContainer {
		return
	}
	item.Default = missing(item.Default, item.Max)
	item.DefaultRequest = missing(item.DefaultRequest, item.Default)
	item.DefaultRequest = missing(item.DefaultRequest, item.Min)
}

// missing adds to a list what it has no entry for.
func missing(list, from v1.ResourceList) v1.ResourceList {
	if list == nil {
		list = v1.ResourceList{}
	}
	for name, q := range from {
		if _, found := list[name]; !found {
			list[name] = q.DeepCopy()
		}
	}
	return list
}
