package crd_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// installSnapshots installs the definitions of external-snapshotter as they are.
func installSnapshots(t *testing.T, client dynamic.Interface) (names []string) {
	t.Helper()
	files, err := filepath.Glob("testdata/external-snapshotter/*.yaml")
	require.NoError(t, err)
	others, err := filepath.Glob("../../control/snapshots/definitions/*.yaml")
	require.NoError(t, err)
	files = append(files, others...)
	require.Len(t, files, 6)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		define(t, client, string(text))
		group, plural, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".yaml"), "_")
		names = append(names, plural+"."+group)
	}
	return names
}

func TestTheDefinitionsOfExternalSnapshotterInstallAsTheyAre(t *testing.T) {
	_, client, _ := serve(t)
	for _, name := range installSnapshots(t, client) {
		found := conditionsOf(t, client, name)
		assert.Equal(t, "True InitialNamesAccepted: the initial names have been accepted", found["Established"], name)
		assert.Contains(t, found["KubernetesAPIApprovalPolicyConformant"], "True ApprovedAnnotation: approved in https://", name)
	}
}

func TestASnapshotIsCreatedWatchedAndGivenAStatus(t *testing.T) {
	_, client, _ := serve(t)
	installSnapshots(t, client)
	snapshots := client.Resource(schema.GroupVersionResource{Group: "snapshot.storage.k8s.io", Version: "v1", Resource: "volumesnapshots"}).Namespace("default")
	w, err := snapshots.Watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	defer w.Stop()
	got, err := snapshots.Create(ctx, object(t, `{apiVersion: snapshot.storage.k8s.io/v1, kind: VolumeSnapshot, metadata: {name: s},
		spec: {volumeSnapshotClassName: fast, source: {persistentVolumeClaimName: data}}}`), metav1.CreateOptions{})
	require.NoError(t, err)
	require.NoError(t, unstructured.SetNestedField(got.Object, true, "status", "readyToUse"))
	require.NoError(t, unstructured.SetNestedField(got.Object, "1Gi", "status", "restoreSize"))
	_, err = snapshots.UpdateStatus(ctx, got, metav1.UpdateOptions{})
	require.NoError(t, err)
	assert.NotContains(t, (<-w.ResultChan()).Object.(*unstructured.Unstructured).Object, "status")
	assert.Equal(t, map[string]any{"readyToUse": true, "restoreSize": "1Gi"}, (<-w.ResultChan()).Object.(*unstructured.Unstructured).Object["status"])
	list, err := snapshots.List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	assert.Len(t, list.Items, 1)
	require.NoError(t, snapshots.Delete(ctx, "s", metav1.DeleteOptions{}))

	for says, spec := range map[string]string{
		"spec.source: Required value":                 `{}`,
		`spec.volumeSnapshotClassName: Invalid value`: `{volumeSnapshotClassName: 1, source: {persistentVolumeClaimName: a}}`,
	} {
		_, err = snapshots.Create(ctx, object(t, `{apiVersion: snapshot.storage.k8s.io/v1, kind: VolumeSnapshot, metadata: {name: bad}, spec: `+spec+`}`),
			metav1.CreateOptions{})
		assert.True(t, apierrors.IsInvalid(err), "%v", err)
		assert.ErrorContains(t, err, says)
	}
}
