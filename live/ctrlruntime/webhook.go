package ctrlruntime

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	upstream "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/storagesim/storagesim/api/webhook"
	"github.com/storagesim/storagesim/trace"
)

// webhooks answers for the webhooks of an operator, in whichever life it is.
type webhooks struct {
	namespace, service string
	process            atomic.Pointer[process]
}

var _ webhook.Asker = (*webhooks)(nil)

// webhooksOf reads Operator.WebhookService.
func webhooksOf(op Operator) (*webhooks, error) {
	namespace, service, ok := strings.Cut(op.WebhookService, "/")
	if !ok || namespace == "" || service == "" || strings.Contains(service, "/") {
		return nil, fmt.Errorf("ctrlruntime: operator %s: WebhookService: %q is not namespace/name of a Service", op.Name, op.WebhookService)
	}
	return &webhooks{namespace: namespace, service: service}, nil
}

// Serves implements webhook.Asker.
func (w *webhooks) Serves(client *admissionregistrationv1.WebhookClientConfig) bool {
	return client.Service != nil && client.Service.Namespace == w.namespace && client.Service.Name == w.service
}

// Ask implements webhook.Asker. The handler runs in the goroutine of the request that is admitted, as a part of its step.
func (w *webhooks) Ask(q webhook.Question) (_ *admissionv1.AdmissionReview, err error) {
	path, port := "", int32(443)
	if at := q.Client.Service; at.Path != nil {
		path = *at.Path
	}
	if at := q.Client.Service; at.Port != nil {
		port = *at.Port
	}
	url := fmt.Sprintf("https://%s.%s.svc:%d/%s?timeout=%s", w.service, w.namespace, port, strings.TrimPrefix(path, "/"), q.Timeout)
	p := w.process.Load()
	if p == nil || p.ctx.Err() != nil {
		return nil, fmt.Errorf("Post %q: dial tcp: connect: connection refused", url)
	}
	body, err := json.Marshal(q.Review)
	if err != nil {
		return nil, err
	}
	asked, err := http.NewRequestWithContext(p.ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	asked.Header.Set("Content-Type", "application/json")
	answer := httptest.NewRecorder()
	defer p.asked.enter()()
	defer func() {
		if thrown := recover(); thrown != nil { // a server of HTTP closes the connection
			err = fmt.Errorf("Post %q: EOF", url)
		}
	}()
	p.hooks.ServeHTTP(answer, asked)
	if answer.Code != http.StatusOK {
		text := strings.TrimSpace(answer.Body.String())
		return nil, apierrors.NewGenericServerResponse(answer.Code, "post", schema.GroupResource{}, "", text, 0, true)
	}
	review := &admissionv1.AdmissionReview{}
	if err := json.Unmarshal(answer.Body.Bytes(), review); err != nil {
		return nil, err
	}
	p.tellPatch(q, review.Response)
	return review, nil
}

// tellPatch records what a webhook changes. What it refuses is told with the write.
func (p *process) tellPatch(q webhook.Question, answer *admissionv1.AdmissionResponse) {
	var operations []struct{ Op, Path string }
	if answer == nil || !answer.Allowed || json.Unmarshal(answer.Patch, &operations) != nil || len(operations) == 0 {
		return
	}
	var does []string
	for _, o := range operations {
		does = append(does, o.Op+" "+o.Path)
	}
	asked := q.Review.Request
	p.env.Trace(trace.Decision{
		About: trace.Ref{Kind: asked.Kind.Kind, Namespace: asked.Namespace, Name: asked.Name},
		Text:  fmt.Sprintf("webhook %s changes what is to be stored: %s", q.Webhook, strings.Join(does, ", ")),
	})
}

// compiler compiles the conditions of webhooks. It is the same for all operators, and takes a while to make.
var compiler = sync.OnceValue(func() cel.ConditionCompiler {
	return cel.NewConditionCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
})

// Holds implements webhook.Asker.
func (w *webhooks) Holds(conditions []admissionregistrationv1.MatchCondition, q webhook.Question) (bool, error) {
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
