package webhook_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/api/webhook"
)

func TestWhatAnAnswerChangesIsToldInWords(t *testing.T) {
	for about, tt := range map[string]struct {
		answer *admissionv1.AdmissionResponse
		want   string
	}{
		"no answer":                {nil, ""},
		"allowed as it is":         {&admissionv1.AdmissionResponse{Allowed: true}, ""},
		"an empty patch":           {&admissionv1.AdmissionResponse{Allowed: true, Patch: []byte("[]")}, ""},
		"a patch that is none":     {&admissionv1.AdmissionResponse{Allowed: true, Patch: []byte(`{"op":`)}, ""},
		"refused, so that nothing": {&admissionv1.AdmissionResponse{Patch: []byte(`[{"op":"add","path":"/a"}]`)}, ""},
		"two changes": {&admissionv1.AdmissionResponse{Allowed: true, Patch: []byte(`[{"op":"add","path":"/a","value":1},{"op":"remove","path":"/b/0"}]`)},
			"webhook h.example.com changes what is to be stored: add /a, remove /b/0"},
	} {
		assert.Equal(t, tt.want, webhook.Question{Webhook: "h.example.com"}.Changes(tt.answer), about)
	}
}

// serves is a program with the webhooks of one Service.
type serves struct {
	webhook.Asker
	service string
}

func (s serves) Serves(client *admissionregistrationv1.WebhookClientConfig) bool {
	return client.Service != nil && client.Service.Name == s.service
}

func TestAConfigurationIsAskedOnlyIfEachOfItsWebhooksIsServed(t *testing.T) {
	at := func(service string) (c admissionregistrationv1.WebhookClientConfig) {
		if service != "" {
			c.Service = &admissionregistrationv1.ServiceReference{Name: service}
		}
		return c
	}
	configurations := func(services ...string) (both []runtime.Object) {
		mutating, validating := &admissionregistrationv1.MutatingWebhookConfiguration{}, &admissionregistrationv1.ValidatingWebhookConfiguration{}
		for _, service := range services {
			mutating.Webhooks = append(mutating.Webhooks, admissionregistrationv1.MutatingWebhook{ClientConfig: at(service)})
			validating.Webhooks = append(validating.Webhooks, admissionregistrationv1.ValidatingWebhook{ClientConfig: at(service)})
		}
		return []runtime.Object{mutating, validating}
	}
	known := webhook.Webhooks{Askers: []webhook.Asker{serves{service: "a"}, serves{service: "b"}}}
	for _, tt := range []struct {
		services []string
		want     bool
	}{
		{nil, true}, {[]string{"a"}, true}, {[]string{"b", "a"}, true}, {[]string{"c"}, false}, {[]string{"a", "c"}, false}, {[]string{"a", ""}, false},
	} {
		for _, c := range configurations(tt.services...) {
			assert.Equal(t, tt.want, known.Asks(c), "%T of %q", c, tt.services)
			assert.Equal(t, len(tt.services) == 0, webhook.Webhooks{}.Asks(c), "%T of %q, of which no program is known", c, tt.services)
		}
	}
	assert.True(t, known.Asks(&v1.Pod{}), "another object has no webhooks")
}
