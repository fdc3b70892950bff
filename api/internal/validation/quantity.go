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

// ResourceNames returns the names in a fixed order.
func ResourceNames(list v1.ResourceList) []v1.ResourceName {
	if len(list) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(list))
}

// CheckPositive refuses zero and less; the path is path[key].
func CheckPositive(p *Problems, q resource.Quantity, path *field.Path, key string) {
	if q.Sign() <= 0 {
		p.Invalid(path.Key(key), q.String(), "must be greater than zero")
	}
}

// CheckBasicResource refuses negative quantities, in one of upstream's two wordings.
func CheckBasicResource(p *Problems, q resource.Quantity, path *field.Path, key string) {
	if q.Sign() < 0 {
		p.Invalid(path.Key(key), q.Value(), "must be a valid resource quantity")
	}
}

// CheckNonNegative refuses negative quantities, in the other wording.
func CheckNonNegative(p *Problems, q resource.Quantity, path *field.Path) {
	if q.Sign() < 0 {
		p.Invalid(path, q.String(), apivalidation.IsNegativeErrorMsg)
	}
}

// IsNativeResource reports whether the name is one of Kubernetes' own: without
// a prefix, or with kubernetes.io in it.
func IsNativeResource(name string) bool {
	return !strings.Contains(name, "/") || strings.Contains(name, "kubernetes.io/")
}

// isExtendedResource reports whether the name is that of a device or the like:
// one with a prefix of its own that a quota can name, too.
// Upstream: core/helper IsExtendedResourceName, v1.37.
func isExtendedResource(name string) bool {
	return !IsNativeResource(name) && !strings.HasPrefix(name, v1.DefaultResourceRequestsPrefix) &&
		IsQualifiedName(v1.DefaultResourceRequestsPrefix+name)
}

// IsHugePages reports whether the name is that of huge pages of some size.
func IsHugePages(name v1.ResourceName) bool {
	return strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix)
}

// integers are the resources that are counted in whole numbers, beside all
// extended ones.
var integers = []v1.ResourceName{
	v1.ResourcePods, v1.ResourceQuotas, v1.ResourceServices, v1.ResourceReplicationControllers, v1.ResourceSecrets,
	v1.ResourceConfigMaps, v1.ResourcePersistentVolumeClaims, v1.ResourceServicesNodePorts, v1.ResourceServicesLoadBalancers,
}

// CheckQuantity refuses negative quantities, and fractions of what comes in pieces.
// Upstream: core/validation ValidateResourceQuantityValue, v1.37.
func CheckQuantity(p *Problems, name v1.ResourceName, q resource.Quantity, path *field.Path) {
	CheckNonNegative(p, q, path)
	if (slices.Contains(integers, name) || isExtendedResource(string(name))) && q.MilliValue()%1000 != 0 {
		p.Invalid(path, q.String(), "must be an integer")
	}
}

// CheckResources validates what a container or a pod asks for and is held to. known
// says what is wrong with the name of a resource.
// Upstream: core/validation validateResourceRequirements, v1.37.
func CheckResources(p *Problems, r *v1.ResourceRequirements, known func(*Problems, v1.ResourceName, *field.Path), at *field.Path, child string) {
	if len(r.Limits) == 0 && len(r.Requests) == 0 {
		return
	}
	path := at.Child(child)
	limits, requests := path.Child("limits"), path.Child("requests")
	for _, name := range ResourceNames(r.Limits) {
		checkOneResource(p, name, r.Limits[name], known, limits)
		checkPages(p, name, r.Limits[name], limits)
	}
	for _, name := range ResourceNames(r.Requests) {
		request := r.Requests[name]
		checkOneResource(p, name, request, known, requests)
		limit, limited := r.Limits[name]
		switch overcommit := IsNativeResource(string(name)) && !IsHugePages(name); {
		case limited && !overcommit && request.Cmp(limit) != 0:
			p.Invalid(requests, request.String(), "must be equal to "+string(name)+" limit of "+limit.String())
		case limited && request.Cmp(limit) > 0:
			p.Invalid(requests, request.String(), "must be less than or equal to "+string(name)+" limit of "+limit.String())
		case !limited && !overcommit:
			p.Required(limits, "Limit must be set for non overcommitable resources")
		}
		checkPages(p, name, request, requests)
	}
	hugePages, compute := false, false
	for _, list := range []v1.ResourceList{r.Limits, r.Requests} {
		for name := range list {
			hugePages = hugePages || IsHugePages(name)
			compute = compute || name == v1.ResourceCPU || name == v1.ResourceMemory
		}
	}
	if hugePages && !compute {
		p.Forbidden(path, "HugePages require cpu or memory")
	}
}

// checkOneResource validates an entry of a container's limits or requests. known checks the resource's name.
func checkOneResource(p *Problems, name v1.ResourceName, q resource.Quantity, known func(*Problems, v1.ResourceName, *field.Path), list *field.Path) {
	if name == v1.ResourceCPU || name == v1.ResourceMemory {
		if q.Sign() < 0 {
			CheckNonNegative(p, q, list.Key(string(name)))
		}
		return
	}
	path := list.Key(string(name))
	known(p, name, path)
	CheckQuantity(p, name, q, path)
}

// checkPages refuses a part of a huge page.
// Upstream: core/validation validateResourceQuantityHugePageValue, v1.37.2.
func checkPages(p *Problems, name v1.ResourceName, q resource.Quantity, list *field.Path) {
	if IsHugePages(name) && !wholePages(name, q) {
		p.Invalid(list.Key(string(name)), q.String(), q.String()+" is not positive integer multiple of "+string(name))
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

// StandardResources are the names without a prefix, beside those of huge pages.
var StandardResources = append([]v1.ResourceName{
	v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage, v1.ResourceRequestsCPU, v1.ResourceRequestsMemory,
	v1.ResourceRequestsEphemeralStorage, v1.ResourceLimitsCPU, v1.ResourceLimitsMemory, v1.ResourceLimitsEphemeralStorage,
	v1.ResourceStorage, v1.ResourceRequestsStorage,
}, integers...)

// CheckResourceName checks the name of a resource, and reports whether it is good.
// Upstream: core/validation validateResourceName, v1.37.
func CheckResourceName(p *Problems, name v1.ResourceName, path *field.Path) bool {
	before := len(p.List)
	p.QualifiedName(string(name), path)
	if len(p.List) == before && !strings.Contains(string(name), "/") && !IsHugePages(name) &&
		!strings.HasPrefix(string(name), v1.ResourceRequestsHugePagesPrefix) && !slices.Contains(StandardResources, name) {
		p.Invalid(path, string(name), "must be a standard resource type or fully qualified")
	}
	return len(p.List) == before
}

// ContainerResource checks the name of a resource a container may ask for.
// Upstream: core/validation validateContainerResourceName, v1.37.
func ContainerResource(p *Problems, name v1.ResourceName, path *field.Path) {
	CheckResourceName(p, name, path)
	switch {
	case !strings.Contains(string(name), "/"):
		if name != v1.ResourceCPU && name != v1.ResourceMemory && name != v1.ResourceEphemeralStorage && !IsHugePages(name) {
			p.Invalid(path, string(name), "must be a standard resource for containers")
		}
	case !IsNativeResource(string(name)) && !isExtendedResource(string(name)):
		p.Invalid(path, string(name), "doesn't follow extended resource name standard")
	}
}

// PodResource checks the name of a resource that containers of a pod may share.
// Upstream: core/validation validatePodResourceName, v1.37.
func PodResource(p *Problems, name v1.ResourceName, path *field.Path) {
	if CheckResourceName(p, name, path) && name != v1.ResourceCPU && name != v1.ResourceMemory && !IsHugePages(name) {
		p.Add(field.NotSupported(path, name, []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory}))
	}
}
