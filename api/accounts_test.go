package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/fake"
)

func TestEveryNamespaceHasTheCertificateThatIsPublished(t *testing.T) {
	ctx := t.Context()
	server := api.NewServer(api.Config{})
	client := fake.New(server, "user").CoreV1()
	require.NoError(t, server.Furnish([]byte("pem")))
	_, err := client.Namespaces().Create(ctx, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "late"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	for _, namespace := range []string{"default", "late"} {
		got, err := client.ConfigMaps(namespace).Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, map[string]string{"ca.crt": "pem"}, got.Data)
	}

	require.NoError(t, client.ConfigMaps("late").Delete(ctx, "kube-root-ca.crt", metav1.DeleteOptions{}))
	_, err = client.ConfigMaps("late").Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
	require.NoError(t, err, "it is made anew")

	require.NoError(t, client.Namespaces().Delete(ctx, "late", metav1.DeleteOptions{}))
	require.NoError(t, client.ConfigMaps("late").Delete(ctx, "kube-root-ca.crt", metav1.DeleteOptions{}))
	_, err = client.ConfigMaps("late").Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "the namespace is going")
}

func TestAServerIsFurnishedOnce(t *testing.T) {
	server := api.NewServer(api.Config{})
	require.NoError(t, server.Furnish(nil))
	count := server.Count()
	require.NoError(t, server.Furnish(nil))
	require.Equal(t, count, server.Count())
	client := fake.New(server, "user")
	class, err := client.SchedulingV1().PriorityClasses().Get(t.Context(), "system-node-critical", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, int32(2000001000), class.Value)
	service, err := client.CoreV1().Services("default").Get(t.Context(), "kubernetes", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, "10.96.0.1", service.Spec.ClusterIP)
	_, err = client.CoreV1().ConfigMaps("kube-system").Get(t.Context(), "kube-apiserver-legacy-service-account-token-tracking", metav1.GetOptions{})
	require.NoError(t, err)
}
