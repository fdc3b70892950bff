package pods

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/validation"
)

// checkAffinity validates a pod's affinities.
// Upstream: core/validation validateAffinity, v1.37.
func checkAffinity(p *validation.Problems, a *v1.Affinity, at *field.Path) {
	const required, preferred = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
	if n := a.NodeAffinity; n != nil {
		path := at.Child("nodeAffinity")
		if n.RequiredDuringSchedulingIgnoredDuringExecution != nil {
			validation.CheckNodeSelector(p, n.RequiredDuringSchedulingIgnoredDuringExecution, path.Child(required))
		}
		for i := range n.PreferredDuringSchedulingIgnoredDuringExecution {
			term, path := &n.PreferredDuringSchedulingIgnoredDuringExecution[i], path.Child(preferred).Index(i)
			checkWeight(p, term.Weight, path)
			validation.CheckNodeSelectorTerm(p, &term.Preference, false, path.Child("preference"))
		}
	}
	if n := a.PodAffinity; n != nil {
		path := at.Child("podAffinity")
		checkPodTerms(p, n.RequiredDuringSchedulingIgnoredDuringExecution, path.Child(required))
		checkWeightedPodTerms(p, n.PreferredDuringSchedulingIgnoredDuringExecution, path.Child(preferred))
	}
	if n := a.PodAntiAffinity; n != nil {
		path := at.Child("podAntiAffinity")
		checkPodTerms(p, n.RequiredDuringSchedulingIgnoredDuringExecution, path.Child(required))
		checkWeightedPodTerms(p, n.PreferredDuringSchedulingIgnoredDuringExecution, path.Child(preferred))
	}
}

func checkWeight(p *validation.Problems, weight int32, at *field.Path) {
	if weight <= 0 || weight > 100 {
		p.Invalid(at.Child("weight"), weight, "must be in the range 1-100")
	}
}

func checkWeightedPodTerms(p *validation.Problems, terms []v1.WeightedPodAffinityTerm, at *field.Path) {
	for i := range terms {
		checkWeight(p, terms[i].Weight, at.Index(i))
		checkPodTerm(p, &terms[i].PodAffinityTerm, at.Index(i).Child("podAffinityTerm"))
	}
}

func checkPodTerms(p *validation.Problems, terms []v1.PodAffinityTerm, at *field.Path) {
	for i := range terms {
		checkPodTerm(p, &terms[i], at.Index(i))
	}
}

func checkPodTerm(p *validation.Problems, term *v1.PodAffinityTerm, at *field.Path) {
	p.LabelSelector(term.LabelSelector, at.Child("labelSelector"))
	p.LabelSelector(term.NamespaceSelector, at.Child("namespaceSelector"))
	for _, ns := range term.Namespaces {
		p.Messages(at.Child("namespace"), ns, apivalidation.ValidateNamespaceName(ns, false))
	}
	checkLabelKeys(p, term.MatchLabelKeys, term.MismatchLabelKeys, term.LabelSelector, at)
	if term.TopologyKey == "" {
		p.Required(at.Child("topologyKey"), "can not be empty")
	}
	p.QualifiedName(term.TopologyKey, at.Child("topologyKey"))
}

// checkLabelKeys validates the keys whose values a pod takes over from its own labels
// into a selector. By now they are in the selector, too (see mergeLabelKeys): a key
// that is given twice was named by the selector itself.
// Upstream: core/validation ValidateMatchLabelKeysAndMismatchLabelKeys, v1.37.
func checkLabelKeys(p *validation.Problems, match, mismatch []string, selector *metav1.LabelSelector, at *field.Path) {
	if len(match)+len(mismatch) == 0 {
		return
	}
	checkKeysOfLabels(p, match, selector, at.Child("matchLabelKeys"))
	checkKeysOfLabels(p, mismatch, selector, at.Child("mismatchLabelKeys"))
	if selector != nil && len(match) > 0 {
		seen := slices.Collect(maps.Keys(selector.MatchLabels))
		for _, e := range selector.MatchExpressions {
			if i := slices.Index(match, e.Key); i >= 0 && slices.Contains(seen, e.Key) {
				p.Invalid(at.Index(i), e.Key, "exists in both matchLabelKeys and labelSelector")
			}
			seen = append(seen, e.Key)
		}
	}
	for i, key := range match {
		if slices.Contains(mismatch, key) {
			p.Invalid(at.Child("matchLabelKeys").Index(i), key, "exists in both matchLabelKeys and mismatchLabelKeys")
		}
	}
}

func checkKeysOfLabels(p *validation.Problems, keys []string, selector *metav1.LabelSelector, at *field.Path) {
	if len(keys) > 0 && selector == nil {
		p.Forbidden(at, "must not be specified when labelSelector is not set")
		return
	}
	for i, key := range keys {
		p.QualifiedName(key, at.Index(i))
	}
}

var (
	unsatisfiableActions = []v1.UnsatisfiableConstraintAction{v1.DoNotSchedule, v1.ScheduleAnyway}
	inclusionPolicies    = []v1.NodeInclusionPolicy{v1.NodeInclusionPolicyHonor, v1.NodeInclusionPolicyIgnore}
)

// checkSpreadConstraints validates how pods are to be spread.
// Upstream: core/validation validateTopologySpreadConstraints, v1.37.
func checkSpreadConstraints(p *validation.Problems, constraints []v1.TopologySpreadConstraint, at *field.Path) {
	for i := range constraints {
		c, path := &constraints[i], at.Child("topologySpreadConstraints").Index(i)
		checkAboveZero(p, c.MaxSkew, path, "maxSkew")
		if c.TopologyKey == "" {
			p.Required(path.Child("topologyKey"), "can not be empty")
		}
		if !slices.Contains(unsatisfiableActions, c.WhenUnsatisfiable) {
			p.Add(field.NotSupported(path.Child("whenUnsatisfiable"), c.WhenUnsatisfiable, unsatisfiableActions))
		}
		if slices.ContainsFunc(constraints[i+1:], func(o v1.TopologySpreadConstraint) bool {
			return o.TopologyKey == c.TopologyKey && o.WhenUnsatisfiable == c.WhenUnsatisfiable
		}) {
			p.Duplicate(path.Child("{topologyKey, whenUnsatisfiable}"), fmt.Sprintf("{%v, %v}", c.TopologyKey, c.WhenUnsatisfiable))
		}
		if c.MinDomains != nil {
			checkAboveZero(p, *c.MinDomains, path, "minDomains")
			if c.WhenUnsatisfiable != v1.DoNotSchedule {
				p.Invalid(path.Child("minDomains"), *c.MinDomains,
					fmt.Sprintf("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not %s", c.WhenUnsatisfiable))
			}
		}
		validation.IfSetOneOf(p, c.NodeAffinityPolicy, inclusionPolicies, path, "nodeAffinityPolicy")
		validation.IfSetOneOf(p, c.NodeTaintsPolicy, inclusionPolicies, path, "nodeTaintsPolicy")
		checkLabelKeys(p, c.MatchLabelKeys, nil, c.LabelSelector, path)
		p.LabelSelector(c.LabelSelector, path.Child("labelSelector"))
	}
}

func checkAboveZero(p *validation.Problems, n int32, at *field.Path, name string) {
	if n <= 0 {
		p.Invalid(at.Child(name), n, "must be greater than zero")
	}
}

// CheckTolerations validates tolerations.
// Upstream: core/validation ValidateTolerations, v1.37.
func CheckTolerations(p *validation.Problems, tolerations []v1.Toleration, path *field.Path) {
	for i := range tolerations {
		t, at := &tolerations[i], path.Index(i)
		if t.Key != "" {
			p.QualifiedName(t.Key, at.Child("key"))
		} else if t.Operator != v1.TolerationOpExists {
			p.Invalid(at.Child("operator"), t.Operator,
				"operator must be Exists when `key` is empty, which means \"match all values and all keys\"")
		}
		if t.TolerationSeconds != nil && t.Effect != v1.TaintEffectNoExecute {
			p.Invalid(at.Child("effect"), t.Effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")
		}
		checkTolerationValue(p, t, at.Child("operator"))
		if t.Effect != "" {
			validation.CheckTaintEffect(p, t.Effect, at.Child("effect"))
		}
	}
}

func checkTolerationValue(p *validation.Problems, t *v1.Toleration, at *field.Path) {
	known := []v1.TolerationOperator{v1.TolerationOpEqual, v1.TolerationOpExists}
	switch t.Operator {
	case v1.TolerationOpEqual, "":
		if !validation.IsLabelValue(t.Value) {
			p.Invalid(at, t.Value, strings.Join(utilvalidation.IsValidLabelValue(t.Value), ";"))
		}
	case v1.TolerationOpExists:
		if t.Value != "" {
			p.Invalid(at, t.Value, "value must be empty when `operator` is 'Exists'")
		}
	case v1.TolerationOpLt, v1.TolerationOpGt: // named as known, and not allowed without a feature gate
		p.Add(field.NotSupported(at, t.Operator, append(known, v1.TolerationOpLt, v1.TolerationOpGt)))
	default:
		p.Add(field.NotSupported(at, t.Operator, known))
	}
}
