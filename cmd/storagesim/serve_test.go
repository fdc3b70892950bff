package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/storagesim/storagesim/internal/rigs/soon"
)

// output holds what a command prints while it runs.
type output struct {
	mu   sync.Mutex
	data bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.data.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.data.String()
}

// served runs serve while f is called with its output, and then ends it as Ctrl-C does.
func served(t *testing.T, f func(out string), args ...string) (code int, errOut string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var out, failure output
	done := make(chan int, 1)
	go func() {
		done <- execute(ctx, append([]string{"serve"}, args...), strings.NewReader(""), &out, &failure)
	}()
	require.True(t, soon.Is(t, func() bool { return strings.Contains(out.String(), "Ctrl-C ends it\n") }), failure.String())
	f(out.String())
	cancel()
	return <-done, failure.String()
}

func TestServeOffersAClusterThatStepSettleAndRunForMove(t *testing.T) {
	dir := t.TempDir()
	file, claim := filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "claim.yaml")
	require.NoError(t, os.WriteFile(claim, []byte("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"), 0o600))
	_, errOut := served(t, func(out string) {
		assert.True(t, strings.HasPrefix(out, "export KUBECONFIG="+file+"\n# https://127.0.0.1:"), out)
		assert.Contains(t, out, "time, and with it AGE, goes only when it is told to")
		for _, args := range [][]string{{"step"}, {"settle"}, {"run-for", "10m"}} {
			code, out, errOut := command(t, "", append(args, "--kubeconfig", file)...)
			assert.Zero(t, code, errOut)
			assert.Regexp(t, `^\d+ steps; it is \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\n$`, out)
		}
	}, "--speed", "step", "--kubeconfig", file, "-f", claim)
	assert.Empty(t, errOut)
	assert.NoFileExists(t, file)
}

func TestServeAppliesSoThatKubectlKnowsLaterWhatItApplied(t *testing.T) {
	dir := t.TempDir()
	config, settings := filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "settings.yaml")
	require.NoError(t, os.WriteFile(settings, []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {stays: a, goes: b}\n"), 0o600))
	_, errOut := served(t, func(string) {
		loaded, err := clientcmd.BuildConfigFromFlags("", config)
		require.NoError(t, err)
		client, err := kubernetes.NewForConfig(loaded)
		require.NoError(t, err)
		get := func() *v1.ConfigMap {
			found, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), "settings", metav1.GetOptions{})
			require.NoError(t, err)
			return found
		}
		made := get()
		assert.Equal(t, `{"apiVersion":"v1","data":{"goes":"b","stays":"a"},"kind":"ConfigMap","metadata":{"annotations":{},"name":"settings",`+
			`"namespace":"default"}}`+"\n", made.Annotations[v1.LastAppliedConfigAnnotation])
		require.Len(t, made.ManagedFields, 1)
		assert.Equal(t, "kubectl-client-side-apply", made.ManagedFields[0].Manager)
		// The next apply of kubectl compares the annotation with the manifest.
		made.APIVersion, made.Kind = "v1", "ConfigMap" // which client-go leaves out
		current, err := json.Marshal(made)
		require.NoError(t, err)
		schema, err := strategicpatch.NewPatchMetaFromStruct(v1.ConfigMap{})
		require.NoError(t, err)
		patch, err := strategicpatch.CreateThreeWayMergePatch([]byte(made.Annotations[v1.LastAppliedConfigAnnotation]),
			[]byte(`{"apiVersion":"v1","data":{"stays":"a"},"kind":"ConfigMap","metadata":{"annotations":{},"name":"settings","namespace":"default"}}`),
			current, schema, true)
		require.NoError(t, err)
		assert.JSONEq(t, `{"data":{"goes":null}}`, string(patch))
		_, err = client.CoreV1().ConfigMaps("default").Patch(t.Context(), "settings", types.StrategicMergePatchType, patch, metav1.PatchOptions{})
		require.NoError(t, err)
		assert.Equal(t, map[string]string{"stays": "a"}, get().Data)
	}, "--speed", "step", "--kubeconfig", config, "-f", settings)
	assert.Empty(t, errOut)
}

func TestExplainWrapsAtTheWidthThatIsAskedFor(t *testing.T) {
	config := filepath.Join(t.TempDir(), "kubeconfig")
	pod := file(t, "pod.yaml", "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {nodeSelector: {disk: fast}, containers: [{name: c, image: busybox}]}}")
	served(t, func(string) {
		_, _, errOut := command(t, "", "settle", "--kubeconfig", config)
		assert.Empty(t, errOut)
		_, whole, errOut := command(t, "", "explain", "pod/web", "--kubeconfig", config, "--width", "0")
		assert.Empty(t, errOut)
		_, out, errOut := command(t, "", "explain", "pod/web", "--kubeconfig", config, "--width", "60")
		assert.Empty(t, errOut)
		assert.Equal(t, strings.Fields(whole), strings.Fields(out))
		assert.Greater(t, strings.Count(out, "\n"), strings.Count(whole, "\n"))
		for line := range strings.Lines(out) {
			assert.LessOrEqual(t, len(line), 61)
		}
	}, "--speed", "step", "--kubeconfig", config, "-f", pod)
}

func TestServeStartsWithoutNodes(t *testing.T) {
	_, errOut := served(t, func(string) {}, "--speed", "step", "--nodes", "")
	assert.Empty(t, errOut)
	code, _, errOut := command(t, "", "serve", "--nodes", "", "--csi-endpoint", "unix:///none.sock")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, errOut, "--nodes: name at least one node")
}

func TestServeWithoutAFileForTheKubeconfigLeavesNothing(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	served(t, func(out string) {
		entries, err := os.ReadDir(os.TempDir())
		require.NoError(t, err)
		assert.Len(t, entries, 1)
		assert.Contains(t, out, entries[0].Name()+"/kubeconfig\n")
		assert.Contains(t, out, "60 times as fast as here")
	}, "--speed", "60x")
	entries, err := os.ReadDir(os.TempDir())
	require.NoError(t, err)
	assert.Empty(t, entries)
}

func TestServeKeepsTheDirectoriesOfItsNodes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "nodes")
	pod := filepath.Join(t.TempDir(), "pod.yaml")
	require.NoError(t, os.WriteFile(pod,
		[]byte(`{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {nodeName: node-1, volumes: [{name: v, hostPath: {path: /data, type: DirectoryOrCreate}}],
  containers: [{name: c, image: busybox, command: [sh, -c, "echo kept > /v/file; sleep infinity"], volumeMounts: [{name: v, mountPath: /v}]}]}}`), 0o600))
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	_, errOut := served(t, func(string) {
		code, _, errOut := command(t, "", "settle", "--kubeconfig", kubeconfig)
		assert.Zero(t, code, errOut)
	}, "--speed", "step", "--kubeconfig", kubeconfig, "--keep", dir, "-f", pod)
	assert.Empty(t, errOut)
	data, err := os.ReadFile(filepath.Join(dir, "node-1", "data", "file"))
	require.NoError(t, err)
	assert.Equal(t, "kept\n", string(data))
	code, _, errOut := command(t, "", "serve", "--keep", dir)
	assert.Equal(t, 2, code)
	assert.Contains(t, errOut, "--keep "+dir+": the directory is not empty")
}

func TestServeSaysInWordsWhatIsInTheWay(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(file, []byte("mine"), 0o600))
	code, out, errOut := command(t, "", "serve", "--kubeconfig", file)
	assert.Equal(t, exitError, code)
	assert.Empty(t, out)
	assert.Contains(t, errOut, "will not replace "+file+": storagesim serve has not written it. Name another file, or use --force")
	_, _, errOut = command(t, "", "serve", "--listen", "0.0.0.0:0", "--kubeconfig", file, "--force")
	assert.Contains(t, errOut, "other machines could reach it. Use 127.0.0.1, or --remote")
	none := filepath.Join(t.TempDir(), "none")
	_, _, errOut = command(t, "", "settle", "--kubeconfig", none)
	assert.Equal(t, "error: no kubeconfig of a server: "+none+": no such file or directory; storagesim serve starts a server and writes one\n", errOut)
}
