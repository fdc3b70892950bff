package namespace_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/storagesimtest"
)

func TestEveryNamespaceHasItsDefaultServiceAccountFromTheStart(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks})
	c.Apply(`{apiVersion: v1, kind: Namespace, metadata: {name: team}}`)
	for _, namespace := range []string{"default", "kube-system", "kube-public", "kube-node-lease", "team"} {
		account, err := c.Client().CoreV1().ServiceAccounts(namespace).Get(t.Context(), "default", metav1.GetOptions{})
		require.NoError(t, err, namespace)
		ns, err := c.Client().CoreV1().Namespaces().Get(t.Context(), namespace, metav1.GetOptions{})
		require.NoError(t, err)
		assert.Equal(t, ns.ResourceVersion, account.ResourceVersion, "one write makes both")
	}
	assert.NotContains(t, c.Story(), "serviceaccount", "it is no news")
}

func TestADefaultServiceAccountThatIsDeletedIsMadeAnewUnlessItsNamespaceGoes(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks})
	c.Apply(`{apiVersion: v1, kind: Namespace, metadata: {name: team}}`)
	accounts := c.Client().CoreV1().ServiceAccounts("team")
	before, err := accounts.Get(t.Context(), "default", metav1.GetOptions{})
	require.NoError(t, err)
	watch, err := accounts.Watch(t.Context(), metav1.ListOptions{ResourceVersion: before.ResourceVersion})
	require.NoError(t, err)
	defer watch.Stop()
	require.NoError(t, accounts.Delete(t.Context(), "default", metav1.DeleteOptions{}))
	after, err := accounts.Get(t.Context(), "default", metav1.GetOptions{})
	require.NoError(t, err)
	assert.NotEqual(t, before.UID, after.UID)
	assert.Equal(t, "DELETED", string((<-watch.ResultChan()).Type))
	assert.Equal(t, "ADDED", string((<-watch.ResultChan()).Type))

	c.Delete("ns/team")
	c.RunFor(time.Minute)
	_, err = accounts.Get(t.Context(), "default", metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
}
