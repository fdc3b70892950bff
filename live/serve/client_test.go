package serve_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/storagesim/storagesim/live/serve"
)

// asks has the client of a kubeconfig ask a server for an explanation.
func asks(t *testing.T, server string) error {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: server}
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c"}
	config.CurrentContext = "c"
	path := filepath.Join(t.TempDir(), "config")
	require.NoError(t, clientcmd.WriteToFile(*config, path))
	client, err := serve.NewClient(path)
	require.NoError(t, err)
	_, err = client.Explain(t.Context(), "pvc/data")
	return err
}

// A cluster that storagesim does not serve does not know the path, or does not let its user read it. The error has its words and says what to do.
func TestAClusterThatIsNotServedIsNamedWithWhatItSaysAndWhatToDo(t *testing.T) {
	for name, tt := range map[string]struct {
		status metav1.Status
		says   string
	}{
		"no rights": {
			metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden,
				Message: `forbidden: User "jane" cannot get path "/storagesim/explain/pvc/data"`},
			`forbidden: User "jane" cannot get path "/storagesim/explain/pvc/data"; storagesim serve lets its user read everything, so this is another cluster`,
		},
		"no such path": {metav1.Status{Code: http.StatusNotFound, Message: "the server could not find the requested resource"}, "is not one of storagesim serve"},
		"an old token": {metav1.Status{Code: http.StatusUnauthorized, Message: "Unauthorized"}, "take the file that it wrote last"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(int(tt.status.Code))
				_ = json.NewEncoder(w).Encode(tt.status)
			}))
			t.Cleanup(server.Close)
			require.ErrorContains(t, asks(t, server.URL), tt.says)
		})
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	require.ErrorContains(t, asks(t, gone.URL), "the server does not answer; does storagesim serve run, and did it write this kubeconfig?")
	_, err := serve.NewClient(filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "; storagesim serve starts a server and writes one")
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	_, err = serve.NewClient("")
	require.EqualError(t, err, "no kubeconfig of a server is named: storagesim serve starts a server, in another terminal, "+
		"and prints the line that sets KUBECONFIG; --kubeconfig FILE names one, too")
}
