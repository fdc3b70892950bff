package workloads

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/validation"
)

// Limits of spec.podFailurePolicy of a Job.
// Upstream: batch/validation maxPodFailurePolicyRules, maxPodFailurePolicyOnExitCodesValues, maxPodFailurePolicyOnPodConditionsPatterns, v1.37.
const (
	maxFailureRules      = 20
	maxFailureCodes      = 255
	maxFailureConditions = 20
)

// checkPodFailurePolicy validates the rules by which failed pods of a Job count.
// Upstream: batch/validation validatePodFailurePolicy, v1.37.
func checkPodFailurePolicy(p *validation.Problems, spec *batchv1.JobSpec, at *field.Path) {
	policy := spec.PodFailurePolicy
	if policy == nil {
		return
	}
	at = at.Child("rules")
	if n := len(policy.Rules); n > maxFailureRules {
		p.Add(field.TooMany(at, n, maxFailureRules))
	}
	for i := range policy.Rules {
		checkFailureRule(p, spec, &policy.Rules[i], at.Index(i))
	}
}

// checkPodReplacementPolicy validates what becomes of pods that are being deleted.
// Upstream: batch/validation validatePodReplacementPolicy, v1.37.
func checkPodReplacementPolicy(p *validation.Problems, spec *batchv1.JobSpec, at *field.Path) {
	replacements := []batchv1.PodReplacementPolicy{batchv1.Failed, batchv1.TerminatingOrFailed}
	if spec.PodFailurePolicy != nil {
		replacements = replacements[:1]
	}
	if policy := spec.PodReplacementPolicy; policy != nil && !slices.Contains(replacements, *policy) {
		p.Add(field.NotSupported(at, *policy, replacements))
	}
}

// checkFailureRule validates one rule.
// Upstream: batch/validation validatePodFailurePolicyRule, v1.37.
func checkFailureRule(p *validation.Problems, spec *batchv1.JobSpec, rule *batchv1.PodFailurePolicyRule, at *field.Path) {
	actions := []batchv1.PodFailurePolicyAction{
		batchv1.PodFailurePolicyActionCount, batchv1.PodFailurePolicyActionFailIndex, batchv1.PodFailurePolicyActionFailJob, batchv1.PodFailurePolicyActionIgnore,
	}
	switch action := rule.Action; {
	case action == "":
		p.Required(at.Child("action"), fmt.Sprintf("valid values: %q", actions))
	case action == batchv1.PodFailurePolicyActionFailIndex && spec.BackoffLimitPerIndex == nil:
		p.Invalid(at.Child("action"), action, "requires the backoffLimitPerIndex to be set")
	case !slices.Contains(actions, action):
		p.Add(field.NotSupported(at.Child("action"), action, actions))
	}
	if rule.OnExitCodes != nil {
		checkFailureCodes(p, &spec.Template.Spec, rule.OnExitCodes, at.Child("onExitCodes"))
	}
	checkFailureConditions(p, rule.OnPodConditions, at.Child("onPodConditions"))
	switch codes, conditions := rule.OnExitCodes != nil, len(rule.OnPodConditions) > 0; {
	case codes && conditions:
		p.Invalid(at, field.OmitValueType{}, "specifying both OnExitCodes and OnPodConditions is not supported")
	case !codes && !conditions:
		p.Invalid(at, field.OmitValueType{}, "specifying one of OnExitCodes and OnPodConditions is required")
	}
}

// checkFailureCodes validates the exit codes of a rule.
// Upstream: batch/validation validatePodFailurePolicyRuleOnExitCodes, v1.37.
func checkFailureCodes(p *validation.Problems, pod *v1.PodSpec, on *batchv1.PodFailurePolicyOnExitCodesRequirement, at *field.Path) {
	operators := []batchv1.PodFailurePolicyOnExitCodesOperator{batchv1.PodFailurePolicyOnExitCodesOpIn, batchv1.PodFailurePolicyOnExitCodesOpNotIn}
	switch {
	case on.Operator == "":
		p.Required(at.Child("operator"), fmt.Sprintf("valid values: %q", operators))
	case !slices.Contains(operators, on.Operator):
		p.Add(field.NotSupported(at.Child("operator"), on.Operator, operators))
	}
	if name := on.ContainerName; name != nil &&
		!slices.ContainsFunc(slices.Concat(pod.Containers, pod.InitContainers), func(c v1.Container) bool { return c.Name == *name }) {
		p.Invalid(at.Child("containerName"), *name, "must be one of the container or initContainer names in the pod template")
	}
	values := at.Child("values")
	switch n := len(on.Values); {
	case n == 0:
		p.Invalid(values, on.Values, "at least one value is required")
	case n > maxFailureCodes:
		p.Add(field.TooMany(values, n, maxFailureCodes))
	}
	seen := map[int32]bool{}
	for i, value := range on.Values {
		if value == 0 && on.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn {
			p.Invalid(values.Index(i), value, "must not be 0 for the In operator")
		}
		if seen[value] {
			p.Duplicate(values.Index(i), value)
		}
		seen[value] = true
	}
	if !slices.IsSorted(on.Values) {
		p.Invalid(values, on.Values, "must be ordered")
	}
}

// checkFailureConditions validates the pod's conditions of a rule.
// Upstream: batch/validation validatePodFailurePolicyRuleOnPodConditions, v1.37.
func checkFailureConditions(p *validation.Problems, on []batchv1.PodFailurePolicyOnPodConditionsPattern, at *field.Path) {
	if n := len(on); n > maxFailureConditions {
		p.Add(field.TooMany(at, n, maxFailureConditions))
	}
	statuses := []v1.ConditionStatus{v1.ConditionFalse, v1.ConditionTrue, v1.ConditionUnknown}
	for i := range on {
		p.QualifiedName(string(on[i].Type), at.Index(i).Child("type"))
		switch status := on[i].Status; {
		case status == "":
			p.Required(at.Index(i).Child("status"), fmt.Sprintf("valid values: %q", statuses))
		case !slices.Contains(statuses, status):
			p.Add(field.NotSupported(at.Index(i).Child("status"), status, statuses))
		}
	}
}
