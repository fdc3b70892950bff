package crd_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// words returns a JSON list of n words.
func words(n int, word string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("%s%d", word, i)
	}
	text, _ := json.Marshal(list)
	return string(text)
}

// keys returns n names of properties.
func keys(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("k%d", i)
	}
	return list
}

// withList defines backups whose spec.list has items of a schema.
func withList(items string) string {
	return strings.Replace(strings.Split(backups, "  - name: v1beta1")[0],
		"keep: {type: integer, minimum: 1, default: 3}", "list: {type: array, items: "+items+"}", 1)
}

func TestASchemaCannotMakeTheServerWorkForMinutes(t *testing.T) {
	for name, hostile := range map[string]struct{ items, list, want string }{
		"an enumeration": {"{type: string, enum: " + words(50_000, "w") + "}", words(20_000, "x"), "takes more than 5000000 comparisons"},
		"an enumeration of which 95 values are wrong": {"{type: string, enum: " + words(50_000, "w") + "}", words(95, "x"), "takes more than 5000000 comparisons"},
		"an enumeration of which one value is wrong":  {"{type: string, enum: " + words(50_000, "w") + "}", words(1, "x"), "... "},
		"many properties": {
			"{type: object, properties: {" + strings.Join(keys(10_000), ": {type: string, default: a}, ") + ": {type: string}}}",
			"[" + strings.Repeat("{},", 100_000) + "{}]",
			"limit is 3145728",
		},
		"a list that is a map": {"{type: object, required: [a], properties: {a: {type: string}}}, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [a]",
			"[" + strings.Repeat(`{"a":"b"},`, 50_000) + `{"a":"b"}]`, "Duplicate value"},
		"a set": {"{type: string}, x-kubernetes-list-type: set", "[" + strings.Repeat(`"b",`, 100_000) + `"b"]`, "Duplicate value"},
		"alternatives": {
			"{type: string, anyOf: [" + strings.Repeat("{minLength: 100},", 20_000) + "{minLength: 1000}]}", words(20_000, "x"), "takes more than 5000000 comparisons",
		},
		"a pattern": {"{type: string, pattern: '" + strings.Repeat("(a?b?)", 8_000) + "$'}", `["` + strings.Repeat("ab", 100_000) + `"]`,
			"takes more than 5000000 comparisons"},
		"a large default": {"{type: object, properties: {a: {type: string, default: " + strings.Repeat("a", 500_000) + "}}}", "[" + strings.Repeat("{},", 100_000) +
			"{}]", "too large"},
		"many wrong types": {"{type: integer}", words(100_000, "x"), "more errors than 2000"},
	} {
		t.Run(name, func(t *testing.T) {
			_, client, _ := serve(t)
			define(t, client, withList(hostile.items))
			obj := object(t, nightly)
			spec := obj.Object["spec"].(map[string]any)
			var list []any
			require.NoError(t, json.Unmarshal([]byte(hostile.list), &list))
			spec["list"] = list
			_, err := client.Resource(v1).Namespace("default").Create(ctx, obj, metav1.CreateOptions{})
			require.ErrorContains(t, err, hostile.want)
			assert.Less(t, len(err.Error()), 1<<20)
		})
	}
}

func TestAnObjectWhoseSchemaBecameHostileIsRefusedAndCanBeDeleted(t *testing.T) {
	_, client, _ := serve(t)
	define(t, client, withList("{type: string}"))
	obj := object(t, nightly)
	var list []any
	require.NoError(t, json.Unmarshal([]byte(words(20_000, "x")), &list))
	obj.Object["spec"].(map[string]any)["list"] = list
	backup := client.Resource(v1).Namespace("default")
	_, err := backup.Create(ctx, obj, metav1.CreateOptions{})
	require.NoError(t, err)
	patch := `[{"op": "add", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/list/items/enum", "value": ` + words(50_000, "w") + `}]`
	_, err = client.Resource(definitions).Patch(ctx, "backups.example.com", types.JSONPatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(t, err)
	_, err = backup.Patch(ctx, "nightly", types.MergePatchType, []byte(`{"spec": {"claim": "other"}}`), metav1.PatchOptions{})
	require.ErrorContains(t, err, "takes more than 5000000 comparisons")
	_, err = backup.Get(ctx, "nightly", metav1.GetOptions{})
	require.NoError(t, err)
	require.NoError(t, backup.Delete(ctx, "nightly", metav1.DeleteOptions{}))
	_, err = backup.Get(ctx, "nightly", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err))
}
