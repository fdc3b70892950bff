// Package percona_test plays Percona's operator for XtraDB clusters, v1.15.0, as an actor.
package percona_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	certmanager "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	"github.com/go-logr/logr"
	"github.com/percona/percona-xtradb-cluster-operator/pkg/apis"
	"github.com/percona/percona-xtradb-cluster-operator/pkg/controller/pxc"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/live/ctrlruntime"
	"github.com/storagesim/storagesim/storagesimtest"
)

// The operator logs each step and each panic, and a crash goes through its code as one.
func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard())
	ctrl.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// One database on one volume, whose claim is to go with it. What the operator would ask the database itself is switched off.
const shop = `
apiVersion: pxc.percona.com/v1
kind: PerconaXtraDBCluster
metadata:
  name: shop
  finalizers: [percona.com/delete-pxc-pvc]
spec:
  crVersion: 1.15.0
  secretsName: shop-secrets
  unsafeFlags: {pxcSize: true, tls: true, proxySize: true}
  tls: {enabled: false}
  updateStrategy: OnDelete
  upgradeOptions: {apply: disabled}
  initContainer: {image: percona/init}
  haproxy: {enabled: false}
  proxysql: {enabled: false}
  pxc:
    size: 1
    autoRecovery: false
    image: percona/pxc
    volumeSpec: {persistentVolumeClaim: {storageClassName: disk, resources: {requests: {storage: 6G}}}}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: disk}
provisioner: csi.storagesim.io
volumeBindingMode: WaitForFirstConsumer
allowVolumeExpansion: true
`

// definitions returns the operator's CustomResourceDefinitions, as they are released.
func definitions(t *testing.T) string {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/percona/percona-xtradb-cluster-operator").Output()
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "deploy", "crd.yaml"))
	require.NoError(t, err)
	return string(text)
}

// operator returns the operator with what its main adds to the manager.
func operator(t *testing.T) ctrlruntime.Operator {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apis.AddToScheme, certmanager.AddToScheme} {
		require.NoError(t, add(scheme))
	}
	return ctrlruntime.Operator{Name: "pxc-operator", Options: manager.Options{Scheme: scheme}, Setup: func(mgr manager.Manager) error {
		if err := mgr.GetFieldIndexer().IndexField(context.Background(), &eventsv1.Event{}, "regarding.name", func(obj client.Object) []string {
			return []string{obj.(*eventsv1.Event).Regarding.Name}
		}); err != nil {
			return err
		}
		return pxc.Add(mgr)
	}}
}

// versions serves the one thing that the operator asks with a client of its own, which it makes of a kubeconfig.
func versions(t *testing.T) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/version" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(`{"major": "1", "minor": "37", "gitVersion": "v1.37.2"}`))
	}))
	t.Cleanup(server.Close)
	config := clientcmdapi.NewConfig()
	config.Clusters["it"], config.Contexts["it"], config.CurrentContext = &clientcmdapi.Cluster{Server: server.URL}, &clientcmdapi.Context{Cluster: "it"}, "it"
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, clientcmd.WriteToFile(*config, file))
	t.Setenv("KUBECONFIG", file)
}

// deleted plays a cluster that is made and deleted, and returns the number of claims that are left.
func deleted(t *testing.T, crash bool) int {
	t.Helper()
	c := storagesimtest.New(t, storagesim.Config{})
	d, err := driver.New(driver.Config{})
	require.NoError(t, err)
	c.InstallCSIDriver(d)
	c.Apply(definitions(t))
	require.NoError(t, ctrlruntime.Add(c, operator(t)))
	c.Apply(shop)
	c.Settle()
	c.RequireBound("datadir-shop-pxc-0")
	if crash {
		c.Inject(engine.Fault{Actor: "pxc-operator", Verb: "delete", Resource: "statefulsets", After: true, Crash: true})
	}
	c.Delete("pxc/shop")
	c.RunFor(3 * time.Minute)
	assert.NotContains(t, c.Get("pxc"), "shop", "the object is gone, and the operator has nothing more to do")
	left, err := c.Client().CoreV1().PersistentVolumeClaims("default").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	return len(left.Items)
}

// The finalizer percona.com/delete-pxc-pvc has the operator delete the StatefulSet, then the claims. After a crash between the two there is no set, for
// which deleteStatefulSet (pkg/controller/pxc/controller.go) returns nil: the finalizer goes, and the claims stay. It is of the kind of
// https://perconadev.atlassian.net/browse/K8SPXC-979.
func TestACrashBeforeTheClaimsAreDeletedLeavesThem(t *testing.T) {
	versions(t)
	assert.Zero(t, deleted(t, false))
	assert.Equal(t, 1, deleted(t, true))
}
