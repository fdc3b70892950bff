package validation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ResourceQuotas returns the validation of resourcequotas.
func ResourceQuotas() Kind {
	return rules[*v1.ResourceQuota]{
		create: func(p *problems, q *v1.ResourceQuota) { p.quotaSpec(&q.Spec) },
		update: (*problems).quotaUpdate,
		status: func(p *problems, q, _ *v1.ResourceQuota) {
			p.quotaList(q.Status.Hard, statusPath.Child("hard"))
			p.quotaList(q.Status.Used, statusPath.Child("used"))
		},
	}.kind()
}

// LimitRanges returns the validation of limitranges.
func LimitRanges() Kind {
	return rules[*v1.LimitRange]{
		again: true, create: (*problems).limitRange, update: func(p *problems, limits, _ *v1.LimitRange) { p.limitRange(limits) },
	}.kind()
}

// quotaSpec. Upstream: core/validation ValidateResourceQuotaSpec, v1.37.
func (p *problems) quotaSpec(spec *v1.ResourceQuotaSpec) {
	p.quotaList(spec.Hard, specPath.Child("hard"))
	p.quotaScopes(spec)
	if spec.ScopeSelector != nil {
		p.scopeSelector(spec)
	}
}

// quotaUpdate. Upstream: core/validation ValidateResourceQuotaUpdate, v1.37.
func (p *problems) quotaUpdate(q, old *v1.ResourceQuota) {
	p.quotaSpec(&q.Spec)
	set := func(scopes []v1.ResourceQuotaScope) []v1.ResourceQuotaScope {
		return slices.Compact(slices.Sorted(slices.Values(scopes)))
	}
	if !slices.Equal(set(q.Spec.Scopes), set(old.Spec.Scopes)) {
		p.invalid(specPath.Child("scopes"), q.Spec.Scopes, apivalidation.FieldImmutableErrorMsg)
	}
}

// quotaList validates the names and quantities of a quota.
// Upstream: core/validation ValidateResourceQuotaResourceName and ValidateResourceQuantityValue, v1.37.
func (p *problems) quotaList(list v1.ResourceList, path *field.Path) {
	for _, name := range resourceNames(list) {
		at := path.Key(string(name))
		p.resourceName(name, at)
		if !strings.Contains(string(name), "/") && !isQuotaName(name) {
			p.invalid(at, string(name), "must be a standard resource for quota")
		}
		p.quantity(name, list[name], at)
	}
}

// isQuotaName reports whether a name without a prefix is one of a quota.
// Upstream: core/helper IsStandardQuotaResourceName, v1.37.
func isQuotaName(name v1.ResourceName) bool {
	return name != v1.ResourceStorage && slices.Contains(standardResources, name) || isHugePages(name) ||
		strings.HasPrefix(string(name), v1.ResourceRequestsHugePagesPrefix)
}

// What the scopes of a quota may be about.
var (
	computeNames = []v1.ResourceName{
		v1.ResourcePods, v1.ResourceCPU, v1.ResourceMemory, v1.ResourceLimitsCPU, v1.ResourceLimitsMemory, v1.ResourceRequestsCPU, v1.ResourceRequestsMemory,
	}
	storageNames = []v1.ResourceName{v1.ResourcePersistentVolumeClaims, v1.ResourceRequestsStorage}
	scopeNames   = map[v1.ResourceQuotaScope][]v1.ResourceName{
		v1.ResourceQuotaScopeTerminating:               computeNames,
		v1.ResourceQuotaScopeNotTerminating:            computeNames,
		v1.ResourceQuotaScopeBestEffort:                {v1.ResourcePods},
		v1.ResourceQuotaScopeNotBestEffort:             computeNames,
		v1.ResourceQuotaScopePriorityClass:             computeNames,
		v1.ResourceQuotaScopeCrossNamespacePodAffinity: computeNames,
		v1.ResourceQuotaScopeVolumeAttributesClass:     storageNames,
	}
	scopePairs = [][2]v1.ResourceQuotaScope{
		{v1.ResourceQuotaScopeBestEffort, v1.ResourceQuotaScopeNotBestEffort},
		{v1.ResourceQuotaScopeTerminating, v1.ResourceQuotaScopeNotTerminating},
	}
)

// outOfScope returns the number of entries of a quota that a scope cannot be about. An unknown scope can be about all.
// Upstream: core/helper IsResourceQuotaScopeValidForResource, v1.37.
func outOfScope(scope v1.ResourceQuotaScope, hard v1.ResourceList) (n int) {
	names, known := scopeNames[scope]
	for name := range hard {
		if known && isQuotaName(name) && !slices.Contains(names, name) {
			n++
		}
	}
	return n
}

// conflicting returns the number of pairs of scopes that exclude each other.
func conflicting(scopes []v1.ResourceQuotaScope) (n int) {
	for _, pair := range scopePairs {
		if slices.Contains(scopes, pair[0]) && slices.Contains(scopes, pair[1]) {
			n++
		}
	}
	return n
}

// quotaScopes. Upstream: core/validation validateResourceQuotaScopes, v1.37.
func (p *problems) quotaScopes(spec *v1.ResourceQuotaSpec) {
	at := specPath.Child("scopes")
	for _, scope := range spec.Scopes {
		if _, known := scopeNames[scope]; !known {
			p.invalid(at, spec.Scopes, "unsupported scope")
		}
		for range outOfScope(scope, spec.Hard) {
			p.invalid(at, spec.Scopes, "unsupported scope applied to resource")
		}
	}
	for range conflicting(spec.Scopes) {
		p.invalid(at, spec.Scopes, "conflicting scopes")
	}
}

// scopeSelector. Upstream: core/validation validateScopedResourceSelectorRequirement, v1.37.
func (p *problems) scopeSelector(spec *v1.ResourceQuotaSpec) {
	at := specPath.Child("scopeSelector", "matchExpressions")
	var scopes []v1.ResourceQuotaScope
	for _, req := range spec.ScopeSelector.MatchExpressions {
		scopes = append(scopes, req.ScopeName)
		if _, known := scopeNames[req.ScopeName]; !known {
			p.invalid(at.Child("scopeName"), req.ScopeName, "unsupported scope")
		}
		for range outOfScope(req.ScopeName, spec.Hard) {
			p.invalid(at, spec.ScopeSelector, "unsupported scope applied to resource")
		}
		p.scopeOperator(req, at)
	}
	for range conflicting(scopes) {
		p.invalid(at, spec.Scopes, "conflicting scopes")
	}
}

func (p *problems) scopeOperator(req v1.ScopedResourceSelectorRequirement, at *field.Path) {
	_, known := scopeNames[req.ScopeName]
	hasValues := req.ScopeName == v1.ResourceQuotaScopePriorityClass || req.ScopeName == v1.ResourceQuotaScopeVolumeAttributesClass
	if known && !hasValues && req.Operator != v1.ScopeSelectorOpExists {
		p.invalid(at.Child("operator"), req.Operator, "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, "+
			"ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity")
	}
	switch req.Operator {
	case v1.ScopeSelectorOpIn, v1.ScopeSelectorOpNotIn:
		if len(req.Values) == 0 {
			p.required(at.Child("values"), "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector")
		}
	case v1.ScopeSelectorOpExists, v1.ScopeSelectorOpDoesNotExist:
		if len(req.Values) != 0 {
			p.invalid(at.Child("values"), req.Values, "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector")
		}
	default:
		p.invalid(at.Child("operator"), req.Operator, "not a valid selector operator")
	}
}

// limitTypes are the types of limits without a prefix.
var limitTypes = []v1.LimitType{v1.LimitTypePod, v1.LimitTypeContainer, v1.LimitTypePersistentVolumeClaim}

// limitRange. Upstream: core/validation ValidateLimitRange, v1.37.
func (p *problems) limitRange(limits *v1.LimitRange) {
	seen := map[v1.LimitType]bool{}
	for i := range limits.Spec.Limits {
		item, at := &limits.Spec.Limits[i], specPath.Child("limits").Index(i)
		p.limitType(item.Type, at.Child("type"))
		if seen[item.Type] {
			p.duplicate(at.Child("type"), item.Type)
		}
		seen[item.Type] = true
		p.limitNames(item, at)
		for _, name := range namesOf(item) {
			p.limit(item, name, at)
		}
	}
}

// limitType. Upstream: core/validation validateLimitRangeTypeName, v1.37.
func (p *problems) limitType(kind v1.LimitType, at *field.Path) {
	before := len(p.list)
	p.qualifiedName(string(kind), at)
	if len(p.list) == before && !strings.Contains(string(kind), "/") && !slices.Contains(limitTypes, kind) {
		p.invalid(at, kind, "must be a standard limit type or fully qualified")
	}
}

// limitNames validates the names of the resources that are limited, and which lists a type of limit has.
func (p *problems) limitNames(item *v1.LimitRangeItem, at *field.Path) {
	names := func(list v1.ResourceList, child string) {
		for _, name := range resourceNames(list) {
			if item.Type == v1.LimitTypePod || item.Type == v1.LimitTypeContainer {
				containerResource(p, name, at.Child(child).Key(string(name)))
			} else {
				p.resourceName(name, at.Child(child).Key(string(name)))
			}
		}
	}
	names(item.Max, "max")
	names(item.Min, "min")
	if item.Type == v1.LimitTypePod {
		if len(item.Default) > 0 {
			p.forbidden(at.Child("default"), "may not be specified when `type` is 'Pod'")
		}
		if len(item.DefaultRequest) > 0 {
			p.forbidden(at.Child("defaultRequest"), "may not be specified when `type` is 'Pod'")
		}
	} else {
		names(item.Default, "default")
		names(item.DefaultRequest, "defaultRequest")
	}
	_, low := item.Min[v1.ResourceStorage]
	_, high := item.Max[v1.ResourceStorage]
	if item.Type == v1.LimitTypePersistentVolumeClaim && !low && !high {
		p.required(at.Child("limits"), "either minimum or maximum storage value is required, but neither was provided")
	}
	names(item.MaxLimitRequestRatio, "maxLimitRequestRatio")
}

// namesOf returns the names of all resources that a limit is about, in order.
func namesOf(item *v1.LimitRangeItem) []v1.ResourceName {
	all := map[v1.ResourceName]bool{}
	lists := []v1.ResourceList{item.Max, item.Min, item.MaxLimitRequestRatio}
	if item.Type != v1.LimitTypePod {
		lists = append(lists, item.Default, item.DefaultRequest)
	}
	for _, list := range lists {
		for name := range list {
			all[name] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// limit compares the limits for one resource.
func (p *problems) limit(item *v1.LimitRangeItem, name v1.ResourceName, at *field.Path) {
	def, request := item.Default, item.DefaultRequest
	if item.Type == v1.LimitTypePod {
		def, request = nil, nil
	}
	p.ordered(at.Child("min"), name, item.Min, item.Min, item.Max, "min value %s is greater than max value %s")
	p.ordered(at.Child("defaultRequest"), name, request, item.Min, request, "min value %s is greater than default request value %s")
	p.ordered(at.Child("defaultRequest"), name, request, request, item.Max, "default request value %s is greater than max value %s")
	p.ordered(at.Child("defaultRequest"), name, request, request, def, "default request value %s is greater than default limit value %s")
	p.ordered(at.Child("default"), name, item.Min, item.Min, def, "min value %s is greater than default value %s")
	p.ordered(at.Child("default"), name, item.Max, def, item.Max, "default value %s is greater than max value %s")
	p.limitRatio(item, name, at.Child("maxLimitRequestRatio"))
	limit, limited := def[name]
	asked, asks := request[name]
	if overcommit := isNativeResource(string(name)) && !isHugePages(name); !overcommit && limited && asks && limit.Cmp(asked) != 0 {
		p.invalid(at.Child("defaultRequest").Key(string(name)), asked.String(),
			fmt.Sprintf("default value %s must equal to defaultRequest value %s in %s", limit.String(), asked.String(), name))
	}
}

// ordered refuses a resource of which one list has more than another. The refusal quotes the value of a third.
func (p *problems) ordered(at *field.Path, name v1.ResourceName, quoted, low, high v1.ResourceList, text string) {
	a, first := low[name]
	b, second := high[name]
	if first && second && a.Cmp(b) > 0 {
		q := quoted[name]
		p.invalid(at.Key(string(name)), q.String(), fmt.Sprintf(text, a.String(), b.String()))
	}
}

// limitRatio validates how much more the limit may be than the request.
func (p *problems) limitRatio(item *v1.LimitRangeItem, name v1.ResourceName, at *field.Path) {
	ratio, found := item.MaxLimitRequestRatio[name]
	if !found {
		return
	}
	if ratio.Cmp(*resource.NewQuantity(1, resource.DecimalSI)) < 0 {
		p.invalid(at.Key(string(name)), ratio.String(), fmt.Sprintf("ratio %s is less than 1", ratio.String()))
	}
	low, hasLow := item.Min[name]
	high, hasHigh := item.Max[name]
	if !hasLow || !hasHigh {
		return
	}
	value, a, b := float64(ratio.Value()), low.Value(), high.Value()
	if max(ratio.Value(), a, b) < resource.MaxMilliValue {
		value, a, b = float64(ratio.MilliValue())/1000, low.MilliValue(), high.MilliValue()
	}
	if most := float64(b) / float64(a); value > most {
		p.invalid(at.Key(string(name)), ratio.String(), fmt.Sprintf("ratio %s is greater than max/min = %f", ratio.String(), most))
	}
}
