package serve_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/live/serve"
	"github.com/storagesim/storagesim/story/bundled"
)

// applied returns the manifests that a story applies.
func applied(t *testing.T, file string) (manifests []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, part := range strings.Split(string(text), "\napply\n")[1:] {
		input, _, found := strings.Cut(part, "\n----\n")
		require.True(t, found)
		manifests = append(manifests, strings.Split(input, "\n---\n")...)
	}
	return manifests
}

// create posts an object of OpenEBS' manifests, or of one who uses them.
func create(t *testing.T, client kubernetes.Interface, manifest string) {
	t.Helper()
	obj, _, err := scheme.Codecs.UniversalDeserializer().Decode([]byte(manifest), nil, nil)
	require.NoError(t, err)
	switch obj := obj.(type) {
	case *v1.Namespace:
		_, err = client.CoreV1().Namespaces().Create(t.Context(), obj, metav1.CreateOptions{})
	case *appsv1.Deployment:
		_, err = client.AppsV1().Deployments(obj.Namespace).Create(t.Context(), obj, metav1.CreateOptions{})
	case *appsv1.DaemonSet:
		_, err = client.AppsV1().DaemonSets(obj.Namespace).Create(t.Context(), obj, metav1.CreateOptions{})
	case *storagev1.StorageClass:
		_, err = client.StorageV1().StorageClasses().Create(t.Context(), obj, metav1.CreateOptions{})
	case *v1.PersistentVolumeClaim:
		_, err = client.CoreV1().PersistentVolumeClaims("default").Create(t.Context(), obj, metav1.CreateOptions{})
	case *v1.Pod:
		_, err = client.CoreV1().Pods("default").Create(t.Context(), obj, metav1.CreateOptions{})
	default:
		t.Fatalf("%T is not expected in the story", obj)
	}
	require.NoError(t, err, manifest)
}

// The Deployment of the document, both classes and the pods of node-disk-manager, posted by a client: a served cluster shows the pods and
// the refusal that the story of chapter 44 shows.
func TestOpenEBSAsTheDocumentInstallsItRunsInAServedCluster(t *testing.T) {
	cluster, err := storagesim.New(storagesim.Config{Nodes: storagesim.Nodes("node1", "node2", "node3", "node4"), Disks: storagesim.MemoryDisks})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, cluster.Close()) })
	require.NoError(t, bundled.Install(cluster, "openebs"))
	server, err := serve.Start(cluster, serve.Config{Kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, server.Close()) })
	config, err := clientcmd.BuildConfigFromFlags("", server.Kubeconfig())
	require.NoError(t, err)
	client := clientOf(t, config)
	clock, err := serve.NewClient(server.Kubeconfig())
	require.NoError(t, err)

	manifests := applied(t, "../../docs/stories/openebs_deployed.txt")
	require.Greater(t, len(manifests), 8)
	for _, manifest := range manifests {
		create(t, client, manifest)
	}
	_, err = clock.RunFor(t.Context(), 2*time.Minute)
	require.NoError(t, err)

	pods, err := client.CoreV1().Pods("openebs").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	running := 0
	for _, pod := range pods.Items {
		require.Equal(t, v1.PodRunning, pod.Status.Phase, pod.Name)
		running++
		if strings.HasPrefix(pod.Name, "openebs-localpv-provisioner-") {
			require.Len(t, pod.Status.ContainerStatuses, 1)
			require.True(t, pod.Status.ContainerStatuses[0].Ready)
			require.Zero(t, pod.Status.ContainerStatuses[0].RestartCount, "its probe is taken to succeed")
		}
	}
	require.Equal(t, 11, running)
	classes, err := client.StorageV1().StorageClasses().List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, classes.Items, 2)

	events, err := client.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=disk,reason=ProvisioningFailed"})
	require.NoError(t, err)
	require.NotEmpty(t, events.Items)
	require.Equal(t, "PV with StorageType device is not supported", events.Items[0].Message)
	claim, err := client.CoreV1().PersistentVolumeClaims("default").Get(t.Context(), "disk", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, v1.ClaimPending, claim.Status.Phase)
}
