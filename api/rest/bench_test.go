package rest_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/fake"
)

// BenchmarkClaim measures one call through a typed client: the fake-based one, and that of a
// rest.Config in the same process with JSON and with protobuf.
func BenchmarkClaim(b *testing.B) {
	ways := map[string]func(*testing.B, *api.Server) kubernetes.Interface{
		"fake": func(_ *testing.B, server *api.Server) kubernetes.Interface {
			return fake.NewWithoutActions(server, "bench")
		},
	}
	for name, content := range map[string]string{"json": runtime.ContentTypeJSON, "protobuf": runtime.ContentTypeProtobuf} {
		ways[name] = func(b *testing.B, server *api.Server) kubernetes.Interface {
			b.Helper()
			config := handler(server).Config("bench")
			config.ContentType, config.AcceptContentTypes = content, content
			client, err := kubernetes.NewForConfig(config)
			require.NoError(b, err)
			return client
		}
	}
	for _, name := range []string{"fake", "json", "protobuf"} {
		b.Run(name, func(b *testing.B) { benchmarkClaims(b, ways[name]) })
	}
}

func benchmarkClaims(b *testing.B, way func(*testing.B, *api.Server) kubernetes.Interface) {
	b.Helper()
	ctx := b.Context()
	b.Run("Create", func(b *testing.B) {
		claims := way(b, api.NewServer(api.Config{})).CoreV1().PersistentVolumeClaims("default")
		for i := 0; b.Loop(); i++ {
			_, err := claims.Create(ctx, claim("c"+strconv.Itoa(i)), metav1.CreateOptions{})
			require.NoError(b, err)
		}
	})
	claims := way(b, api.NewServer(api.Config{})).CoreV1().PersistentVolumeClaims("default")
	obj, err := claims.Create(ctx, claim("c"), metav1.CreateOptions{})
	require.NoError(b, err)
	b.Run("Update", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			obj.Labels["n"] = strconv.Itoa(i)
			obj, err = claims.Update(ctx, obj, metav1.UpdateOptions{})
			require.NoError(b, err)
		}
	})
	b.Run("Get", func(b *testing.B) {
		for b.Loop() {
			_, err := claims.Get(ctx, "c", metav1.GetOptions{})
			require.NoError(b, err)
		}
	})
}
