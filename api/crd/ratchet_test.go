package crd_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// stricter asks from now on for hours of at least 5, and for a port in each spec.
const stricter = `[
	{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/days/items/properties/hour/minimum","value":5},
	{"op":"replace","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/required","value":["claim","keep","port"]},
	{"op":"remove","path":"/spec/versions/1"}]`

func TestAnItemOfAListMapThatDoesNotChangeMayBeInvalid(t *testing.T) {
	_, client, _ := serve(t)
	define(t, client, backups)
	create(t, client, `{apiVersion: example.com/v1, kind: Backup, metadata: {name: nightly}, spec: {claim: data, port: 1, days: [{name: mon, hour: 1}, `+
		`{name: tue, hour: 2}]}}`)
	_, err := client.Resource(definitions).Patch(ctx, "backups.example.com", types.JSONPatchType, []byte(stricter), metav1.PatchOptions{})
	require.NoError(t, err)
	update := func(days string) error {
		_, err := client.Resource(v1).Namespace("default").Patch(ctx, "nightly", types.MergePatchType, []byte(`{"spec":{"days":`+days+`}}`), metav1.PatchOptions{})
		return err
	}
	assert.ErrorContains(t, update(`[{"name":"mon","hour":2},{"name":"tue","hour":2}]`),
		"spec.days[0].hour: Invalid value: 2: spec.days[0].hour in body should be greater than or equal to 5")
	assert.ErrorContains(t, update(`[{"name":"wed","hour":1},{"name":"mon","hour":1}]`), "spec.days[0].hour", "a new item")
	assert.NoError(t, update(`[{"name":"new","hour":7},{"name":"tue","hour":2},{"name":"mon","hour":1}]`), "the items changed their places only")
}

func TestAFieldThatIsRequiredNowIsMissed(t *testing.T) {
	_, client, _ := serve(t)
	define(t, client, backups)
	create(t, client, `{apiVersion: example.com/v1, kind: Backup, metadata: {name: nightly}, spec: {claim: data}}`)
	_, err := client.Resource(definitions).Patch(ctx, "backups.example.com", types.JSONPatchType, []byte(stricter), metav1.PatchOptions{})
	require.NoError(t, err)
	backup := client.Resource(v1).Namespace("default")
	_, err = backup.Patch(ctx, "nightly", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{})
	assert.NoError(t, err, "its spec does not change")
	_, err = backup.Patch(ctx, "nightly", types.MergePatchType, []byte(`{"spec":{"keep":4}}`), metav1.PatchOptions{})
	assert.ErrorContains(t, err, "spec.port: Required value")
}

// twoForms has a field and a default in each version that the other does not have.
const twoForms = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: backups.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: backups, kind: Backup}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {both: {type: string}, late: {type: string, default: v1}}}}}}
  - name: v1beta1
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {both: {type: string}, early: {type: string},
      also: {type: string, default: v1beta1}}}}}}
`

func TestAnObjectIsStoredInTheFormOfTheStoredVersion(t *testing.T) {
	_, client, _ := serve(t)
	define(t, client, twoForms)
	early, late := client.Resource(v1beta1).Namespace("default"), client.Resource(v1).Namespace("default")
	made, err := early.Create(ctx, object(t, `{apiVersion: example.com/v1beta1, kind: Backup, metadata: {name: nightly}, spec: {both: x, early: x}}`),
		metav1.CreateOptions{})
	require.NoError(t, err)
	want := map[string]any{"both": "x"}
	assert.Equal(t, want, made.Object["spec"], "what the stored version does not have is gone, and a default is no part of what is read")
	read, err := early.Get(ctx, "nightly", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, want, read.Object["spec"])
	stored, err := late.Get(ctx, "nightly", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"both": "x", "late": "v1"}, stored.Object["spec"])

	// What an update in a version leaves out of that version is gone; a field that it does not have is no change of the spec.
	same, err := late.Update(ctx, stored, metav1.UpdateOptions{})
	require.NoError(t, err)
	assert.Equal(t, int64(1), same.GetGeneration())
	require.NoError(t, unstructured.SetNestedField(read.Object, "y", "spec", "both"))
	changed, err := early.Update(ctx, read, metav1.UpdateOptions{})
	require.NoError(t, err)
	assert.Equal(t, int64(2), changed.GetGeneration())
}
