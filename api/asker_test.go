package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/fake"
	"github.com/storagesim/storagesim/api/registry"
	"github.com/storagesim/storagesim/api/webhook"
)

// answers is a program whose webhooks answer what the object says in the annotation with their name, and allow where it says nothing. "down" is an error.
type answers struct {
	asked []string
	then  func()
}

func (a *answers) Serves(client *admissionregistrationv1.WebhookClientConfig) bool {
	return client.Service != nil && client.Service.Name == "known"
}

func (a *answers) Holds(conditions []admissionregistrationv1.MatchCondition, _ webhook.Question) (bool, error) {
	if conditions[0].Expression == "fails" {
		return false, fmt.Errorf("expression %q fails", conditions[0].Name)
	}
	return conditions[0].Expression == "true", nil
}

func (a *answers) Ask(q webhook.Question) (*admissionv1.AdmissionReview, error) {
	r := q.Review.Request
	a.asked = append(a.asked, fmt.Sprintf("%s %s %s", q.Webhook, r.Operation, r.Name))
	if a.then != nil {
		a.then()
	}
	obj := r.Object.Object
	if obj == nil {
		obj = r.OldObject.Object
	}
	text := obj.(metav1.Object).GetAnnotations()[q.Webhook]
	if text == "down" {
		return nil, fmt.Errorf("connection refused")
	}
	response := map[string]any{"uid": r.UID, "allowed": true}
	if err := yaml.Unmarshal([]byte(text), &response); err != nil {
		return nil, err
	}
	if patch, ok := response["patch"].(string); ok {
		response["patch"] = []byte(patch)
	}
	data, err := json.Marshal(map[string]any{"apiVersion": q.Review.APIVersion, "kind": "AdmissionReview", "response": response})
	if err != nil {
		return nil, err
	}
	review := &admissionv1.AdmissionReview{}
	return review, json.Unmarshal(data, review)
}

const hookRules = `
  clientConfig: {service: {namespace: x, name: known}}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: ["*"], resources: [configmaps]}]
  sideEffects: None
  admissionReviewVersions: [v1]
`

// withHooks returns a server whose webhooks a program answers for: a.x, b.x and c.x may change ConfigMaps, d.x checks them.
func withHooks(t *testing.T) (*answers, *fake.Clientset) {
	t.Helper()
	server, client := newServer()
	a := &answers{}
	server.AskWebhooks(a)
	mutating, validating := &admissionregistrationv1.MutatingWebhookConfiguration{}, &admissionregistrationv1.ValidatingWebhookConfiguration{}
	require.NoError(t, yaml.UnmarshalStrict([]byte("metadata: {name: m}\nwebhooks:\n- name: a.example.com"+hookRules+"  reinvocationPolicy: IfNeeded\n"+
		"- name: b.example.com"+hookRules+"  failurePolicy: Ignore\n- name: c.example.com"+hookRules+"  objectSelector: {matchLabels: {c: 'yes'}}\n"+
		"- name: unknown.example.com"+strings.Replace(hookRules, "known", "unknown", 1)), mutating))
	require.NoError(t, yaml.UnmarshalStrict([]byte("metadata: {name: v}\nwebhooks:\n- name: d.example.com"+hookRules+
		"  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: default}}\n"), validating))
	_, err := client.AdmissionregistrationV1().MutatingWebhookConfigurations().Create(ctx, mutating, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(ctx, validating, metav1.CreateOptions{})
	require.NoError(t, err)
	return a, client
}

// noted returns a ConfigMap whose webhooks answer so: "a: …" for a.example.com.
func noted(name string, notes ...string) *v1.ConfigMap {
	c := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{}, Labels: map[string]string{"c": "no"}}}
	for _, note := range notes {
		hook, answer, _ := strings.Cut(note, ": ")
		c.Annotations[hook+".example.com"] = answer
	}
	return c
}

// labelling returns an answer that sets a label.
func labelling(key, value string) string {
	return fmt.Sprintf(`{patchType: JSONPatch, patch: '[{"op":"add","path":"/metadata/labels/%s","value":"%s"}]'}`, key, value)
}

// The real server is compared in conformance/interop/apiserver.
func TestWebhooksChangeAndRefuse(t *testing.T) {
	const failed = `Internal error occurred: failed calling webhook "%s.example.com": `
	for _, tt := range []struct {
		about string
		notes []string
		asked string // a letter each
		says  string // "" if it is stored
	}{
		{"all allow", nil, "abd", ""},
		{"the first changes", []string{"a: " + labelling("x", "y")}, "abd", ""},
		{"the second changes, and the first wants to see that", []string{"b: " + labelling("x", "y")}, "abad", ""},
		{"the selector of the third sees what the second did", []string{"b: " + labelling("c", "yes")}, "abcad", ""},
		{"the first refuses", []string{"a: {allowed: false}"}, "a", `admission webhook "a.example.com" denied the request without explanation`},
		{"the check refuses", []string{"d: {allowed: false, status: {message: never}}"}, "abd", `admission webhook "d.example.com" denied the request: never`},
		{"a check changes", []string{"d: " + labelling("x", "y")}, "abd",
			fmt.Sprintf(failed, "d") + "received invalid webhook response: validating webhook may not return response.patch"},
		{"the first is down", []string{"a: down"}, "a", fmt.Sprintf(failed, "a") + "failed to call webhook: connection refused"},
		{"the second is down, which is ignored", []string{"b: down"}, "abd", ""},
		{"no type of the patch", []string{"a: {patch: '[]'}"}, "a",
			fmt.Sprintf(failed, "a") + "received invalid webhook response: webhook returned response.patch but not response.patchType"},
		{"a patch that does not fit", []string{strings.Replace("a: "+labelling("x", "y"), "labels", "labels/x", 1)}, "a",
			`Internal error occurred: add operation does not apply: doc is missing path: "/metadata/labels/x/x": missing value`},
		{"what a webhook makes is validated", []string{"a: " + labelling("x", "no/value")}, "ab", "metadata.labels: Invalid value"},
		{"the answer to another question", []string{"a: {uid: other}"}, "a", `got "other"`},
	} {
		t.Run(tt.about, func(t *testing.T) {
			a, client := withHooks(t)
			made, err := client.CoreV1().ConfigMaps("default").Create(ctx, noted("cm", tt.notes...), metav1.CreateOptions{})
			var asked strings.Builder
			for _, text := range a.asked {
				assert.Equal(t, ".example.com CREATE cm", text[1:])
				asked.WriteByte(text[0])
			}
			assert.Equal(t, tt.asked, asked.String())
			if tt.says != "" {
				require.ErrorContains(t, err, tt.says)
				return
			}
			require.NoError(t, err)
			changes := strings.Contains(strings.Join(tt.notes, ""), "/x")
			assert.Equal(t, changes, made.Labels["x"] == "y")
		})
	}
}

func TestWebhooksAreAskedAboutUpdatesAndDeletions(t *testing.T) {
	a, client := withHooks(t)
	maps := client.CoreV1().ConfigMaps("default")
	made, err := maps.Create(ctx, &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "made-"}}, metav1.CreateOptions{DryRun: []string{"All"}})
	require.NoError(t, err)
	assert.Equal(t, []string{"a.example.com CREATE ", "b.example.com CREATE ", "d.example.com CREATE " + made.Name}, a.asked, "a name is made in between")

	cm, err := maps.Create(ctx, noted("cm"), metav1.CreateOptions{})
	require.NoError(t, err)
	a.asked = nil
	cm.Annotations["d.example.com"] = "{allowed: false}"
	_, err = maps.Update(ctx, cm, metav1.UpdateOptions{})
	require.ErrorContains(t, err, "denied")
	_, err = maps.Patch(ctx, "cm", types.MergePatchType, []byte(`{"metadata":{"annotations":{"d.example.com":"{allowed: false}"}}}`), metav1.PatchOptions{})
	require.ErrorContains(t, err, "denied")
	assert.Equal(t, []string{"a.example.com UPDATE cm", "b.example.com UPDATE cm", "d.example.com UPDATE cm"}, a.asked[:3])

	a.asked = nil
	other := types.UID("other")
	err = maps.Delete(ctx, "cm", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &other}})
	require.True(t, apierrors.IsConflict(err), "%v", err)
	assert.Empty(t, a.asked, "a precondition refuses before")

	// The object is written while the webhook thinks: it is asked again.
	writes := 0
	a.then = func() {
		if writes++; writes == 1 {
			a.then = nil
			_, err := client.CoreV1().ConfigMaps("default").Patch(ctx, "cm", types.MergePatchType, []byte(`{"data":{"x":"y"}}`), metav1.PatchOptions{})
			require.NoError(t, err)
		}
	}
	require.NoError(t, maps.Delete(ctx, "cm", metav1.DeleteOptions{}))
	var deletions []string
	for _, text := range a.asked {
		if strings.Contains(text, "DELETE") {
			deletions = append(deletions, text[:1])
		}
	}
	assert.Equal(t, []string{"a", "b", "d", "a", "b", "d"}, deletions)

	_, err = maps.Create(ctx, noted("kept"), metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = maps.Patch(ctx, "kept", types.MergePatchType, []byte(`{"metadata":{"annotations":{"a.example.com":"{}"}}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	a.asked = nil
	require.NoError(t, maps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "c"}))
	assert.Equal(t, []string{"a.example.com DELETE ", "b.example.com DELETE ", "d.example.com DELETE "}, a.asked, "a collection has no name")

	a.asked = nil
	_, err = client.CoreV1().ConfigMaps("kube-system").Create(ctx, noted("cm", "d: {allowed: false}"), metav1.CreateOptions{})
	require.NoError(t, err, "the selector of d picks another namespace")
	assert.Len(t, a.asked, 2)
}

// A server says of a configuration whether it asks its webhooks, and warns where it does not.
func TestWebhooksThatAreNotAsked(t *testing.T) {
	server, _ := newServer()
	hook := func(service string) *admissionregistrationv1.ValidatingWebhookConfiguration {
		c := &admissionregistrationv1.ValidatingWebhookConfiguration{}
		require.NoError(t, yaml.UnmarshalStrict([]byte("metadata: {name: v}\nwebhooks:\n- name: d.example.com"+strings.Replace(hookRules, "known", service, 1)), c))
		return c
	}
	assert.False(t, server.Asks(hook("known")))
	server.AskWebhooks(&answers{})
	assert.True(t, server.Asks(hook("known")))
	assert.False(t, server.Asks(hook("other")))
	assert.False(t, server.Asks(&v1.Pod{}))
	for service, want := range map[string][]string{"known": nil, "other": {registry.UnaskedMessage}} {
		var warned []string
		_, err := server.Do(ctx, api.Request{Verb: "create", Resource: admissionregistrationv1.SchemeGroupVersion.WithResource("validatingwebhookconfigurations"),
			Object: hook(service), Write: metav1.PatchOptions{DryRun: []string{"All"}}, Warn: func(text string) { warned = append(warned, text) }})
		require.NoError(t, err)
		assert.Equal(t, want, warned, service)
	}
}

// A match condition decides whether a webhook is asked; one that fails refuses the write, unless failures are ignored.
func TestMatchConditionsOfWebhooks(t *testing.T) {
	for expression, says := range map[string]string{
		"true": "denied the request", "false": "", "fails": `configmaps "cm" is forbidden: expression "only" fails`, "fails, ignored": "",
	} {
		server, client := newServer()
		server.AskWebhooks(&answers{})
		c := &admissionregistrationv1.ValidatingWebhookConfiguration{}
		require.NoError(t, yaml.UnmarshalStrict([]byte("metadata: {name: v}\nwebhooks:\n- name: d.example.com"+hookRules), c))
		condition, ignored := strings.CutSuffix(expression, ", ignored")
		c.Webhooks[0].MatchConditions = []admissionregistrationv1.MatchCondition{{Name: "only", Expression: condition}}
		if ignored {
			c.Webhooks[0].FailurePolicy = new(admissionregistrationv1.Ignore)
		}
		_, err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(ctx, c, metav1.CreateOptions{})
		require.NoError(t, err)
		_, err = client.CoreV1().ConfigMaps("default").Create(ctx, noted("cm", "d: {allowed: false}"), metav1.CreateOptions{})
		if says == "" {
			require.NoError(t, err, expression)
			continue
		}
		require.ErrorContains(t, err, says, expression)
		assert.Equal(t, condition == "fails", apierrors.IsForbidden(err))
	}
}
