package rest_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/storagesimtest"
)

func TestAClientOfARESTConfigIsAnActorOfTheCluster(t *testing.T) {
	cluster := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks})
	cluster.Apply(volumeAndClaim)
	cluster.Settle()

	client, err := kubernetes.NewForConfig(cluster.RESTConfig("my-operator"))
	require.NoError(t, err)
	claims := client.CoreV1().PersistentVolumeClaims("default")
	claim, err := claims.Get(t.Context(), "data", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, v1.ClaimBound, claim.Status.Phase)

	claim.Labels = map[string]string{"seen": "yes"}
	_, err = claims.Update(t.Context(), claim, metav1.UpdateOptions{})
	require.NoError(t, err)
	assert.Contains(t, cluster.Story(), "my-operator")
}

const volumeAndClaim = `
apiVersion: v1
kind: PersistentVolume
metadata: {name: pv-1}
spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /data}, storageClassName: manual}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], storageClassName: manual, resources: {requests: {storage: 1Gi}}}
`
