package garbagecollector_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/internal/rigs/clustertest"
	"github.com/storagesim/storagesim/storagesimtest"
)

// customOwners returns a cluster with the custom kind Backup, and a client for it.
func customOwners(t *testing.T, seed uint64) (*storagesimtest.Cluster, dynamic.ResourceInterface) {
	t.Helper()
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks, Seed: seed})
	client, err := dynamic.NewForConfig(c.RESTConfig("tester"))
	require.NoError(t, err)
	c.Settle() // the garbage collector runs before the kind is defined
	c.Apply(clustertest.Backups)
	return c, client.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "backups"}).Namespace("default")
}

func makeBackup(t *testing.T, backups dynamic.ResourceInterface, name string, owners ...metav1.OwnerReference) metav1.OwnerReference {
	t.Helper()
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Backup"}}
	obj.SetName(name)
	obj.SetOwnerReferences(owners)
	made, err := backups.Create(t.Context(), obj, metav1.CreateOptions{})
	require.NoError(t, err)
	return metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Backup", Name: name, UID: made.GetUID(), BlockOwnerDeletion: new(true)}
}

func makeConfig(t *testing.T, c *storagesimtest.Cluster, name string, owners ...metav1.OwnerReference) metav1.OwnerReference {
	t.Helper()
	made, err := c.Client().CoreV1().ConfigMaps("default").Create(context.Background(),
		&v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owners}}, metav1.CreateOptions{})
	require.NoError(t, err)
	return metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: name, UID: made.UID}
}

func TestWhatCustomObjectsOwnIsCollectedThoughTheirKindIsNewerThanTheCollector(t *testing.T) {
	for seed := range uint64(5) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			c, backups := customOwners(t, seed)
			config := makeConfig(t, c, "report", makeBackup(t, backups, "weekly", makeBackup(t, backups, "nightly")))
			makeBackup(t, backups, "of-a-config", config)
			c.Settle()
			require.NoError(t, backups.Delete(t.Context(), "nightly", metav1.DeleteOptions{}))
			c.Settle()
			left, err := backups.List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			require.Empty(t, left.Items)
			require.NotContains(t, c.Get("configmaps"), "report")
		})
	}
}

func TestACustomOwnerThatIsDeletedInTheForegroundGoesLast(t *testing.T) {
	c, backups := customOwners(t, 0)
	makeConfig(t, c, "report", makeBackup(t, backups, "nightly"))
	c.Settle()
	foreground := metav1.DeletePropagationForeground
	require.NoError(t, backups.Delete(t.Context(), "nightly", metav1.DeleteOptions{PropagationPolicy: &foreground}))
	_, err := backups.Get(t.Context(), "nightly", metav1.GetOptions{})
	require.NoError(t, err)
	c.Settle()
	_, err = backups.Get(t.Context(), "nightly", metav1.GetOptions{})
	require.Error(t, err)
	require.NotContains(t, c.Get("configmaps"), "report")
}

func TestOrphansOfACustomOwnerStayAndACustomObjectLosesOnlyTheOwnerThatIsGone(t *testing.T) {
	c, backups := customOwners(t, 0)
	first, second := makeBackup(t, backups, "first"), makeBackup(t, backups, "second")
	makeBackup(t, backups, "child", first, second)
	c.Settle()
	require.NoError(t, backups.Delete(t.Context(), "first", metav1.DeleteOptions{}))
	c.Settle()
	child, err := backups.Get(t.Context(), "child", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, []metav1.OwnerReference{second}, child.GetOwnerReferences())
	orphan := metav1.DeletePropagationOrphan
	require.NoError(t, backups.Delete(t.Context(), "second", metav1.DeleteOptions{PropagationPolicy: &orphan}))
	c.Settle()
	child, err = backups.Get(t.Context(), "child", metav1.GetOptions{})
	require.NoError(t, err)
	require.Empty(t, child.GetOwnerReferences())
}

func TestACollectorThatStartsAgainKnowsCustomKindsAndAKindDefinedAnew(t *testing.T) {
	c, backups := customOwners(t, 0)
	c.Delete("crd/backups.example.com")
	c.Settle()
	c.Crash(storagesim.GarbageCollection)
	c.Settle()
	c.Apply(clustertest.Backups)
	makeConfig(t, c, "report", makeBackup(t, backups, "nightly"))
	c.Settle()
	c.Crash(storagesim.GarbageCollection)
	c.RunFor(time.Minute)
	require.NoError(t, backups.Delete(t.Context(), "nightly", metav1.DeleteOptions{}))
	c.Settle()
	require.NotContains(t, c.Get("configmaps"), "report")
}
