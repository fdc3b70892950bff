package validation

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// CheckNodeSelector validates a required node selector.
// Upstream: core/validation ValidateNodeSelector, v1.37.
func CheckNodeSelector(p *Problems, s *v1.NodeSelector, at *field.Path) {
	terms := at.Child("nodeSelectorTerms")
	if len(s.NodeSelectorTerms) == 0 {
		p.Required(terms, "must have at least one node selector term")
		return
	}
	for i := range s.NodeSelectorTerms {
		CheckNodeSelectorTerm(p, &s.NodeSelectorTerms[i], true, terms.Index(i))
	}
}

// CheckNodeSelectorTerm validates one term; values are checked where it is required
// rather than preferred.
func CheckNodeSelectorTerm(p *Problems, term *v1.NodeSelectorTerm, values bool, at *field.Path) {
	for i := range term.MatchExpressions {
		checkNodeExpression(p, &term.MatchExpressions[i], values, at.Child("matchExpressions").Index(i))
	}
	for i := range term.MatchFields {
		checkNodeField(p, &term.MatchFields[i], at.Child("matchFields").Index(i))
	}
}

func checkNodeExpression(p *Problems, e *v1.NodeSelectorRequirement, values bool, at *field.Path) {
	switch e.Operator {
	case v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn:
		if len(e.Values) == 0 {
			p.Required(at.Child("values"), "must be specified when `operator` is 'In' or 'NotIn'")
		}
	case v1.NodeSelectorOpExists, v1.NodeSelectorOpDoesNotExist:
		if len(e.Values) > 0 {
			p.Forbidden(at.Child("values"), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
		}
	case v1.NodeSelectorOpGt, v1.NodeSelectorOpLt:
		if len(e.Values) != 1 {
			p.Required(at.Child("values"), "must be specified single value when `operator` is 'Lt' or 'Gt'")
		}
	default:
		p.Invalid(at.Child("operator"), e.Operator, "not a valid selector operator")
	}
	p.QualifiedName(e.Key, at.Child("key"))
	for i, value := range e.Values {
		if values && !IsLabelValue(value) {
			p.Messages(at.Child("values").Index(i), value, utilvalidation.IsValidLabelValue(value))
		}
	}
}

func checkNodeField(p *Problems, e *v1.NodeSelectorRequirement, at *field.Path) {
	switch e.Operator {
	case v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn:
		if len(e.Values) != 1 {
			p.Required(at.Child("values"), "must be only one value when `operator` is 'In' or 'NotIn' for node field selector")
		}
	default:
		p.Invalid(at.Child("operator"), e.Operator, "not a valid selector operator")
	}
	if e.Key != metav1.ObjectNameField {
		p.Invalid(at.Child("key"), e.Key, "not a valid field selector key")
		return
	}
	for i, value := range e.Values {
		p.Subdomain(value, at.Child("values").Index(i))
	}
}

var taintEffects = []v1.TaintEffect{v1.TaintEffectNoSchedule, v1.TaintEffectPreferNoSchedule, v1.TaintEffectNoExecute}

// CheckTaintEffect refuses a missing effect and an unknown one.
func CheckTaintEffect(p *Problems, effect v1.TaintEffect, at *field.Path) {
	switch effect {
	case v1.TaintEffectNoSchedule, v1.TaintEffectPreferNoSchedule, v1.TaintEffectNoExecute:
	default:
		p.Add(field.NotSupported(at, effect, taintEffects))
	}
}
