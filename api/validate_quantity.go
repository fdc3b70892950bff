package api

import (
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// resourceNames returns the names in a fixed order.
func resourceNames(list v1.ResourceList) []v1.ResourceName {
	if len(list) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(list))
}

// positive refuses zero and less; the path is path[key].
func (p *problems) positive(q resource.Quantity, path *field.Path, key string) {
	if q.Sign() <= 0 {
		p.invalid(path.Key(key), q.String(), "must be greater than zero")
	}
}

// basicResource refuses negative quantities, in one of upstream's two wordings.
func (p *problems) basicResource(q resource.Quantity, path *field.Path, key string) {
	if q.Sign() < 0 {
		p.invalid(path.Key(key), q.Value(), "must be a valid resource quantity")
	}
}

// nonNegative refuses negative quantities, in the other wording.
func (p *problems) nonNegative(q resource.Quantity, path *field.Path) {
	if q.Sign() < 0 {
		p.invalid(path, q.String(), apivalidation.IsNegativeErrorMsg)
	}
}

// isNativeResource reports whether the name is one of Kubernetes' own: without
// a prefix, or with kubernetes.io in it.
func isNativeResource(name string) bool {
	return !strings.Contains(name, "/") || strings.Contains(name, "kubernetes.io/")
}

// resources validates what a container asks for and is held to.
// Upstream: core/validation ValidateResourceRequirements, v1.36.
func (p *problems) resources(r *v1.ResourceRequirements, path *field.Path) {
	if len(r.Limits) == 0 && len(r.Requests) == 0 {
		return
	}
	limits, requests := path.Child("limits"), path.Child("requests")
	for _, name := range resourceNames(r.Limits) {
		p.containerResource(name, limits)
		p.nonNegative(r.Limits[name], limits.Key(string(name)))
	}
	for _, name := range resourceNames(r.Requests) {
		request := r.Requests[name]
		p.containerResource(name, requests)
		p.nonNegative(request, requests.Key(string(name)))
		limit, limited := r.Limits[name]
		switch overcommit := isNativeResource(string(name)) && !strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix); {
		case limited && !overcommit && request.Cmp(limit) != 0:
			p.invalid(requests, request.String(), "must be equal to "+string(name)+" limit of "+limit.String())
		case limited && request.Cmp(limit) > 0:
			p.invalid(requests, request.String(), "must be less than or equal to "+string(name)+" limit of "+limit.String())
		case !limited && !overcommit:
			p.required(limits, "Limit must be set for non overcommitable resources")
		}
	}
}

// containerResource checks the name of a resource a container may ask for.
func (p *problems) containerResource(name v1.ResourceName, path *field.Path) {
	switch name {
	case v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage:
		return
	}
	before, key := len(p.list), string(name)
	p.qualifiedName(key, path.Key(key))
	if len(p.list) != before || strings.HasPrefix(key, v1.ResourceHugePagesPrefix) {
		return
	}
	if !strings.Contains(key, "/") {
		p.invalid(path.Key(key), key, "must be a standard resource type or fully qualified")
		p.invalid(path.Key(key), key, "must be a standard resource for containers")
	}
}
