package namespace_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/internal/rigs/clustertest"
	"github.com/storagesim/storagesim/provisioner/localpath"
	"github.com/storagesim/storagesim/storagesimtest"
)

const team = `
{apiVersion: v1, kind: Namespace, metadata: {name: team}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: team}
spec:
  serviceName: db
  replicas: 2
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: c, image: busybox, volumeMounts: [{name: data, mountPath: /data}]}]}
  volumeClaimTemplates:
  - {metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], storageClassName: local-path, resources: {requests: {storage: 1Gi}}}}
---
{apiVersion: example.com/v1, kind: Backup, metadata: {name: nightly, namespace: team}, spec: {claim: data}}
---
`

func TestANamespaceIsDeletedWithItsPodsClaimsVolumesAndCustomObjects(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks})
	c.AddProvisionController(localpath.Controller(localpath.Config{}))
	c.Apply(`{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: local-path}, provisioner: rancher.io/local-path, volumeBindingMode: ` +
		`WaitForFirstConsumer}` + "\n---\n" + team + clustertest.Backups)
	c.RunFor(time.Minute)
	of := metav1.ListOptions{}
	pods, err := c.Client().CoreV1().Pods("team").List(t.Context(), of)
	require.NoError(t, err)
	require.Len(t, pods.Items, 2)
	require.Equal(t, v1.PodRunning, pods.Items[1].Status.Phase)
	c.Delete("ns/team")
	c.RunFor(time.Minute)
	for _, obj := range c.Engine().Server().Objects(false) {
		found := obj.(metav1.Object)
		assert.NotEqual(t, "team", found.GetNamespace(), "%T %s", obj, found.GetName())
		assert.NotEqual(t, "team", found.GetName())
	}
	assert.Equal(t, "No resources found\n", c.Get("pv"))
	c.RequireNoLeaks()
}

func TestObjectsThatWereWrittenInAnOlderVersionGoWithTheirNamespace(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks})
	c.Apply(`
{apiVersion: v1, kind: Namespace, metadata: {name: team}}
---
{apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, metadata: {name: a, namespace: team},
  spec: {maxReplicas: 2, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: d}}}
---
{apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, metadata: {name: b}, spec: {maxReplicas: 2, scaleTargetRef: {apiVersion: apps/v1,
  kind: Deployment, name: d}}}
`)
	c.Delete("ns/team")
	c.RunFor(time.Minute)
	scalers := c.Client().AutoscalingV1()
	_, err := scalers.HorizontalPodAutoscalers("team").Get(t.Context(), "a", metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
	_, err = scalers.HorizontalPodAutoscalers("default").Get(t.Context(), "b", metav1.GetOptions{})
	require.NoError(t, err)
}

// A namespace takes more with it than clients have made: its service account, and events. Were these
// counted off, the step limit would come to nothing.
func TestNamespacesThatAreGoneDoNotMakeTheStepLimitSmaller(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks})
	c.Settle()
	before := len(c.Engine().Server().Objects(false))
	for range 200 {
		c.Apply("{apiVersion: v1, kind: Namespace, metadata: {name: team}}")
		c.Delete("ns/team")
		c.Settle()
	}
	assert.Len(t, c.Engine().Server().Objects(false), before)
	assert.Equal(t, before, c.Engine().Server().Count())
}

func TestControllersThatStartLateTakeNoPartInTheOrderInWhichAClusterComesUp(t *testing.T) {
	choices := func(only ...string) []uint32 {
		c, err := storagesim.New(storagesim.Config{Disks: storagesim.MemoryDisks, Seed: 1, Only: only})
		require.NoError(t, err)
		defer c.Close()
		return c.Engine().Choices()
	}
	require.Equal(t, choices(storagesim.PVController, storagesim.Scheduler),
		choices(storagesim.PVController, storagesim.Scheduler, storagesim.NamespaceDeletion, storagesim.VACProtection), "a seed means what it meant without them")
}
