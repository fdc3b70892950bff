package apiserver

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/crd"
	"github.com/storagesim/storagesim/api/registry"
	"github.com/storagesim/storagesim/api/rest"
	"github.com/storagesim/storagesim/live/webhooks"
)

// hooks answers reviews as the object says in its annotation "answer" + the path, and allows where it says nothing. It keeps what it was asked.
type hooks struct {
	mu    sync.Mutex
	asked []string
}

func (h *hooks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	var review struct {
		metav1.TypeMeta
		Request struct {
			UID               string
			Object, OldObject *struct{ metav1.PartialObjectMetadata }
		}
	}
	if err := json.Unmarshal(body, &review); err != nil {
		panic(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(body, &fields); err != nil {
		panic(err)
	}
	request := fields["request"].(map[string]any)
	delete(request, "userInfo")
	h.mu.Lock()
	h.asked = append(h.asked, fmt.Sprintf("%s?%s %s", r.URL.Path, r.URL.RawQuery, chosen(plain(fields))))
	h.mu.Unlock()
	answer := ""
	for _, obj := range []*struct{ metav1.PartialObjectMetadata }{review.Request.Object, review.Request.OldObject} {
		if obj != nil && answer == "" {
			answer = obj.Annotations["answer"+strings.ReplaceAll(r.URL.Path, "/", ".")]
		}
	}
	if code := 0; answer != "" {
		if _, err := fmt.Sscanf(answer, "status %d", &code); err == nil {
			http.Error(w, "it does not want to", code)
			return
		}
	}
	response := map[string]any{"uid": review.Request.UID, "allowed": true}
	whole := map[string]any{"apiVersion": review.APIVersion, "kind": "AdmissionReview"}
	if answer != "" {
		if err := yaml.Unmarshal([]byte(answer), &response); err != nil {
			panic(err)
		}
		if patch, ok := response["patch"].(string); ok {
			response["patch"] = []byte(patch)
		}
		if version, ok := response["version"].(string); ok {
			whole["apiVersion"] = version
		}
	}
	if response["absent"] == nil {
		whole["response"] = response
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(whole)
}

// plain returns JSON without what each server chooses for itself.
func plain(value any) string {
	var strip func(v any) any
	strip = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			for _, own := range []string{"resourceVersion", "creationTimestamp", "deletionTimestamp", "time", "managedFields"} {
				delete(v, own)
			}
			for key, item := range v {
				v[key] = strip(item)
				if text, ok := v[key].(string); ok && strings.EqualFold(key, "uid") && text != "" {
					v[key] = "UID"
				}
			}
		case []any:
			for i := range v {
				v[i] = strip(v[i])
			}
		}
		return v
	}
	text, err := json.Marshal(strip(value))
	if err != nil {
		panic(err)
	}
	return string(text)
}

// chosen hides the names and UIDs that a server makes.
func chosen(text string) string {
	text = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`).ReplaceAllString(text, "UID")
	return regexp.MustCompile(`"made-[a-z0-9]{5}"`).ReplaceAllString(text, `"made-NAME"`)
}

const hookConfigs = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: b}
webhooks:
- &hook
  name: first.example.com
  clientConfig: {url: "https://HOST/first", caBundle: "CA"}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: ["*"], resources: [configmaps, persistentvolumeclaims, persistentvolumeclaims/status]},
    {apiGroups: [example.com], apiVersions: [v1], operations: ["*"], resources: ["*/*"]}]
  sideEffects: None
  admissionReviewVersions: [v1]
  reinvocationPolicy: IfNeeded
- <<: *hook
  name: second.example.com
  clientConfig: {url: "https://HOST/second", caBundle: "CA"}
  reinvocationPolicy: Never
  timeoutSeconds: 7
- <<: *hook
  name: ignored.example.com
  clientConfig: {url: "https://HOST/ignored", caBundle: "CA"}
  failurePolicy: Ignore
  objectSelector: {matchLabels: {ignored: "yes"}}
  matchPolicy: Exact
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: a}
webhooks:
- name: check.example.com
  clientConfig: {url: "https://HOST/check", caBundle: "CA"}
  rules: [{apiGroups: ["", example.com], apiVersions: [v1], operations: [CREATE, UPDATE, DELETE], resources: ["*"], scope: Namespaced}]
  namespaceSelector: {matchExpressions: [{key: unchecked, operator: DoesNotExist}]}
  sideEffects: NoneOnDryRun
  admissionReviewVersions: [v2, v1beta1, v1]
`

const twoVersions = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Thing, plural: things}
  versions:
  - &version {name: v1, served: true, storage: true, subresources: {status: {}},
      schema: {openAPIV3Schema: {type: object, properties: {
        spec: {type: object, properties: {size: {type: integer, default: 3}}}, status: {type: object, properties: {x: {type: string}}}}}}}
  - {<<: *version, name: v2, storage: false}
`

// ask is a request. The body is YAML.
type ask struct{ verb, path, contentType, body string }

const configMapsPath, claimsPath = "/api/v1/namespaces/default/configmaps", "/api/v1/namespaces/default/persistentvolumeclaims"

func post(path, body string) ask { return ask{http.MethodPost, path, "application/yaml", body} }

// configMap returns one whose webhooks give these answers: path, answer, and so on.
func configMap(name string, answers ...string) ask {
	notes := map[string]string{}
	for i := 0; i < len(answers); i += 2 {
		notes["answer."+answers[i]] = answers[i+1]
	}
	text, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "annotations": notes, "labels": map[string]string{"ignored": "yes"}},
	})
	if err != nil {
		panic(err)
	}
	return post(configMapsPath, string(text))
}

func asks() []ask {
	adds := func(path string) string {
		return `{patchType: JSONPatch, patch: '[{"op":"add","path":"` + path + `","value":"x"}]'}`
	}
	list := []ask{
		configMap("plain"),
		post(configMapsPath+"?dryRun=All&fieldManager=me&fieldValidation=Strict", "{apiVersion: v1, kind: ConfigMap, metadata: {generateName: made-}}"),
		{"PATCH", configMapsPath + "/plain", "application/merge-patch+json", "{metadata: {labels: {a: b}}}"},
		{"PATCH", configMapsPath + "/plain?fieldManager=me&force=true", "application/apply-patch+yaml",
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: plain}, data: {x: z}}"},
		{"PUT", configMapsPath + "/plain", "application/yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: plain}}"},
		{"PUT", configMapsPath + "/absent", "application/yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: absent}}"},
		{"DELETE", configMapsPath + "/plain", "application/json", `{"propagationPolicy":"Background"}`},
		{"DELETE", configMapsPath + "/plain", "application/json", ""},

		configMap("patched-first", "first", adds("/metadata/labels/first")),
		configMap("patched-second", "second", adds("/metadata/labels/second")),
		configMap("patched-ignored", "ignored", adds("/metadata/labels/ignored2")),
		configMap("patched-wrongly", "second", adds("/nowhere/labels/second")),
		configMap("patched-into-nothing", "second", `{patchType: JSONPatch, patch: '[{"op":"replace","path":"/data","value":"x"}]'}`),
		configMap("patched-unknown-field", "second", adds("/strange")),
		configMap("patched-same", "second", `{patchType: JSONPatch, patch: '[{"op":"replace","path":"/metadata/labels/ignored","value":"yes"}]'}`),
		configMap("patched-name", "second", `{patchType: JSONPatch, patch: '[{"op":"replace","path":"/metadata/name","value":"other"}]'}`),
		configMap("patched-to-be-invalid", "second", `{patchType: JSONPatch, patch: '[{"op":"add","path":"/data","value":{"a/b":"x"}}]'}`),
		configMap("no-type", "first", `{patch: '[{"op":"add","path":"/metadata/labels/x","value":"x"}]'}`),
		configMap("no-patch", "first", `{patchType: JSONPatch}`),
		configMap("other-type", "first", `{patchType: Merge, patch: '{}'}`),
		configMap("undecodable", "first", `{patchType: JSONPatch, patch: '{"op":'}`),
		configMap("empty-patch", "first", `{patchType: JSONPatch, patch: '[]'}`),
		configMap("check-patches", "check", adds("/metadata/labels/x")),
		configMap("absent", "first", `{absent: true}`),
		configMap("wrong-uid", "first", `{uid: "other"}`),
		configMap("wrong-version", "first", `{version: "admission.k8s.io/v1beta1"}`),
		configMap("checked-with-wrong-uid", "check", `{uid: "other"}`),
		configMap("warned", "first", `{warnings: ["be careful", ""]}`, "check", `{warnings: ["really"]}`),
		configMap("ignored-error", "ignored", "status 500"),
		configMap("ignored-refusal", "ignored", `{allowed: false}`),
		configMap("refused", "first", `{allowed: false}`),
		configMap("refused-message", "second", `{allowed: false, status: {message: "no"}}`),
		configMap("refused-reason", "check", `{allowed: false, status: {reason: Expired}}`),
		configMap("refused-code", "check", `{allowed: false, status: {code: 418, message: "tea", status: Success}}`),
		configMap("refused-low", "check", `{allowed: false, status: {code: 200, message: "low"}, warnings: [also]}`),
		configMap("kept", "check", "{}"),
		{"PATCH", configMapsPath + "/kept", "application/merge-patch+json",
			`{metadata: {annotations: {answer.check: "{allowed: false}", answer.first: "", answer.second: ""}}}`},
		{"PATCH", configMapsPath + "/warned", "application/merge-patch+json",
			"metadata: {annotations: {answer.first: " + strconv.Quote(adds("/metadata/labels/y")) + "}}"},
		{"DELETE", configMapsPath + "/warned", "application/json", ""},
		{"DELETE", configMapsPath + "?labelSelector=first", "application/json", `{"gracePeriodSeconds":0}`},

		post(claimsPath, "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c}, "+
			"spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}"),
		{"PATCH", claimsPath + "/c/status", "application/merge-patch+json", "{status: {phase: Bound}}"},
		{"DELETE", claimsPath + "/c", "application/json", `{"preconditions":{"uid":"other"}}`},
		{"DELETE", claimsPath + "/c", "application/json", ""},

		post("/api/v1/namespaces/default/pods", "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {nodeName: n, containers: [{name: c, image: c}]}}"),
		{"DELETE", "/api/v1/namespaces/default/pods/p", "application/json", ""},
		{"DELETE", "/api/v1/namespaces/default/pods/p", "application/json", ""},
		{"DELETE", "/api/v1/namespaces/default/pods/p", "application/json", `{"gracePeriodSeconds":5}`},
		{"DELETE", "/api/v1/namespaces/default/pods/p", "application/json", `{"gracePeriodSeconds":0}`},

		post("/api/v1/namespaces", "{apiVersion: v1, kind: Namespace, metadata: {name: free, labels: {unchecked: 'yes'}}}"),
		post("/api/v1/namespaces/free/configmaps", `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, annotations: {answer.check: "{allowed: false}"}}}`),
		{"DELETE", "/api/v1/namespaces/free/configmaps/x", "application/json", ""},
		post("/api/v1/namespaces/missing/configmaps", `{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}`),
	}
	for _, version := range []string{"v1", "v2"} {
		things := "/apis/example.com/" + version + "/namespaces/default/things"
		thing := func(name, hook, patch string) string {
			if hook != "" {
				patch = ", labels: {a: b}, annotations: {answer." + hook + ": " + strconv.Quote("{patchType: JSONPatch, patch: '["+patch+"]'}") + "}"
			}
			return fmt.Sprintf("{apiVersion: example.com/%s, kind: Thing, metadata: {name: %s%s}, spec: {}}", version, name, patch)
		}
		list = append(list,
			post(things, thing("t"+version, "", "")),
			post(things, thing("p"+version, "first", `{"op":"add","path":"/spec/size","value":7}`)),
			post(things, thing("same"+version, "second", `{"op":"replace","path":"/metadata/labels/a","value":"b"}`)),
			ask{"PATCH", things + "/t" + version + "/status", "application/merge-patch+json", "{status: {x: z}}"},
			ask{"DELETE", things + "/t" + version, "application/json", ""},
		)
	}
	return list
}

// withoutPhase takes out the phase of a new claim: a real server stores it without one, and shows Pending to all but the webhooks that check it.
func withoutPhase(asked []string) (list []string) {
	for _, text := range asked {
		if strings.HasPrefix(text, "/check") {
			text = strings.Replace(text, `"status":{"phase":"Pending"}`, `"status":{}`, 1)
		}
		list = append(list, text)
	}
	return list
}

// collectionPath matches the path of the collection that a request is about.
var collectionPath = regexp.MustCompile(`^(/api/v1|/apis/[^/]+/[^/]+)(/namespaces/[^/]+)?/[^/?]+`)

// caughtUp waits until the server's cache has what a request has written: a list that asks for no version is answered from the cache when that is as new as the
// store. The real server changes first what its cache has, which may be late, and then it asks once more.
func caughtUp(t *testing.T, client *http.Client, url string, a ask) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+collectionPath.FindString(a.path), nil)
	require.NoError(t, err)
	answer, err := client.Do(r)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
}

// played has the answer of a server, and the questions that it asked meanwhile.
type played struct {
	answer string
	asked  []string
}

func play(t *testing.T, url string, transport http.RoundTripper, h *hooks, list []ask) (all []played) {
	client := &http.Client{Transport: transport}
	for _, a := range list {
		body := []byte(a.body)
		if a.contentType != "application/yaml" && a.contentType != "application/apply-patch+yaml" && a.body != "" {
			var err error
			body, err = yaml.YAMLToJSON(body)
			require.NoError(t, err)
		}
		r, err := http.NewRequestWithContext(t.Context(), a.verb, url+a.path, bytes.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Content-Type", a.contentType)
		answer, err := client.Do(r)
		require.NoError(t, err)
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		var fields any
		if json.Unmarshal(text, &fields) == nil {
			text = []byte(chosen(plain(fields)))
		}
		caughtUp(t, client, url, a)
		h.mu.Lock()
		all = append(all, played{fmt.Sprintf("%d %s %q", answer.StatusCode, text, answer.Header.Values("Warning")), h.asked})
		h.asked = nil
		h.mu.Unlock()
	}
	return all
}

// configure has a server ask webhooks, which answer over HTTPS, and know the kind that they are asked about.
func configure(t *testing.T, url string, transport http.RoundTripper, h *hooks) {
	backend := httptest.NewTLSServer(h)
	t.Cleanup(backend.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: backend.Certificate().Raw})
	encoded, err := json.Marshal(ca)
	require.NoError(t, err)
	configs := strings.NewReplacer("HOST", strings.TrimPrefix(backend.URL, "https://"), `"CA"`, string(encoded)).Replace(hookConfigs)
	list := []ask{post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", twoVersions)}
	for text := range strings.SplitSeq(configs, "\n---\n") {
		object := &metav1.PartialObjectMetadata{}
		require.NoError(t, yaml.Unmarshal([]byte(text), object))
		plural, _ := meta.UnsafeGuessKindToResource(object.GroupVersionKind())
		list = append(list, post("/apis/admissionregistration.k8s.io/v1/"+plural.Resource, text))
	}
	for i, p := range play(t, url, transport, h, list) {
		require.Contains(t, p.answer[:4], "201", list[i].body+"\n"+p.answer)
	}
}

// askedAbout reports whether a server asks the webhooks of both kinds about objects of each version, of which it stores none.
func askedAbout(t *testing.T, url string, transport http.RoundTripper, h *hooks) bool {
	list := []ask{post(configMapsPath+"?dryRun=All", "{apiVersion: v1, kind: ConfigMap, metadata: {name: early}}")}
	for _, version := range []string{"v1", "v2"} {
		list = append(list, post("/apis/example.com/"+version+"/namespaces/default/things?dryRun=All",
			"{apiVersion: example.com/"+version+", kind: Thing, metadata: {name: early}, spec: {}}"))
	}
	for _, p := range play(t, url, transport, h, list) {
		asked := strings.Join(p.asked, "\n")
		if !strings.Contains(asked, "/first?") || !strings.Contains(asked, "/second?") || !strings.Contains(asked, "/check?") {
			return false
		}
	}
	return true
}

// Which webhooks are asked about which request, in which words, and what becomes of their answers.
func TestWebhooksAreAskedAsByTheRealServer(t *testing.T) {
	real := start(t)
	theirs, mine := &hooks{}, &hooks{}
	now := func() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }
	kinds := registry.New()
	server := api.NewServer(api.Config{Now: now, Registry: kinds})
	require.NoError(t, crd.Install(server, now))
	require.NoError(t, server.Furnish(nil))
	over, err := webhooks.New(webhooks.Config{URLs: true})
	require.NoError(t, err)
	server.AskWebhooks(over)
	transport := rest.New(server, kinds, now).Config("kubectl").Transport

	configure(t, real.URL, real.Transport(), theirs)
	configure(t, "http://storagesim", transport, mine)
	for end := time.Now().Add(time.Minute); !askedAbout(t, real.URL, real.Transport(), theirs); time.Sleep(50 * time.Millisecond) {
		require.True(t, time.Now().Before(end), "the real server's caches have not learnt of the webhooks and of the definition")
	}
	list := asks()
	want, got := play(t, real.URL, real.Transport(), theirs, list), play(t, "http://storagesim", transport, mine, list)
	for i, a := range list {
		about := fmt.Sprintf("%s %s %s", a.verb, a.path, a.body)
		assert.Equal(t, want[i].answer, got[i].answer, about)
		if a.path == claimsPath {
			got[i].asked = withoutPhase(got[i].asked)
		}
		assert.Equal(t, want[i].asked, got[i].asked, about)
	}
}
