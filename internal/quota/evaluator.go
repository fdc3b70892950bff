package quota

import (
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Evaluator counts the objects of one resource.
// Upstream: quota/v1 Evaluator, v1.37.
type Evaluator struct {
	// counts reports whether an entry of spec.hard counts these objects.
	counts func(name v1.ResourceName) bool
	// usage returns what an object takes.
	usage func(obj runtime.Object, now time.Time) v1.ResourceList
	// inScope reports whether an object is in a scope; nil: it is in none.
	inScope func(scope v1.ScopedResourceSelectorRequirement, obj runtime.Object) bool
	// concerns reports whether an update may change what an object takes; nil: it cannot. sub is the subresource.
	concerns func(sub string, obj, old runtime.Object) bool
	// lacks says what an object must specify for entries of spec.hard; "" for nothing.
	lacks func(names []v1.ResourceName, obj runtime.Object) string
}

// Of returns the evaluator of a resource.
// Upstream: quota/v1/evaluator/core NewEvaluators, v1.37.
func Of(resource schema.GroupResource) Evaluator {
	switch resource {
	case schema.GroupResource{Resource: "pods"}:
		return pods()
	case schema.GroupResource{Resource: "persistentvolumeclaims"}:
		return claims()
	case schema.GroupResource{Resource: "services"}:
		return services()
	}
	return objects(resource)
}

// Ignored reports whether the objects of a resource are never counted.
// Upstream: quota/v1/install DefaultIgnoredResources, v1.37.
func Ignored(resource schema.GroupResource) bool {
	return resource.Resource == "events" || resource.Group == "" && (resource.Resource == "bindings" || resource.Resource == "componentstatuses")
}

// Matching returns the names, in order, that count objects of the resource.
func (e Evaluator) Matching(names []v1.ResourceName) []v1.ResourceName {
	var list []v1.ResourceName
	for _, name := range names {
		if e.counts(name) {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// Usage returns what an object takes.
func (e Evaluator) Usage(obj runtime.Object, now time.Time) v1.ResourceList { return e.usage(obj, now) }

// Selects reports whether a quota's scopes select an object.
// Upstream: quota/v1/generic Matches, v1.37.
func (e Evaluator) Selects(spec *v1.ResourceQuotaSpec, obj runtime.Object) bool {
	for _, scope := range scopesOf(spec) {
		if e.inScope == nil || !e.inScope(scope, obj) {
			return false
		}
	}
	return true
}

// Replenishes reports whether an update of an object may change what is counted.
// Upstream: quota/v1/install DefaultUpdateFilter, v1.37.
func (e Evaluator) Replenishes(old, obj runtime.Object, now time.Time) bool {
	switch o := obj.(type) {
	case *v1.Pod:
		was := old.(*v1.Pod)
		return isTerminating(was) != isTerminating(o) || isCharged(was, now) && !isCharged(o, now)
	case *v1.Service:
		return old.(*v1.Service).Spec.Type != o.Spec.Type
	case *v1.PersistentVolumeClaim:
		return true // as upstream, which compares pointers
	}
	return false
}

// scopesOf returns the scopes of a quota in one form.
// Upstream: quota/v1/generic getScopeSelectorsFromQuota, v1.37.
func scopesOf(spec *v1.ResourceQuotaSpec) []v1.ScopedResourceSelectorRequirement {
	var list []v1.ScopedResourceSelectorRequirement
	for _, scope := range spec.Scopes {
		list = append(list, v1.ScopedResourceSelectorRequirement{ScopeName: scope, Operator: v1.ScopeSelectorOpExists})
	}
	if spec.ScopeSelector != nil {
		list = append(list, spec.ScopeSelector.MatchExpressions...)
	}
	return list
}

// among reports whether a scope selects an object with one of these values; none means that the object has no value.
// Upstream: core/v1/helper ScopedResourceSelectorRequirementsAsSelector, v1.37.
func among(scope v1.ScopedResourceSelectorRequirement, values []string) bool {
	has := slices.ContainsFunc(values, func(value string) bool { return slices.Contains(scope.Values, value) })
	switch scope.Operator {
	case v1.ScopeSelectorOpIn:
		return has
	case v1.ScopeSelectorOpNotIn:
		return len(values) == 0 || slices.ContainsFunc(values, func(value string) bool { return !slices.Contains(scope.Values, value) })
	case v1.ScopeSelectorOpExists:
		return len(values) > 0
	case v1.ScopeSelectorOpDoesNotExist:
		return len(values) == 0
	}
	return false
}

// CountName returns the name under which the objects of a resource are counted.
// Upstream: quota/v1/generic ObjectCountQuotaResourceNameFor, v1.37.
func CountName(resource schema.GroupResource) v1.ResourceName {
	return v1.ResourceName("count/" + resource.String())
}

// olderNames are the names that entries of spec.hard had before the form count/RESOURCE.
// Upstream: quota/v1/evaluator/core legacyObjectCountAliases, v1.37.
var olderNames = map[schema.GroupResource]v1.ResourceName{
	{Resource: "configmaps"}:             v1.ResourceConfigMaps,
	{Resource: "resourcequotas"}:         v1.ResourceQuotas,
	{Resource: "replicationcontrollers"}: v1.ResourceReplicationControllers,
	{Resource: "secrets"}:                v1.ResourceSecrets,
}

// objects returns the evaluator of resources whose objects are only counted.
func objects(resource schema.GroupResource) Evaluator {
	names := []v1.ResourceName{CountName(resource)}
	if older, found := olderNames[resource]; found {
		names = append(names, older)
	}
	return Evaluator{
		counts: func(name v1.ResourceName) bool { return slices.Contains(names, name) },
		usage: func(runtime.Object, time.Time) v1.ResourceList {
			list := v1.ResourceList{}
			for _, name := range names {
				list[name] = one()
			}
			return list
		},
	}
}

// Counted returns the resource whose objects an entry of spec.hard counts; false for a name that counts nothing.
func Counted(name v1.ResourceName) (schema.GroupResource, bool) {
	for _, resource := range []string{"pods", "persistentvolumeclaims", "services"} {
		if of := (schema.GroupResource{Resource: resource}); Of(of).counts(name) {
			return of, true
		}
	}
	for resource, older := range olderNames {
		if name == older {
			return resource, true
		}
	}
	resource, counts := strings.CutPrefix(string(name), "count/")
	return schema.ParseGroupResource(resource), counts && resource != ""
}
