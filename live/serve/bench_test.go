package serve_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/live/serve"
)

// benched serves a cluster that does not move: only its API works.
func benched(b *testing.B) (*storagesim.Cluster, *rest.Config) {
	b.Helper()
	cluster, err := storagesim.New(storagesim.Config{Disks: storagesim.MemoryDisks, Only: []string{}, NoNodes: true, TraceLimit: 1000})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, cluster.Close()) })
	server, err := serve.Start(cluster, serve.Config{Kubeconfig: filepath.Join(b.TempDir(), "kubeconfig")})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, server.Close()) })
	config, err := clientcmd.BuildConfigFromFlags("", server.Kubeconfig())
	require.NoError(b, err)
	config.QPS = -1
	return cluster, config
}

func benchClient(b *testing.B, config *rest.Config) *kubernetes.Clientset {
	b.Helper()
	config = rest.CopyConfig(config)
	config.Dial = (&net.Dialer{}).DialContext // a connection of its own
	client, err := kubernetes.NewForConfig(config)
	require.NoError(b, err)
	return client
}

func configMap(name string) *v1.ConfigMap {
	return &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"key": "value"}}
}

func claimNamed(name string) *v1.PersistentVolumeClaim {
	return &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1.PersistentVolumeClaimSpec{
			AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
			Resources:   v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
}

// BenchmarkWritesOverTLS creates claims from 8 clients over TLS on loopback.
func BenchmarkWritesOverTLS(b *testing.B) {
	for _, content := range []string{"application/json", "application/vnd.kubernetes.protobuf"} {
		b.Run(filepath.Base(content), func(b *testing.B) {
			_, config := benched(b)
			config.ContentType, config.AcceptContentTypes = content, content
			each := 2500
			if testing.Short() {
				each = 25
			}
			for b.Loop() {
				var wg sync.WaitGroup
				began := time.Now()
				for c := range 8 {
					claims := benchClient(b, config).CoreV1().PersistentVolumeClaims("default")
					wg.Go(func() {
						for i := range each {
							if _, err := claims.Create(b.Context(), claimNamed(fmt.Sprintf("c%d-%d", c, i)), metav1.CreateOptions{}); err != nil {
								b.Error(err)
							}
						}
					})
				}
				wg.Wait()
				b.ReportMetric(float64(8*each)/time.Since(began).Seconds(), "writes/s")
				require.NoError(b, benchClient(b, config).CoreV1().PersistentVolumeClaims("default").DeleteCollection(b.Context(), metav1.DeleteOptions{},
					metav1.ListOptions{}))
			}
		})
	}
}

// BenchmarkWatchersOverTLS has 200 watchers see 20,000 writes. None may miss one.
func BenchmarkWatchersOverTLS(b *testing.B) {
	watchers, writes := 200, 20_000
	if testing.Short() {
		watchers, writes = 20, 200
	}
	for b.Loop() {
		_, config := benched(b)
		ctx, cancel := context.WithCancel(b.Context())
		var seen sync.WaitGroup
		for range watchers {
			w, err := benchClient(b, config).CoreV1().ConfigMaps("default").Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name!=kube-root-ca.crt"})
			require.NoError(b, err)
			seen.Go(func() {
				for n := range writes {
					event, ok := <-w.ResultChan()
					if !ok {
						b.Errorf("the watch ended after %d of %d", n, writes)
						return
					}
					if name := event.Object.(*v1.ConfigMap).Name; name != "c"+strconv.Itoa(n) {
						b.Errorf("%s instead of c%d", name, n)
						return
					}
				}
			})
		}
		maps := benchClient(b, config).CoreV1().ConfigMaps("default")
		began := time.Now()
		for i := range writes {
			_, err := maps.Create(ctx, configMap("c"+strconv.Itoa(i)), metav1.CreateOptions{})
			require.NoError(b, err)
		}
		written := time.Since(began)
		var mem runtime.MemStats
		runtime.ReadMemStats(&mem)
		seen.Wait()
		b.ReportMetric(written.Seconds(), "s/written")
		b.ReportMetric(time.Since(began).Seconds(), "s/seen")
		b.ReportMetric(float64(mem.HeapInuse)/(1<<20), "MiB")
		cancel()
	}
}

// BenchmarkKubectlGet measures kubectl get pv of 10,000 volumes, whole, and the server's share. kubectl asks for 500
// at a time, and after ten requests only five times a second.
func BenchmarkKubectlGet(b *testing.B) {
	file, err := exec.LookPath("kubectl")
	if err != nil {
		b.Skipf("there is no kubectl on this machine: %v", err)
	}
	volumes := 10_000
	if testing.Short() {
		volumes = 100
	}
	cluster, config := benched(b)
	for i := range volumes {
		_, err := cluster.Client().CoreV1().PersistentVolumes().Create(b.Context(), &v1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: "pv-" + strconv.Itoa(i)},
			Spec: v1.PersistentVolumeSpec{
				Capacity: v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}, AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
				PersistentVolumeSource: v1.PersistentVolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/data"}},
			},
		}, metav1.CreateOptions{})
		require.NoError(b, err)
	}
	client, err := rest.HTTPClientFor(config)
	require.NoError(b, err)
	home := b.TempDir()
	kubeconfig := filepath.Join(home, "kubeconfig")
	require.NoError(b, os.WriteFile(kubeconfig, kubeconfigOf(config), 0o600))
	for _, chunk := range []string{"500", "1000"} {
		b.Run("chunks of "+chunk, func(b *testing.B) {
			for b.Loop() {
				cmd := exec.CommandContext(b.Context(), file, "get", "pv", "--chunk-size="+chunk)
				cmd.Env = []string{"HOME=" + home, "KUBECONFIG=" + kubeconfig, "PATH=" + os.Getenv("PATH")}
				out, err := cmd.Output()
				require.NoError(b, err)
				require.Greater(b, len(out), 50*volumes)
			}
		})
	}
	b.Run("server", func(b *testing.B) {
		for b.Loop() {
			getTable(b, client, config.Host+"/api/v1/persistentvolumes")
		}
	})
}

// getTable asks for a table as kubectl does.
func getTable(b *testing.B, client *http.Client, url string) {
	b.Helper()
	request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, url, nil)
	require.NoError(b, err)
	request.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	answer, err := client.Do(request)
	require.NoError(b, err)
	_, err = io.Copy(io.Discard, answer.Body)
	require.NoError(b, err)
	require.NoError(b, answer.Body.Close())
}

func kubeconfigOf(config *rest.Config) []byte {
	return fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Config","current-context":"x","contexts":[{"name":"x","context":{"cluster":"x","user":"x"}}],
"clusters":[{"name":"x","cluster":{"server":%q,"insecure-skip-tls-verify":true}}],"users":[{"name":"x","user":{"token":%q}}]}`, config.Host, config.BearerToken)
}

// BenchmarkStart measures the time from nothing to a kubeconfig that works, and to its end.
func BenchmarkStart(b *testing.B) {
	dir := b.TempDir()
	for b.Loop() {
		cluster, err := storagesim.New(storagesim.Config{Nodes: storagesim.Nodes("n1", "n2"), Disks: storagesim.MemoryDisks})
		require.NoError(b, err)
		server, err := serve.Start(cluster, serve.Config{Kubeconfig: filepath.Join(dir, "kubeconfig"), Speed: 1})
		require.NoError(b, err)
		require.NoError(b, server.Close())
		require.NoError(b, cluster.Close())
	}
}
