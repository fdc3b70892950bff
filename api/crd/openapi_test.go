package crd_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/rest"
)

// swaggerOf asks for OpenAPI v2, with the tag of a document that the client has.
func swaggerOf(t *testing.T, server *api.Server, etag string) (int, string, *spec.Swagger) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/openapi/v2", http.NoBody)
	r.Header.Set("If-None-Match", etag)
	w := httptest.NewRecorder()
	handlerOf(server).ServeHTTP(w, r)
	document := &spec.Swagger{}
	if w.Code == http.StatusOK {
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), document))
	}
	return w.Code, w.Header().Get("Etag"), document
}

func handlerOf(server *api.Server) *rest.Handler { return rest.New(server, server.Registry(), at) }

func TestOpenAPIV2FollowsTheDefinitions(t *testing.T) {
	const v1Name, betaName = "com.example.v1.Backup", "com.example.v1beta1.Backup"
	server, client, _ := serve(t)
	code, before, document := swaggerOf(t, server, "")
	require.Equal(t, 200, code)
	require.Contains(t, document.Definitions, "io.k8s.api.core.v1.Pod")
	assert.NotContains(t, document.Definitions, v1Name)
	code, _, _ = swaggerOf(t, server, before)
	assert.Equal(t, http.StatusNotModified, code, "nothing has changed")

	define(t, client, backups)
	code, with, document := swaggerOf(t, server, before)
	require.Equal(t, 200, code)
	require.Contains(t, document.Definitions, v1Name)
	require.Contains(t, document.Definitions, betaName)
	of := document.Definitions[v1Name]
	assert.Equal(t, "what is backed up", of.Properties["spec"].Properties["claim"].Description)
	assert.Equal(t, []string{"spec"}, of.Required)
	metadata := of.Properties["metadata"]
	assert.Equal(t, "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", metadata.Ref.String())
	assert.NotEmpty(t, metadata.Description)
	assert.Empty(t, of.Properties["spec"].Properties["free"].Type, "kubectl would refuse unknown fields")
	assert.Contains(t, document.Paths.Paths, "/apis/example.com/v1/namespaces/{namespace}/backups/{name}/status")

	def, err := client.Resource(definitions).Get(ctx, "backups.example.com", metav1.GetOptions{})
	require.NoError(t, err)
	def.Object["spec"].(map[string]any)["versions"].([]any)[1].(map[string]any)["served"] = false
	_, err = client.Resource(definitions).Update(ctx, def, metav1.UpdateOptions{})
	require.NoError(t, err)
	_, _, document = swaggerOf(t, server, with)
	assert.Contains(t, document.Definitions, v1Name)
	assert.NotContains(t, document.Definitions, betaName, "it is not served any more")

	require.NoError(t, client.Resource(definitions).Delete(ctx, "backups.example.com", metav1.DeleteOptions{}))
	_, after, document := swaggerOf(t, server, with)
	assert.NotContains(t, document.Definitions, v1Name)
	assert.Equal(t, before, after)
}

// things is a definition with what OpenAPI v2 does not have.
const things = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: things, kind: Thing}
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
            required: [may, must]
            oneOf: [{required: [may]}, {required: [must]}]
            properties:
              may: {type: object, nullable: true, properties: {a: {type: string}}}
              must: {type: string}
              port: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}
              any: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: string}}}}
              sizes: {type: object, required: [x], additionalProperties: {type: string, nullable: true}}
  - name: v2
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: string}}}}
`

func TestOpenAPIV2LeavesOutWhatOnlyV3CanSay(t *testing.T) {
	server, client, config := serve(t)
	define(t, client, things)
	_, _, document := swaggerOf(t, server, "")
	text, err := json.Marshal(document.Definitions["com.example.v1.Thing"].Properties["spec"])
	require.NoError(t, err)
	assert.JSONEq(t, `{"type": "object", "required": ["must"], "properties": {
		"may": {}, "must": {"type": "string"}, "port": {"x-kubernetes-int-or-string": true},
		"any": {"type": "array", "items": {"x-kubernetes-preserve-unknown-fields": true}},
		"sizes": {"type": "object", "additionalProperties": {}}}}`, string(text))
	text, err = json.Marshal(document.Definitions["com.example.v2.Thing"])
	require.NoError(t, err)
	assert.JSONEq(t, `{"type": "object", "x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v2", "kind": "Thing"}]}`, string(text))

	parsed, err := discovery.NewDiscoveryClientForConfigOrDie(config).OpenAPISchema()
	require.NoError(t, err, "the form that discovery clients ask for")
	names := map[string]bool{}
	for _, definition := range parsed.Definitions.AdditionalProperties {
		names[definition.Name] = true
	}
	for name := range document.Definitions {
		assert.True(t, names[name], name)
	}
}

func TestOpenAPIV2OffersStrategicMergePatchesForBuiltInKindsOnly(t *testing.T) {
	const strategic = "application/strategic-merge-patch+json"
	server, client, _ := serve(t)
	define(t, client, backups)
	_, _, document := swaggerOf(t, server, "")
	consumes := func(path string) []string { return document.Paths.Paths[path].Patch.Consumes }
	assert.Contains(t, consumes("/api/v1/namespaces/{namespace}/pods/{name}"), strategic)
	custom := consumes("/apis/example.com/v1/namespaces/{namespace}/backups/{name}")
	assert.Contains(t, custom, "application/merge-patch+json")
	assert.NotContains(t, custom, strategic, "the server refuses it, and kubectl apply sends what it finds here")
}
