package apiserver

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/conformance/requests"
)

// RecordCollections sends random requests about collections to the real server: in each run a few objects of a kind are made, and then listed,
// watched, read in all forms, changed and deleted together. It returns the requests with their answers.
func RecordCollections(real *Real, runs, length int, options Options) ([]requests.Request, error) {
	r, c, list, err := recordWidgets(real, options)
	if err != nil {
		return nil, err
	}
	for run := range runs {
		s := list[run%len(list)]
		object := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(s.Object)}
		gvk := object.GroupVersionKind()
		inAll := ""
		section := fmt.Sprintf("%s collection %d", s.Kind, run)
		if c.resources[gvk].Namespaced { // one of its own: others would be in the lists
			inAll = c.collectionOf(gvk, "")
			namespace := fmt.Sprintf("c%d", run)
			r.ask(section, "namespace", "POST", "/api/v1/namespaces", jsonType, fmt.Sprintf(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q}}`,
				namespace))
			object.SetNamespace(namespace)
		}
		q := &collection{
			recorder: r, subject: s, object: object.Object, path: c.collectionOf(gvk, object.GetNamespace()), inAll: inAll, section: section,
			prefix: fmt.Sprintf("y%d-", run), rand: rand.New(rand.NewPCG(options.Seed, uint64(run))),
		}
		q.play(length)
	}
	return r.list, nil
}

// collection is a run of requests about the objects of a kind in a namespace, or of those that have a prefix of their own.
type collection struct {
	*recorder
	subject
	object              map[string]any
	path, inAll         string // inAll is the path in all namespaces; empty if there are none
	section, prefix     string
	rand                *rand.Rand
	versions, continues []string // that answers had
	made                int
	whole               bool // managedFields and versions are compared, too
}

// one returns one of the values.
func (q *collection) one(values ...string) string { return values[q.rand.IntN(len(values))] }

// often reports true once in n times.
func (q *collection) often(n int) bool { return q.rand.IntN(n) == 0 }

// name returns the name of an object that may be there.
func (q *collection) name() string { return fmt.Sprintf("%s%d", q.prefix, q.rand.IntN(max(1, q.made))) }

func (q *collection) play(length int) {
	for range 4 {
		q.create()
	}
	for range length {
		switch n := q.rand.IntN(20); {
		case n < 9:
			q.list()
		case n < 11:
			q.watch()
		case n < 14:
			q.get()
		case n < 16:
			q.change()
		case n < 17:
			q.create()
		case n < 18:
			q.remove()
		case n < 19:
			q.removeSome()
		default:
			q.odd()
		}
	}
	q.send("the end", "GET", q.path, url.Values{"labelSelector": {"run=" + q.prefix}}, "", "", "")
}

// send sends a request and remembers versions that are answered.
func (q *collection) send(name, method, path string, query url.Values, accept, contentType, body string) {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	r := requests.Request{
		Section: q.section, Name: name, Method: method, Path: path, Accept: accept, ContentType: contentType, Body: body, Whole: q.whole,
	}
	if query.Has("watch") {
		r.End = "closed"
	}
	answer := q.recorder.send(r)
	content, _ := answer.Content.(map[string]any)
	metadata, _ := content["metadata"].(map[string]any)
	if version, _ := metadata["resourceVersion"].(string); version != "" && answer.Code < 300 {
		q.versions = append(q.versions, version)
	}
	if token, _ := metadata["continue"].(string); token != "" {
		q.continues = append(q.continues, token)
	}
}

func (q *collection) create() {
	object := runtime.DeepCopyJSON(q.object)
	metadata := object["metadata"].(map[string]any)
	metadata["name"] = fmt.Sprintf("%s%d", q.prefix, q.made)
	metadata["labels"] = map[string]any{"run": q.prefix + "x", "even": fmt.Sprint(q.made%2 == 0), "n": fmt.Sprint(q.made)}
	q.made++
	q.send("create", "POST", q.path, nil, "", jsonType, text(object))
}

// version returns a resourceVersion that a client may ask for.
func (q *collection) version() string {
	switch n := q.rand.IntN(8); {
	case n < 2 || len(q.versions) == 0:
		return q.one("0", "0", "x", "-1", "")
	case n < 5:
		return q.versions[len(q.versions)-1]
	}
	return q.versions[q.rand.IntN(len(q.versions))]
}

// selection adds selectors, always one that leaves out the objects of others where there are any.
func (q *collection) selection(query url.Values) {
	own := "run=" + q.prefix + "x"
	switch q.rand.IntN(12) {
	case 0:
		query.Set("labelSelector", own+",even=true")
	case 1:
		query.Set("labelSelector", own+",n in (0,1)")
	case 2:
		query.Set("labelSelector", own+",n notin (0,1),even")
	case 3:
		query.Set("labelSelector", own+",!even")
	case 4:
		query.Set("labelSelector", own+",n>1")
	case 5:
		query.Set("labelSelector", q.one("n in (", "=", "a=b=c", "n>x", "!", "n in ()", "a/b/c=d", "n=-x", ",", "n!=1,,even", "n==1,"))
	default:
		query.Set("labelSelector", own)
	}
	if !q.often(4) {
		return
	}
	query.Set("fieldSelector", q.one(
		"metadata.name="+q.name(), "metadata.name!="+q.name(), "metadata.name=="+q.name(), "metadata.name="+q.name()+",metadata.name="+q.name(),
		"metadata.namespace=default", "metadata.name", "metadata.name in (a)", "=", "spec.wrong=a", "name="+q.name(), "status.phase=Pending",
		"status.phase!=Pending",
		"spec.nodeName=", "type=Opaque", "metadata.name=a=b", `metadata.name=a\,b`, `metadata.name=a\b`, "spec.unschedulable=false", "metadata.labels=a",
		","))
}

// accept returns a form that a client accepts, mostly none.
func (q *collection) accept() string {
	if !q.often(3) {
		return ""
	}
	return q.one(tableAccepted, "application/json;as=Table;v=v1beta1;g=meta.k8s.io", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
		"application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", "application/vnd.kubernetes.protobuf", "application/cbor", "*/*", "text/plain",
		"application/json;as=Table;v=v2;g=meta.k8s.io", "application/json;as=Table;v=v1;g=other", "application/json;as=Other;v=v1;g=meta.k8s.io",
		"application/json;as=Table;v=v2;g=meta.k8s.io,application/json",
		"application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", "text/*, application/json;q=0.5", "application/*",
		"application/json;pretty=1", "application/vnd.kubernetes.protobuf,application/json")
}

func (q *collection) list() {
	query := url.Values{}
	q.selection(query)
	if q.often(2) {
		query.Set("limit", q.one("1", "2", "3", "0", "100", "-1", "x"))
	}
	if q.often(4) {
		query.Set("resourceVersion", q.version())
	}
	if q.often(6) {
		query.Set("resourceVersionMatch", q.one("Exact", "NotOlderThan", "Exact", "Bad", ""))
	}
	if len(q.continues) > 0 && q.often(3) {
		query.Set("continue", q.continues[q.rand.IntN(len(q.continues))])
	} else if q.often(20) {
		query.Set("continue", q.one("x", "e30", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0"))
	}
	if q.often(12) {
		query.Set(q.one("pretty", "timeoutSeconds", "allowWatchBookmarks", "sendInitialEvents", "includeObject", "unknown", "shardSelector"),
			q.one("true", "false", "1", "x", "", "None", "Object", "Metadata"))
	}
	path := q.path
	if q.inAll != "" && q.often(5) {
		path = q.inAll
	}
	accept := q.accept()
	if query.Get("resourceVersion") != "" { // the cache that answers knows all that was written after a list that must be up to date
		q.send("list", "GET", q.path, url.Values{"limit": {"1"}, "labelSelector": {"run=none"}}, "", "", "")
	}
	q.send("list", "GET", path, query, accept, "", "")
}

func (q *collection) watch() {
	query := url.Values{"watch": {q.one("true", "1", "yes")}, "timeoutSeconds": {"1"}}
	q.selection(query)
	if q.often(12) {
		query.Set("timeoutSeconds", "x")
	}
	switch q.rand.IntN(5) {
	case 0:
	case 1:
		query.Set("resourceVersion", q.version())
	default:
		if len(q.versions) > 0 {
			query.Set("resourceVersion", q.versions[q.rand.IntN(len(q.versions))])
		}
	}
	if q.often(3) {
		query.Set("allowWatchBookmarks", q.one("true", "false", "x"))
	}
	if q.often(4) {
		query.Set("sendInitialEvents", q.one("true", "true", "false", "x"))
	}
	if q.often(4) {
		query.Set("resourceVersionMatch", q.one("NotOlderThan", "NotOlderThan", "Exact", "Bad"))
	}
	if q.often(12) {
		query.Set("limit", q.one("1", "x"))
	}
	q.send("watch", "GET", q.path, query, "", "", "")
}

func (q *collection) get() {
	query := url.Values{}
	if q.often(4) {
		query.Set("resourceVersion", q.version())
	}
	if q.often(6) {
		query.Set(q.one("pretty", "resourceVersionMatch", "includeObject", "unknown", "export"), q.one("true", "x", "", "None", "Object", "Metadata",
			"Exact"))
	}
	accept := q.accept()
	if query.Get("resourceVersion") != "" {
		q.send("list", "GET", q.path, url.Values{"limit": {"1"}, "labelSelector": {"run=none"}}, "", "", "")
	}
	q.send("get", "GET", q.path+"/"+q.name(), query, accept, "", "")
}

// change changes labels of an object.
func (q *collection) change() {
	labels := map[string]any{"even": nil}
	if q.often(2) {
		labels["even"] = q.one("true", "false")
	}
	query := url.Values{}
	if q.often(6) {
		query.Set(q.one("dryRun", "fieldValidation", "pretty", "fieldManager", "force", "unknown"), q.one("All", "Strict", "true", "x", ""))
	}
	q.send("patch", "PATCH", q.path+"/"+q.name(), query, q.accept(), mergePatch, text(map[string]any{"metadata": map[string]any{"labels": labels}}))
}

// deletion returns the query and the body of a deletion.
func (q *collection) deletion() (query url.Values, body string) {
	query, options := url.Values{}, map[string]any{}
	for range q.rand.IntN(3) {
		switch q.rand.IntN(7) {
		case 0:
			query.Set("dryRun", q.one("All", "All", "x", ""))
		case 1:
			query.Set("propagationPolicy", q.one("Background", "Foreground", "Orphan", "x", ""))
		case 2:
			query.Set("gracePeriodSeconds", q.one("0", "1", "x", "-1"))
		case 3:
			query.Set("orphanDependents", q.one("true", "false", "x"))
		case 4:
			options["dryRun"] = []any{q.one("All", "x")}
		case 5:
			options["propagationPolicy"] = q.one("Background", "Foreground", "Orphan", "x")
		default:
			options["preconditions"] = map[string]any{q.one("uid", "resourceVersion"): q.one("x", "1")}
		}
	}
	if len(options) > 0 || q.often(5) {
		if q.often(2) {
			options["kind"], options["apiVersion"] = q.one("DeleteOptions", "DeleteOptions", "Other"), q.one("v1", "meta.k8s.io/v1", "x/v1")
		}
		body = text(options)
	}
	return query, body
}

func (q *collection) remove() {
	query, body := q.deletion()
	contentType := ""
	if body != "" {
		contentType = q.one(jsonType, jsonType, jsonType, "", "application/yaml", "text/plain")
	}
	q.send("delete", "DELETE", q.path+"/"+q.name(), query, q.accept(), contentType, body)
	q.send("get", "GET", q.path+"/"+q.name(), nil, "", "", "")
}

// removeSome deletes what selectors choose.
func (q *collection) removeSome() {
	query, body := q.deletion()
	q.selection(query)
	selector := query.Get("labelSelector")
	if query.Get("fieldSelector") == "" && !strings.Contains(selector, "even=true") && !strings.Contains(selector, "notin") && q.often(2) {
		query.Set("dryRun", "All") // some are to stay
	}
	if q.often(8) {
		query.Set(q.one("limit", "resourceVersion", "continue", "watch", "timeoutSeconds"), q.one("1", "0", "x"))
	}
	contentType := ""
	if body != "" {
		contentType = jsonType
	}
	q.send("delete collection", "DELETE", q.path, query, q.accept(), contentType, body)
	q.send("list", "GET", q.path, url.Values{"labelSelector": {"run=" + q.prefix + "x"}}, "", "", "")
}

// odd sends what few clients do.
func (q *collection) odd() {
	object := runtime.DeepCopyJSON(q.object)
	metadata := object["metadata"].(map[string]any)
	metadata["labels"] = map[string]any{"run": q.prefix + "x"}
	metadata["name"] = q.prefix + "odd"
	query := url.Values{"dryRun": {"All"}}
	body, contentType, method, path := text(object), jsonType, http.MethodPost, q.path
	switch q.rand.IntN(16) {
	case 0:
		contentType = q.one("", "text/plain", "application/xml", "application/json; charset=utf-8", "application/JSON", "application/cbor",
			"application/vnd.kubernetes.protobuf", "application/x-www-form-urlencoded", mergePatch, "*/*", "x")
	case 1:
		contentType = "application/yaml"
		body = q.one(body, "a: [", "a: b\na: c", "", "null", "- a", "{}", "---\n"+body+"\n---\n"+body, "kind: x", "\tx", "a: &b [*b]", "a: *x")
	case 2:
		body = q.one("", " ", "{", "[]", "null", "1", `"x"`, "{}", body+"x", body+body, "true", `{"kind":"x"}`, `{"apiVersion":"v1"}`, `{"kind":1}`,
			`{"kind":"List","apiVersion":"v1","items":[]}`, `{"metadata":1}`, `{"metadata":[]}`, `{"metadata":{"name":1}}`, "{\"a\":\"\xff\"}",
			`{"a":1e400}`)
	case 3:
		delete(object, q.one("kind", "apiVersion", "metadata", "spec"))
		body = text(object)
	case 4:
		object[q.one("kind", "apiVersion")] = q.one("Other", "v1", "x/y/z", "apps/v1", "")
		body = text(object)
	case 5:
		delete(metadata, "name")
		metadata["generateName"] = q.one("g-", "G", "g.", strings.Repeat("g", 60), strings.Repeat("g", 250), "-", "g/")
		body = text(object)
	case 6:
		object["wrong"] = int64(1)
		body = strings.Replace(text(object), `"name":`, `"name":"twice","name":`, 1)
		query.Set("fieldValidation", q.one("Strict", "Warn", "Ignore", "x", "", "strict"))
	case 7:
		query = url.Values{"dryRun": {q.one("", "all", "x", "All")}, q.one("unknown", "fieldManager", "pretty", "fieldManager"): {q.one("x", "", "true",
			strings.Repeat("m", 129), "a\tb")}}
	case 8:
		metadata[q.one("uid", "resourceVersion", "namespace", "generation", "selfLink", "creationTimestamp", "deletionTimestamp",
			"deletionGracePeriodSeconds",
			"managedFields", "ownerReferences", "finalizers", "annotations", "labels")] = []any{"x", int64(1), int64(-1), "", nil, []any{},
			map[string]any{},
			[]any{map[string]any{}},
			[]any{"x"}, map[string]any{"a": "b"}, map[string]any{"a": int64(1)}, map[string]any{"a b": "c"}, "2026-01-01T00:00:00Z", true,
			1.5}[q.rand.IntN(15)]
		body = text(object)
	case 9:
		method, body, contentType = q.one("PUT", "PATCH", "HEAD", "OPTIONS", "TRACE", "FOO"), "{}", q.one(jsonType, mergePatch)
	case 10:
		method, path = q.one("POST", "HEAD", "OPTIONS", "FOO"), q.path+"/"+q.name()
	case 11:
		method, path, body, contentType = q.one("GET", "PUT", "PATCH", "POST", "DELETE"), q.path+"/"+q.name()+"/"+q.one("status", "scale", "nope", "proxy",
			"log"), "{}", q.one(jsonType, mergePatch)
	case 12:
		method, path, contentType = http.MethodPut, q.path+"/"+q.one(q.name(), "other"), q.one(jsonType, "application/yaml")
	case 13:
		metadata["annotations"] = map[string]any{"big": strings.Repeat("a", []int{262_000, 262_144, 263_000}[q.rand.IntN(3)])}
		query.Set("fieldManager", "big")
		body = text(object)
	case 14:
		method, path, contentType = http.MethodPatch, q.path+"/"+q.name(), q.one(mergePatch, strategic, jsonPatch, applyYAML,
			"application/apply-patch+cbor", jsonType, "", "text/plain")
		body = q.one("", "null", "[]", "{}", "1", "{", `{"metadata":null}`, `{"spec":null}`, `[{"op":"test","path":"/kind","value":"x"}]`,
			`[{"op":"replace","path":"/metadata/labels/none","value":"x"}]`,
			`[{"op":"move","from":"/metadata/labels","path":"/metadata/annotations"}]`, `[{"op":"copy","from":"/none","path":"/metadata/labels/a"}]`, `[1]`,
			`[{}]`, `{"metadata":{"labels":{"$retainKeys":["a"],"a":"b"}}}`,
			`{"metadata":{"finalizers":["example.com/a"],"$setElementOrder/finalizers":["example.com/a"]}}`, `{"$patch":"delete"}`,
			`{"metadata":{"ownerReferences":[{"$patch":"delete","uid":"x"}]}}`,
			`[{"op":"add","path":"/metadata/labels","value":{"a":1}}]`, `[{"op":"remove","path":""}]`, `[{"op":"replace","path":"/metadata","value":null}]`)
	default:
		method, path, body, contentType = http.MethodGet, q.path+"/"+q.one("%2e%2e", "a%2fb", "A_B", strings.Repeat("n", 260), "a%20b", "%00", "."), "", ""
	}
	q.send("odd", method, path, query, q.accept(), contentType, body)
}
