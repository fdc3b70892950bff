package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/fake"
)

// Who shares the server's objects may read them beside others. A quantity remembers the text
// that it is first asked for, which would be a write: those of stored objects have theirs.
func TestASharedObjectHasTheTextsOfItsQuantities(t *testing.T) {
	server := api.NewServer(api.Config{})
	capacities := fake.NewWithoutActions(server, "writer").StorageV1().CSIStorageCapacities("default")
	capacity, err := capacities.Create(t.Context(), &storagev1.CSIStorageCapacity{
		ObjectMeta: metav1.ObjectMeta{Name: "s"}, StorageClassName: "fast", Capacity: resource.NewQuantity(0, resource.BinarySI),
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	for _, size := range []int64{3, 1 << 30} {
		capacity.Capacity = resource.NewQuantity(size, resource.BinarySI)
		capacity, err = capacities.Update(t.Context(), capacity, metav1.UpdateOptions{})
		require.NoError(t, err)
		req := api.Request{Verb: "get", Resource: storagev1.SchemeGroupVersion.WithResource("csistoragecapacities"), Namespace: "default", Name: "s", Shared: true}
		shared, err := server.Do(t.Context(), req)
		require.NoError(t, err)
		again, err := server.Do(t.Context(), req)
		require.NoError(t, err)
		require.Same(t, shared, again)
		before := *shared.(*storagev1.CSIStorageCapacity).Capacity
		_ = shared.(*storagev1.CSIStorageCapacity).Capacity.String()
		require.Equal(t, before, *shared.(*storagev1.CSIStorageCapacity).Capacity, "asking for the text changes nothing")
	}
}
