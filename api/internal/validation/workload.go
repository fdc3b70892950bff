package validation

import (
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var (
	deploymentStrategies = []appsv1.DeploymentStrategyType{appsv1.RecreateDeploymentStrategyType, appsv1.RollingUpdateDeploymentStrategyType}
	daemonSetStrategies  = []appsv1.DaemonSetUpdateStrategyType{appsv1.RollingUpdateDaemonSetStrategyType, appsv1.OnDeleteDaemonSetStrategyType}
)

// deployment validates a Deployment.
// Upstream: apps/validation ValidateDeploymentSpec, v1.37.
func (p *problems) deployment(d *appsv1.Deployment) {
	p.count(d.Spec.Replicas, "replicas")
	if p.podSelector(d.Spec.Selector, &d.Spec.Template, "deployment") {
		p.template(&d.Spec.Template, specPath.Child("template"))
		p.restartAlways(&d.Spec.Template, "ReplicaSet")
	}
	at := specPath.Child("strategy")
	rolling := d.Spec.Strategy.RollingUpdate
	switch strategy := d.Spec.Strategy.Type; {
	case !slices.Contains(deploymentStrategies, strategy):
		p.add(field.NotSupported(at, strategy, deploymentStrategies))
	case strategy == appsv1.RecreateDeploymentStrategyType && rolling != nil:
		p.forbidden(at.Child("rollingUpdate"), "may not be specified when strategy `type` is 'Recreate'")
	case strategy == appsv1.RollingUpdateDeploymentStrategyType && rolling == nil:
		p.required(at.Child("rollingUpdate"), "this should be defaulted and never be nil")
	case strategy == appsv1.RollingUpdateDeploymentStrategyType:
		p.share(rolling.MaxUnavailable, true, at.Child("rollingUpdate", "maxUnavailable"))
		p.share(rolling.MaxSurge, false, at.Child("rollingUpdate", "maxSurge"))
		if shareOf(rolling.MaxUnavailable) == 0 && shareOf(rolling.MaxSurge) == 0 {
			p.invalid(at.Child("rollingUpdate", "maxUnavailable"), rolling.MaxUnavailable, "may not be 0 when `maxSurge` is 0")
		}
	}
	p.notNegative(int64(d.Spec.MinReadySeconds), specPath, "minReadySeconds")
	p.count(d.Spec.RevisionHistoryLimit, "revisionHistoryLimit")
	p.count(d.Spec.ProgressDeadlineSeconds, "progressDeadlineSeconds")
	if s := d.Spec.ProgressDeadlineSeconds; s != nil && *s <= d.Spec.MinReadySeconds {
		p.invalid(specPath.Child("progressDeadlineSeconds"), *s, "must be greater than minReadySeconds")
	}
}

// daemonSet validates a DaemonSet.
// Upstream: apps/validation ValidateDaemonSetSpec, v1.37.
func (p *problems) daemonSet(d *appsv1.DaemonSet) {
	if s := d.Spec.Selector; s != nil {
		p.labelSelector(s, specPath.Child("selector"))
		if len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
			p.invalid(specPath.Child("selector"), s, "empty selector is invalid for daemonset")
		}
	}
	p.selects(d.Spec.Selector, &d.Spec.Template)
	p.template(&d.Spec.Template, specPath.Child("template"))
	p.restartAlways(&d.Spec.Template, "DaemonSet")
	p.notNegative(int64(d.Spec.MinReadySeconds), specPath, "minReadySeconds")
	at, rolling := specPath.Child("updateStrategy"), d.Spec.UpdateStrategy.RollingUpdate
	switch strategy := d.Spec.UpdateStrategy.Type; {
	case !slices.Contains(daemonSetStrategies, strategy):
		p.add(field.NotSupported(at, strategy, daemonSetStrategies))
	case strategy == appsv1.RollingUpdateDaemonSetStrategyType && rolling == nil:
		p.required(at.Child("rollingUpdate"), "")
	case strategy == appsv1.RollingUpdateDaemonSetStrategyType:
		at = at.Child("rollingUpdate")
		p.share(rolling.MaxUnavailable, true, at.Child("maxUnavailable"))
		p.share(rolling.MaxSurge, true, at.Child("maxSurge"))
		switch unavailable, surge := shareOf(rolling.MaxUnavailable) != 0, shareOf(rolling.MaxSurge) != 0; {
		case unavailable && surge:
			p.invalid(at.Child("maxSurge"), rolling.MaxSurge, "may not be set when maxUnavailable is non-zero")
		case !unavailable && !surge:
			p.required(at.Child("maxUnavailable"), "cannot be 0 when maxSurge is 0")
		}
	}
	p.count(d.Spec.RevisionHistoryLimit, "revisionHistoryLimit")
}

// replicaSet validates a ReplicaSet.
// Upstream: apps/validation ValidateReplicaSetSpec, v1.37.
func (p *problems) replicaSet(r *appsv1.ReplicaSet) {
	p.count(r.Spec.Replicas, "replicas")
	p.notNegative(int64(r.Spec.MinReadySeconds), specPath, "minReadySeconds")
	if p.podSelector(r.Spec.Selector, &r.Spec.Template, "deployment") { // upstream's word
		p.template(&r.Spec.Template, specPath.Child("template"))
		p.restartAlways(&r.Spec.Template, "ReplicaSet")
	}
}

// count refuses a negative number in the spec.
func (p *problems) count(n *int32, name string) {
	if n != nil {
		p.notNegative(int64(*n), specPath, name)
	}
}

// share validates a number or a percentage, which may have to be at most all.
// Upstream: apps/validation ValidatePositiveIntOrPercent, v1.37.
func (p *problems) share(v *intstr.IntOrString, most bool, at *field.Path) {
	switch {
	case v == nil:
	case v.Type == intstr.Int && v.IntVal < 0:
		p.invalid(at, v, "must be greater than or equal to 0")
	case v.Type == intstr.String:
		for _, msg := range validation.IsValidPercent(v.StrVal) {
			p.invalid(at, v, msg)
		}
		if most && shareOf(v) > 100 {
			p.invalid(at, v, "must not be greater than 100%")
		}
	}
}

// shareOf returns the number, also that of a percentage; 0 if it is not a number.
func shareOf(v *intstr.IntOrString) int {
	if v == nil {
		return 0
	}
	if v.Type == intstr.Int {
		return int(v.IntVal)
	}
	n, err := strconv.Atoi(strings.TrimSuffix(v.StrVal, "%"))
	if err != nil {
		return 0
	}
	return n
}

// restartAlways requires that the pods of a template run for good.
func (p *problems) restartAlways(t *v1.PodTemplateSpec, kind string) {
	at := specPath.Child("template", "spec")
	if policy := t.Spec.RestartPolicy; policy != v1.RestartPolicyAlways {
		p.add(field.NotSupported(at.Child("restartPolicy"), policy, []v1.RestartPolicy{v1.RestartPolicyAlways}))
	}
	if t.Spec.ActiveDeadlineSeconds != nil {
		p.forbidden(at.Child("activeDeadlineSeconds"), "activeDeadlineSeconds in "+kind+" is not Supported")
	}
}

// podSelector requires a selector that picks the pods of the template, and reports
// whether it is one at all.
func (p *problems) podSelector(s *metav1.LabelSelector, t *v1.PodTemplateSpec, kind string) bool {
	at := specPath.Child("selector")
	if s == nil {
		p.required(at, "")
	} else {
		p.labelSelector(s, at)
		if len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
			p.invalid(at, s, "empty selector is invalid for "+kind)
		}
	}
	if _, err := metav1.LabelSelectorAsSelector(s); err != nil {
		p.invalid(at, s, "invalid label selector")
		return false
	}
	p.selects(s, t)
	return true
}

// selects refuses a selector that does not pick the pods of the template. One that
// is missing picks none, one that is empty all.
func (p *problems) selects(s *metav1.LabelSelector, t *v1.PodTemplateSpec) {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err == nil && !selector.Matches(labels.Set(t.Labels)) {
		p.invalid(specPath.Child("template", "metadata", "labels"), t.Labels, "`selector` does not match template `labels`")
	}
}
