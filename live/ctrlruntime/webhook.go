package ctrlruntime

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/storagesim/storagesim/api/webhook"
	"github.com/storagesim/storagesim/api/webhook/cel"
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
	if changes := q.Changes(review.Response); changes != "" {
		about := q.Review.Request
		p.env.Trace(trace.Decision{About: trace.Ref{Kind: about.Kind.Kind, Namespace: about.Namespace, Name: about.Name}, Text: changes})
	}
	return review, nil
}

// Holds implements webhook.Asker.
func (w *webhooks) Holds(conditions []admissionregistrationv1.MatchCondition, q webhook.Question) (bool, error) {
	return cel.Holds(conditions, q)
}
