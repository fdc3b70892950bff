// Package cel evaluates the match conditions of webhooks, which are written in CEL, for programs that answer the server ([webhook.Asker]). It is a
// package of its own because the library for CEL doubles the size of a program.
package cel

import (
	"context"
	"sync"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	upstream "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/storagesim/storagesim/api/webhook"
)

// compiler compiles the conditions of webhooks. It is the same for all of them, and takes a while to make.
var compiler = sync.OnceValue(func() cel.ConditionCompiler {
	return cel.NewConditionCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
})

// Holds reports whether the match conditions of a webhook hold for what it would be asked: see [webhook.Asker]. A condition that cannot be
// evaluated is an error, unless another does not hold.
//
// Upstream: apiserver admission/plugin/webhook/matchconditions, v0.37.2, whose library it is.
func Holds(conditions []admissionregistrationv1.MatchCondition, q webhook.Question) (bool, error) {
	var expressions []cel.ExpressionAccessor
	for i := range conditions {
		expressions = append(expressions, (*matchconditions.MatchCondition)(&conditions[i]))
	}
	asked := q.Review.Request
	kind, obj, old := schema.GroupVersionKind(asked.Kind), asked.Object.Object, asked.OldObject.Object
	attributes := upstream.NewAttributesRecord(obj, old, kind, asked.Namespace, asked.Name,
		schema.GroupVersionResource(asked.Resource), asked.SubResource, upstream.Operation(asked.Operation), asked.Options.Object, *asked.DryRun,
		&user.DefaultInfo{Name: asked.UserInfo.Username, Groups: asked.UserInfo.Groups})
	versioned := &upstream.VersionedAttributes{
		Attributes: attributes, VersionedObject: upstream.NewLazyObject(obj), VersionedOldObject: upstream.NewLazyObject(old), VersionedKind: kind,
	}
	evaluator := compiler().CompileCondition(expressions, cel.OptionalVariableDeclarations{HasAuthorizer: true}, environment.StoredExpressions)
	fail := admissionregistrationv1.Fail
	result := matchconditions.NewMatcher(evaluator, &fail, "webhook", "", q.Webhook).Match(context.Background(), versioned, nil, everything{})
	return result.Matches, result.Error
}

// everything allows everything: in the simulation every client may do everything.
type everything struct{}

// Authorize implements authorizer.UnconditionalAuthorizer.
func (everything) Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	return authorizer.DecisionAllow, "", nil
}
