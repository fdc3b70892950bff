package workloads

import (
	"slices"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/validation"
)

// DisruptionBudgets returns the validation of poddisruptionbudgets.
// Upstream: pkg/apis/policy/validation ValidatePodDisruptionBudgetSpec and ValidatePodDisruptionBudgetStatusUpdate, v1.37.
func DisruptionBudgets() validation.Kind {
	return validation.Typed[*policyv1.PodDisruptionBudget]{
		Names: validation.PathSegment, AnyFinalizer: true, MetaLast: true,
		Create: func(p *validation.Problems, budget *policyv1.PodDisruptionBudget) {
			checkDisruptionBudget(p, &budget.Spec)
		},
		Update: func(p *validation.Problems, budget, _ *policyv1.PodDisruptionBudget) {
			checkDisruptionBudget(p, &budget.Spec)
		},
		Status: func(p *validation.Problems, budget, _ *policyv1.PodDisruptionBudget) {
			status := &budget.Status
			p.Add(metavalidation.ValidateConditions(status.Conditions, validation.StatusPath.Child("conditions"))...)
			p.NotNegative(int64(status.DisruptionsAllowed), validation.StatusPath, "disruptionsAllowed")
			p.NotNegative(int64(status.CurrentHealthy), validation.StatusPath, "currentHealthy")
			p.NotNegative(int64(status.DesiredHealthy), validation.StatusPath, "desiredHealthy")
			p.NotNegative(int64(status.ExpectedPods), validation.StatusPath, "expectedPods")
		},
	}.Kind()
}

// internalBudget has the form that messages show.
type internalBudget struct {
	MinAvailable               *intstr.IntOrString
	Selector                   *metav1.LabelSelector
	MaxUnavailable             *intstr.IntOrString
	UnhealthyPodEvictionPolicy *policyv1.UnhealthyPodEvictionPolicyType
}

func checkDisruptionBudget(p *validation.Problems, spec *policyv1.PodDisruptionBudgetSpec) {
	if spec.MinAvailable != nil && spec.MaxUnavailable != nil {
		p.Invalid(validation.SpecPath, internalBudget{spec.MinAvailable, spec.Selector, spec.MaxUnavailable, spec.UnhealthyPodEvictionPolicy},
			"minAvailable and maxUnavailable cannot be both set")
	}
	checkShare(p, spec.MinAvailable, true, validation.SpecPath.Child("minAvailable"))
	checkShare(p, spec.MaxUnavailable, true, validation.SpecPath.Child("maxUnavailable"))
	p.LabelSelector(spec.Selector, validation.SpecPath.Child("selector"))
	known := []policyv1.UnhealthyPodEvictionPolicyType{policyv1.AlwaysAllow, policyv1.IfHealthyBudget}
	if policy := spec.UnhealthyPodEvictionPolicy; policy != nil && !slices.Contains(known, *policy) {
		p.Add(field.NotSupported(validation.SpecPath.Child("unhealthyPodEvictionPolicy"), *policy, known))
	}
}
