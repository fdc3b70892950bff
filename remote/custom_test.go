package remote_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/storagesim/storagesim"
)

const gadgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: gadgets, kind: Gadget}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
---
{apiVersion: v1, kind: Namespace, metadata: {name: team}}
---
{apiVersion: example.com/v1, kind: Gadget, metadata: {name: of-a-team, namespace: team}}
---
{apiVersion: example.com/v1, kind: Gadget, metadata: {name: owner}}
`

func TestCustomObjectsOnSomebodyElsesServerOwnOthersAndGoWithTheirNamespace(t *testing.T) {
	withoutControlPlane(t, func(t *testing.T, c *storagesim.Cluster) {
		r := start(t, c, storagesim.GarbageCollection, storagesim.NamespaceDeletion)
		time.Sleep(30 * time.Second)
		require.NoError(t, c.Apply(gadgets))
		client, err := dynamic.NewForConfig(c.RESTConfig("tester"))
		require.NoError(t, err)
		of := client.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "gadgets"}).Namespace("default")
		owner, err := of.Get(t.Context(), "owner", metav1.GetOptions{})
		require.NoError(t, err)
		configs := c.Client().CoreV1().ConfigMaps("default")
		_, err = configs.Create(t.Context(), &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owned", OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "example.com/v1", Kind: "Gadget", Name: "owner", UID: owner.GetUID()},
		}}}, metav1.CreateOptions{})
		require.NoError(t, err)
		time.Sleep(time.Minute)
		_, err = configs.Get(t.Context(), "owned", metav1.GetOptions{})
		require.NoError(t, err)

		require.NoError(t, of.Delete(t.Context(), "owner", metav1.DeleteOptions{}))
		require.NoError(t, c.Delete("ns/team"))
		time.Sleep(time.Minute)
		_, err = configs.Get(t.Context(), "owned", metav1.GetOptions{})
		assert.True(t, apierrors.IsNotFound(err), "%v", err)
		_, err = c.Client().CoreV1().Namespaces().Get(t.Context(), "team", metav1.GetOptions{})
		assert.True(t, apierrors.IsNotFound(err), "%v", err)
		require.NoError(t, r.stop())
		assert.Empty(t, r.warned())
	})
}
