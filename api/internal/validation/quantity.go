package validation

import (
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/internal/quantity"
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

// isExtendedResource reports whether the name is that of a device or the like:
// one with a prefix of its own that a quota can name, too.
// Upstream: core/helper IsExtendedResourceName, v1.37.
func isExtendedResource(name string) bool {
	return !isNativeResource(name) && !strings.HasPrefix(name, v1.DefaultResourceRequestsPrefix) &&
		isQualifiedName(v1.DefaultResourceRequestsPrefix+name)
}

func isHugePages(name v1.ResourceName) bool {
	return strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix)
}

// integers are the resources that are counted in whole numbers, beside all
// extended ones.
var integers = []v1.ResourceName{
	v1.ResourcePods, v1.ResourceQuotas, v1.ResourceServices, v1.ResourceReplicationControllers, v1.ResourceSecrets,
	v1.ResourceConfigMaps, v1.ResourcePersistentVolumeClaims, v1.ResourceServicesNodePorts, v1.ResourceServicesLoadBalancers,
}

// quantity refuses negative quantities, and fractions of what comes in pieces.
// Upstream: core/validation ValidateResourceQuantityValue, v1.37.
func (p *problems) quantity(name v1.ResourceName, q resource.Quantity, path *field.Path) {
	p.nonNegative(q, path)
	if (slices.Contains(integers, name) || isExtendedResource(string(name))) && q.MilliValue()%1000 != 0 {
		p.invalid(path, q.String(), "must be an integer")
	}
}

// resources validates what a container or a pod asks for and is held to. known
// says what is wrong with the name of a resource.
// Upstream: core/validation validateResourceRequirements, v1.37.
func (p *problems) resources(r *v1.ResourceRequirements, known func(*problems, v1.ResourceName, *field.Path), at *field.Path, child string) {
	if len(r.Limits) == 0 && len(r.Requests) == 0 {
		return
	}
	path := at.Child(child)
	limits, requests := path.Child("limits"), path.Child("requests")
	for _, name := range resourceNames(r.Limits) {
		p.oneResource(name, r.Limits[name], known, limits)
	}
	for _, name := range resourceNames(r.Requests) {
		request := r.Requests[name]
		p.oneResource(name, request, known, requests)
		limit, limited := r.Limits[name]
		switch overcommit := isNativeResource(string(name)) && !isHugePages(name); {
		case limited && !overcommit && request.Cmp(limit) != 0:
			p.invalid(requests, request.String(), "must be equal to "+string(name)+" limit of "+limit.String())
		case limited && request.Cmp(limit) > 0:
			p.invalid(requests, request.String(), "must be less than or equal to "+string(name)+" limit of "+limit.String())
		case !limited && !overcommit:
			p.required(limits, "Limit must be set for non overcommitable resources")
		}
	}
	hugePages, compute := false, false
	for _, list := range []v1.ResourceList{r.Limits, r.Requests} {
		for name := range list {
			hugePages = hugePages || isHugePages(name)
			compute = compute || name == v1.ResourceCPU || name == v1.ResourceMemory
		}
	}
	if hugePages && !compute {
		p.forbidden(path, "HugePages require cpu or memory")
	}
}

func (p *problems) oneResource(name v1.ResourceName, q resource.Quantity, known func(*problems, v1.ResourceName, *field.Path), list *field.Path) {
	if name == v1.ResourceCPU || name == v1.ResourceMemory {
		if q.Sign() < 0 {
			p.nonNegative(q, list.Key(string(name)))
		}
		return
	}
	path := list.Key(string(name))
	known(p, name, path)
	p.quantity(name, q, path)
	if isHugePages(name) && !wholePages(name, q) {
		p.invalid(path, q.String(), q.String()+" is not positive integer multiple of "+string(name))
	}
}

// wholePages reports whether a size is a multiple of the page size in the
// resource's name. Upstream: core/helper IsHugePageResourceValueDivisible, v1.37.
func wholePages(name v1.ResourceName, q resource.Quantity) bool {
	size, err := quantity.Parse(strings.TrimPrefix(string(name), v1.ResourceHugePagesPrefix))
	if err != nil || size.Sign() <= 0 || size.MilliValue()%1000 != 0 || size.Value() == 0 {
		return false
	}
	return q.Value()%size.Value() == 0
}

// standardResources are the names without a prefix, beside those of huge pages.
var standardResources = append([]v1.ResourceName{
	v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage, v1.ResourceRequestsCPU, v1.ResourceRequestsMemory,
	v1.ResourceRequestsEphemeralStorage, v1.ResourceLimitsCPU, v1.ResourceLimitsMemory, v1.ResourceLimitsEphemeralStorage,
	v1.ResourceStorage, v1.ResourceRequestsStorage,
}, integers...)

// resourceName checks the name of a resource, and reports whether it is good.
// Upstream: core/validation validateResourceName, v1.37.
func (p *problems) resourceName(name v1.ResourceName, path *field.Path) bool {
	before := len(p.list)
	p.qualifiedName(string(name), path)
	if len(p.list) == before && !strings.Contains(string(name), "/") && !isHugePages(name) &&
		!strings.HasPrefix(string(name), v1.ResourceRequestsHugePagesPrefix) && !slices.Contains(standardResources, name) {
		p.invalid(path, string(name), "must be a standard resource type or fully qualified")
	}
	return len(p.list) == before
}

// containerResource checks the name of a resource a container may ask for.
// Upstream: core/validation validateContainerResourceName, v1.37.
func containerResource(p *problems, name v1.ResourceName, path *field.Path) {
	p.resourceName(name, path)
	switch {
	case !strings.Contains(string(name), "/"):
		if name != v1.ResourceCPU && name != v1.ResourceMemory && name != v1.ResourceEphemeralStorage && !isHugePages(name) {
			p.invalid(path, string(name), "must be a standard resource for containers")
		}
	case !isNativeResource(string(name)) && !isExtendedResource(string(name)):
		p.invalid(path, string(name), "doesn't follow extended resource name standard")
	}
}

// podResource checks the name of a resource that containers of a pod may share.
// Upstream: core/validation validatePodResourceName, v1.37.
func podResource(p *problems, name v1.ResourceName, path *field.Path) {
	if p.resourceName(name, path) && name != v1.ResourceCPU && name != v1.ResourceMemory && !isHugePages(name) {
		p.add(field.NotSupported(path, name, []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory}))
	}
}
