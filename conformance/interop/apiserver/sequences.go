package apiserver

import (
	_ "embed"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/storagesim/storagesim/conformance/requests"
)

// sequencesText has the objects that sequences of requests are about, and edits of them.
//
//go:embed testdata/sequences.yaml
var sequencesText string

// widgets defines the custom kind among them.
//
//go:embed testdata/widgets.yaml
var widgets string

// subject is a kind that sequences are about.
type subject struct {
	Kind   string
	Object map[string]any
	Edits  []map[string]any
}

// subjects returns the kinds that sequences are about. The edits of "common" are among those of each.
func subjects() (list []subject, err error) {
	for document := range strings.SplitSeq(sequencesText, "\n---\n") {
		var s subject
		if err := yaml.Unmarshal([]byte(document), &s); err != nil {
			return nil, fmt.Errorf("%w in\n%s", err, document)
		}
		list = append(list, s)
	}
	common := list[0].Edits
	for i := range list {
		list[i].Edits = append(list[i].Edits, common...)
	}
	return list[1:], nil
}

// recordWidgets makes the kind Widget on the real server, which is recorded, and returns the recorder, what the server serves then, and the subjects.
func recordWidgets(real *Real, options Options) (*recorder, *catalogue, []subject, error) {
	list, err := subjects()
	if err != nil {
		return nil, nil, nil, err
	}
	definition, err := yaml.YAMLToJSON([]byte(widgets))
	if err != nil {
		return nil, nil, nil, err
	}
	r := &recorder{server: requests.At(real.URL, real.Transport())}
	r.ask("definition", "widgets", "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", jsonType, string(definition))
	c, err := real.wait("seq.example.com/v1", "Widget")
	if err != nil {
		return nil, nil, nil, err
	}
	if len(options.Kinds) > 0 {
		list = slices.DeleteFunc(list, func(s subject) bool { return !slices.Contains(options.Kinds, s.Kind) })
	}
	return r, c, list, nil
}

// RecordSequences sends random sequences of requests to the real server: each is about one object, which several managers create, update, patch, apply
// and delete in turn. It returns the requests with their answers, which are to be compared whole.
func RecordSequences(real *Real, runs, length int, options Options) ([]requests.Request, error) {
	r, c, list, err := recordWidgets(real, options)
	if err != nil {
		return nil, err
	}
	for run := range runs {
		s := list[run%len(list)]
		object := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(s.Object)}
		gvk := object.GroupVersionKind()
		resource, ok := c.resources[gvk]
		if !ok {
			return nil, fmt.Errorf("the server does not serve %s", gvk)
		}
		if resource.Namespaced {
			object.SetNamespace("default")
		}
		object.SetName(fmt.Sprintf("x%d", run))
		q := &sequence{
			recorder: r, subject: s, object: object.Object, collection: c.collectionOf(gvk, "default"), rand: rand.New(rand.NewPCG(options.Seed, uint64(run))),
			section: fmt.Sprintf("%s sequence %d", s.Kind, run), status: c.hasStatus[gvk],
		}
		q.one = q.collection + "/" + object.GetName()
		q.play(length)
	}
	return r.list, nil
}

// sequence is a sequence of requests about one object.
type sequence struct {
	*recorder
	subject
	object          map[string]any
	collection, one string
	section         string
	status          bool
	rand            *rand.Rand
	// live is the object as the server last told it; earlier are the versions before.
	live    map[string]any
	earlier []map[string]any
}

// play sends the requests.
func (q *sequence) play(length int) {
	if q.rand.IntN(3) > 0 {
		q.create()
	} else {
		q.apply()
	}
	for range length {
		switch n := q.rand.IntN(20); {
		case n < 5:
			q.apply()
		case n < 8:
			q.update()
		case n < 15:
			q.patch()
		case n < 16:
			q.delete()
		case n < 17:
			q.create()
		case n < 18:
			q.scale()
		default:
			q.send("get", "GET", q.one, "", nil, "", nil)
		}
	}
	q.send("last", "GET", q.one, "", nil, "", nil)
}

// send sends a request and remembers the object that is answered.
func (q *sequence) send(name, method, path, sub string, query url.Values, contentType string, body any) {
	if sub != "" {
		path += "/" + sub
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	r := requests.Request{Section: q.section, Name: name, Method: method, Path: path, ContentType: contentType, Whole: true}
	if body != nil {
		r.Body = text(body)
	}
	answer := q.recorder.send(r)
	object, _ := answer.Content.(map[string]any)
	if answer.Code < 300 && object != nil && object["kind"] == q.Kind && query.Get("dryRun") == "" {
		if q.live != nil {
			q.earlier = append(q.earlier, q.live)
		}
		q.live = object
	}
}

// query returns the query of a write.
func (q *sequence) query() url.Values {
	query := url.Values{}
	if q.rand.IntN(4) > 0 {
		query.Set("fieldManager", []string{"m1", "m2", "m3"}[q.rand.IntN(3)])
	}
	if q.rand.IntN(10) == 0 {
		query.Set("dryRun", "All")
	}
	if q.rand.IntN(6) == 0 {
		query.Set("fieldValidation", []string{"Strict", "Warn", "Ignore"}[q.rand.IntN(3)])
	}
	return query
}

// edit returns one or two edits, merged, and the subresource to which they are written.
func (q *sequence) edit() (edit map[string]any, sub string) {
	edit = runtime.DeepCopyJSON(q.Edits[q.rand.IntN(len(q.Edits))])
	if q.rand.IntN(3) == 0 {
		edit = merged(edit, q.Edits[q.rand.IntN(len(q.Edits))], true)
	}
	if _, ok := edit["status"]; ok && q.status {
		sub = "status"
	}
	if q.status && q.rand.IntN(12) == 0 {
		sub = []string{"", "status"}[q.rand.IntN(2)]
	}
	return edit, sub
}

func (q *sequence) create() {
	object := runtime.DeepCopyJSON(q.object)
	if q.rand.IntN(2) == 0 {
		edit, _ := q.edit()
		object = merged(object, edit, false)
	}
	q.send("create", "POST", q.collection, "", q.query(), jsonType, object)
}

func (q *sequence) apply() {
	name := q.object["metadata"].(map[string]any)["name"]
	object := map[string]any{"apiVersion": q.object["apiVersion"], "kind": q.object["kind"], "metadata": map[string]any{"name": name}}
	if q.live == nil || q.rand.IntN(3) == 0 {
		object = runtime.DeepCopyJSON(q.object)
	}
	sub := ""
	if q.rand.IntN(8) > 0 {
		var edit map[string]any
		edit, sub = q.edit()
		object = merged(object, edit, q.rand.IntN(6) == 0)
	}
	query := q.query()
	query.Set("fieldManager", []string{"m1", "m2", "m3", "m4"}[q.rand.IntN(4)])
	if q.rand.IntN(2) == 0 {
		query.Set("force", "true")
	}
	q.send("apply", "PATCH", q.one, sub, query, applyYAML, object)
}

func (q *sequence) update() {
	object := runtime.DeepCopyJSON(q.object)
	if q.live != nil {
		object = runtime.DeepCopyJSON(q.live)
		if len(q.earlier) > 0 && q.rand.IntN(8) == 0 {
			object = runtime.DeepCopyJSON(q.earlier[q.rand.IntN(len(q.earlier))])
		}
	}
	edit, sub := q.edit()
	object = merged(object, edit, false)
	if spec, ok := object["spec"].(map[string]any); ok { // as are addresses that it has chosen
		delete(spec, "clusterIP")
		delete(spec, "clusterIPs")
	}
	if status, ok := object["status"].(map[string]any); ok { // a time of this server's clock is no time of ours
		delete(status, "lastPhaseTransitionTime")
		conditions, _ := status["conditions"].([]any)
		for _, condition := range conditions {
			if c, ok := condition.(map[string]any); ok && c["type"] == "PodScheduled" {
				delete(c, "lastTransitionTime")
			}
		}
	}
	metadata, _ := object["metadata"].(map[string]any)
	switch q.rand.IntN(6) {
	case 0:
		delete(metadata, "resourceVersion")
	case 1:
		delete(metadata, "managedFields")
	case 2:
		delete(metadata, "uid")
	}
	q.send("update", "PUT", q.one, sub, q.query(), jsonType, object)
}

func (q *sequence) patch() {
	edit, sub := q.edit()
	as := q.rand.IntN(5)
	if q.live != nil && as < 4 && q.rand.IntN(10) == 0 { // what a JSON patch says of a version cannot be translated
		from := q.live
		if len(q.earlier) > 0 && q.rand.IntN(2) == 0 {
			from = q.earlier[len(q.earlier)-1]
		}
		edit = merged(edit, map[string]any{"metadata": map[string]any{"resourceVersion": from["metadata"].(map[string]any)["resourceVersion"]}}, true)
	}
	switch as {
	case 0, 1:
		q.send("merge patch", "PATCH", q.one, sub, q.query(), mergePatch, edit)
	case 2, 3:
		q.send("strategic patch", "PATCH", q.one, sub, q.query(), strategic, edit)
	default:
		q.send("JSON patch", "PATCH", q.one, sub, q.query(), jsonPatch, operations(q.live, edit, ""))
	}
}

func (q *sequence) scale() {
	switch q.rand.IntN(3) {
	case 0:
		q.send("scale", "GET", q.one, "scale", nil, "", nil)
	case 1:
		q.send("scale", "PATCH", q.one, "scale", q.query(), mergePatch, map[string]any{"spec": map[string]any{"replicas": int64(q.rand.IntN(5))}})
	default:
		query := q.query()
		query.Set("fieldManager", "m4")
		query.Set("force", fmt.Sprint(q.rand.IntN(2) == 0))
		q.send("scale", "PATCH", q.one, "scale", query, applyYAML, map[string]any{
			"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": map[string]any{"name": q.object["metadata"].(map[string]any)["name"]},
			"spec": map[string]any{"replicas": int64(q.rand.IntN(5))},
		})
	}
}

func (q *sequence) delete() {
	options := map[string]any{}
	if q.rand.IntN(2) == 0 {
		options["propagationPolicy"] = []string{"Background", "Foreground", "Orphan"}[q.rand.IntN(3)]
	}
	if q.rand.IntN(3) == 0 {
		options["gracePeriodSeconds"] = int64(q.rand.IntN(3))
	}
	if q.live != nil && q.rand.IntN(4) == 0 {
		metadata := q.live["metadata"].(map[string]any)
		options["preconditions"] = map[string]any{"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
	}
	if q.rand.IntN(6) == 0 {
		options["dryRun"] = []any{"All"}
	}
	q.send("delete", "DELETE", q.one, "", nil, jsonType, options)
	if policy := options["propagationPolicy"]; policy != nil && policy != "Background" && q.live != nil && q.rand.IntN(2) == 0 {
		options = map[string]any{"propagationPolicy": "Background"} // takes the finalizer away that this policy has left
		if q.rand.IntN(2) == 0 {
			options["preconditions"] = map[string]any{"resourceVersion": q.live["metadata"].(map[string]any)["resourceVersion"]}
		}
		if q.rand.IntN(3) == 0 {
			options["dryRun"] = []any{"All"}
		}
		q.send("delete again", "DELETE", q.one, "", nil, jsonType, options)
	}
	if q.rand.IntN(2) == 0 {
		q.send("get", "GET", q.one, "", nil, "", nil)
	}
}

// merged returns an object with a merge patch applied. keep says that its nulls are kept.
func merged(object, patch map[string]any, keep bool) map[string]any {
	out := runtime.DeepCopyJSON(object)
	for field, value := range patch {
		inner, isMap := value.(map[string]any)
		there, wasMap := out[field].(map[string]any)
		switch {
		case value == nil && !keep:
			delete(out, field)
		case isMap && wasMap:
			out[field] = merged(there, inner, keep)
		case isMap:
			out[field] = merged(map[string]any{}, inner, keep)
		default:
			out[field] = runtime.DeepCopyJSONValue(value)
		}
	}
	return out
}

// operations returns a merge patch as the operations of a JSON patch, in the order of the fields.
func operations(live any, patch map[string]any, at string) (list []any) {
	object, _ := live.(map[string]any)
	for _, field := range slices.Sorted(maps.Keys(patch)) {
		path := at + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(field)
		there, ok := object[field]
		inner, isMap := patch[field].(map[string]any)
		switch {
		case isMap && ok:
			list = append(list, operations(there, inner, path)...)
		case patch[field] == nil:
			list = append(list, map[string]any{"op": "remove", "path": path})
		default:
			list = append(list, map[string]any{"op": "add", "path": path, "value": patch[field]})
		}
	}
	return list
}
