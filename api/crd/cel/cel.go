// Package cel evaluates the rules of custom kinds that are written in CEL
// (x-kubernetes-validations). To have every API server of a program do so, import it:
//
//	import _ "github.com/storagesim/storagesim/api/crd/cel"
//
// Without it rules are stored and not evaluated, and a client that defines some is warned.
// It is a package of its own because the library for CEL doubles the size of a program.
//
// The library is the one of apiextensions-apiserver: rules see self and, in transition
// rules, oldSelf; message, messageExpression, reason and fieldPath, limits of cost and the
// ratcheting of values that do not change work as on a real server. Rules that do not
// compile, or that might cost too much, are refused with the definition.
package cel

import (
	"context"
	"slices"
	"strings"

	internal "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"

	"github.com/storagesim/storagesim/api/crd"
)

func init() { crd.UseEvaluator(evaluator{}) }

type evaluator struct{}

// Check implements crd.Evaluator with upstream's validation of definitions, of which it keeps
// what concerns rules.
func (evaluator) Check(def, old *internal.CustomResourceDefinition) field.ErrorList {
	var errs field.ErrorList
	def = withoutSelectable(def)
	if old == nil {
		errs = validation.ValidateCustomResourceDefinition(context.Background(), def)
	} else {
		errs = validation.ValidateCustomResourceDefinitionUpdate(context.Background(), def, old)
	}
	return slices.DeleteFunc(errs, func(err *field.Error) bool {
		return !strings.Contains(err.Field, "x-kubernetes-validations") && !strings.Contains(err.Detail, "rule cost") &&
			!strings.Contains(err.Detail, "rule compile error")
	})
}

// withoutSelectable returns a definition without selectable fields, in which no rules are: upstream's validation of them panics where a schema is
// not structural (docs/found.md).
func withoutSelectable(def *internal.CustomResourceDefinition) *internal.CustomResourceDefinition {
	out := *def
	out.Spec.SelectableFields, out.Spec.Versions = nil, slices.Clone(def.Spec.Versions)
	for i := range out.Spec.Versions {
		out.Spec.Versions[i].SelectableFields = nil
	}
	return &out
}

// Compile implements crd.Evaluator.
// Upstream: registry/customresource NewStrategy, Validate and ValidateUpdate, v1.37.
func (evaluator) Compile(s *structural.Structural) crd.Validator {
	validator := cel.NewValidator(s, true, celconfig.PerCallLimit)
	if validator == nil {
		return nil
	}
	return func(obj, old map[string]any) field.ErrorList {
		if old == nil {
			errs, _ := validator.Validate(context.Background(), nil, s, obj, nil, celconfig.RuntimeCELCostBudget)
			return errs
		}
		unchanged := cel.WithRatcheting(common.NewCorrelatedObject(obj, old, &model.Structural{Structural: s}))
		errs, _ := validator.Validate(context.Background(), nil, s, obj, old, celconfig.RuntimeCELCostBudget, unchanged)
		return errs
	}
}
