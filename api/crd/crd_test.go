package crd_test

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	restclient "k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/crd"
	"github.com/storagesim/storagesim/api/rest"
)

// backups is a definition with most of what one can have.
const backups = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: backups.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: backups, kind: Backup, shortNames: [bak], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    additionalPrinterColumns:
    - {name: Claim, type: string, jsonPath: .spec.claim}
    - {name: Keep, type: integer, jsonPath: .spec.keep}
    - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}
    selectableFields: [{jsonPath: .spec.claim}]
    schema: &schema
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            required: [claim]
            properties:
              claim: {type: string, minLength: 1, description: what is backed up}
              keep: {type: integer, minimum: 1, default: 3}
              port: {x-kubernetes-int-or-string: true}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
              template: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
              days:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items: {type: object, required: [name], properties: {name: {type: string}, hour: {type: integer}}}
          status: {type: object, properties: {done: {type: boolean}}}
  - name: v1beta1
    served: true
    storage: false
    deprecated: true
    subresources: {status: {}}
    selectableFields: [{jsonPath: .spec.claim}]
    schema: *schema
`

var (
	ctx         = context.Background()
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	v1          = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "backups"}
	v1beta1     = schema.GroupVersionResource{Group: "example.com", Version: "v1beta1", Resource: "backups"}
)

func at() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

// serve returns a server with definitions, and clients of it.
func serve(t testing.TB) (*api.Server, dynamic.Interface, *restclient.Config) {
	t.Helper()
	server := api.NewServer(api.Config{Now: at})
	require.NoError(t, crd.Install(server, at))
	config := rest.New(server, server.Registry(), at).Config("tester")
	client, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	return server, client, config
}

func object(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte(text), &u.Object))
	return u
}

func define(t testing.TB, client dynamic.Interface, text string) {
	t.Helper()
	_, err := client.Resource(definitions).Create(ctx, object(t, text), metav1.CreateOptions{})
	require.NoError(t, err)
}

const nightly = `{apiVersion: example.com/v1, kind: Backup, metadata: {name: nightly}, spec: {claim: data, port: http}}`

func create(t testing.TB, client dynamic.Interface, text string) *unstructured.Unstructured {
	t.Helper()
	obj, err := client.Resource(v1).Namespace("default").Create(ctx, object(t, text), metav1.CreateOptions{})
	require.NoError(t, err)
	return obj
}

func conditionsOf(t testing.TB, client dynamic.Interface, name string) map[string]string {
	t.Helper()
	def, err := client.Resource(definitions).Get(ctx, name, metav1.GetOptions{})
	require.NoError(t, err)
	list, _, err := unstructured.NestedSlice(def.Object, "status", "conditions")
	require.NoError(t, err)
	found := map[string]string{}
	for _, item := range list {
		c := item.(map[string]any)
		found[c["type"].(string)] = c["status"].(string) + " " + c["reason"].(string) + ": " + c["message"].(string)
	}
	return found
}

func TestADefinitionIsEstablishedAndItsObjectsAreServed(t *testing.T) {
	_, client, _ := serve(t)
	define(t, client, backups)
	assert.Equal(t, map[string]string{
		"NamesAccepted": "True NoConflicts: no conflicts found",
		"Established":   "True InitialNamesAccepted: the initial names have been accepted",
	}, conditionsOf(t, client, "backups.example.com"))
	got := create(t, client, nightly)
	assert.Equal(t, map[string]any{"claim": "data", "keep": int64(3), "port": "http"}, got.Object["spec"], "with its default")
	assert.Equal(t, int64(1), got.GetGeneration())
	list, err := client.Resource(v1).List(ctx, metav1.ListOptions{FieldSelector: "spec.claim=data"})
	require.NoError(t, err)
	assert.Len(t, list.Items, 1)
	assert.Equal(t, "BackupList", list.GetKind())
	list, err = client.Resource(v1).List(ctx, metav1.ListOptions{FieldSelector: "spec.claim=other"})
	require.NoError(t, err)
	assert.Empty(t, list.Items)
}

func TestTheAnswerToANewDefinitionSaysNothingOfItsConditionsYet(t *testing.T) {
	_, client, _ := serve(t)
	w, err := client.Resource(definitions).Watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	defer w.Stop()
	def, err := client.Resource(definitions).Create(ctx, object(t, backups), metav1.CreateOptions{})
	require.NoError(t, err)
	assert.Empty(t, def.Object["status"].(map[string]any)["conditions"])
	var counts []int
	for range 3 {
		n := 0
		conditions, _ := (<-w.ResultChan()).Object.(*unstructured.Unstructured).Object["status"].(map[string]any)["conditions"].([]any)
		for _, c := range conditions {
			if c.(map[string]any)["status"] == "True" {
				n++
			}
		}
		counts = append(counts, n)
	}
	assert.Equal(t, []int{0, 1, 2}, counts, "new, names accepted, established")
}

func TestUnknownFieldsArePrunedAndBadValuesRefused(t *testing.T) {
	_, client, _ := serve(t)
	define(t, client, backups)
	got := create(t, client, `{apiVersion: example.com/v1, kind: Backup, metadata: {name: a}, extra: 1,
		spec: {claim: data, unknown: 1, free: {any: thing}, template: {apiVersion: v1, kind: Pod, metadata: {name: p, nonsense: 1}, spec: {x: 1}}}}`)
	assert.Equal(t, map[string]any{
		"claim": "data", "keep": int64(3), "free": map[string]any{"any": "thing"},
		"template": map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "p"}, "spec": map[string]any{"x": int64(1)}},
	}, got.Object["spec"])
	assert.NotContains(t, got.Object, "extra")

	for says, text := range map[string]string{
		`Backup.example.com "b" is invalid: spec: Required value`:                                                              `{}`,
		`Backup.example.com "b" is invalid: spec.claim: Required value`:                                                        `{spec: {}}`,
		`Backup.example.com "b" is invalid: spec.claim: Invalid value: "": spec.claim in body should be at least 1 chars long`: `{spec: {claim: ""}}`,
		`Backup.example.com "b" is invalid: spec.keep: Invalid value: 0: spec.keep in body should be greater ` +
			`than or equal to 1`: `{spec: {claim: a, keep: 0}}`,
		`Backup.example.com "b" is invalid: spec.keep: Invalid value: "string": spec.keep in body must be of type ` +
			`integer: "string"`: `{spec: {claim: a, keep: x}}`,
		`Backup.example.com "b" is invalid: spec.port: Invalid value: "boolean": spec.port in body must be of type integer,` +
			`string: "boolean"`: `{spec: {claim: a, port: true}}`,
		`Backup.example.com "b" is invalid: [spec.template.apiVersion: Required value, ` +
			`spec.template.kind: Required value]`: `{spec: {claim: a, template: {}}}`,
		`Backup.example.com "b" is invalid: spec.template.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c`: `{spec: {claim: a, ` +
			`template: {apiVersion: a/b/c, kind: Pod}}}`,
		`Backup.example.com "b" is invalid: spec.template.kind: Invalid value: 1: must be a string`: `{spec: {claim: a, ` +
			`template: {apiVersion: v1, kind: 1}}}`,
		`Backup.example.com "b" is invalid: spec.template.metadata: Invalid value: {"labels":1}: json: cannot unmarshal number into Go struct field ` +
			`ObjectMeta.labels of type map[string]string`: `{spec: {claim: a, template: {apiVersion: v1, kind: Pod, metadata: {labels: 1}}}}`,
		`Backup.example.com "b" is invalid: spec.days[1]: Duplicate value: {"name":"mon"}`: `{spec: {claim: a, days: [{name: mon}, {name: mon}]}}`,
	} {
		obj := object(t, text)
		obj.SetAPIVersion("example.com/v1")
		obj.SetKind("Backup")
		obj.SetName("b")
		_, err := client.Resource(v1).Namespace("default").Create(ctx, obj, metav1.CreateOptions{})
		assert.True(t, apierrors.IsInvalid(err), "%v", err)
		assert.EqualError(t, err, says)
	}
}

// On a cluster an object is completed whenever it is read from etcd.
func TestStoredObjectsGetTheFieldsAndDefaultsOfANewSchema(t *testing.T) {
	_, client, _ := serve(t)
	define(t, client, backups)
	before := create(t, client, nightly)
	definitions := client.Resource(apiextensions.SchemeGroupVersion.WithResource("customresourcedefinitions"))
	def, err := definitions.Get(ctx, "backups.example.com", metav1.GetOptions{})
	require.NoError(t, err)
	for _, version := range def.Object["spec"].(map[string]any)["versions"].([]any) {
		spec := version.(map[string]any)["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)["properties"].(map[string]any)["spec"].(map[string]any)
		properties := spec["properties"].(map[string]any)
		properties["where"] = map[string]any{"type": "string", "default": "attic"}
		delete(properties, "keep")
	}
	_, err = definitions.Update(ctx, def, metav1.UpdateOptions{})
	require.NoError(t, err)

	read, err := client.Resource(v1).Namespace("default").Get(ctx, "nightly", metav1.GetOptions{})
	require.NoError(t, err)
	spec := read.Object["spec"].(map[string]any)
	assert.Equal(t, "attic", spec["where"])
	assert.NotContains(t, spec, "keep", "the schema does not have it any more")
	assert.Equal(t, before.GetResourceVersion(), read.GetResourceVersion(), "that is no write")
	list, err := client.Resource(v1).Namespace("default").List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	assert.Equal(t, read.Object["spec"], list.Items[0].Object["spec"])
	_, err = client.Resource(v1).Namespace("default").Update(ctx, read, metav1.UpdateOptions{})
	require.NoError(t, err)
}

func TestUnknownFieldsAreRefusedIfThatIsAskedFor(t *testing.T) {
	_, client, _ := serve(t)
	define(t, client, backups)
	obj := object(t, nightly)
	require.NoError(t, unstructured.SetNestedField(obj.Object, "x", "spec", "clame"))
	_, err := client.Resource(v1).Namespace("default").Create(ctx, obj, metav1.CreateOptions{FieldValidation: "Strict"})
	assert.True(t, apierrors.IsBadRequest(err), "%v", err)
	assert.ErrorContains(t, err, `strict decoding error: unknown field "spec.clame"`)
	create(t, client, nightly)
	_, err = client.Resource(v1).Namespace("default").Patch(ctx, "nightly", types.MergePatchType, []byte(`{"spec":{"clame":"x"}}`),
		metav1.PatchOptions{FieldValidation: "Strict"})
	assert.ErrorContains(t, err, `strict decoding error: unknown field "spec.clame"`)
}

func TestTheStatusOfACustomResourceIsWrittenApartAndChangesNothingElse(t *testing.T) {
	_, client, _ := serve(t)
	define(t, client, backups)
	got := create(t, client, nightly)
	require.NoError(t, unstructured.SetNestedField(got.Object, true, "status", "done"))
	require.NoError(t, unstructured.SetNestedField(got.Object, int64(7), "spec", "keep"))
	got.SetLabels(map[string]string{"a": "b"})
	got, err := client.Resource(v1).Namespace("default").UpdateStatus(ctx, got, metav1.UpdateOptions{})
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"done": true}, got.Object["status"])
	assert.Equal(t, int64(3), got.Object["spec"].(map[string]any)["keep"])
	assert.Empty(t, got.GetLabels())
	assert.Equal(t, int64(1), got.GetGeneration())
	require.NoError(t, unstructured.SetNestedField(got.Object, "x", "status", "done"))
	_, err = client.Resource(v1).Namespace("default").UpdateStatus(ctx, got, metav1.UpdateOptions{})
	assert.EqualError(t, err, `Backup.example.com "nightly" is invalid: status.done: Invalid value: "string": done in body must be of type boolean: "string"`)
}

func TestAnObjectIsShownInEachVersion(t *testing.T) {
	_, client, _ := serve(t)
	define(t, client, backups)
	w, err := client.Resource(v1beta1).Namespace("default").Watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	defer w.Stop()
	create(t, client, nightly)
	assert.Equal(t, "example.com/v1beta1", (<-w.ResultChan()).Object.(*unstructured.Unstructured).GetAPIVersion())
	got, err := client.Resource(v1beta1).Namespace("default").Get(ctx, "nightly", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, "example.com/v1beta1", got.GetAPIVersion())
	require.NoError(t, unstructured.SetNestedField(got.Object, int64(9), "spec", "keep"))
	got, err = client.Resource(v1beta1).Namespace("default").Update(ctx, got, metav1.UpdateOptions{})
	require.NoError(t, err)
	assert.Equal(t, "example.com/v1beta1", got.GetAPIVersion())
	got, err = client.Resource(v1).Namespace("default").Patch(ctx, "nightly", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`),
		metav1.PatchOptions{})
	require.NoError(t, err)
	assert.Equal(t, "example.com/v1", got.GetAPIVersion())
	assert.Equal(t, int64(9), got.Object["spec"].(map[string]any)["keep"])
	assert.Equal(t, int64(2), got.GetGeneration())
}

func TestAChangedDefinitionKeepsItsObjects(t *testing.T) {
	_, client, _ := serve(t)
	define(t, client, backups)
	create(t, client, nightly)
	_, err := client.Resource(definitions).Patch(ctx, "backups.example.com", types.JSONPatchType, []byte(
		`[{"op":"replace","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/keep/minimum","value":5},
		{"op":"replace","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/keep/default","value":5},
		{"op":"remove","path":"/spec/versions/1"}]`), metav1.PatchOptions{})
	require.NoError(t, err)
	got, err := client.Resource(v1).Namespace("default").Get(ctx, "nightly", metav1.GetOptions{})
	require.NoError(t, err)
	got.SetLabels(map[string]string{"a": "b"})
	got, err = client.Resource(v1).Namespace("default").Update(ctx, got, metav1.UpdateOptions{})
	require.NoError(t, err, "what was there before may stay")
	require.NoError(t, unstructured.SetNestedField(got.Object, int64(4), "spec", "keep"))
	_, err = client.Resource(v1).Namespace("default").Update(ctx, got, metav1.UpdateOptions{})
	assert.ErrorContains(t, err, "spec.keep in body should be greater than or equal to 5")
}

func TestADeletedDefinitionTakesItsObjectsWithIt(t *testing.T) {
	server, client, _ := serve(t)
	define(t, client, backups)
	held := object(t, nightly)
	held.SetFinalizers([]string{"example.com/hold"})
	_, err := client.Resource(v1).Namespace("default").Create(ctx, held, metav1.CreateOptions{})
	require.NoError(t, err)
	create(t, client, `{apiVersion: example.com/v1, kind: Backup, metadata: {name: other}, spec: {claim: data}}`)
	require.NoError(t, client.Resource(definitions).Delete(ctx, "backups.example.com", metav1.DeleteOptions{}))
	assert.Equal(t, "True InstanceDeletionInProgress: CustomResource deletion is in progress", conditionsOf(t, client, "backups.example.com")["Terminating"])
	_, err = client.Resource(v1).Namespace("default").Get(ctx, "other", metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err))
	_, err = client.Resource(v1).Namespace("default").Create(ctx,
		object(t, `{apiVersion: example.com/v1, kind: Backup, metadata: {name: late}, spec: {claim: data}}`), metav1.CreateOptions{})
	assert.True(t, apierrors.IsForbidden(err), "%v", err)

	_, err = client.Resource(v1).Namespace("default").Patch(ctx, "nightly", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`),
		metav1.PatchOptions{})
	require.NoError(t, err)
	_, err = client.Resource(definitions).Get(ctx, "backups.example.com", metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err), "the last object has gone: %v", err)
	_, err = server.Registry().Find("backups")
	assert.Error(t, err)

	define(t, client, backups)
	list, err := client.Resource(v1).List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	assert.Empty(t, list.Items)
}

func TestAConflictOfNamesKeepsADefinitionFromBeingEstablished(t *testing.T) {
	_, client, _ := serve(t)
	define(t, client, backups)
	define(t, client, `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: bakeries.example.com},
		spec: {group: example.com, scope: Cluster, names: {plural: bakeries, kind: Backup, shortNames: [bak]},
		versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}`)
	assert.Equal(t, map[string]string{
		"NamesAccepted": `False ListKindConflict: "BackupList" is already in use`, "Established": "False NotAccepted: not all names are accepted",
	}, conditionsOf(t, client, "bakeries.example.com"))
	require.NoError(t, client.Resource(definitions).Delete(ctx, "backups.example.com", metav1.DeleteOptions{}))
	assert.Equal(t, "True InitialNamesAccepted: the initial names have been accepted", conditionsOf(t, client, "bakeries.example.com")["Established"])
}

// Upstream: apimachinery util/managedfields structuredMergeManager.Apply, v0.37.2: what is applied passes no decoder, which drops null.
func TestNullIsRefusedOnlyInWhatIsApplied(t *testing.T) {
	_, client, _ := serve(t)
	define(t, client, backups)
	with := object(t, `{apiVersion: example.com/v1, kind: Backup, metadata: {name: nightly}, spec: {claim: data, days: null}}`)
	_, err := client.Resource(v1).Namespace("default").Apply(ctx, "nightly", with, metav1.ApplyOptions{FieldManager: "one"})
	require.ErrorContains(t, err, `spec.days: Invalid value: "null": spec.days in body must be of type array: "null"`)
	_, err = client.Resource(v1).Namespace("default").Create(ctx, with, metav1.CreateOptions{})
	require.NoError(t, err)
}

func TestServerSideApplyMergesListsByTheirKeys(t *testing.T) {
	_, client, _ := serve(t)
	define(t, client, backups)
	apply := func(manager, text string) *unstructured.Unstructured {
		obj, err := client.Resource(v1).Namespace("default").Apply(ctx, "nightly", object(t, text), metav1.ApplyOptions{FieldManager: manager})
		require.NoError(t, err)
		return obj
	}
	apply("one", `{apiVersion: example.com/v1, kind: Backup, metadata: {name: nightly}, spec: {claim: data, days: [{name: mon, hour: 1}]}}`)
	got := apply("two", `{apiVersion: example.com/v1, kind: Backup, metadata: {name: nightly}, spec: {days: [{name: tue, hour: 2}]}}`)
	days, _, err := unstructured.NestedSlice(got.Object, "spec", "days")
	require.NoError(t, err)
	assert.Len(t, days, 2)
	_, err = client.Resource(v1).Namespace("default").Apply(ctx, "nightly", object(t,
		`{apiVersion: example.com/v1, kind: Backup, metadata: {name: nightly}, spec: {claim: other}}`), metav1.ApplyOptions{FieldManager: "two"})
	assert.True(t, apierrors.IsConflict(err), "%v", err)
	_, err = client.Resource(v1).Namespace("default").Patch(ctx, "nightly", types.StrategicMergePatchType, []byte(`{}`), metav1.PatchOptions{})
	assert.True(t, apierrors.IsUnsupportedMediaType(err), "%v", err)
}

func TestRulesOfTheLanguageCELAreStoredWithAWarning(t *testing.T) {
	server, _, config := serve(t)
	var warned []string
	config.WarningHandler = warnings{&warned}
	client, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	define(t, client, `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: backups.example.com},
		spec: {group: example.com, scope: Namespaced, names: {plural: backups, kind: Backup},
		versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-validations: [{rule: "false"}]}}}]}}`)
	assert.Equal(t, []string{crd.RulesMessage}, warned)
	got, err := server.Do(ctx, api.Request{Verb: "get", Resource: definitions, Name: "backups.example.com"})
	require.NoError(t, err)
	assert.Len(t, got.(*apiextensions.CustomResourceDefinition).Spec.Versions[0].Schema.OpenAPIV3Schema.XValidations, 1)
}

type warnings struct{ texts *[]string }

func (w warnings) HandleWarningHeader(_ int, _, text string) { *w.texts = append(*w.texts, text) }

// A number that JSON does not have comes into the server only from code beside it.
func TestAnAnswerThatCannotBeWrittenIsAnErrorInWords(t *testing.T) {
	server, client, _ := serve(t)
	define(t, client, backups)
	obj := object(t, nightly)
	obj.Object["spec"].(map[string]any)["free"] = map[string]any{"n": math.NaN()}
	_, err := server.Do(ctx, api.Request{Verb: "create", Resource: v1, Namespace: "default", Name: "nightly", Object: obj})
	require.NoError(t, err)
	for path, accept := range map[string]string{
		"/apis/example.com/v1/namespaces/default/backups/nightly": "application/json",
		"/apis/example.com/v1/backups":                            "application/json",
		"/apis/example.com/v1/namespaces/default/backups":         "application/json;as=Table;g=meta.k8s.io;v=v1",
	} {
		r := httptest.NewRequest(http.MethodGet, path+"?includeObject=Object", http.NoBody)
		r.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		handlerOf(server).ServeHTTP(w, r)
		assert.Equal(t, http.StatusInternalServerError, w.Code, path)
		status := &metav1.Status{}
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), status), path)
		assert.Equal(t, metav1.StatusFailure, status.Status)
		assert.Equal(t, metav1.StatusReasonInternalError, status.Reason)
		assert.Contains(t, status.Message, "the answer cannot be written as application/json: ")
		assert.Contains(t, status.Message, "unsupported value: NaN")
	}
	_, err = client.Resource(v1).Namespace("default").Get(ctx, "nightly", metav1.GetOptions{})
	assert.True(t, apierrors.IsInternalError(err), "%v", err)
}

func TestAnEmptyTableOfDefinitionsHasNoListOfRows(t *testing.T) {
	server, client, _ := serve(t)
	define(t, client, backups)
	for path, rows := range map[string]string{
		"/apis/apiextensions.k8s.io/v1/customresourcedefinitions?labelSelector=none": `"rows":null`,
		"/apis/example.com/v1/backups": `"rows":[]`,
	} {
		r := httptest.NewRequest(http.MethodGet, path, http.NoBody)
		r.Header.Set("Accept", "application/json;as=Table;g=meta.k8s.io;v=v1")
		w := httptest.NewRecorder()
		handlerOf(server).ServeHTTP(w, r)
		assert.Contains(t, w.Body.String(), rows, path)
	}
}

// Metadata of custom resources are served as protobuf, as clients of metadata ask for it, and the resources are not.
func TestOnlyMetadataOfCustomResourcesAreServedAsProtobuf(t *testing.T) {
	server, client, _ := serve(t)
	define(t, client, backups)
	_, err := client.Resource(v1).Namespace("default").Create(ctx, object(t, nightly), metav1.CreateOptions{})
	require.NoError(t, err)
	const protobuf, one = "application/vnd.kubernetes.protobuf", "/apis/example.com/v1/namespaces/default/backups/nightly"
	for _, tc := range []struct {
		path, as  string
		code      int
		mediaType string
	}{
		{one, ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1", http.StatusOK, protobuf},
		{"/apis/example.com/v1/backups", ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", http.StatusOK, protobuf},
		{one, ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", http.StatusInternalServerError, "application/json"},
		{one, ";as=Table;g=meta.k8s.io;v=v1", http.StatusNotAcceptable, "application/json"},
		{one, "", http.StatusNotAcceptable, protobuf},
		{one, ",application/json", http.StatusOK, "application/json"},
	} {
		r := httptest.NewRequest(http.MethodGet, tc.path, http.NoBody)
		r.Header.Set("Accept", protobuf+tc.as)
		w := httptest.NewRecorder()
		handlerOf(server).ServeHTTP(w, r)
		assert.Equal(t, tc.code, w.Code, tc.as)
		assert.Equal(t, tc.mediaType, w.Header().Get("Content-Type"), tc.as)
	}
}
