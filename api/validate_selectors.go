package api

import (
	v1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// nodeSelector validates a required node selector.
// Upstream: core/validation ValidateNodeSelector, v1.36.
func (p *problems) nodeSelector(s *v1.NodeSelector, at *field.Path) {
	terms := at.Child("nodeSelectorTerms")
	if len(s.NodeSelectorTerms) == 0 {
		p.required(terms, "must have at least one node selector term")
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
// Upstream: core/validation validateAffinity, v1.36.
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
	if term.TopologyKey == "" {
		p.required(at.Child("topologyKey"), "can not be empty")
	}
	p.qualifiedName(term.TopologyKey, at.Child("topologyKey"))
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
// Upstream: core/validation ValidateTolerations, v1.36.
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
	switch t.Operator {
	case v1.TolerationOpEqual, "":
		if !isLabelValue(t.Value) {
			p.messages(at, t.Value, validation.IsValidLabelValue(t.Value))
		}
	case v1.TolerationOpExists:
		if t.Value != "" {
			p.invalid(at, t.Value, "value must be empty when `operator` is 'Exists'")
		}
	default:
		p.add(field.NotSupported(at, t.Operator, []v1.TolerationOperator{v1.TolerationOpEqual, v1.TolerationOpExists}))
	}
}
