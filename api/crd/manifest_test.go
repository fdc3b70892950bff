package crd_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/internal/rigs/clustertest"
)

const backup = `
apiVersion: example.com/v1
kind: Backup
metadata: {name: nightly, creationTimestamp: null}
spec: {claim: data}
---
`

func TestOneManifestHoldsADefinitionAndItsObjects(t *testing.T) {
	c, err := storagesim.New(storagesim.Config{Disks: storagesim.MemoryDisks})
	require.NoError(t, err)
	defer c.Close()
	err = c.Apply(backup)
	require.ErrorContains(t, err,
		`no matches for kind "Backup" in version "example.com/v1": ensure CRDs are installed first; expected the CustomResourceDefinition backups.example.com`)

	require.NoError(t, c.Apply(backup+clustertest.Backups), "in any order")
	client, err := dynamic.NewForConfig(c.RESTConfig("tester"))
	require.NoError(t, err)
	of := client.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "backups"}).Namespace("default")
	got, err := of.Get(t.Context(), "nightly", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"claim": "data", "keep": int64(3)}, got.Object["spec"])

	require.NoError(t, c.Apply(`{apiVersion: example.com/v1, kind: Backup, metadata: {name: nightly}, spec: {keep: 5}}`))
	got, err = of.Get(t.Context(), "nightly", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"keep": int64(5)}, got.Object["spec"], "what was applied before and is left out is removed")
	require.NoError(t, c.Apply(clustertest.Backups), "a definition may be applied again")
	require.NoError(t, c.Delete("backup/nightly", "crd/backups.example.com"))
	require.NoError(t, c.Settle())
	require.Error(t, c.Apply(backup))
}
