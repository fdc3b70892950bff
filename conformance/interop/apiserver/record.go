package apiserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/storagesim/storagesim/conformance/requests"
	"github.com/storagesim/storagesim/control/snapshots"
)

// Types of patches.
const (
	jsonType      = "application/json"
	mergePatch    = "application/merge-patch+json"
	jsonPatch     = "application/json-patch+json"
	strategic     = "application/strategic-merge-patch+json"
	applyYAML     = "application/apply-patch+yaml"
	tableAccepted = "application/json;as=Table;v=v1;g=meta.k8s.io"
)

// Options say how much is asked.
type Options struct {
	// Seed chooses the changes.
	Seed uint64
	// Limit is the number of changes of each object that are tried in each way: created, updated, its status written.
	Limit int
	// Pairs is the number of changes of each object that are tried in each way beside those, each of two fields.
	Pairs int
	// Kinds, if there are any, are the only ones.
	Kinds []string
}

// Record sends generated requests to the real server, which must be empty, and returns them with its answers.
func Record(real *Real, options Options) ([]requests.Request, error) {
	c, err := real.discover()
	if err != nil {
		return nil, err
	}
	list, err := objects()
	if err != nil {
		return nil, err
	}
	r := &recorder{server: requests.At(real.URL, real.Transport())}
	for _, name := range []string{"f", "g"} {
		r.ask("namespaces", name, "POST", "/api/v1/namespaces", jsonType, fmt.Sprintf(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q}}`, name))
	}
	if err := r.definitions(); err != nil {
		return nil, err
	}
	for _, object := range list {
		if len(options.Kinds) > 0 && !slices.Contains(options.Kinds, object.GetKind()) {
			continue
		}
		err = errors.Join(err, r.kind(real, c, object, options))
	}
	return r.list, err
}

// definitions makes the kinds of snapshots.
func (r *recorder) definitions() error {
	texts, err := snapshots.Definitions()
	if err != nil {
		return err
	}
	for _, definition := range texts {
		body, err := yaml.YAMLToJSON([]byte(definition))
		if err != nil {
			return err
		}
		r.ask("definitions", "snapshots", "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", jsonType, string(body))
	}
	return nil
}

// recorder sends requests and keeps the answers.
type recorder struct {
	server *requests.Server
	list   []requests.Request
}

// ask sends a request.
func (r *recorder) ask(section, name, method, path, contentType, body string) *requests.Answer {
	return r.send(requests.Request{Section: section, Name: name, Method: method, Path: path, ContentType: contentType, Body: body})
}

// send sends a request.
func (r *recorder) send(request requests.Request) *requests.Answer {
	answer, err := r.server.Ask(&request)
	if err != nil { // the server gave none
		answer = &requests.Answer{Code: -1, Content: err.Error()}
	}
	request.Answer = *answer
	r.list = append(r.list, request)
	return answer
}

// about sends requests about one object.
type about struct {
	*recorder
	section    string
	collection string
	one        string
	object     map[string]any
	name       string
	limit      int
	pairs      int
	seed       uint64
}

// kind plays all about an object.
func (r *recorder) kind(real *Real, c *catalogue, object *unstructured.Unstructured, options Options) error {
	gvk := object.GroupVersionKind()
	if _, ok := c.resources[gvk]; !ok {
		// A custom kind: its definition was made a moment ago.
		var err error
		if c, err = real.wait(gvk.GroupVersion().String(), gvk.Kind); err != nil {
			return err
		}
	}
	collection := c.collectionOf(gvk, object.GetNamespace())
	a := &about{
		recorder: r, section: gvk.Kind + " " + gvk.Version + " " + object.GetName(), collection: collection, one: collection + "/" + object.GetName(),
		object: object.Object, name: object.GetName(), limit: options.Limit, pairs: options.Pairs, seed: options.Seed,
	}
	s := c.kinds[gvk]
	if s == nil {
		return fmt.Errorf("no document says what %s is", gvk)
	}
	var top []string
	for name := range s.Properties {
		if name != "apiVersion" && name != "kind" && name != "status" && name != "metadata" {
			top = append(top, name)
		}
	}
	a.creations(c, s, top)
	if answer := a.ask(a.section, "create", "POST", a.collection, jsonType, text(a.object)); answer.Code != http.StatusCreated {
		return fmt.Errorf("%s: %d instead of 201: %s", a.section, answer.Code, text(answer.Content))
	}
	if gv, kind := defined(object); kind != "" { // the server goes on writing the status until then
		if _, err := real.wait(gv, kind); err != nil {
			return err
		}
	}
	a.updates(c, s, top)
	if c.hasStatus[gvk] {
		a.statuses(c, s)
	}
	a.patches()
	a.reads()
	a.deletions()
	return nil
}

// defined returns the version and the kind that a definition defines, nothing for another object.
func defined(object *unstructured.Unstructured) (gv, kind string) {
	if object.GetKind() != "CustomResourceDefinition" {
		return "", ""
	}
	group, _, _ := unstructured.NestedString(object.Object, "spec", "group")
	kind, _, _ = unstructured.NestedString(object.Object, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(object.Object, "spec", "versions")
	version, _ := versions[0].(map[string]any)["name"].(string)
	return group + "/" + version, kind
}

// patience is the time that a definition may take until its kind is served.
const patience = time.Minute

// wait returns the catalogue when a custom kind is in it and is served.
func (r *Real) wait(gv, kind string) (*catalogue, error) {
	for end := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
		c, err := r.discover()
		if err != nil {
			return nil, err
		}
		for gvk := range c.kinds {
			if _, ok := c.resources[gvk]; ok && gvk.Kind == kind && gvk.GroupVersion().String() == gv {
				return c, nil
			}
		}
		if time.Now().After(end) {
			return nil, fmt.Errorf("%s of %s is not served after %s", kind, gv, patience)
		}
	}
}

// dry is the query of a request that stores nothing.
const dry = "?dryRun=All"

// creations creates the object with each field changed, and stores none.
func (a *about) creations(c *catalogue, s *shape, top []string) {
	for _, change := range c.changes(a.object, s, append(slices.Clone(top), "metadata"), a.limit, a.pairs, a.seed) {
		a.ask(a.section, "create "+change.what, "POST", a.collection+dry+"&fieldValidation=Strict", jsonType, text(change.object()))
	}
}

// stored reads the object as it is sent back: without what the server fills in again.
func (a *about) stored() map[string]any {
	live, _ := a.ask(a.section, "get", "GET", a.one, "", "").Content.(map[string]any)
	if live == nil {
		return nil
	}
	live = runtime.DeepCopyJSON(live)
	metadata, _ := live["metadata"].(map[string]any)
	for _, field := range []string{"managedFields", "creationTimestamp", "uid", "selfLink"} {
		delete(metadata, field)
	}
	return live
}

// updates writes the stored object with each field changed, and stores none.
func (a *about) updates(c *catalogue, s *shape, top []string) {
	live := a.stored()
	for _, change := range c.changes(live, s, append(slices.Clone(top), "metadata"), a.limit, a.pairs, a.seed+1) {
		a.ask(a.section, "update "+change.what, "PUT", a.one+dry, jsonType, text(change.object()))
	}
}

// statuses does so with the status.
func (a *about) statuses(c *catalogue, s *shape) {
	live := a.stored()
	for _, change := range c.changes(live, s, []string{"status"}, a.limit, a.pairs, a.seed+2) {
		a.ask(a.section, "status "+change.what, "PUT", a.one+"/status"+dry, jsonType, text(change.object()))
	}
	a.ask(a.section, "status: spec is left alone", "PATCH", a.one+"/status"+dry, mergePatch, `{"metadata":{"labels":{"x":"y"}},"spec":{"x":1}}`)
	a.ask(a.section, "status: get", "GET", a.one+"/status", "", "")
}

// patches changes the object by each kind of patch, and updates it in ways that concern all kinds.
func (a *about) patches() {
	version := text(a.object["apiVersion"])
	kind := text(a.object["kind"])
	for _, p := range []struct{ name, query, contentType, body string }{
		{"merge label", "", mergePatch, `{"metadata":{"labels":{"x":"y"}}}`},
		{"merge nothing", "", mergePatch, `{}`},
		{"merge unknown strict", "?fieldValidation=Strict", mergePatch, `{"wrong":1,"metadata":{"wrong":2}}`},
		{"merge unknown warn", "?fieldValidation=Warn", mergePatch, `{"wrong":1,"metadata":{"wrong":2}}`},
		{"merge unknown ignore", "?fieldValidation=Ignore", mergePatch, `{"wrong":1}`},
		{"merge unknown bad level", "?fieldValidation=Bad", mergePatch, `{"wrong":1}`},
		{"merge duplicate", "?fieldValidation=Strict", mergePatch, `{"metadata":{"labels":{"x":"y","x":"z"}}}`},
		{"merge list", "", mergePatch, `[]`},
		{"merge wrong type", "", mergePatch, `{"metadata":{"labels":5}}`},
		{"merge name", "", mergePatch, `{"metadata":{"name":"other"}}`},
		{"merge namespace", "", mergePatch, `{"metadata":{"namespace":"other"}}`},
		{"merge kind", "", mergePatch, `{"kind":"Other"}`},
		{"merge version", "", mergePatch, `{"apiVersion":"other/v1"}`},
		{"merge bad label", "", mergePatch, `{"metadata":{"labels":{"x y":"y"}}}`},
		{"merge old version", "", mergePatch, `{"metadata":{"resourceVersion":"1"}}`},
		{"merge bad version", "", mergePatch, `{"metadata":{"resourceVersion":"x"}}`},
		{"merge uid", "", mergePatch, `{"metadata":{"uid":"x"}}`},
		{"merge generation", "", mergePatch, `{"metadata":{"generation":-1}}`},
		{"strategic label", "", strategic, `{"metadata":{"labels":{"x":null,"w":"v"}}}`},
		{"strategic unknown", "?fieldValidation=Strict", strategic, `{"wrong":1}`},
		{"strategic directive", "", strategic, `{"metadata":{"labels":{"$patch":"replace","r":"s"}}}`},
		{"strategic bad directive", "", strategic, `{"metadata":{"$patch":"bad"}}`},
		{"strategic finalizers", "", strategic, `{"metadata":{"finalizers":["example.com/a"]}}`},
		{"strategic finalizers off", "", strategic, `{"metadata":{"$deleteFromPrimitiveList/finalizers":["example.com/a"]}}`},
		{"json patch", "", jsonPatch, `[{"op":"add","path":"/metadata/annotations","value":{"x":"y"}}]`},
		{"json patch test", "", jsonPatch, `[{"op":"test","path":"/metadata/name","value":"other"}]`},
		{"json patch missing", "", jsonPatch, `[{"op":"remove","path":"/metadata/annotations/none"}]`},
		{"json patch bad op", "", jsonPatch, `[{"op":"bad","path":"/metadata"}]`},
		{"json patch unknown", "?fieldValidation=Strict", jsonPatch, `[{"op":"add","path":"/wrong","value":1}]`},
		{"json patch object", "", jsonPatch, `{}`},
		{"apply", "?fieldManager=m", applyYAML, `{"apiVersion":` + version + `,"kind":` + kind + `,"metadata":{"name":` + text(a.name) +
			`,"labels":{"applied":"a"}}}`},
		{"apply conflict", "?fieldManager=other", applyYAML, `{"apiVersion":` + version + `,"kind":` + kind + `,"metadata":{"labels":{"applied":"b"}}}`},
		{"apply force", "?fieldManager=other&force=true", applyYAML, `{"apiVersion":` + version + `,"kind":` + kind + `,"metadata":{"labels":{"applied":"b"}}}`},
		{"apply without a manager", "", applyYAML, `{"apiVersion":` + version + `,"kind":` + kind + `}`},
		{"apply unknown", "?fieldManager=m", applyYAML, `{"apiVersion":` + version + `,"kind":` + kind + `,"wrong":1}`},
		{"apply without a kind", "?fieldManager=m", applyYAML, `{}`},
		{"apply managed fields", "?fieldManager=m", applyYAML, `{"apiVersion":` + version + `,"kind":` + kind + `,"metadata":{"managedFields":[{"manager":"x"}]}}`},
		{"bad dry run", "?dryRun=Some", mergePatch, `{}`},
		{"force of a merge patch", "?force=true", mergePatch, `{}`},
		{"patch type", "", jsonType, `{}`},
		{"not JSON", "", mergePatch, `{`},
	} {
		a.ask(a.section, p.name, "PATCH", a.one+p.query, p.contentType, p.body)
	}
	live := a.stored()
	if live == nil {
		return
	}
	put := func(name, query string, edit func(object, metadata map[string]any)) {
		object := runtime.DeepCopyJSON(live)
		edit(object, object["metadata"].(map[string]any))
		a.ask(a.section, name, "PUT", a.one+query, jsonType, text(object))
	}
	put("put the same", "", func(_, _ map[string]any) {})
	put("put without a version", "", func(_, m map[string]any) { delete(m, "resourceVersion") })
	put("put an old version", "", func(_, m map[string]any) { m["resourceVersion"] = "1" })
	put("put another name", "", func(_, m map[string]any) { m["name"] = "other" })
	put("put without a name", "", func(_, m map[string]any) { delete(m, "name") })
	put("put another namespace", "", func(_, m map[string]any) { m["namespace"] = "other" })
	put("put another kind", "", func(o, _ map[string]any) { o["kind"] = "Other" })
	put("put without a kind", dry, func(o, _ map[string]any) { delete(o, "kind"); delete(o, "apiVersion") })
	put("put another uid", dry, func(_, m map[string]any) { m["uid"] = "x" })
	put("put an unknown field", "?dryRun=All&fieldValidation=Warn", func(o, _ map[string]any) { o["wrong"] = int64(1) })
	a.ask(a.section, "put what is not there", "PUT", a.collection+"/not-there"+dry, jsonType, strings.Replace(text(a.object), text(a.name), `"not-there"`, 1))
	a.ask(a.section, "create again", "POST", a.collection, jsonType, text(a.object))
	for _, c := range []struct {
		name, query string
		edit        func(object, metadata map[string]any)
	}{
		{"create with a version", dry, func(_, m map[string]any) { m["resourceVersion"] = "5" }},
		{"create with an empty status", dry, func(o, _ map[string]any) { o["status"] = map[string]any{} }},
		{"create with a wrong status", dry, func(o, _ map[string]any) { o["status"] = "x" }},
		{"create in another namespace", dry, func(_, m map[string]any) { m["namespace"] = "other" }},
		{"create unknown strict", "?dryRun=All&fieldValidation=Strict", func(o, m map[string]any) { o["wrong"], m["wrong"] = int64(1), int64(2) }},
		{"create unknown warn", "?dryRun=All&fieldValidation=Warn", func(o, m map[string]any) { o["wrong"], m["wrong"] = int64(1), int64(2) }},
		{"create unknown", dry, func(o, m map[string]any) { o["wrong"], m["wrong"] = int64(1), int64(2) }},
		{"create a generated name", dry, func(_, m map[string]any) { delete(m, "name"); m["generateName"] = "gen-" }},
		{"create a bad generated name", dry, func(_, m map[string]any) { delete(m, "name"); m["generateName"] = "Bad_" }},
		{"create without a name", dry, func(_, m map[string]any) { delete(m, "name") }},
		{"create with a name of dots", dry, func(_, m map[string]any) { m["name"] = ".." }},
		{"create with a slash", dry, func(_, m map[string]any) { m["name"] = "a/b" }},
	} {
		object := runtime.DeepCopyJSON(a.object)
		metadata := object["metadata"].(map[string]any)
		metadata["name"] = a.name
		c.edit(object, metadata)
		a.ask(a.section, c.name, "POST", a.collection+c.query, jsonType, text(object))
	}
}

// reads gets and lists.
func (a *about) reads() {
	get := func(name, path, accept string) *requests.Answer {
		return a.send(requests.Request{Section: a.section, Name: name, Method: "GET", Path: path, Accept: accept})
	}
	get("table", a.one, tableAccepted)
	get("table without objects", a.one+"?includeObject=None", tableAccepted)
	get("table of a list", a.collection+"?labelSelector=applied%3Db", tableAccepted)
	get("metadata only", a.one, "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io")
	get("yaml", a.one, "application/yaml")
	get("get at a version", a.one+"?resourceVersion=0", "")
	get("get what is not there", a.collection+"/not-there", "")
	for _, query := range []string{
		"labelSelector=applied%3Db", "labelSelector=applied%3Db&limit=1", "labelSelector=applied%20in%20(a,c)", "labelSelector=applied%20in%20(",
		"fieldSelector=metadata.name%3D" + a.name,
		"fieldSelector=spec.wrong%3Da", "fieldSelector=metadata.name", "labelSelector=applied%3Db&resourceVersion=0", "labelSelector=applied%3Db&resourceVersion=x",
		"labelSelector=applied%3Db&resourceVersionMatch=Exact", "labelSelector=applied%3Db&resourceVersion=0&resourceVersionMatch=Exact",
		"labelSelector=applied%3Db&resourceVersion=1&resourceVersionMatch=Bad",
		"labelSelector=applied%3Db&limit=-1", "continue=x", "watch=true&resourceVersion=x", "labelSelector=applied%3Db&timeoutSeconds=x", "sendInitialEvents=true",
		"watch=true&sendInitialEvents=true", "watch=true&resourceVersionMatch=NotOlderThan",
	} {
		get("list "+query, a.collection+"?"+query, "")
	}
}

// deletions deletes the object in ways that are refused, and at last.
func (a *about) deletions() {
	remove := func(name, path, body string) {
		contentType := ""
		if body != "" {
			contentType = jsonType
		}
		a.ask(a.section, name, "DELETE", path, contentType, body)
	}
	remove("delete dry", a.one+dry, "")
	remove("delete another uid", a.one, `{"preconditions":{"uid":"x"}}`)
	remove("delete another version", a.one, `{"preconditions":{"resourceVersion":"1"}}`)
	remove("delete bad policy", a.one+"?propagationPolicy=Bad", "")
	remove("delete two policies", a.one, `{"propagationPolicy":"Orphan","orphanDependents":true}`)
	remove("delete bad options", a.one, `{"kind":"Other"}`)
	remove("delete not JSON", a.one, `{`)
	remove("delete what is not there", a.collection+"/not-there", "")
	remove("delete dry in the foreground", a.one+dry+"&propagationPolicy=Foreground", "")
	remove("delete dry and orphan", a.one+dry+"&propagationPolicy=Orphan", "")
	remove("delete the collection, dry", a.collection+dry+"&labelSelector=applied%3Db", "")
	remove("delete the collection by a bad selector", a.collection+dry+"&labelSelector=x%20in", "")
	remove("delete after a grace of -1", a.one+dry+"&gracePeriodSeconds=-1", "")
	remove("delete after a grace of x", a.one+dry+"&gracePeriodSeconds=x", "")
	if !slices.Contains(kept, a.section) {
		remove("delete", a.one+"?gracePeriodSeconds=0", "")
		a.ask(a.section, "get what was deleted", "GET", a.one, "", "")
	}
}

// kept lists the objects that later ones need.
var kept = []string{"CustomResourceDefinition v1 as.x.example.com"}

// text returns a value as JSON, its fields in order.
func text(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err) // it is made of JSON
	}
	return string(data)
}
