package crd_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/storagesim/storagesim/api"
)

// jobs is a definition whose objects have others in them.
const jobs = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: jobs.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: jobs, kind: Job}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              template:
                type: object
                x-kubernetes-embedded-resource: true
                required: [spec]
                properties: {spec: {type: object, properties: {image: {type: string}}}}
              more: {type: array, items: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}}
`

// openAPIv3 returns what the document of a group and version says of a schema.
func openAPIv3(t *testing.T, server *api.Server, gv, name string) map[string]any {
	t.Helper()
	w := httptest.NewRecorder()
	handlerOf(server).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/openapi/v3/apis/"+gv, http.NoBody))
	require.Equal(t, http.StatusOK, w.Code)
	var document struct {
		Components struct{ Schemas map[string]map[string]any }
	}
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &document))
	require.Contains(t, document.Components.Schemas, name)
	return document.Components.Schemas[name]
}

func TestOpenAPISaysWhatEmbeddedObjectsHave(t *testing.T) {
	server, client, _ := serve(t)
	define(t, client, jobs)
	const (
		conventions = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
		typeMeta    = `"apiVersion": {"type": "string", "description": "apiVersion defines the versioned schema of this representation of an object. More info: ` +
			conventions + `#resources"},
			"kind": {"type": "string", "description": "kind is a string value representing the type of this object. In CamelCase. More info: ` + conventions +
			`#types-kinds"}`
		metaDoc = `"description": "Standard object's metadata. More info: ` + conventions + `#metadata"`
		metaV2  = `"metadata": {"$ref": "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", ` + metaDoc + `}`
		metaV3  = `"metadata": {"allOf": [{"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}], ` + metaDoc + `}`
		spec    = `"spec": {"type": "object", "properties": {"image": {"type": "string"}}}`
		free    = `"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true, "required": ["kind", "apiVersion"]`
	)
	template := func(meta string) string {
		return `{"type": "object", "x-kubernetes-embedded-resource": true, "required": ["spec", "kind", "apiVersion"], "properties": {` + spec + `, ` + typeMeta +
			`, ` + meta + `}}`
	}
	in3, err := json.Marshal(openAPIv3(t, server, "example.com/v1", "com.example.v1.Job")["properties"].(map[string]any)["spec"])
	require.NoError(t, err)
	assert.JSONEq(t, `{"type": "object", "properties": {"template": `+template(metaV3)+`,
		"more": {"type": "array", "items": {`+free+`, "properties": {`+typeMeta+`, `+metaV3+`}}}}}`, string(in3))

	_, _, document := swaggerOf(t, server, "")
	in2, err := json.Marshal(document.Definitions["com.example.v1.Job"].Properties["spec"])
	require.NoError(t, err)
	assert.JSONEq(t, `{"type": "object", "properties": {"template": `+template(metaV2)+`,
		"more": {"type": "array", "items": {"x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true}}}}`, string(in2),
		"kubectl would refuse what an object has besides")
}

func jobsOf(client dynamic.Interface) dynamic.ResourceInterface {
	return client.Resource(v1.GroupVersion().WithResource("jobs")).Namespace("default")
}

func TestWhatIsNoMetadataIsUnknownAlsoInEmbeddedObjects(t *testing.T) {
	_, client, _ := serve(t)
	define(t, client, jobs)
	obj := object(t, `{apiVersion: example.com/v1, kind: Job, metadata: {name: a, xx: 1}, spec: {
		template: {apiVersion: v1, kind: Pod, metadata: {name: p, yy: 1}, spec: {}},
		more: [{apiVersion: v1, kind: Pod, metadata: {zz: 1}, free: 1}]}}`)
	strict := metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}
	_, err := jobsOf(client).Create(ctx, obj, strict)
	assert.ErrorContains(t, err,
		`strict decoding error: unknown field "metadata.xx", unknown field "spec.more[0].metadata.zz", unknown field "spec.template.metadata.yy"`)
	got, err := jobsOf(client).Create(ctx, obj, metav1.CreateOptions{})
	require.NoError(t, err)
	assert.Equal(t, map[string]any{
		"template": map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "p"}, "spec": map[string]any{}},
		"more":     []any{map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{}, "free": int64(1)}},
	}, got.Object["spec"])
}

func TestServerSideApplyKnowsTheMetadataOfEmbeddedObjects(t *testing.T) {
	_, client, _ := serve(t)
	define(t, client, jobs)
	apply := func(owner, meta string) error {
		text, err := object(t, `{apiVersion: example.com/v1, kind: Job, metadata: {name: a}, spec: {template: {apiVersion: v1, kind: Pod, metadata: `+meta+
			`, spec: {}}}}`).MarshalJSON()
		require.NoError(t, err)
		_, err = jobsOf(client).Patch(ctx, "a", types.ApplyPatchType, text, metav1.PatchOptions{FieldManager: owner})
		return err
	}
	require.NoError(t, apply("one", `{labels: {a: b}, finalizers: [example.com/one]}`))
	require.NoError(t, apply("two", `{labels: {c: d}, finalizers: [example.com/two]}`))
	got, err := jobsOf(client).Get(ctx, "a", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, map[string]any{
		"labels": map[string]any{"a": "b", "c": "d"}, "finalizers": []any{"example.com/one", "example.com/two"},
	}, got.Object["spec"].(map[string]any)["template"].(map[string]any)["metadata"])
	assert.ErrorContains(t, apply("one", `{x: 1}`), ".spec.template.metadata.x: field not declared in schema")
}
