package cluster

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/validation"
)

// ResourceQuotas returns the validation of resourcequotas.
func ResourceQuotas() validation.Kind {
	return validation.Typed[*v1.ResourceQuota]{
		Create: func(p *validation.Problems, q *v1.ResourceQuota) { checkQuotaSpec(p, &q.Spec) },
		Update: checkQuotaUpdate,
		Status: func(p *validation.Problems, q, _ *v1.ResourceQuota) {
			checkQuotaList(p, q.Status.Hard, validation.StatusPath.Child("hard"))
			checkQuotaList(p, q.Status.Used, validation.StatusPath.Child("used"))
		},
	}.Kind()
}

// LimitRanges returns the validation of limitranges.
func LimitRanges() validation.Kind {
	return validation.Typed[*v1.LimitRange]{
		Again: true, Create: checkLimitRange, Update: func(p *validation.Problems, limits, _ *v1.LimitRange) { checkLimitRange(p, limits) },
	}.Kind()
}

// Upstream: core/validation ValidateResourceQuotaSpec, v1.37.
func checkQuotaSpec(p *validation.Problems, spec *v1.ResourceQuotaSpec) {
	checkQuotaList(p, spec.Hard, validation.SpecPath.Child("hard"))
	checkQuotaScopes(p, spec)
	if spec.ScopeSelector != nil {
		checkScopeSelector(p, spec)
	}
}

// checkQuotaUpdate validates a changed quota, whose scopes may change their order only.
// Upstream: core/validation ValidateResourceQuotaUpdate, v1.37.
func checkQuotaUpdate(p *validation.Problems, q, old *v1.ResourceQuota) {
	checkQuotaSpec(p, &q.Spec)
	set := func(scopes []v1.ResourceQuotaScope) []v1.ResourceQuotaScope {
		return slices.Compact(slices.Sorted(slices.Values(scopes)))
	}
	if !slices.Equal(set(q.Spec.Scopes), set(old.Spec.Scopes)) {
		p.Invalid(validation.SpecPath.Child("scopes"), q.Spec.Scopes, apivalidation.FieldImmutableErrorMsg)
	}
}

// checkQuotaList validates the names and quantities of a quota.
// Upstream: core/validation ValidateResourceQuotaResourceName and ValidateResourceQuantityValue, v1.37.
func checkQuotaList(p *validation.Problems, list v1.ResourceList, path *field.Path) {
	for _, name := range validation.ResourceNames(list) {
		at := path.Key(string(name))
		validation.CheckResourceName(p, name, at)
		if !strings.Contains(string(name), "/") && !isQuotaName(name) {
			p.Invalid(at, string(name), "must be a standard resource for quota")
		}
		validation.CheckQuantity(p, name, list[name], at)
	}
}

// isQuotaName reports whether a name without a prefix is one of a quota.
// Upstream: core/helper IsStandardQuotaResourceName, v1.37.
func isQuotaName(name v1.ResourceName) bool {
	return name != v1.ResourceStorage && slices.Contains(validation.StandardResources, name) || validation.IsHugePages(name) ||
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

// Upstream: core/validation validateResourceQuotaScopes, v1.37.
func checkQuotaScopes(p *validation.Problems, spec *v1.ResourceQuotaSpec) {
	at := validation.SpecPath.Child("scopes")
	for _, scope := range spec.Scopes {
		if _, known := scopeNames[scope]; !known {
			p.Invalid(at, spec.Scopes, "unsupported scope")
		}
		for range outOfScope(scope, spec.Hard) {
			p.Invalid(at, spec.Scopes, "unsupported scope applied to resource")
		}
	}
	for range conflicting(spec.Scopes) {
		p.Invalid(at, spec.Scopes, "conflicting scopes")
	}
}

// checkScopeSelector validates the scopes that a quota selects.
// Upstream: core/validation validateScopedResourceSelectorRequirement, v1.37.
func checkScopeSelector(p *validation.Problems, spec *v1.ResourceQuotaSpec) {
	at := validation.SpecPath.Child("scopeSelector", "matchExpressions")
	var scopes []v1.ResourceQuotaScope
	for _, req := range spec.ScopeSelector.MatchExpressions {
		scopes = append(scopes, req.ScopeName)
		if _, known := scopeNames[req.ScopeName]; !known {
			p.Invalid(at.Child("scopeName"), req.ScopeName, "unsupported scope")
		}
		for range outOfScope(req.ScopeName, spec.Hard) {
			p.Invalid(at, spec.ScopeSelector, "unsupported scope applied to resource")
		}
		checkScopeOperator(p, req, at)
	}
	for range conflicting(scopes) {
		p.Invalid(at, spec.Scopes, "conflicting scopes")
	}
}

func checkScopeOperator(p *validation.Problems, req v1.ScopedResourceSelectorRequirement, at *field.Path) {
	_, known := scopeNames[req.ScopeName]
	hasValues := req.ScopeName == v1.ResourceQuotaScopePriorityClass || req.ScopeName == v1.ResourceQuotaScopeVolumeAttributesClass
	if known && !hasValues && req.Operator != v1.ScopeSelectorOpExists {
		p.Invalid(at.Child("operator"), req.Operator, "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, "+
			"ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity")
	}
	switch req.Operator {
	case v1.ScopeSelectorOpIn, v1.ScopeSelectorOpNotIn:
		if len(req.Values) == 0 {
			p.Required(at.Child("values"), "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector")
		}
	case v1.ScopeSelectorOpExists, v1.ScopeSelectorOpDoesNotExist:
		if len(req.Values) != 0 {
			p.Invalid(at.Child("values"), req.Values, "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector")
		}
	default:
		p.Invalid(at.Child("operator"), req.Operator, "not a valid selector operator")
	}
}

// limitTypes are the types of limits without a prefix.
var limitTypes = []v1.LimitType{v1.LimitTypePod, v1.LimitTypeContainer, v1.LimitTypePersistentVolumeClaim}

// checkLimitRange validates the limits, of which there is at most one a type.
// Upstream: core/validation ValidateLimitRange, v1.37.
func checkLimitRange(p *validation.Problems, limits *v1.LimitRange) {
	seen := map[v1.LimitType]bool{}
	for i := range limits.Spec.Limits {
		item, at := &limits.Spec.Limits[i], validation.SpecPath.Child("limits").Index(i)
		checkLimitType(p, item.Type, at.Child("type"))
		if seen[item.Type] {
			p.Duplicate(at.Child("type"), item.Type)
		}
		seen[item.Type] = true
		checkLimitNames(p, item, at)
		for _, name := range namesOf(item) {
			checkLimit(p, item, name, at)
		}
	}
}

// checkLimitType requires a standard type, or one with a domain.
// Upstream: core/validation validateLimitRangeTypeName, v1.37.
func checkLimitType(p *validation.Problems, kind v1.LimitType, at *field.Path) {
	before := len(p.List)
	p.QualifiedName(string(kind), at)
	if len(p.List) == before && !strings.Contains(string(kind), "/") && !slices.Contains(limitTypes, kind) {
		p.Invalid(at, kind, "must be a standard limit type or fully qualified")
	}
}

// checkLimitNames validates the names of the resources that are limited, and which lists a type of limit has.
func checkLimitNames(p *validation.Problems, item *v1.LimitRangeItem, at *field.Path) {
	names := func(list v1.ResourceList, child string) {
		for _, name := range validation.ResourceNames(list) {
			if item.Type == v1.LimitTypePod || item.Type == v1.LimitTypeContainer {
				validation.ContainerResource(p, name, at.Child(child).Key(string(name)))
			} else {
				validation.CheckResourceName(p, name, at.Child(child).Key(string(name)))
			}
		}
	}
	names(item.Max, "max")
	names(item.Min, "min")
	if item.Type == v1.LimitTypePod {
		if len(item.Default) > 0 {
			p.Forbidden(at.Child("default"), "may not be specified when `type` is 'Pod'")
		}
		if len(item.DefaultRequest) > 0 {
			p.Forbidden(at.Child("defaultRequest"), "may not be specified when `type` is 'Pod'")
		}
	} else {
		names(item.Default, "default")
		names(item.DefaultRequest, "defaultRequest")
	}
	_, low := item.Min[v1.ResourceStorage]
	_, high := item.Max[v1.ResourceStorage]
	if item.Type == v1.LimitTypePersistentVolumeClaim && !low && !high {
		p.Required(at.Child("limits"), "either minimum or maximum storage value is required, but neither was provided")
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

// checkLimit compares the limits for one resource.
func checkLimit(p *validation.Problems, item *v1.LimitRangeItem, name v1.ResourceName, at *field.Path) {
	def, request := item.Default, item.DefaultRequest
	if item.Type == v1.LimitTypePod {
		def, request = nil, nil
	}
	checkOrdered(p, at.Child("min"), name, item.Min, item.Min, item.Max, "min value %s is greater than max value %s")
	checkOrdered(p, at.Child("defaultRequest"), name, request, item.Min, request, "min value %s is greater than default request value %s")
	checkOrdered(p, at.Child("defaultRequest"), name, request, request, item.Max, "default request value %s is greater than max value %s")
	checkOrdered(p, at.Child("defaultRequest"), name, request, request, def, "default request value %s is greater than default limit value %s")
	checkOrdered(p, at.Child("default"), name, item.Min, item.Min, def, "min value %s is greater than default value %s")
	checkOrdered(p, at.Child("default"), name, item.Max, def, item.Max, "default value %s is greater than max value %s")
	checkLimitRatio(p, item, name, at.Child("maxLimitRequestRatio"))
	limit, limited := def[name]
	asked, asks := request[name]
	if overcommit := validation.IsNativeResource(string(name)) && !validation.IsHugePages(name); !overcommit && limited && asks && limit.Cmp(asked) != 0 {
		p.Invalid(at.Child("defaultRequest").Key(string(name)), asked.String(),
			fmt.Sprintf("default value %s must equal to defaultRequest value %s in %s", limit.String(), asked.String(), name))
	}
}

// checkOrdered refuses a resource of which one list has more than another. The refusal quotes the value of a third.
func checkOrdered(p *validation.Problems, at *field.Path, name v1.ResourceName, quoted, low, high v1.ResourceList, text string) {
	a, first := low[name]
	b, second := high[name]
	if first && second && a.Cmp(b) > 0 {
		q := quoted[name]
		p.Invalid(at.Key(string(name)), q.String(), fmt.Sprintf(text, a.String(), b.String()))
	}
}

// checkLimitRatio validates how much more the limit may be than the request.
func checkLimitRatio(p *validation.Problems, item *v1.LimitRangeItem, name v1.ResourceName, at *field.Path) {
	ratio, found := item.MaxLimitRequestRatio[name]
	if !found {
		return
	}
	if ratio.Cmp(*resource.NewQuantity(1, resource.DecimalSI)) < 0 {
		p.Invalid(at.Key(string(name)), ratio.String(), fmt.Sprintf("ratio %s is less than 1", ratio.String()))
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
		p.Invalid(at.Key(string(name)), ratio.String(), fmt.Sprintf("ratio %s is greater than max/min = %f", ratio.String(), most))
	}
}
