package crd_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/internal/seedtest"
)

// simple returns a definition whose only version has the schema.
func simple(t testing.TB, schema string) *unstructured.Unstructured {
	t.Helper()
	return object(t, `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: things.example.com},
		spec: {group: example.com, scope: Namespaced, names: {plural: things, kind: Thing},
		versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: `+schema+`}}]}}`)
}

func TestADefinitionWithABadSchemaIsRefusedWithThePathOfTheField(t *testing.T) {
	_, client, _ := serve(t)
	for schema, says := range map[string]string{
		`{properties: {spec: {type: object}}}`: `.type: Required value: must not be empty at the root`,
		`{type: string}`:                       `.type: Invalid value: "string": must be object at the root`,
		`{type: object, properties: {spec: {}}}`: `.properties[spec].type: Required value: ` +
			`must not be empty for specified object fields`,
		`{type: object, properties: {a: {type: array}}}`: `.properties[a].items: Required value: must be specified`,
		`{type: object, properties: {a: {type: array, items: {}}}}`: `.properties[a].items.type: Required value: ` +
			`must not be empty for specified array items`,
		`{type: object, additionalProperties: {type: string}}`: `.additionalProperties: Forbidden: must not be used at the root`,
		`{type: object, anyOf: [{type: object}]}`:              `.anyOf[0].type: Forbidden: must be empty to be structural`,
		`{type: object, anyOf: [{required: [a], properties: {a: {minimum: 1}}}]}`: `.properties[a]: Required value: because it is defined in ` +
			`spec.validation.openAPIV3Schema.anyOf[0].properties[a]`,
		`{type: object, properties: {a: {type: strung}}}`: `.properties[a].type: Unsupported value: "strung": ` +
			`supported values: "array", "boolean", "integer", "number", "object", "string"`,
		`{type: object, properties: {a: {$ref: "#/x"}}}`: `.properties[a].$ref: Forbidden: $ref is not supported`,
		`{type: object, properties: {a: {type: array, uniqueItems: true, items: {type: string}}}}`: `.properties[a].uniqueItems: Forbidden: ` +
			`uniqueItems cannot be set to true since the runtime complexity becomes quadratic`,
		`{type: object, properties: {a: {type: integer, default: x}}}`: `.properties[a].default: Invalid value: ` +
			`"string":  in body must be of type integer: "string"`,
		`{type: object, properties: {metadata: {type: object, default: {name: x}}}}`: `.properties[metadata].default: Forbidden: ` +
			`must not be set in top-level metadata`,
		`{type: object, properties: {a: {type: object, x-kubernetes-preserve-unknown-fields: false}}}`: `.properties[a].x-kubernetes-preserve-unknown-fields: ` +
			`Invalid value: false: must be true or undefined`,
		`{type: object, properties: {a: {type: string, x-kubernetes-list-type: set}}}`: `.properties[a].type: Invalid value: "string": ` +
			`must be array if x-kubernetes-list-type is specified`,
		`{type: object, properties: {a: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object, properties: {k: ` +
			`{type: string}}}}}}`: `.properties[a].items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, ` +
			`so it must have a default or be a required property`,
	} {
		_, err := client.Resource(definitions).Create(ctx, simple(t, schema), metav1.CreateOptions{})
		assert.True(t, apierrors.IsInvalid(err), "%s: %v", schema, err)
		assert.ErrorContains(t, err, "spec.validation.openAPIV3Schema"+says, schema)
	}
	list, err := client.Resource(definitions).List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	assert.Empty(t, list.Items, "nothing is stored")
}

func TestABadDefinitionIsRefusedWithThePathOfTheField(t *testing.T) {
	_, client, _ := serve(t)
	for patch, says := range map[string]string{
		`[{"op":"replace","path":"/metadata/name",` +
			`"value":"other.example.com"}]`: `metadata.name: Invalid value: "other.example.com": ` +
			`must be spec.names.plural+"."+spec.group`,
		`[{"op":"replace","path":"/spec/group","value":"example"}]`: `spec.group: ` +
			`Invalid value: "example": should be a domain with at least one dot`,
		`[{"op":"replace","path":"/spec/group","value":"storage.k8s.io"},{"op":"replace","path":"/metadata/name",` +
			`"value":"things.storage.k8s.io"}]`: `metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval annotation`,
		`[{"op":"replace","path":"/spec/scope","value":"Everywhere"}]`: `spec.scope: ` +
			`Unsupported value: "Everywhere": supported values: "Cluster", "Namespaced"`,
		`[{"op":"replace",` +
			`"path":"/spec/names/kind","value":"1"}]`: `spec.names.kind: ` +
			`Invalid value: "1": may have mixed case, but should otherwise match`,
		`[{"op":"add","path":"/spec/names/listKind",` +
			`"value":"Thing"}]`: `spec.names.listKind: Invalid value: "Thing": ` +
			`kind and listKind may not be the same`,
		`[{"op":"replace","path":"/spec/versions/0/storage",` +
			`"value":false}]`: `must have exactly one version marked as storage version`,
		`[{"op":"replace","path":"/spec/versions/0/name",` +
			`"value":"V1"}]`: `spec.versions[0].name: Invalid value: "V1"`,
		`[{"op":"remove",` +
			`"path":"/spec/versions/0/schema"}]`: `spec.versions[0].schema.openAPIV3Schema: Required value`,
		`[{"op":"add","path":"/spec/preserveUnknownFields",` +
			`"value":true}]`: `spec.preserveUnknownFields: Invalid value: true: ` +
			`cannot set to true`,
		`[{"op":"add","path":"/spec/conversion",` +
			`"value":{"strategy":"Webhook"}}]`: `spec.conversion.webhookClientConfig: ` +
			`Required value: required when strategy is set to Webhook`,
		`[{"op":"add","path":"/spec/versions/0/additionalPrinterColumns","value":[{"name":"A","type":"text",` +
			`"jsonPath":"spec"}]}]`: `spec.additionalPrinterColumns[0].type: Invalid value: "text": must be one of boolean,date,integer,number,string`,
		`[{"op":"add","path":"/spec/versions/0/selectableFields",` +
			`"value":[{"jsonPath":".spec.none"}]}]`: `spec.selectableFields[0].jsonPath: Invalid value: ".spec.none": ` +
			`is an invalid path`,
		`[{"op":"add","path":"/spec/versions/0/subresources","value":{"scale":{"specReplicasPath":".replicas",` +
			`"statusReplicasPath":".status.r"}}}]`: `spec.subresources.scale.specReplicasPath: Invalid value: ".replicas": should be a json path under .spec`,
	} {
		def := patched(t, simple(t, `{type: object}`), patch)
		_, err := client.Resource(definitions).Create(ctx, def, metav1.CreateOptions{})
		assert.True(t, apierrors.IsInvalid(err), "%s: %v", patch, err)
		assert.ErrorContains(t, err, says, patch)
	}
}

func TestWhatCannotChangeOfAnEstablishedDefinitionIsKept(t *testing.T) {
	_, client, _ := serve(t)
	_, err := client.Resource(definitions).Create(ctx, simple(t, `{type: object}`), metav1.CreateOptions{})
	require.NoError(t, err)
	for patch, says := range map[string]string{
		`{"spec":{"scope":"Cluster"}}`:        `spec.scope: Invalid value: "Cluster": field is immutable`,
		`{"spec":{"names":{"kind":"Other"}}}`: `spec.names.kind: Invalid value: "Other": field is immutable`,
	} {
		_, err := client.Resource(definitions).Patch(ctx, "things.example.com", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		assert.ErrorContains(t, err, says)
	}
}

var schemaOfThings = runtimeschema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"}

// FuzzSchemas checks that schemas of any form are installed or refused, and so are the
// objects of the installed ones.
func FuzzSchemas(f *testing.F) {
	var seeds [][]any
	for _, seed := range []string{
		`{"type":"object"}`, `{"type":"object","properties":{"a":{"type":"integer","default":1}}}`,
		`{"type":"object","properties":{"a":{"x-kubernetes-int-or-string":true}}}`,
		`{"type":"object","properties":{"a":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}}}`,
		`{"type":"object","properties":{"a":{"type":"string","pattern":"("}}}`,
		`{"type":"object","properties":{"a":{"type":"string","format":"date","enum":[null,1]}}}`,
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"number","multipleOf":0}}}}`, `{"type":"object","not":{"not":{"not":{}}}}`,
	} {
		seeds = append(seeds, []any{[]byte(seed), []byte(`{"a":1}`)})
	}
	seedtest.Corpus(f, 100, seeds...)
	f.Fuzz(func(t *testing.T, schema, fields []byte) {
		var s, spec map[string]any
		if json.Unmarshal(schema, &s) != nil || json.Unmarshal(fields, &spec) != nil || len(schema) > 4<<10 {
			return
		}
		_, client, _ := serve(t)
		def := simple(t, `{type: object}`)
		versions, _, err := unstructured.NestedSlice(def.Object, "spec", "versions")
		require.NoError(t, err)
		versions[0].(map[string]any)["schema"] = map[string]any{"openAPIV3Schema": s}
		def.Object["spec"].(map[string]any)["versions"] = versions
		if _, err := client.Resource(definitions).Create(ctx, def, metav1.CreateOptions{}); err != nil {
			return
		}
		obj := &unstructured.Unstructured{Object: spec}
		if obj.Object == nil {
			obj.Object = map[string]any{}
		}
		obj.Object["metadata"] = map[string]any{"name": "a"}
		obj.SetAPIVersion("example.com/v1")
		obj.SetKind("Thing")
		_, _ = client.Resource(schemaOfThings).Namespace("default").Create(ctx, obj, metav1.CreateOptions{})
	})
}

// patched returns an object with a JSON patch applied.
func patched(t testing.TB, obj *unstructured.Unstructured, patch string) *unstructured.Unstructured {
	t.Helper()
	text, err := obj.MarshalJSON()
	require.NoError(t, err)
	p, err := jsonpatch.DecodePatch([]byte(patch))
	require.NoError(t, err)
	text, err = p.Apply(text)
	require.NoError(t, err)
	out := &unstructured.Unstructured{}
	require.NoError(t, out.UnmarshalJSON(text))
	return out
}
