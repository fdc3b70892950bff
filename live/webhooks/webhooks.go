// Package webhooks asks the admission webhooks of programs that run outside, over HTTPS, as kube-apiserver does: those of a Service that
// [Config.Services] leads to an address and, with [Config.URLs], those whose configuration has a URL. `storagesim serve` can ask them. In a cluster
// that is not served nothing waits for another program, so that its runs can be repeated.
//
// A call takes real time. A write of an actor waits for it as that of a client does, and meanwhile no actor does anything.
package webhooks

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	admissionv1beta1 "k8s.io/api/admission/v1beta1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	upstream "k8s.io/apiserver/pkg/util/webhook"

	"github.com/storagesim/storagesim/api/webhook"
	"github.com/storagesim/storagesim/api/webhook/cel"
	"github.com/storagesim/storagesim/trace"
)

// Config says where the webhooks of Services are.
type Config struct {
	// Services has the addresses, such as 127.0.0.1:9443, of the programs that listen for a Service, by its namespace/name. The program needs a
	// certificate for name.namespace.svc, which the configuration's caBundle verifies. Webhooks of other Services are not asked, and who writes
	// their configuration is warned of that.
	Services map[string]string
	// URLs says that webhooks are asked whose configuration has a URL. Who may write a configuration can then make this machine call any HTTPS address.
	// Default: they are not asked, and who writes one is warned.
	URLs bool
	// CABundle verifies the certificates of webhooks whose configuration has no caBundle, in PEM. Default: the machine's own authorities, as in
	// kube-apiserver.
	CABundle []byte
	// Tell, if set, is called with what a webhook changes in an object that is about to be stored, in the goroutine of the write.
	Tell func(about trace.Ref, text string)
}

// Webhooks asks webhooks over HTTPS: give it to api.Server.AskWebhooks. It may be used by several goroutines at once.
type Webhooks struct {
	config Config
	client upstream.ClientManager
}

var _ webhook.Asker = (*Webhooks)(nil)

// New returns what asks webhooks. An error names the service whose name or address is wrong.
func New(cfg Config) (*Webhooks, error) {
	for _, service := range slices.Sorted(maps.Keys(cfg.Services)) {
		namespace, name, ok := strings.Cut(service, "/")
		if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
			return nil, fmt.Errorf("the Service of a webhook: %q is not namespace/name", service)
		}
		host, port, err := net.SplitHostPort(cfg.Services[service])
		if number, wrong := strconv.ParseUint(port, 10, 16); err != nil || wrong != nil || host == "" || number == 0 {
			return nil, fmt.Errorf("the Service of a webhook: %s: %q is not an address and a port such as 127.0.0.1:9443", service, cfg.Services[service])
		}
	}
	client, err := upstream.NewClientManager(
		[]schema.GroupVersion{admissionv1.SchemeGroupVersion, admissionv1beta1.SchemeGroupVersion}, admissionv1.AddToScheme, admissionv1beta1.AddToScheme)
	if err != nil {
		return nil, err
	}
	resolver, err := upstream.NewDefaultAuthenticationInfoResolver("")
	if err != nil {
		return nil, err
	}
	w := &Webhooks{config: cfg, client: client}
	w.client.SetAuthenticationInfoResolver(resolver)
	w.client.SetServiceResolver(w)
	return w, w.client.Validate()
}

// ResolveEndpoint implements upstream's ServiceResolver.
func (w *Webhooks) ResolveEndpoint(namespace, name string, _ int32) (*url.URL, error) {
	return &url.URL{Scheme: "https", Host: w.config.Services[namespace+"/"+name]}, nil
}

// Serves implements webhook.Asker.
func (w *Webhooks) Serves(client *admissionregistrationv1.WebhookClientConfig) bool {
	if at := client.Service; at != nil {
		return w.config.Services[at.Namespace+"/"+at.Name] != ""
	}
	return client.URL != nil && w.config.URLs
}

// Holds implements webhook.Asker.
func (w *Webhooks) Holds(conditions []admissionregistrationv1.MatchCondition, q webhook.Question) (bool, error) {
	return cel.Holds(conditions, q)
}

// Ask implements webhook.Asker.
//
// Upstream: mutatingDispatcher.callAttrMutatingHook, v0.37.2.
func (w *Webhooks) Ask(q webhook.Question) (*admissionv1.AdmissionReview, error) {
	client, err := w.client.HookClient(w.clientConfig(q))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), q.Timeout)
	defer cancel()
	var asked, answer runtime.Object = q.Review, &admissionv1.AdmissionReview{}
	if q.Review.APIVersion == admissionv1beta1.SchemeGroupVersion.String() {
		asked, answer = &admissionv1beta1.AdmissionReview{}, &admissionv1beta1.AdmissionReview{}
		if err := convert(q.Review, asked); err != nil {
			return nil, err
		}
	}
	if err := client.Post().Body(asked).Timeout(q.Timeout).Do(ctx).Into(answer); err != nil {
		return nil, err
	}
	review := &admissionv1.AdmissionReview{}
	if err := convert(answer, review); err != nil {
		return nil, err
	}
	if changes := q.Changes(review.Response); changes != "" && w.config.Tell != nil {
		about := q.Review.Request
		w.config.Tell(trace.Ref{Kind: about.Kind.Kind, Namespace: about.Namespace, Name: about.Name}, changes)
	}
	return review, nil
}

// convert makes a review of another version, which has the same fields.
func convert(from, to runtime.Object) error {
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}

// clientConfig says how to reach a webhook.
// Upstream: apiserver pkg/admission/plugin/webhook/accessors.go hookClientConfigForWebhook, v0.37.2.
func (w *Webhooks) clientConfig(q webhook.Question) upstream.ClientConfig {
	cfg := upstream.ClientConfig{Name: q.Webhook, CABundle: q.Client.CABundle}
	if len(cfg.CABundle) == 0 {
		cfg.CABundle = w.config.CABundle
	}
	if q.Client.URL != nil {
		cfg.URL = *q.Client.URL
	}
	if at := q.Client.Service; at != nil {
		cfg.Service = &upstream.ClientConfigService{Name: at.Name, Namespace: at.Namespace}
		if at.Port != nil {
			cfg.Service.Port = *at.Port
		}
		if at.Path != nil {
			cfg.Service.Path = *at.Path
		}
	}
	return cfg
}
