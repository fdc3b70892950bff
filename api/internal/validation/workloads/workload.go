package workloads

import (
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/validation"
	"github.com/storagesim/storagesim/api/internal/validation/pods"
)

var (
	deploymentStrategies = []appsv1.DeploymentStrategyType{appsv1.RecreateDeploymentStrategyType, appsv1.RollingUpdateDeploymentStrategyType}
	daemonSetStrategies  = []appsv1.DaemonSetUpdateStrategyType{appsv1.RollingUpdateDaemonSetStrategyType, appsv1.OnDeleteDaemonSetStrategyType}
)

// checkDeployment validates a Deployment.
// Upstream: apps/validation ValidateDeploymentSpec, v1.37.
func checkDeployment(p *validation.Problems, d *appsv1.Deployment) {
	checkCount(p, d.Spec.Replicas, "replicas")
	if checkPodSelector(p, d.Spec.Selector, &d.Spec.Template, deploymentWords) {
		pods.CheckTemplate(p, &d.Spec.Template, validation.SpecPath.Child("template"))
		checkRestartAlways(p, &d.Spec.Template, "ReplicaSet")
	}
	at := validation.SpecPath.Child("strategy")
	rolling := d.Spec.Strategy.RollingUpdate
	switch strategy := d.Spec.Strategy.Type; {
	case !slices.Contains(deploymentStrategies, strategy):
		p.Add(field.NotSupported(at, strategy, deploymentStrategies))
	case strategy == appsv1.RecreateDeploymentStrategyType && rolling != nil:
		p.Forbidden(at.Child("rollingUpdate"), "may not be specified when strategy `type` is 'Recreate'")
	case strategy == appsv1.RollingUpdateDeploymentStrategyType && rolling == nil:
		p.Required(at.Child("rollingUpdate"), "this should be defaulted and never be nil")
	case strategy == appsv1.RollingUpdateDeploymentStrategyType:
		checkShare(p, rolling.MaxUnavailable, true, at.Child("rollingUpdate", "maxUnavailable"))
		checkShare(p, rolling.MaxSurge, false, at.Child("rollingUpdate", "maxSurge"))
		if shareOf(rolling.MaxUnavailable) == 0 && shareOf(rolling.MaxSurge) == 0 {
			p.Invalid(at.Child("rollingUpdate", "maxUnavailable"), rolling.MaxUnavailable, "may not be 0 when `maxSurge` is 0")
		}
	}
	p.NotNegative(int64(d.Spec.MinReadySeconds), validation.SpecPath, "minReadySeconds")
	checkCount(p, d.Spec.RevisionHistoryLimit, "revisionHistoryLimit")
	checkCount(p, d.Spec.ProgressDeadlineSeconds, "progressDeadlineSeconds")
	if s := d.Spec.ProgressDeadlineSeconds; s != nil && *s <= d.Spec.MinReadySeconds {
		p.Invalid(validation.SpecPath.Child("progressDeadlineSeconds"), *s, "must be greater than minReadySeconds")
	}
}

// checkDaemonSet validates a DaemonSet.
// Upstream: apps/validation ValidateDaemonSetSpec, v1.37.
func checkDaemonSet(p *validation.Problems, d *appsv1.DaemonSet) {
	if s := d.Spec.Selector; s != nil {
		p.LabelSelector(s, validation.SpecPath.Child("selector"))
		if len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
			p.Invalid(validation.SpecPath.Child("selector"), s, "empty selector is invalid for daemonset")
		}
	}
	checkSelectsTemplate(p, d.Spec.Selector, &d.Spec.Template)
	pods.CheckTemplate(p, &d.Spec.Template, validation.SpecPath.Child("template"))
	checkRestartAlways(p, &d.Spec.Template, "DaemonSet")
	p.NotNegative(int64(d.Spec.MinReadySeconds), validation.SpecPath, "minReadySeconds")
	at, rolling := validation.SpecPath.Child("updateStrategy"), d.Spec.UpdateStrategy.RollingUpdate
	switch strategy := d.Spec.UpdateStrategy.Type; {
	case !slices.Contains(daemonSetStrategies, strategy):
		p.Add(field.NotSupported(at, strategy, daemonSetStrategies))
	case strategy == appsv1.RollingUpdateDaemonSetStrategyType && rolling == nil:
		p.Required(at.Child("rollingUpdate"), "")
	case strategy == appsv1.RollingUpdateDaemonSetStrategyType:
		at = at.Child("rollingUpdate")
		checkShare(p, rolling.MaxUnavailable, true, at.Child("maxUnavailable"))
		checkShare(p, rolling.MaxSurge, true, at.Child("maxSurge"))
		switch unavailable, surge := shareOf(rolling.MaxUnavailable) != 0, shareOf(rolling.MaxSurge) != 0; {
		case unavailable && surge:
			p.Invalid(at.Child("maxSurge"), rolling.MaxSurge, "may not be set when maxUnavailable is non-zero")
		case !unavailable && !surge:
			p.Required(at.Child("maxUnavailable"), "cannot be 0 when maxSurge is 0")
		}
	}
	checkCount(p, d.Spec.RevisionHistoryLimit, "revisionHistoryLimit")
}

// checkReplicaSet validates a ReplicaSet.
// Upstream: apps/validation ValidateReplicaSetSpec, v1.37.
func checkReplicaSet(p *validation.Problems, r *appsv1.ReplicaSet) {
	checkCount(p, r.Spec.Replicas, "replicas")
	p.NotNegative(int64(r.Spec.MinReadySeconds), validation.SpecPath, "minReadySeconds")
	if checkPodSelector(p, r.Spec.Selector, &r.Spec.Template, deploymentWords) {
		pods.CheckTemplate(p, &r.Spec.Template, validation.SpecPath.Child("template"))
		checkRestartAlways(p, &r.Spec.Template, "ReplicaSet")
	}
}

// checkCount refuses a negative number in the spec.
func checkCount(p *validation.Problems, n *int32, name string) {
	checkCountAt(p, n, validation.SpecPath, name)
}

// checkCountAt refuses a negative number in what stands at a path.
func checkCountAt(p *validation.Problems, n *int32, at *field.Path, name string) {
	if n != nil {
		p.NotNegative(int64(*n), at, name)
	}
}

// checkShare validates a number or a percentage, which may have to be at most all.
// Upstream: apps/validation ValidatePositiveIntOrPercent, v1.37.
func checkShare(p *validation.Problems, v *intstr.IntOrString, most bool, at *field.Path) {
	switch {
	case v == nil:
	case v.Type == intstr.Int && v.IntVal < 0:
		p.Invalid(at, v, "must be greater than or equal to 0")
	case v.Type == intstr.String:
		for _, msg := range utilvalidation.IsValidPercent(v.StrVal) {
			p.Invalid(at, v, msg)
		}
		if most && shareOf(v) > 100 {
			p.Invalid(at, v, "must not be greater than 100%")
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

// checkRestartAlways requires that the pods of a template run for good.
func checkRestartAlways(p *validation.Problems, t *v1.PodTemplateSpec, kind string) {
	at := validation.SpecPath.Child("template", "spec")
	if policy := t.Spec.RestartPolicy; policy != v1.RestartPolicyAlways {
		p.Add(field.NotSupported(at.Child("restartPolicy"), policy, []v1.RestartPolicy{v1.RestartPolicyAlways}))
	}
	if t.Spec.ActiveDeadlineSeconds != nil {
		p.Forbidden(at.Child("activeDeadlineSeconds"), "activeDeadlineSeconds in "+kind+" is not Supported")
	}
}

// selectorWords has the message about a selector that selects everything, and the one about a selector that cannot be read.
type selectorWords struct{ empty, invalid string }

// The words of the kinds whose selector must pick the pods of their template. ReplicaSets use those of Deployments, as upstream.
var (
	deploymentWords  = selectorWords{empty: "empty selector is invalid for deployment", invalid: "invalid label selector"}
	statefulSetWords = selectorWords{empty: "empty selector is invalid for statefulset"} // upstream gives no reason for the other
)

// checkPodSelector requires a selector that picks the pods of the template, and reports
// whether it is one at all.
func checkPodSelector(p *validation.Problems, s *metav1.LabelSelector, t *v1.PodTemplateSpec, words selectorWords) bool {
	at := validation.SpecPath.Child("selector")
	if s == nil {
		p.Required(at, "")
	} else {
		p.LabelSelector(s, at)
		if len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
			p.Invalid(at, s, words.empty)
		}
	}
	if _, err := metav1.LabelSelectorAsSelector(s); err != nil {
		p.Invalid(at, s, words.invalid)
		return false
	}
	checkSelectsTemplate(p, s, t)
	return true
}

// checkSelectsTemplate refuses a selector that does not pick the pods of the template. One that
// is missing picks none, one that is empty all.
func checkSelectsTemplate(p *validation.Problems, s *metav1.LabelSelector, t *v1.PodTemplateSpec) {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err == nil && !selector.Matches(labels.Set(t.Labels)) {
		p.Invalid(validation.SpecPath.Child("template", "metadata", "labels"), t.Labels, "`selector` does not match template `labels`")
	}
}
