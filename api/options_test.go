package api_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/fake"
)

// Upstream: apimachinery meta/v1/validation ValidateCreateOptions and its like, v1.37.
func TestOptionsOfAWriteThatMeanNothingAreRefusedAndNothingIsStored(t *testing.T) {
	ctx := context.Background()
	maps := fake.New(api.NewServer(api.Config{}), "tester").CoreV1().ConfigMaps("default")
	create := func(opts metav1.CreateOptions) error {
		_, err := maps.Create(ctx, configMap("a"), opts)
		return err
	}
	for want, err := range map[string]error{
		`CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["Some"]: supported values: "All"`: create(
			metav1.CreateOptions{DryRun: []string{"Some"}}),
		`CreateOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: "Odd": supported values: "", ` +
			`"Ignore", "Strict", "Warn"`: create(metav1.CreateOptions{FieldValidation: "Odd"}),
		`CreateOptions.meta.k8s.io "" is invalid: fieldManager: Too long: may not be more than 128 `: create(
			metav1.CreateOptions{FieldManager: strings.Repeat("x", 129)}),
		`fieldManager: Invalid value: "a\x00": invalid character U+0000 (at position 1)`: create(
			metav1.CreateOptions{FieldManager: "a\x00"}),
	} {
		assert.True(t, apierrors.IsInvalid(err), "%v", err)
		assert.ErrorContains(t, err, want)
	}
	list, err := maps.List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	require.Empty(t, list.Items)

	made, err := maps.Create(ctx, configMap("a"), metav1.CreateOptions{FieldValidation: "Warn", FieldManager: "me"})
	require.NoError(t, err)
	_, err = maps.Update(ctx, made, metav1.UpdateOptions{FieldValidation: "Odd"})
	assert.ErrorContains(t, err, `UpdateOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: "Odd"`)
	_, err = maps.Patch(ctx, "a", types.MergePatchType, []byte(`{}`), metav1.PatchOptions{Force: new(true)})
	assert.ErrorContains(t, err, `PatchOptions.meta.k8s.io "" is invalid: force: Forbidden: may not be specified for non-apply patch`)
	_, err = maps.Patch(ctx, "a", types.ApplyPatchType, []byte(`{}`), metav1.PatchOptions{})
	assert.ErrorContains(t, err, `PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch`)
}
