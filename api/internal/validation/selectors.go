package validation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// nodeSelector validates a required node selector.
// Upstream: core/validation ValidateNodeSelector, v1.37.
func (p *problems) nodeSelector(s *v1.NodeSelector, at *field.Path) {
	terms := at.Child("nodeSelectorTerms")
	if len(s.NodeSelectorTerms) == 0 {
		p.required(terms, "must have at least one node selector term")
		return
	}
	for i := range s.NodeSelectorTerms {
		p.nodeSelectorTerm(&s.NodeSelectorTerms[i], true, terms.Index(i))
	}
}

// nodeSelectorTerm validates one term; values are checked where it is required
// rather than preferred.
func (p *problems) nodeSelectorTerm(term *v1.NodeSelectorTerm, values bool, at *field.Path) {
	for i := range term.MatchExpressions {
		p.nodeExpression(&term.MatchExpressions[i], values, at.Child("matchExpressions").Index(i))
	}
	for i := range term.MatchFields {
		p.nodeField(&term.MatchFields[i], at.Child("matchFields").Index(i))
	}
}

func (p *problems) nodeExpression(e *v1.NodeSelectorRequirement, values bool, at *field.Path) {
	switch e.Operator {
	case v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn:
		if len(e.Values) == 0 {
			p.required(at.Child("values"), "must be specified when `operator` is 'In' or 'NotIn'")
		}
	case v1.NodeSelectorOpExists, v1.NodeSelectorOpDoesNotExist:
		if len(e.Values) > 0 {
			p.forbidden(at.Child("values"), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
		}
	case v1.NodeSelectorOpGt, v1.NodeSelectorOpLt:
		if len(e.Values) != 1 {
			p.required(at.Child("values"), "must be specified single value when `operator` is 'Lt' or 'Gt'")
		}
	default:
		p.invalid(at.Child("operator"), e.Operator, "not a valid selector operator")
	}
	p.qualifiedName(e.Key, at.Child("key"))
	for i, value := range e.Values {
		if values && !isLabelValue(value) {
			p.messages(at.Child("values").Index(i), value, validation.IsValidLabelValue(value))
		}
	}
}

func (p *problems) nodeField(e *v1.NodeSelectorRequirement, at *field.Path) {
	switch e.Operator {
	case v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn:
		if len(e.Values) != 1 {
			p.required(at.Child("values"), "must be only one value when `operator` is 'In' or 'NotIn' for node field selector")
		}
	default:
		p.invalid(at.Child("operator"), e.Operator, "not a valid selector operator")
	}
	if e.Key != metav1.ObjectNameField {
		p.invalid(at.Child("key"), e.Key, "not a valid field selector key")
		return
	}
	for i, value := range e.Values {
		p.subdomain(value, at.Child("values").Index(i))
	}
}

// affinity validates a pod's affinities.
// Upstream: core/validation validateAffinity, v1.37.
func (p *problems) affinity(a *v1.Affinity, at *field.Path) {
	const required, preferred = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
	if n := a.NodeAffinity; n != nil {
		path := at.Child("nodeAffinity")
		if n.RequiredDuringSchedulingIgnoredDuringExecution != nil {
			p.nodeSelector(n.RequiredDuringSchedulingIgnoredDuringExecution, path.Child(required))
		}
		for i := range n.PreferredDuringSchedulingIgnoredDuringExecution {
			term, path := &n.PreferredDuringSchedulingIgnoredDuringExecution[i], path.Child(preferred).Index(i)
			p.weight(term.Weight, path)
			p.nodeSelectorTerm(&term.Preference, false, path.Child("preference"))
		}
	}
	if n := a.PodAffinity; n != nil {
		path := at.Child("podAffinity")
		p.podTerms(n.RequiredDuringSchedulingIgnoredDuringExecution, path.Child(required))
		p.weightedPodTerms(n.PreferredDuringSchedulingIgnoredDuringExecution, path.Child(preferred))
	}
	if n := a.PodAntiAffinity; n != nil {
		path := at.Child("podAntiAffinity")
		p.podTerms(n.RequiredDuringSchedulingIgnoredDuringExecution, path.Child(required))
		p.weightedPodTerms(n.PreferredDuringSchedulingIgnoredDuringExecution, path.Child(preferred))
	}
}

func (p *problems) weight(weight int32, at *field.Path) {
	if weight <= 0 || weight > 100 {
		p.invalid(at.Child("weight"), weight, "must be in the range 1-100")
	}
}

func (p *problems) weightedPodTerms(terms []v1.WeightedPodAffinityTerm, at *field.Path) {
	for i := range terms {
		p.weight(terms[i].Weight, at.Index(i))
		p.podTerm(&terms[i].PodAffinityTerm, at.Index(i).Child("podAffinityTerm"))
	}
}

func (p *problems) podTerms(terms []v1.PodAffinityTerm, at *field.Path) {
	for i := range terms {
		p.podTerm(&terms[i], at.Index(i))
	}
}

func (p *problems) podTerm(term *v1.PodAffinityTerm, at *field.Path) {
	p.labelSelector(term.LabelSelector, at.Child("labelSelector"))
	p.labelSelector(term.NamespaceSelector, at.Child("namespaceSelector"))
	for _, ns := range term.Namespaces {
		p.messages(at.Child("namespace"), ns, apivalidation.ValidateNamespaceName(ns, false))
	}
	p.labelKeys(term.MatchLabelKeys, term.MismatchLabelKeys, term.LabelSelector, at)
	if term.TopologyKey == "" {
		p.required(at.Child("topologyKey"), "can not be empty")
	}
	p.qualifiedName(term.TopologyKey, at.Child("topologyKey"))
}

// labelKeys validates the keys whose values a pod takes over from its own labels
// into a selector. By now they are in the selector, too (see mergeLabelKeys): a key
// that is given twice was named by the selector itself.
// Upstream: core/validation ValidateMatchLabelKeysAndMismatchLabelKeys, v1.37.
func (p *problems) labelKeys(match, mismatch []string, selector *metav1.LabelSelector, at *field.Path) {
	if len(match)+len(mismatch) == 0 {
		return
	}
	p.keysOfLabels(match, selector, at.Child("matchLabelKeys"))
	p.keysOfLabels(mismatch, selector, at.Child("mismatchLabelKeys"))
	if selector != nil && len(match) > 0 {
		seen := slices.Collect(maps.Keys(selector.MatchLabels))
		for _, e := range selector.MatchExpressions {
			if i := slices.Index(match, e.Key); i >= 0 && slices.Contains(seen, e.Key) {
				p.invalid(at.Index(i), e.Key, "exists in both matchLabelKeys and labelSelector")
			}
			seen = append(seen, e.Key)
		}
	}
	for i, key := range match {
		if slices.Contains(mismatch, key) {
			p.invalid(at.Child("matchLabelKeys").Index(i), key, "exists in both matchLabelKeys and mismatchLabelKeys")
		}
	}
}

func (p *problems) keysOfLabels(keys []string, selector *metav1.LabelSelector, at *field.Path) {
	if len(keys) > 0 && selector == nil {
		p.forbidden(at, "must not be specified when labelSelector is not set")
		return
	}
	for i, key := range keys {
		p.qualifiedName(key, at.Index(i))
	}
}

var (
	unsatisfiableActions = []v1.UnsatisfiableConstraintAction{v1.DoNotSchedule, v1.ScheduleAnyway}
	inclusionPolicies    = []v1.NodeInclusionPolicy{v1.NodeInclusionPolicyHonor, v1.NodeInclusionPolicyIgnore}
)

// spreadConstraints validates how pods are to be spread.
// Upstream: core/validation validateTopologySpreadConstraints, v1.37.
func (p *problems) spreadConstraints(constraints []v1.TopologySpreadConstraint, at *field.Path) {
	for i := range constraints {
		c, path := &constraints[i], at.Child("topologySpreadConstraints").Index(i)
		p.aboveZero(c.MaxSkew, path, "maxSkew")
		if c.TopologyKey == "" {
			p.required(path.Child("topologyKey"), "can not be empty")
		}
		if !slices.Contains(unsatisfiableActions, c.WhenUnsatisfiable) {
			p.add(field.NotSupported(path.Child("whenUnsatisfiable"), c.WhenUnsatisfiable, unsatisfiableActions))
		}
		if slices.ContainsFunc(constraints[i+1:], func(o v1.TopologySpreadConstraint) bool {
			return o.TopologyKey == c.TopologyKey && o.WhenUnsatisfiable == c.WhenUnsatisfiable
		}) {
			p.duplicate(path.Child("{topologyKey, whenUnsatisfiable}"), fmt.Sprintf("{%v, %v}", c.TopologyKey, c.WhenUnsatisfiable))
		}
		if c.MinDomains != nil {
			p.aboveZero(*c.MinDomains, path, "minDomains")
			if c.WhenUnsatisfiable != v1.DoNotSchedule {
				p.invalid(path.Child("minDomains"), *c.MinDomains,
					fmt.Sprintf("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not %s", c.WhenUnsatisfiable))
			}
		}
		ifSetOneOf(p, c.NodeAffinityPolicy, inclusionPolicies, path, "nodeAffinityPolicy")
		ifSetOneOf(p, c.NodeTaintsPolicy, inclusionPolicies, path, "nodeTaintsPolicy")
		p.labelKeys(c.MatchLabelKeys, nil, c.LabelSelector, path)
		p.labelSelector(c.LabelSelector, path.Child("labelSelector"))
	}
}

func (p *problems) aboveZero(n int32, at *field.Path, name string) {
	if n <= 0 {
		p.invalid(at.Child(name), n, "must be greater than zero")
	}
}

var taintEffects = []v1.TaintEffect{v1.TaintEffectNoSchedule, v1.TaintEffectPreferNoSchedule, v1.TaintEffectNoExecute}

func (p *problems) taintEffect(effect v1.TaintEffect, at *field.Path) {
	switch effect {
	case v1.TaintEffectNoSchedule, v1.TaintEffectPreferNoSchedule, v1.TaintEffectNoExecute:
	default:
		p.add(field.NotSupported(at, effect, taintEffects))
	}
}

// tolerations validates a pod's tolerations.
// Upstream: core/validation ValidateTolerations, v1.37.
func (p *problems) tolerations(tolerations []v1.Toleration, path *field.Path) {
	for i := range tolerations {
		t, at := &tolerations[i], path.Index(i)
		if t.Key != "" {
			p.qualifiedName(t.Key, at.Child("key"))
		} else if t.Operator != v1.TolerationOpExists {
			p.invalid(at.Child("operator"), t.Operator,
				"operator must be Exists when `key` is empty, which means \"match all values and all keys\"")
		}
		if t.TolerationSeconds != nil && t.Effect != v1.TaintEffectNoExecute {
			p.invalid(at.Child("effect"), t.Effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")
		}
		p.tolerationValue(t, at.Child("operator"))
		if t.Effect != "" {
			p.taintEffect(t.Effect, at.Child("effect"))
		}
	}
}

func (p *problems) tolerationValue(t *v1.Toleration, at *field.Path) {
	known := []v1.TolerationOperator{v1.TolerationOpEqual, v1.TolerationOpExists}
	switch t.Operator {
	case v1.TolerationOpEqual, "":
		if !isLabelValue(t.Value) {
			p.invalid(at, t.Value, strings.Join(validation.IsValidLabelValue(t.Value), ";"))
		}
	case v1.TolerationOpExists:
		if t.Value != "" {
			p.invalid(at, t.Value, "value must be empty when `operator` is 'Exists'")
		}
	case v1.TolerationOpLt, v1.TolerationOpGt: // named as known, and not allowed without a feature gate
		p.add(field.NotSupported(at, t.Operator, append(known, v1.TolerationOpLt, v1.TolerationOpGt)))
	default:
		p.add(field.NotSupported(at, t.Operator, known))
	}
}
