package crd_test

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	restclient "k8s.io/client-go/rest"
)

// farms is a definition with the subresource scale and every type of column.
const farms = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: farms.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: farms, kind: Farm}
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.cows, labelSelectorPath: .status.selector}
    additionalPrinterColumns:
    - {name: Size, type: integer, jsonPath: .spec.size, description: how many cows}
    - {name: Price, type: number, jsonPath: .spec.price}
    - {name: Open, type: boolean, jsonPath: .spec.open}
    - {name: Fed, type: date, jsonPath: .spec.fed}
    - {name: Owner, type: string, jsonPath: .spec.owner, priority: 1}
    - {name: First, type: string, jsonPath: ".spec.cows[0].name"}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer}
              price: {type: number}
              open: {type: boolean}
              fed: {type: string, format: date-time}
              owner: {type: string}
              cows: {type: array, items: {type: object, properties: {name: {type: string}}}}
          status: {type: object, properties: {cows: {type: integer}, selector: {type: string}}}
`

func farm(t testing.TB, spec string) (dynamic.ResourceInterface, *restclient.Config) {
	t.Helper()
	_, client, cfg := serve(t)
	define(t, client, farms)
	of := client.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "farms"}).Namespace("default")
	made, err := of.Create(ctx, object(t, `{apiVersion: example.com/v1, kind: Farm, metadata: {name: mill}, spec: `+spec+`}`), metav1.CreateOptions{})
	require.NoError(t, err)
	made.Object["status"] = map[string]any{"cows": int64(2), "selector": "kind=cow"}
	_, err = of.UpdateStatus(ctx, made, metav1.UpdateOptions{})
	require.NoError(t, err)
	return of, cfg
}

func counts(t testing.TB, scale *unstructured.Unstructured, err error) string {
	t.Helper()
	require.NoError(t, err)
	require.Equal(t, schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}, scale.GroupVersionKind())
	text, err := json.Marshal([]any{scale.Object["spec"], scale.Object["status"]})
	require.NoError(t, err)
	return string(text)
}

func TestTheScaleOfACustomObjectIsReadWhereItsDefinitionSays(t *testing.T) {
	of, _ := farm(t, `{size: 3}`)
	scale, err := of.Get(ctx, "mill", metav1.GetOptions{}, "scale")
	assert.Equal(t, `[{"replicas":3},{"replicas":2,"selector":"kind=cow"}]`, counts(t, scale, err))
}

func TestAScaleThatIsWrittenChangesTheReplicasThatACustomObjectWants(t *testing.T) {
	of, _ := farm(t, `{size: 3, owner: ann}`)
	scale, err := of.Get(ctx, "mill", metav1.GetOptions{}, "scale")
	require.NoError(t, err)
	scale.Object["spec"] = map[string]any{"replicas": int64(5)}
	scale.Object["status"] = map[string]any{"replicas": int64(99)}
	updated, err := of.Update(ctx, scale, metav1.UpdateOptions{}, "scale")
	assert.Equal(t, `[{"replicas":5},{"replicas":2,"selector":"kind=cow"}]`, counts(t, updated, err), "the status is not a client's to write")
	_, err = of.Update(ctx, scale, metav1.UpdateOptions{}, "scale")
	assert.True(t, apierrors.IsConflict(err), "%v", err)

	patched, err := of.Patch(ctx, "mill", types.JSONPatchType, []byte(`[{"op":"replace","path":"/spec/replicas","value":7}]`), metav1.PatchOptions{}, "scale")
	assert.Equal(t, `[{"replicas":7},{"replicas":2,"selector":"kind=cow"}]`, counts(t, patched, err))
	_, err = of.Patch(ctx, "mill", types.StrategicMergePatchType, []byte(`{"spec":{"replicas":8}}`), metav1.PatchOptions{}, "scale")
	assert.True(t, apierrors.IsUnsupportedMediaType(err), "%v", err)
	got, err := of.Get(ctx, "mill", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"size": int64(7), "owner": "ann"}, got.Object["spec"])
	assert.Equal(t, int64(3), got.GetGeneration(), "each new size is a change of the spec")
}

func TestAScaleThatCannotBeIsRefusedAndNothingChanges(t *testing.T) {
	of, _ := farm(t, `{size: 3}`)
	_, err := of.Patch(ctx, "mill", types.MergePatchType, []byte(`{"spec":{"replicas":-1}}`), metav1.PatchOptions{}, "scale")
	assert.True(t, apierrors.IsInvalid(err), "%v", err)
	assert.ErrorContains(t, err, "should be a non-negative integer")
	_, err = of.Get(ctx, "other", metav1.GetOptions{}, "scale")
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
	got, err := of.Get(ctx, "mill", metav1.GetOptions{}, "scale")
	assert.Contains(t, counts(t, got, err), `{"replicas":3}`)
}

func TestACustomObjectWithoutReplicasHasNoScaleUntilOneIsWritten(t *testing.T) {
	of, _ := farm(t, `{}`)
	_, err := of.Get(ctx, "mill", metav1.GetOptions{}, "scale")
	assert.ErrorContains(t, err, `the spec replicas field ".spec.size" does not exist`)
	assert.True(t, apierrors.IsInternalError(err), "%v", err)
	_, err = of.Patch(ctx, "mill", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{}, "scale")
	assert.ErrorContains(t, err, `the spec replicas field ".spec.size" cannot be empty`)
	scale, err := of.Patch(ctx, "mill", types.MergePatchType, []byte(`{"spec":{"replicas":4}}`), metav1.PatchOptions{}, "scale")
	assert.Contains(t, counts(t, scale, err), `{"replicas":4}`)
}

// table returns what kubectl gets to print.
func table(t testing.TB, cfg *restclient.Config) metav1.Table {
	t.Helper()
	client, err := restclient.HTTPClientFor(cfg)
	require.NoError(t, err)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, cfg.Host+"/apis/example.com/v1/namespaces/default/farms", nil)
	require.NoError(t, err)
	req.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	response, err := client.Do(req)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	var got metav1.Table
	require.NoError(t, json.Unmarshal(body, &got), "%s", body)
	return got
}

func TestATableOfCustomObjectsHasTheColumnsOfTheirDefinition(t *testing.T) {
	_, cfg := farm(t, `{size: 3, price: 1.5, open: true, fed: "2025-12-31T21:00:00Z", owner: ann, cows: [{name: bella}, {name: olga}]}`)
	got := table(t, cfg)
	var columns [][]any
	for _, c := range got.ColumnDefinitions {
		columns = append(columns, []any{c.Name, c.Type, c.Priority})
	}
	assert.Equal(t, [][]any{
		{"Name", "string", int32(0)}, {"Size", "integer", int32(0)}, {"Price", "number", int32(0)}, {"Open", "boolean", int32(0)},
		{"Fed", "date", int32(0)}, {"Owner", "string", int32(1)}, {"First", "string", int32(0)},
	}, columns)
	assert.Equal(t, "how many cows", got.ColumnDefinitions[1].Description)
	require.Len(t, got.Rows, 1)
	cells, err := json.Marshal(got.Rows[0].Cells)
	require.NoError(t, err)
	assert.JSONEq(t, `["mill", 3, 1.5, true, "3h", "ann", "bella"]`, string(cells))
}

func TestACellOfAFieldThatAnObjectDoesNotHaveIsEmpty(t *testing.T) {
	_, cfg := farm(t, `{owner: "", cows: []}`)
	cells, err := json.Marshal(table(t, cfg).Rows[0].Cells)
	require.NoError(t, err)
	assert.JSONEq(t, `["mill", null, null, null, null, "", null]`, string(cells))
}
