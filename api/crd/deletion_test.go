package crd_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A definition that an object keeps is being deleted: that counts as no generation, and new objects are forbidden.
func TestADefinitionThatIsDeletedForbidsNewObjects(t *testing.T) {
	_, client, _ := serve(t)
	define(t, client, backups)
	kept := object(t, nightly)
	kept.SetFinalizers([]string{"example.com/kept"})
	backup := client.Resource(v1).Namespace("default")
	_, err := backup.Create(ctx, kept, metav1.CreateOptions{})
	require.NoError(t, err)
	before, err := client.Resource(definitions).Get(ctx, "backups.example.com", metav1.GetOptions{})
	require.NoError(t, err)

	wrong := types.UID("other")
	err = client.Resource(definitions).Delete(ctx, "backups.example.com", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &wrong}})
	require.True(t, apierrors.IsConflict(err))
	require.EqualError(t, err, `Operation cannot be fulfilled on customresourcedefinitions.apiextensions.k8s.io "backups.example.com": `+
		"precondition failed: UID in precondition: other, UID in object meta: "+string(before.GetUID()))
	version := "1"
	err = client.Resource(definitions).Delete(ctx, "backups.example.com", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &version}})
	require.ErrorContains(t, err, "precondition failed: ResourceVersion in precondition: 1, ResourceVersion in object meta: "+before.GetResourceVersion())

	require.NoError(t, client.Resource(definitions).Delete(ctx, "backups.example.com", metav1.DeleteOptions{}))
	after, err := client.Resource(definitions).Get(ctx, "backups.example.com", metav1.GetOptions{})
	require.NoError(t, err)
	require.NotNil(t, after.GetDeletionTimestamp())
	require.Nil(t, after.GetDeletionGracePeriodSeconds())
	require.Equal(t, before.GetGeneration(), after.GetGeneration())

	other := object(t, nightly)
	other.SetName("other")
	_, err = backup.Create(ctx, other, metav1.CreateOptions{})
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	require.EqualError(t, err, `backups.example.com "other" is forbidden: create not allowed while custom resource definition is terminating`)

	_, err = backup.Patch(ctx, "nightly", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	_, err = client.Resource(definitions).Get(ctx, "backups.example.com", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err))
}
