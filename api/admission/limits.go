package admission

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	podresource "k8s.io/component-helpers/resource"

	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/internal/refusal"
	"github.com/storagesim/storagesim/api/internal/strategy"
	"github.com/storagesim/storagesim/internal/quota"
)

var limitRanges = v1.SchemeGroupVersion.WithResource("limitranges")

// limitRangerAnnotation holds what the limits of its namespace have added to a pod.
const limitRangerAnnotation = "kubernetes.io/limit-ranger"

// applyLimits gives the containers of a new pod the requests and limits that they do not have.
// Upstream: plugin/pkg/admission/limitranger PodMutateLimitFunc, v1.37.
func applyLimits(pod *v1.Pod, ranges []*v1.LimitRange) {
	for _, limits := range ranges {
		var set []string
		defaults := defaultsOf(limits)
		for i := range pod.Spec.Containers {
			set = append(set, fillIn(&pod.Spec.Containers[i], defaults, "container")...)
		}
		for i := range pod.Spec.InitContainers {
			set = append(set, fillIn(&pod.Spec.InitContainers[i], defaults, "init container")...)
		}
		if len(set) > 0 {
			pod.Annotations = strategy.Merged(pod.Annotations, map[string]string{limitRangerAnnotation: "LimitRanger plugin set: " + strings.Join(set, "; ")})
		}
	}
}

// defaultsOf returns the requests and limits of containers that have none.
// Upstream: plugin/pkg/admission/limitranger defaultContainerResourceRequirements, v1.37.
func defaultsOf(limits *v1.LimitRange) (defaults v1.ResourceRequirements) {
	for _, item := range limits.Spec.Limits {
		if item.Type == v1.LimitTypeContainer {
			defaults.Requests = quota.Add(item.DefaultRequest, nil)
			defaults.Limits = quota.Add(item.Default, nil)
		}
	}
	return defaults
}

// fillIn adds to a container what it lacks, and says what that was.
// Upstream: plugin/pkg/admission/limitranger mergeContainerResources, v1.37.
func fillIn(c *v1.Container, defaults v1.ResourceRequirements, kind string) (set []string) {
	for _, part := range []struct {
		word string
		have *v1.ResourceList
		want v1.ResourceList
	}{{"request", &c.Resources.Requests, defaults.Requests}, {"limit", &c.Resources.Limits, defaults.Limits}} {
		var names []string
		for _, name := range quota.Names(part.want) {
			if _, found := (*part.have)[name]; found {
				continue
			}
			if *part.have == nil {
				*part.have = v1.ResourceList{}
			}
			(*part.have)[name] = part.want[name].DeepCopy()
			names = append(names, string(name))
		}
		if len(names) > 0 {
			set = append(set, fmt.Sprintf("%s %s for %s %s", strings.Join(names, ", "), part.word, kind, c.Name))
		}
	}
	return set
}

// checkLimits refuses a pod or claim that is outside of the limits of its namespace.
// Upstream: plugin/pkg/admission/limitranger, v1.37.
func checkLimits(r Reader, obj runtime.Object) error {
	switch o := obj.(type) {
	case *v1.Pod:
		return eachLimit(r, v1.Resource("pods"), o, func(limits *v1.LimitRange) error { return podOutside(limits, o) })
	case *v1.PersistentVolumeClaim:
		return eachLimit(r, v1.Resource("persistentvolumeclaims"), o, func(limits *v1.LimitRange) error { return claimOutside(limits, o) })
	}
	return nil
}

// eachLimit refuses an object for the first LimitRange that it is outside of.
func eachLimit(r Reader, resource schema.GroupResource, obj call.Object, outside func(*v1.LimitRange) error) error {
	for _, limits := range list[*v1.LimitRange](r, limitRanges, obj.GetNamespace()) {
		if err := outside(limits); err != nil {
			return refusal.OfObject(resource, obj, err)
		}
	}
	return nil
}

// claimOutside says what of a claim is outside of the limits.
// Upstream: plugin/pkg/admission/limitranger PersistentVolumeClaimValidateLimitFunc, v1.37.
func claimOutside(limits *v1.LimitRange, claim *v1.PersistentVolumeClaim) error {
	var errs []error
	for _, item := range limits.Spec.Limits {
		if item.Type != v1.LimitTypePersistentVolumeClaim {
			continue
		}
		b := bound{of: string(item.Type), requests: claim.Spec.Resources.Requests}
		errs = slices.Concat(errs, b.each(item.Min, b.min), b.each(item.Max, b.maxRequest))
	}
	return utilerrors.NewAggregate(errs)
}

// podOutside says what of a pod, or of its containers, is outside of the limits.
// Upstream: plugin/pkg/admission/limitranger PodValidateLimitFunc, v1.37.
func podOutside(limits *v1.LimitRange, pod *v1.Pod) error {
	var errs []error
	for _, item := range limits.Spec.Limits {
		var asked []bound
		switch item.Type {
		case v1.LimitTypeContainer:
			for _, c := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
				asked = append(asked, bound{of: string(item.Type), requests: c.Resources.Requests, limits: c.Resources.Limits})
			}
		case v1.LimitTypePod:
			options := podresource.PodResourcesOptions{ExcludeOverhead: true}
			asked = append(asked, bound{of: string(item.Type), requests: podresource.PodRequests(pod, options), limits: podresource.PodLimits(pod, options)})
		}
		for _, b := range asked {
			errs = slices.Concat(errs, b.each(item.Min, b.min), b.each(item.Max, b.max), b.each(item.MaxLimitRequestRatio, b.ratio))
		}
	}
	return utilerrors.NewAggregate(errs)
}

// bound holds what a container, a pod or a claim asks for, and what it is limited to.
type bound struct {
	of               string // the type of the limit
	requests, limits v1.ResourceList
}

// each checks all resources of a list, in order of name.
func (b bound) each(list v1.ResourceList, check func(name v1.ResourceName, enforced resource.Quantity) error) (errs []error) {
	for _, name := range quota.Names(list) {
		if err := check(name, list[name]); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// values returns quantities in a unit in which they can be compared.
// Upstream: plugin/pkg/admission/limitranger requestLimitEnforcedValues, v1.37.
func values(request, limit, enforced resource.Quantity) (r, l, e int64) {
	r, l, e = request.Value(), limit.Value(), enforced.Value()
	if max(r, l, e) <= resource.MaxMilliValue {
		return request.MilliValue(), limit.MilliValue(), enforced.MilliValue()
	}
	return r, l, e
}

// min checks a minimum.
// Upstream: plugin/pkg/admission/limitranger minConstraint, v1.37.
func (b bound) min(name v1.ResourceName, enforced resource.Quantity) error {
	request, asks := b.requests[name]
	limit, limited := b.limits[name]
	r, l, e := values(request, limit, enforced)
	what := fmt.Sprintf("minimum %s usage per %s is %s", name, b.of, enforced.String())
	switch {
	case !asks:
		return fmt.Errorf("%s.  No request is specified", what)
	case r < e:
		return fmt.Errorf("%s, but request is %s", what, request.String())
	case limited && l < e:
		return fmt.Errorf("%s, but limit is %s", what, limit.String())
	}
	return nil
}

// maxRequest checks a maximum of what has requests only.
// Upstream: plugin/pkg/admission/limitranger maxRequestConstraint, v1.37.
func (b bound) maxRequest(name v1.ResourceName, enforced resource.Quantity) error {
	request, asks := b.requests[name]
	r, _, e := values(request, resource.Quantity{}, enforced)
	what := fmt.Sprintf("maximum %s usage per %s is %s", name, b.of, enforced.String())
	switch {
	case !asks:
		return fmt.Errorf("%s.  No request is specified", what)
	case r > e:
		return fmt.Errorf("%s, but request is %s", what, request.String())
	}
	return nil
}

// max checks a maximum.
// Upstream: plugin/pkg/admission/limitranger maxConstraint, v1.37.
func (b bound) max(name v1.ResourceName, enforced resource.Quantity) error {
	request, asks := b.requests[name]
	limit, limited := b.limits[name]
	r, l, e := values(request, limit, enforced)
	what := fmt.Sprintf("maximum %s usage per %s is %s", name, b.of, enforced.String())
	switch {
	case !limited:
		return fmt.Errorf("%s.  No limit is specified", what)
	case l > e:
		return fmt.Errorf("%s, but limit is %s", what, limit.String())
	case asks && r > e:
		return fmt.Errorf("%s, but request is %s", what, request.String())
	}
	return nil
}

// ratio checks how much more the limit may be than the request.
// Upstream: plugin/pkg/admission/limitranger limitRequestRatioConstraint, v1.37.
func (b bound) ratio(name v1.ResourceName, enforced resource.Quantity) error {
	r, l, _ := values(b.requests[name], b.limits[name], enforced)
	what := fmt.Sprintf("%s max limit to request ratio per %s is %s", name, b.of, enforced.String())
	switch {
	case r == 0:
		return fmt.Errorf("%s, but no request is specified or request is 0", what)
	case l == 0:
		return fmt.Errorf("%s, but no limit is specified or limit is 0", what)
	}
	observed, allowed := float64(l)/float64(r), float64(enforced.Value())
	if enforced.Value() <= resource.MaxMilliValue {
		allowed = float64(enforced.MilliValue()) / 1000
	}
	if observed > allowed {
		return fmt.Errorf("%s, but provided ratio is %f", what, observed)
	}
	return nil
}
