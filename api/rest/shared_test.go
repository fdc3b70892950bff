package rest_test

import (
	"io"
	"net/http"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/fake"
)

// Answers are encoded from the server's own objects. Under the race detector this fails if
// one of the forms changes something in them.
func TestNoFormOfAnAnswerChangesTheServersObjects(t *testing.T) {
	server := api.NewServer(api.Config{})
	config := handler(server).Config("reader")
	transport, err := restclient.TransportFor(config)
	require.NoError(t, err)
	claims := fake.NewWithoutActions(server, "writer").CoreV1().PersistentVolumeClaims("default")
	obj, err := claims.Create(t.Context(), claim("c"), metav1.CreateOptions{})
	require.NoError(t, err)

	capacities := fake.NewWithoutActions(server, "writer").StorageV1().CSIStorageCapacities("default")
	capacity, err := capacities.Create(t.Context(), &storagev1.CSIStorageCapacity{
		ObjectMeta: metav1.ObjectMeta{Name: "s"}, StorageClassName: "fast", Capacity: new(resource.MustParse("1Gi")),
	}, metav1.CreateOptions{})
	require.NoError(t, err)

	const core, storage = "/api/v1/namespaces/default", "/apis/storage.k8s.io/v1/namespaces/default"
	paths := []string{
		core + "/persistentvolumeclaims/c", core + "/persistentvolumeclaims", core + "/persistentvolumeclaims/c/status",
		storage + "/csistoragecapacities/s", storage + "/csistoragecapacities",
	}
	forms := []string{
		"application/json", "application/yaml", "application/vnd.kubernetes.protobuf",
		"application/json;as=Table;v=v1;g=meta.k8s.io", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
	}
	var readers sync.WaitGroup
	for _, path := range paths {
		for _, form := range forms {
			readers.Go(func() {
				for range 50 {
					r, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
						config.Host+path+"?includeObject=Object", nil)
					assert.NoError(t, err)
					r.Header.Set("Accept", form)
					answer, err := transport.RoundTrip(r)
					if assert.NoError(t, err) {
						_, err = io.Copy(io.Discard, answer.Body)
						assert.NoError(t, err)
						assert.NoError(t, answer.Body.Close())
					}
				}
			})
		}
	}
	for i := range 50 {
		obj.Labels["n"] = strconv.Itoa(i)
		obj, err = claims.Update(t.Context(), obj, metav1.UpdateOptions{})
		require.NoError(t, err)
		capacity.Capacity = resource.NewQuantity(int64(i), resource.BinarySI)
		capacity, err = capacities.Update(t.Context(), capacity, metav1.UpdateOptions{})
		require.NoError(t, err)
	}
	readers.Wait()
	shared, err := server.Do(t.Context(),
		api.Request{Verb: "get", Resource: corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims"), Namespace: "default", Name: "c", Shared: true})
	require.NoError(t, err)
	require.Empty(t, shared.GetObjectKind().GroupVersionKind().Kind, "the stored object does not say its kind, as before")
}

// What was read before a write is not what is read after it, although answers are kept.
func TestAnAnswerIsThatOfTheLastWrite(t *testing.T) {
	eachWay(t, func(t *testing.T, _ *api.Server, config *restclient.Config) {
		client, err := kubernetes.NewForConfig(config)
		require.NoError(t, err)
		claims := client.CoreV1().PersistentVolumeClaims("default")
		obj, err := claims.Create(t.Context(), claim("c"), metav1.CreateOptions{})
		require.NoError(t, err)
		for i := range 3 {
			obj.Labels["n"] = strconv.Itoa(i)
			obj, err = claims.Update(t.Context(), obj, metav1.UpdateOptions{})
			require.NoError(t, err)
			for range 2 {
				got, err := claims.Get(t.Context(), "c", metav1.GetOptions{})
				require.NoError(t, err)
				require.Equal(t, obj, got)
			}
		}
	})
}
