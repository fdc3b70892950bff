package rest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	restclient "k8s.io/client-go/rest"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/rest"
	"github.com/storagesim/storagesim/internal/rigs/clienttest"
)

// handler serves a server.
func handler(server *api.Server) *rest.Handler { return rest.New(server, server.Registry(), time.Now) }

// eachWay runs a test over the ways into a server: without a port and over HTTP, with
// JSON and with protobuf.
func eachWay(t *testing.T, test func(t *testing.T, server *api.Server, config *restclient.Config)) {
	t.Helper()
	for _, content := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		t.Run("in process, "+content, func(t *testing.T) {
			server := api.NewServer(api.Config{})
			config := handler(server).Config("tester")
			config.ContentType = content
			test(t, server, config)
		})
		t.Run("over HTTP, "+content, func(t *testing.T) {
			server := api.NewServer(api.Config{})
			listener := httptest.NewServer(handler(server))
			t.Cleanup(listener.Close)
			test(t, server, &restclient.Config{Host: listener.URL, UserAgent: "tester/v1", QPS: -1, ContentConfig: restclient.ContentConfig{ContentType: content}})
		})
	}
}

func claim(name string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Labels: map[string]string{"app": name}},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			},
		},
	}
}

func clients(t testing.TB, config *restclient.Config) *kubernetes.Clientset {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	return client
}

func TestClientsOfARESTConfigKeepTheirPromises(t *testing.T) {
	for _, content := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		t.Run(content, func(t *testing.T) {
			clienttest.Run(t, func(t *testing.T) kubernetes.Interface {
				config := handler(api.NewServer(api.Config{})).Config("tester")
				config.ContentType = content
				return clients(t, config)
			})
		})
	}
}

func TestAWatchEndsAfterItsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := clients(t, handler(api.NewServer(api.Config{})).Config("tester"))
		seconds := int64(90)
		begun := time.Now()
		w, err := client.CoreV1().Pods("").Watch(t.Context(), metav1.ListOptions{TimeoutSeconds: &seconds})
		require.NoError(t, err)
		for range w.ResultChan() {
		}
		assert.Equal(t, 90*time.Second, time.Since(begun))
	})
}

func TestDynamicAndMetadataClientsWork(t *testing.T) {
	server := api.NewServer(api.Config{})
	config := handler(server).Config("tester")
	_, err := clients(t, config).CoreV1().PersistentVolumeClaims("default").Create(t.Context(), claim("data"), metav1.CreateOptions{})
	require.NoError(t, err)
	gvr := schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}

	dyn, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	obj, err := dyn.Resource(gvr).Namespace("default").Get(t.Context(), "data", metav1.GetOptions{})
	require.NoError(t, err)
	size, _, err := unstructured.NestedString(obj.Object, "spec", "resources", "requests", "storage")
	require.NoError(t, err)
	assert.Equal(t, "1Gi", size)

	meta, err := metadata.NewForConfig(config)
	require.NoError(t, err)
	list, err := meta.Resource(gvr).Namespace("default").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 1)
	assert.Equal(t, "data", list.Items[0].Name)
}

func TestDiscoveryListsEveryKindWithWhatCanBeDone(t *testing.T) {
	config := handler(api.NewServer(api.Config{})).Config("tester")
	client := clients(t, config)
	version, err := client.Discovery().ServerVersion()
	require.NoError(t, err)
	assert.Equal(t, "v1.37.2", version.GitVersion)
	_, lists, err := client.Discovery().ServerGroupsAndResources()
	require.NoError(t, err)
	found := map[string]metav1.APIResource{}
	for _, list := range lists {
		for _, r := range list.APIResources {
			found[list.GroupVersion+" "+r.Name] = r
		}
	}
	assert.Equal(t, []string{"pvc"}, found["v1 persistentvolumeclaims"].ShortNames)
	assert.Contains(t, found, "v1 persistentvolumeclaims/status")
	assert.Contains(t, found, "v1 pods/eviction")
	assert.False(t, found["storage.k8s.io/v1 storageclasses"].Namespaced)
	assert.Contains(t, found["v1 pods"].Verbs, "watch")
}

// ask makes a bare request.
func ask(t *testing.T, method, path, contentType, accept, body string) (int, http.Header, string) {
	t.Helper()
	server := api.NewServer(api.Config{})
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	handler(server).ServeHTTP(w, r)
	answer, err := io.ReadAll(w.Result().Body)
	require.NoError(t, err)
	return w.Code, w.Header(), string(answer)
}

func TestBadRequestsGetTheAnswersOfARealServer(t *testing.T) {
	const claims = "/api/v1/namespaces/default/persistentvolumeclaims"
	tests := map[string]struct {
		method, path, contentType, accept, body string
		code                                    int
		want                                    string
	}{
		"an unknown path":            {"GET", "/nowhere", "", "", "", 404, "404 page not found"},
		"an unknown group":           {"GET", "/apis/example.com/v1", "", "", "", 404, "404 page not found"},
		"an unknown resource":        {"GET", "/api/v1/persistentvolumeclames", "", "", "", 404, `"reason":"NotFound"`},
		"an unknown version of core": {"GET", "/api/v2", "", "", "", 404, `"reason":"NotFound"`},
		"a slash after a slash":      {"GET", "/api/v1//nodes", "", "", "", 404, `"reason":"NotFound"`},
		"a resource of no group":     {"GET", "/apis/example.com/v1/things", "", "", "", 404, "404 page not found"},
		"a cluster's in a namespace": {"GET", "/api/v1/namespaces/default/persistentvolumes", "", "", "", 404, `"reason":"NotFound"`},
		"a namespace's without one":  {"GET", "/api/v1/configmaps/x", "", "", "", 404, `"reason":"NotFound"`},
		"an unknown subresource":     {"GET", claims + "/x/bogus", "", "", "", 404, `"message":"the server could not find the requested resource"`},
		"a patch of all": {"PATCH", claims, "application/merge-patch+json", "", "{}", 405,
			"the server does not allow this method on the requested resource"},
		"a creation with a name": {"POST", claims + "/x", "application/json", "", "{}", 405, "the server does not allow this method on the requested resource"},
		"a creation anywhere": {"POST", "/api/v1/persistentvolumeclaims", "application/json", "", "{}", 405,
			"the server does not allow this method on the requested resource"},
		"a deletion of namespaces": {"DELETE", "/api/v1/namespaces", "", "", "", 405, "the server does not allow this method on the requested resource"},
		"a head":                   {"HEAD", claims + "/x", "", "", "", 405, ""},
		"no name in the body": {"PUT", claims + "/a", "application/json", "", `{"kind":"PersistentVolumeClaim","apiVersion":"v1"}`, 400,
			"the name of the object (a based on URL) was undeterminable: name must be provided"},
		"an unknown object":   {"GET", claims + "/x", "", "", "", 404, `persistentvolumeclaims \"x\" not found`},
		"a method nobody has": {"TRACE", claims, "", "", "", 405, `"reason":"MethodNotAllowed"`},
		"a form nobody can give": {"GET", claims, "", "text/html", "", 406, `406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, ` +
			`application/vnd.kubernetes.protobuf, application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"`},
		"a form nobody can read":     {"POST", claims, "text/html", "", "", 415, "the body of the request was in an unknown format"},
		"a patch of an unknown type": {"PATCH", claims + "/x", "application/json", "", "{}", 415, `"message":"415: Unsupported Media Type"`},
		"malformed JSON": {"POST", claims, "application/json", "", `{"kind": x}`, 400,
			`the object provided is unrecognized (must be of type PersistentVolumeClaim): couldn't get version/kind; json parse error: invalid character 'x' looking ` +
				`for beginning of value ({\"kind\": x})`},
		"another kind": {"POST", claims, "application/json", "", `{"kind":"Pod","apiVersion":"v1"}`, 400, "Pod in version"},
		"another version": {"POST", claims, "application/json", "", `{"kind":"StorageClass","apiVersion":"storage.k8s.io/v1"}`, 400,
			"converting (v1.StorageClass) to (core.PersistentVolumeClaim): unknown conversion"},
		"garbage for protobuf": {"POST", claims, "application/vnd.kubernetes.protobuf", "", "k8s\x00\xff\xff", 400, "(6b387300ffff)"},
		"another namespace": {"POST", claims, "application/json", "", `{"metadata":{"name":"a","namespace":"b"}}`, 400,
			"the namespace of the provided object does not match the namespace sent on the request"},
		"another name": {"PUT", claims + "/a", "application/json", "", `{"metadata":{"name":"b"}}`, 400,
			"the name of the object (b) does not match the name on the URL (a)"},
		"too much": {"POST", claims, "application/json", "", strings.Repeat(" ", 4<<20), 413, "Request entity too large: limit is 3145728"},
		"a token that is none, after options that are none": {"DELETE", claims + "?continue=x", "application/json", "", `{"kind":"Other","apiVersion":"v1"}`, 400,
			`no kind \"Other\" is registered`},
		"a limit that is no number": {"GET", claims + "?limit=x", "", "", "", 400, "invalid syntax"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			code, _, body := ask(t, tt.method, tt.path, tt.contentType, tt.accept, tt.body)
			assert.Equal(t, tt.code, code, body)
			assert.Contains(t, body, tt.want)
		})
	}
}

func TestUnknownFieldsAreWarningsUnlessStrict(t *testing.T) {
	const path, body = "/api/v1/namespaces/default/configmaps", `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"},"dat":{}}`
	code, header, _ := ask(t, "POST", path, "application/json", "", body)
	assert.Equal(t, 201, code)
	assert.Equal(t, []string{`299 - "unknown field \"dat\""`}, header.Values("Warning"))
	code, _, answer := ask(t, "POST", path+"?fieldValidation=Strict", "application/json", "", body)
	assert.Equal(t, 400, code)
	assert.Contains(t, answer, `strict decoding error: unknown field \"dat\"`)
	code, header, _ = ask(t, "POST", path+"?fieldValidation=Ignore", "application/json", "", body)
	assert.Equal(t, 201, code)
	assert.Empty(t, header.Values("Warning"))
}

func TestAFieldThatIsThereTwiceInYAMLIsAWarning(t *testing.T) {
	code, header, answer := ask(t, "POST", "/api/v1/namespaces/default/configmaps", "application/yaml", "",
		"metadata:\n  name: a\n  name: b\ndata: {c: d, c: e}\nwrong: 1\n")
	assert.Equal(t, 201, code, answer)
	assert.Equal(t, []string{
		`299 - "line 3: key \"name\" already set in map"`, `299 - "line 4: key \"c\" already set in map"`, `299 - "unknown field \"wrong\""`,
	}, header.Values("Warning"))
}

func TestAFieldThatIsAppliedTwiceIsAWarningUnlessStrict(t *testing.T) {
	const path, body = "/api/v1/namespaces/default/configmaps/a?fieldManager=me", "apiVersion: v1\nkind: ConfigMap\ndata: {}\ndata: {x: z}\n"
	code, header, _ := ask(t, "PATCH", path, "application/apply-patch+yaml", "", body)
	assert.Equal(t, 201, code)
	assert.Equal(t, []string{`299 - "line 4: key \"data\" already set in map"`}, header.Values("Warning"))
	code, _, answer := ask(t, "PATCH", path+"&fieldValidation=Strict", "application/apply-patch+yaml", "", body)
	assert.Equal(t, 400, code)
	assert.Contains(t, answer, `error strict decoding patch: error converting YAML to JSON: yaml: unmarshal errors:\n  line 4: key \"data\" already set in map`)
	code, header, _ = ask(t, "PATCH", path+"&fieldValidation=Ignore", "application/apply-patch+yaml", "", body)
	assert.Equal(t, 201, code)
	assert.Empty(t, header.Values("Warning"))
}

func TestWhatIsStoredAndNotActedOnIsAWarning(t *testing.T) {
	const path, webhook = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
		"kind: ValidatingWebhookConfiguration\napiVersion: admissionregistration.k8s.io/v1\nmetadata: {name: a}\n"
	want := []string{`299 - "the simulation stores admission policies, and webhooks of programs that it does not know, but asks none of them: ` +
		`nothing is refused or changed by this object"`}
	code, header, body := ask(t, "POST", path, "application/yaml", "", webhook)
	assert.Equal(t, 201, code, body)
	assert.Equal(t, want, header.Values("Warning"))
	code, header, body = ask(t, "PATCH", path+"/a?fieldManager=me", "application/apply-patch+yaml", "", webhook)
	assert.Equal(t, 201, code, body)
	assert.Equal(t, want, header.Values("Warning"))

	const scaler = "kind: HorizontalPodAutoscaler\napiVersion: autoscaling/v1\nmetadata: {name: a}\n" +
		"spec: {maxReplicas: 2, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: d}}\n"
	code, header, body = ask(t, "POST", "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers", "application/yaml", "", scaler)
	assert.Equal(t, 201, code, body)
	assert.Equal(t, []string{`299 - "the simulation stores autoscalers of autoscaling/v1 apart from those of autoscaling/v2: ` +
		`read them as horizontalpodautoscalers.v1.autoscaling"`},
		header.Values("Warning"))
}

func TestDeleteOptionsMayBeOfAnyGroup(t *testing.T) {
	server := api.NewServer(api.Config{})
	for _, version := range []string{"v1", "meta.k8s.io/v1", "storage.k8s.io/v1", "example.com/v7"} {
		client := clients(t, handler(server).Config("tester"))
		_, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
		require.NoError(t, err)
		body := strings.NewReader(`{"kind":"DeleteOptions","apiVersion":"` + version + `","preconditions":{"uid":"no"}}`)
		r := httptest.NewRequest("DELETE", "/api/v1/namespaces/default/configmaps/a", body)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		handler(server).ServeHTTP(w, r)
		assert.Equal(t, 409, w.Code, "%s: %s", version, w.Body)
		require.NoError(t, client.CoreV1().ConfigMaps("default").Delete(t.Context(), "a", metav1.DeleteOptions{}))
	}
}

func TestATimeoutThatIsNoTimeIsABadRequest(t *testing.T) {
	for _, path := range []string{"/version", "/api/v1", "/api/v1/namespaces"} {
		code, _, answer := ask(t, "GET", path+"?timeout=soon", "", "", "")
		assert.Equal(t, 400, code)
		assert.Contains(t, answer, "invalid timeout specified in the request URL")
	}
	code, _, _ := ask(t, "GET", "/api/v1/namespaces?timeout=3m", "", "", "")
	assert.Equal(t, 200, code)
}

func TestAListIsServedAsATable(t *testing.T) {
	code, _, body := ask(t, "GET", "/api/v1/namespaces", "", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json", "")
	assert.Equal(t, 200, code)
	assert.Contains(t, body, `"kind":"Table"`)
	assert.Contains(t, body, `"columnDefinitions":[{"name":"Name","type":"string","format":"name"`)
	assert.Contains(t, body, `"cells":["default","Active"`)

	for collection, rows := range map[string]string{"limitranges": `"rows":null`, "configmaps": `"rows":[]`} { // the first has no columns of its own
		_, _, body = ask(t, "GET", "/api/v1/namespaces/none/"+collection, "", "application/json;as=Table;v=v1;g=meta.k8s.io", "")
		assert.Contains(t, body, rows, collection)
	}
}

func TestARowOfAPodThatHasEndedSaysSo(t *testing.T) {
	server := api.NewServer(api.Config{})
	pods := clients(t, handler(server).Config("tester")).CoreV1().Pods("default")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	_, err := pods.Create(t.Context(), pod, metav1.CreateOptions{})
	require.NoError(t, err)
	for phase, want := range map[string]string{
		"Running":   "",
		"Succeeded": `"conditions":[{"type":"Completed","status":"True","reason":"Succeeded","message":"The pod has completed successfully."}]`,
		"Failed":    `"conditions":[{"type":"Completed","status":"True","reason":"Failed","message":"The pod failed."}]`,
	} {
		_, err = pods.Patch(t.Context(), "p", types.MergePatchType, []byte(`{"status":{"phase":"`+phase+`"}}`), metav1.PatchOptions{}, "status")
		require.NoError(t, err)
		r := httptest.NewRequest("GET", "/api/v1/namespaces/default/pods", nil)
		r.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
		w := httptest.NewRecorder()
		handler(server).ServeHTTP(w, r)
		if want == "" {
			assert.NotContains(t, w.Body.String(), `"conditions"`)
		}
		assert.Contains(t, w.Body.String(), want)
	}
}

func TestEveryKindIsDescribedInOpenAPI(t *testing.T) {
	client := clients(t, handler(api.NewServer(api.Config{})).Config("tester"))
	paths, err := client.Discovery().OpenAPIV3().Paths()
	require.NoError(t, err)
	_, lists, err := client.Discovery().ServerGroupsAndResources()
	require.NoError(t, err)
	for _, list := range lists {
		at := "apis/" + list.GroupVersion
		if list.GroupVersion == "v1" {
			at = "api/v1"
		}
		require.Contains(t, paths, at)
		text, err := paths[at].Schema(runtime.ContentTypeJSON)
		require.NoError(t, err)
		var doc struct {
			Components struct {
				Schemas map[string]struct {
					Type       string
					Properties map[string]any
					Kinds      []metav1.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
				}
			}
		}
		require.NoError(t, json.Unmarshal(text, &doc))
		described := map[string]bool{}
		for name, schema := range doc.Components.Schemas {
			for _, kind := range schema.Kinds {
				described[kind.Kind] = true
				assert.Contains(t, schema.Properties, "metadata", name)
			}
		}
		for _, r := range list.APIResources {
			assert.True(t, strings.Contains(r.Name, "/") || described[r.Kind], "%s in %s", r.Kind, list.GroupVersion)
		}
	}
}

func TestEveryClientMayDoEverything(t *testing.T) {
	eachWay(t, func(t *testing.T, _ *api.Server, config *restclient.Config) {
		review, err := clients(t, config).AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "create", Resource: "pods"}},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		assert.True(t, review.Status.Allowed)
		assert.Equal(t, "create", review.Spec.ResourceAttributes.Verb)
	})
}

func TestADeletionTellsWhatWasDeleted(t *testing.T) {
	server := api.NewServer(api.Config{})
	client := clients(t, handler(server).Config("tester"))
	_, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	answer, err := client.CoreV1().RESTClient().Delete().Namespace("default").Resource("configmaps").Name("a").Do(t.Context()).Get()
	require.NoError(t, err)
	assert.Equal(t, metav1.StatusSuccess, answer.(*metav1.Status).Status)
}

func TestWarningsOfAKindComeWithTheAnswer(t *testing.T) {
	h := handler(api.NewServer(api.Config{}))
	const claims = "/api/v1/namespaces/default/persistentvolumeclaims"
	const pods = "/api/v1/namespaces/default/pods"
	const odd = `{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"a"},"spec":{"accessModes":["ReadWriteOnce"],"storageClassName":"",` +
		`"resources":{"requests":{"storage":"1500m"}}}}`
	const fraction = `299 - "spec.resources.requests[storage]: fractional byte value \"1500m\" is invalid, must be an integer"`
	const owner = `{"apiVersion":"v1","kind":"Pod","name":"a","uid":"1"}`
	const repeated = `.metadata.ownerReferences contains duplicate entries%s; API server dedups owner references in 1.20+, and may reject such requests as ` +
		`early as 1.24; please fix your requests; duplicate UID(s) observed: 1`
	for _, step := range []struct {
		name, method, path, contentType, body string
		code                                  int
		want                                  []string
	}{
		{"a new object", "POST", claims, "application/json", odd, 201, []string{fraction}},
		{"one that is there", "POST", claims, "application/json", odd, 409, []string{fraction}},
		{"with unknown fields ignored", "POST", claims + "?fieldValidation=Ignore&dryRun=All", "application/json", strings.Replace(odd, `"a"`, `"b"`, 1), 201,
			[]string{fraction}},
		{"a merge patch", "PATCH", claims + "/a", "application/merge-patch+json", `{"metadata":{"labels":{"a":"b"}},"bogus":1}`, 200,
			[]string{`299 - "unknown field \"bogus\""`, fraction}},
		{"a JSON patch", "PATCH", claims + "/a", "application/json-patch+json", `[{"op":"add","path":"/spec/bogus","value":1}]`, 200,
			[]string{`299 - "unknown field \"spec.bogus\""`, fraction}},
		{"a strategic patch of a known field", "PATCH", claims + "/a", "application/strategic-merge-patch+json", `{"metadata":{"labels":{"c":"d"}}}`, 200,
			[]string{fraction}},
		{"a strategic patch", "PATCH", claims + "/a", "application/strategic-merge-patch+json", `{"spec":{"resources":{"bogus":{"x":1}}}}`, 200,
			[]string{`299 - "unknown field \"spec.resources.bogus\""`, fraction}},
		{"a strategic patch, strict", "PATCH", claims + "/a?fieldValidation=Strict", "application/strategic-merge-patch+json",
			`{"spec":{"resources":{"bogus":{"x":1}}}}`, 422, nil},
		{"a strategic patch, ignored", "PATCH", claims + "/a?fieldValidation=Ignore", "application/strategic-merge-patch+json",
			`{"spec":{"resources":{"bogus":{"x":1}}}}`, 200, []string{fraction}},
		{"an owner twice", "POST", "/api/v1/namespaces/default/configmaps", "application/json",
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","ownerReferences":[` + owner + "," + owner + `]}}`, 201,
			[]string{`299 - "` + fmt.Sprintf(repeated, "") + `"`}},
		{"an owner twice in a patch", "PATCH", "/api/v1/namespaces/default/configmaps/a", "application/merge-patch+json", `{"metadata":{"ownerReferences":[` + owner +
			"," + owner + `]}}`, 200, []string{`299 - "` + fmt.Sprintf(repeated, " after mutating admission happens") + `"`}},
		{"a kind that is old", "GET", "/api/v1/namespaces/default/endpoints", "", "", 200,
			[]string{`299 - "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"`}},
		{"a pod that is refused", "POST", pods, "application/json", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a.b"},"spec":{}}`, 422, nil},
		{"jobs that leave their pods", "DELETE", "/apis/batch/v1/namespaces/default/jobs", "", "", 200,
			[]string{`299 - "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set ` +
				`propagationPolicy=Orphan to suppress this warning"`}},
		{"jobs that take them along", "DELETE", "/apis/batch/v1/namespaces/default/jobs?propagationPolicy=Background", "", "", 200, nil},
		{"jobs that stay, since the options are wrong", "DELETE", "/apis/batch/v1/namespaces/default/jobs?dryRun=x", "", "", 422, nil},
		{"a job that stays, since the options are wrong", "DELETE", "/apis/batch/v1/namespaces/default/jobs/a?dryRun=x", "", "", 422, nil},
	} {
		r := httptest.NewRequest(step.method, step.path, strings.NewReader(step.body))
		r.Header.Set("Content-Type", step.contentType)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		assert.Equal(t, step.code, w.Code, "%s: %s", step.name, w.Body)
		assert.Equal(t, step.want, w.Header().Values("Warning"), step.name)
	}
}

func TestLongWarningsAreCut(t *testing.T) {
	env := strings.Repeat(`{"name":"`+strings.Repeat("A", 400)+`","value":"1"},`, 40)
	code, header, body := ask(t, "POST", "/api/v1/namespaces/default/pods", "application/json", "",
		`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i","env":[`+strings.TrimSuffix(env, ",")+`]}]}}`)
	assert.Equal(t, 201, code, body)
	length := 0
	for _, value := range header.Values("Warning") {
		length += len(value)
		assert.LessOrEqual(t, len(value), len(`299 - ""`)+256+2)
	}
	assert.Greater(t, length, 4000)
	assert.Less(t, length, 4096+512)
}

func TestAServerWithoutNodesFindsThePodFirst(t *testing.T) {
	server := api.NewServer(api.Config{})
	h := handler(server)
	do := func(method, path, body string) (int, string) {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		var answer struct{ Message string }
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer), w.Body.String())
		return w.Code, answer.Message
	}
	const pods = "/api/v1/namespaces/default/pods"
	create := func(name, node, more string) {
		code, _ := do("POST", pods, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"`+name+`"},"spec":{"nodeName":"`+node+
			`","containers":[{"name":"c","image":"i"}`+more+`]}}`)
		require.Equal(t, 201, code)
	}
	create("a", "gone", "")
	create("b", "", "")
	create("two", "there", `,{"name":"d","image":"i"}`)
	code, _ := do("POST", "/api/v1/nodes", `{"apiVersion":"v1","kind":"Node","metadata":{"name":"there"}}`)
	require.Equal(t, 201, code)
	for _, tt := range []struct {
		method, path string
		code         int
		want         string
	}{
		{"GET", "/none/log", 404, `pods "none" not found`},
		{"GET", "/a/log", 404, `pods "gone" not found`},
		{"GET", "/a/log?container=x", 400, "container x is not valid for pod a"},
		{"GET", "/two/log", 400, "a container name must be specified for pod two, choose one of: [c d]"},
		{"GET", "/two/log?container=d", 501, "pods/log is served by storagesim serve; in the same process use Logs and Exec of Cluster.Machine"},
		{"POST", "/a/exec?command=ls", 404, `pods "gone" not found`},
		{"POST", "/b/exec?command=ls", 400, "pod b does not have a host assigned"},
		{"POST", "/a/portforward?ports=80", 404, `pods "gone" not found`},
		{"GET", "/a/proxy/", 400, "address not allowed"},
	} {
		code, text := do(tt.method, pods+tt.path, "")
		assert.Equal(t, tt.code, code, tt.path)
		assert.Equal(t, tt.want, text, tt.path)
	}
}
