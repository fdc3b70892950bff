package serve_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applyv1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/exec"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/internal/rigs/soon"
	"github.com/storagesim/storagesim/live/serve"
)

// started serves a cluster of one node until the test ends.
func started(t *testing.T, cfg serve.Config) (*serve.Server, *rest.Config) {
	t.Helper()
	cluster, err := storagesim.New(storagesim.Config{Start: time.Now(), Disks: storagesim.MemoryDisks})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, cluster.Close()) })
	if cfg.Kubeconfig == "" {
		cfg.Kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	}
	server, err := serve.Start(cluster, cfg)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, server.Close()) })
	config, err := clientcmd.BuildConfigFromFlags("", server.Kubeconfig())
	require.NoError(t, err)
	config.QPS = -1
	return server, config
}

func clientOf(t *testing.T, config *rest.Config) *kubernetes.Clientset {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	return client
}

func pod(name string, command ...string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1.PodSpec{
			RestartPolicy: v1.RestartPolicyNever,
			Containers:    []v1.Container{{Name: "main", Image: "busybox", Command: command, VolumeMounts: []v1.VolumeMount{{Name: "data", MountPath: "/data"}}}},
			Volumes:       []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}},
		},
	}
}

// runPod creates a pod and waits until it runs or has ended.
func runPod(t *testing.T, config *rest.Config, command ...string) {
	t.Helper()
	run(t, config, pod("web", command...))
}

// run creates a pod and waits until it is no longer pending.
func run(t *testing.T, config *rest.Config, pod *v1.Pod) {
	t.Helper()
	pods := clientOf(t, config).CoreV1().Pods("default")
	_, err := pods.Create(t.Context(), pod, metav1.CreateOptions{})
	require.NoError(t, err)
	w, err := pods.Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + pod.Name})
	require.NoError(t, err)
	defer w.Stop()
	for event := range w.ResultChan() {
		if event.Object.(*v1.Pod).Status.Phase != v1.PodPending {
			return
		}
	}
	t.Fatal("the watch has ended")
}

func TestAClientOfTheKubeconfigSeesTheClusterWork(t *testing.T) {
	server, config := started(t, serve.Config{Speed: 60})
	runPod(t, config, "sh", "-c", "sleep 60; echo done")
	info, err := os.Stat(server.Kubeconfig())
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o600), info.Mode())
	assert.True(t, strings.HasPrefix(config.Host, "https://127.0.0.1:"), config.Host)
}

func TestNobodyGetsInWithoutTheToken(t *testing.T) {
	_, config := started(t, serve.Config{})
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} // the certificate is not the question
	defer client.CloseIdleConnections()
	for _, path := range []string{"/", "/api", "/api/v1/pods", "/version", "/healthz", "/readyz", "/openapi/v3", "/storagesim/story",
		"/debug/pprof/", "/metrics"} {
		for _, authorization := range []string{"", "Bearer", "Bearer x", "Basic " + config.BearerToken, config.BearerToken, "Bearer " + config.BearerToken + "x"} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, config.Host+path, nil)
			require.NoError(t, err)
			r.Header.Set("Authorization", authorization)
			answer, err := client.Do(r)
			require.NoError(t, err)
			var status metav1.Status
			assert.NoError(t, json.NewDecoder(answer.Body).Decode(&status), path)
			require.NoError(t, answer.Body.Close())
			assert.Equal(t, http.StatusUnauthorized, answer.StatusCode, "%s with %q", path, authorization)
			assert.Equal(t, metav1.StatusReasonUnauthorized, status.Reason)
			assert.Equal(t, "v1, Kind=Status", status.GroupVersionKind().GroupVersion().String()+", Kind="+status.Kind)
		}
	}
	for _, path := range []string{"/debug/pprof/", "/debug/vars", "/metrics", "/storagesim/stop"} {
		err := clientOf(t, config).RESTClient().Get().AbsPath(path).Do(t.Context()).Error()
		assert.True(t, apierrors.IsNotFound(err), "%s: %v", path, err)
	}
}

// A client without the token cannot keep a connection by sending a body slowly.
func TestNobodyIsWaitedForWithoutTheToken(t *testing.T) {
	_, config := started(t, serve.Config{})
	conn, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}).DialContext(t.Context(), "tcp",
		strings.TrimPrefix(config.Host, "https://")) // the certificate is not the question
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
	_, err = io.WriteString(conn, "POST /api/v1/namespaces HTTP/1.1\r\nHost: x\r\nUpgrade: x\r\nContent-Length: 100000\r\n\r\n{")
	require.NoError(t, err)
	answer, err := io.ReadAll(conn)
	require.NoError(t, err, "the server closes the connection")
	assert.Contains(t, string(answer), "401 Unauthorized")
}

func TestAClientThatTrustsOthersDoesNotTrustTheServer(t *testing.T) {
	_, config := started(t, serve.Config{})
	config.CAData = nil
	_, err := clientOf(t, config).CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
	assert.ErrorContains(t, err, "certificate signed by unknown authority")
}

func TestWhatCannotBeServedIsSaidBeforeAnythingStarts(t *testing.T) {
	dir := t.TempDir()
	theirs := filepath.Join(dir, "theirs")
	require.NoError(t, os.WriteFile(theirs, []byte("apiVersion: v1\nkind: Config\n"), 0o600))
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink(theirs, link))
	busy, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer busy.Close()
	fresh := filepath.Join(dir, "fresh")
	tests := map[string]struct {
		cfg  serve.Config
		want string
	}{
		"a port in use":                {serve.Config{Kubeconfig: fresh, Listen: busy.Addr().String()}, "cannot listen on " + busy.Addr().String()},
		"a kubeconfig of somebody":     {serve.Config{Kubeconfig: theirs}, "will not replace " + theirs + ": storagesim serve has not written it"},
		"a link for a kubeconfig":      {serve.Config{Kubeconfig: link, Force: true}, "there is something that is no file"},
		"a directory that is not":      {serve.Config{Kubeconfig: filepath.Join(dir, "no", "kubeconfig")}, "there is no directory " + filepath.Join(dir, "no")},
		"no kubeconfig":                {serve.Config{}, "a server needs a kubeconfig to write"},
		"all addresses":                {serve.Config{Kubeconfig: fresh, Listen: ":0"}, "other machines could reach it"},
		"an address of others":         {serve.Config{Kubeconfig: fresh, Listen: "192.0.2.1:0"}, "other machines could reach it"},
		"a name of another":            {serve.Config{Kubeconfig: fresh, Listen: "example.com:0"}, "other machines could reach it"},
		"an address without a port":    {serve.Config{Kubeconfig: fresh, Listen: "127.0.0.1"}, "an address and a port are expected"},
		"a port that is too high":      {serve.Config{Kubeconfig: fresh, Listen: "127.0.0.1:70000"}, "invalid port"},
		"time that goes back":          {serve.Config{Kubeconfig: fresh, Speed: -1}, "-1 is negative"},
		"a port in use, and no token?": {serve.Config{Kubeconfig: fresh, Listen: busy.Addr().String(), Force: true}, "address already in use"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			cluster, err := storagesim.New(storagesim.Config{Disks: storagesim.MemoryDisks})
			require.NoError(t, err)
			defer cluster.Close()
			_, err = serve.Start(cluster, tt.cfg)
			require.ErrorContains(t, err, tt.want)
			assert.NoFileExists(t, fresh)
			require.NoError(t, cluster.Settle(), "the cluster is still the caller's")
		})
	}
	text, err := os.ReadFile(theirs)
	require.NoError(t, err)
	assert.Equal(t, "apiVersion: v1\nkind: Config\n", string(text))
}

func TestTheKubeconfigIsGoneAfterwardsUnlessSomebodyElseHasWrittenIt(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	server, _ := started(t, serve.Config{Kubeconfig: file})
	written, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, server.Close())
	assert.NoFileExists(t, file)

	require.NoError(t, os.WriteFile(file, written, 0o600)) // as a server leaves it that is killed
	server, _ = started(t, serve.Config{Kubeconfig: file})
	require.NoError(t, os.WriteFile(file, []byte("mine"), 0o600))
	require.NoError(t, server.Close())
	assert.FileExists(t, file)

	server, _ = started(t, serve.Config{Kubeconfig: file, Force: true})
	require.NoError(t, server.Close())
	entries, err := os.ReadDir(filepath.Dir(file))
	require.NoError(t, err)
	assert.Empty(t, entries, "nothing is left")
}

func TestAtSpeedZeroTheClusterMovesOnlyWhenAClientSaysSo(t *testing.T) {
	server, config := started(t, serve.Config{})
	ctx := t.Context()
	pods := clientOf(t, config).CoreV1().Pods("default")
	_, err := pods.Create(ctx, pod("web", "sh", "-c", "sleep 600; echo late"), metav1.CreateOptions{})
	require.NoError(t, err)
	phase := func() v1.PodPhase {
		p, err := pods.Get(ctx, "web", metav1.GetOptions{})
		require.NoError(t, err)
		return p.Status.Phase
	}
	client, err := serve.NewClient(server.Kubeconfig())
	require.NoError(t, err)
	moved, err := client.Step(ctx)
	require.NoError(t, err)
	assert.Equal(t, uint64(1), moved.Steps)
	assert.Equal(t, v1.PodPending, phase())
	_, err = client.Settle(ctx)
	require.NoError(t, err)
	assert.Equal(t, v1.PodRunning, phase())
	before, err := client.Step(ctx)
	require.NoError(t, err)
	after, err := client.RunFor(ctx, 10*time.Minute)
	require.NoError(t, err)
	assert.Equal(t, 10*time.Minute, after.Now.Sub(before.Now))
	log, err := pods.GetLogs("web", &v1.PodLogOptions{}).DoRaw(ctx)
	require.NoError(t, err)
	assert.Equal(t, "late\n", string(log))
	story, err := clientOf(t, config).RESTClient().Get().AbsPath("/storagesim/story").DoRaw(ctx)
	require.NoError(t, err)
	assert.Contains(t, string(story), "web")
	_, err = client.RunFor(ctx, -time.Second)
	assert.ErrorContains(t, err, `duration "-1s" is not a time such as 90s, 6m or 1h30m`)
}

func TestLogsAreAnsweredAsByARealServer(t *testing.T) {
	_, config := started(t, serve.Config{Speed: 100})
	runPod(t, config, "sh", "-c", "echo one; echo two; echo three; sleep 30; echo four")
	pods := clientOf(t, config).CoreV1().Pods("default")
	read := func(opts v1.PodLogOptions) string {
		log, err := pods.GetLogs("web", &opts).DoRaw(t.Context())
		require.NoError(t, err)
		return string(log)
	}
	number := func(n int64) *int64 { return &n }
	assert.Equal(t, "two\nthree\nfour\n", read(v1.PodLogOptions{Follow: true, TailLines: number(2)}))
	assert.Equal(t, "four\n", read(v1.PodLogOptions{TailLines: number(1)}))
	assert.Empty(t, read(v1.PodLogOptions{TailLines: number(0)}))
	assert.Equal(t, "one\ntwo\nthree\nfour\n", read(v1.PodLogOptions{TailLines: number(100)}))
	assert.Equal(t, "one\ntw", read(v1.PodLogOptions{LimitBytes: number(6)}))

	again := pod("again", "sh", "-c", "echo one; echo two; echo three; sleep 30; echo four")
	again.Spec.RestartPolicy = v1.RestartPolicyAlways
	run(t, config, again)
	followed, err := pods.GetLogs("again", &v1.PodLogOptions{Follow: true}).DoRaw(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "one\ntwo\nthree\nfour\n", string(followed), "what the next container prints is not in it")

	err = pods.GetLogs("nobody", &v1.PodLogOptions{}).Do(t.Context()).Error()
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
	err = pods.GetLogs("web", &v1.PodLogOptions{Container: "other"}).Do(t.Context()).Error()
	assert.ErrorContains(t, err, "container other is not valid for pod web")
	err = pods.GetLogs("web", &v1.PodLogOptions{TailLines: number(-1)}).Do(t.Context()).Error()
	assert.True(t, apierrors.IsInvalid(err), "%v", err)
	err = pods.GetLogs("web", &v1.PodLogOptions{Timestamps: true}).Do(t.Context()).Error()
	assert.ErrorContains(t, err, "does not keep the times")
}

// transport makes the executor of a client: kubectl's, or that of older kubectls and of most programs.
type transport func(config *rest.Config, url string) (remotecommand.Executor, error)

func overBoth(t *testing.T, test func(t *testing.T, over transport)) {
	t.Helper()
	t.Run("WebSocket", func(t *testing.T) {
		test(t, func(config *rest.Config, url string) (remotecommand.Executor, error) {
			return remotecommand.NewWebSocketExecutor(config, http.MethodGet, url)
		})
	})
	t.Run("SPDY", func(t *testing.T) {
		test(t, func(config *rest.Config, where string) (remotecommand.Executor, error) {
			u, err := url.Parse(where)
			require.NoError(t, err)
			return remotecommand.NewSPDYExecutor(config, http.MethodPost, u)
		})
	})
}

// executor returns what runs a command in the pod as kubectl exec does.
func (over transport) executor(t *testing.T, config *rest.Config, opts v1.PodExecOptions) remotecommand.Executor {
	t.Helper()
	request := clientOf(t, config).CoreV1().RESTClient().Post().Resource("pods").Namespace("default").Name("web").SubResource("exec")
	request.VersionedParams(&opts, scheme.ParameterCodec)
	executor, err := over(config, request.URL().String())
	require.NoError(t, err)
	return executor
}

// execute runs a command in the pod as kubectl exec does.
func (over transport) execute(ctx context.Context, t *testing.T, config *rest.Config, opts v1.PodExecOptions, in io.Reader) (stdout, stderr string, err error) {
	t.Helper()
	opts.Stdin, opts.Stdout, opts.Stderr = in != nil, true, !opts.TTY
	executor := over.executor(t, config, opts)
	var out, errOut bytes.Buffer
	streams := remotecommand.StreamOptions{Stdin: in, Stdout: &out, Tty: opts.TTY}
	if !opts.TTY {
		streams.Stderr = &errOut
	}
	if err = executor.StreamWithContext(ctx, streams); ctx.Err() != nil {
		return "", "", err // it may be printing still
	}
	return out.String(), errOut.String(), err
}

func TestCommandsRunInContainers(t *testing.T) { overBoth(t, testCommands) }

func testCommands(t *testing.T, over transport) {
	_, config := started(t, serve.Config{Speed: 1000})
	runPod(t, config, "sh", "-c", "echo hello > /data/x; sleep 100000000")
	run := func(in io.Reader, command ...string) (string, string, error) {
		return over.execute(t.Context(), t, config, v1.PodExecOptions{Command: command}, in)
	}
	stdout, stderr, err := run(nil, "cat", "/data/x")
	require.NoError(t, err)
	assert.Equal(t, "hello\n", stdout)
	assert.Empty(t, stderr)

	stdout, stderr, err = run(nil, "sh", "-c", "echo out; sleep 30; echo err >&2; exit 3")
	var failed exec.CodeExitError
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, 3, failed.Code)
	assert.Equal(t, "out\n", stdout)
	assert.Equal(t, "err\n", stderr)

	big := strings.Repeat("0123456789abcdef", 1<<12)
	stdout, _, err = run(strings.NewReader(big), "sh", "-c", "cat > /data/big; cat /data/big")
	require.NoError(t, err)
	assert.Equal(t, big, stdout)

	_, stderr, err = run(nil, "python3")
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, 127, failed.Code)
	assert.Contains(t, stderr, "python3")

	stdout, _, err = over.execute(t.Context(), t, config, v1.PodExecOptions{Command: []string{"cat"}, TTY: true}, strings.NewReader("typed\r\x04"))
	require.NoError(t, err)
	assert.Equal(t, "typed\r\ntyped\n", stdout)
}

// A command that reads its input waits for it, and the cluster does not wait for the
// command.
func TestACommandThatWaitsForItsInputHoldsNobodyUp(t *testing.T) { overBoth(t, testInput) }

func testInput(t *testing.T, over transport) {
	server, config := started(t, serve.Config{Speed: 1})
	runPod(t, config, "sleep", "100000000")
	in, typing := io.Pipe()
	type answer struct {
		stdout string
		err    error
	}
	done := make(chan answer)
	go func() {
		stdout, _, err := over.execute(t.Context(), t, config, v1.PodExecOptions{Command: []string{"cat"}}, in)
		done <- answer{stdout, err}
	}()
	_, err := io.WriteString(typing, "late")
	require.NoError(t, err)
	require.True(t, server.Do(func() {}), "the cluster goes on")
	require.NoError(t, typing.Close())
	got := <-done
	require.NoError(t, got.err)
	assert.Equal(t, "late", got.stdout)
}

// onWrite calls a function when a command prints.
type onWrite func()

func (f onWrite) Write(text []byte) (int, error) {
	f()
	return len(text), nil
}

func TestACommandEndsWhenItsClientGoes(t *testing.T) { overBoth(t, testGone) }

func testGone(t *testing.T, over transport) {
	server, config := started(t, serve.Config{Speed: 1})
	runPod(t, config, "sleep", "100000000")
	ctx, cancel := context.WithCancel(t.Context())
	executor := over.executor(t, config, v1.PodExecOptions{Command: []string{"sh", "-c", "echo begun; sleep 1000"}, Stdout: true})
	err := executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: onWrite(cancel)})
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, server.Close(), "which would wait for it")
}

func TestARequestForACommandThatCannotBeBegunIsRefused(t *testing.T) {
	_, config := started(t, serve.Config{Speed: 1})
	config.NextProtos = []string{"http/1.1"} // HTTP/2 has no upgrades
	client := clientOf(t, config).CoreV1().RESTClient()
	err := client.Post().AbsPath("/api/v1/namespaces/default/pods/nobody/exec").Param("stdout", "1").Param("command", "ls").Do(t.Context()).Error()
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
	runPod(t, config, "sleep", "100000000")
	path := "/api/v1/namespaces/default/pods/web/"
	err = client.Post().AbsPath(path+"exec").Param("command", "ls").Do(t.Context()).Error()
	assert.ErrorContains(t, err, "at least 1 of stdin, stdout, stderr")
	err = client.Post().AbsPath(path+"exec").Param("command", "ls").Param("stdout", "1").Do(t.Context()).Error()
	assert.ErrorContains(t, err, "Upgrade request required")
	err = client.Post().AbsPath(path+"exec").Param("stdout", "1").Do(t.Context()).Error()
	assert.ErrorContains(t, err, "you must specify at least one command")
	spdy := func(protocol string) string {
		request := client.Post().AbsPath(path+"exec").Param("command", "ls").Param("stdout", "1")
		answer, err := request.SetHeader("Connection", "upgrade").SetHeader("Upgrade", "SPDY/3.1").SetHeader("X-Stream-Protocol-Version", protocol).DoRaw(t.Context())
		require.Error(t, err)
		return string(answer)
	}
	assert.Contains(t, spdy(""), "no valid protocols")
	assert.Contains(t, spdy("v2.channel.k8s.io"), "client supports [v2.channel.k8s.io], server accepts [v4.channel.k8s.io]")
	err = client.Post().AbsPath(path + "portforward").Do(t.Context()).Error()
	assert.ErrorContains(t, err, "containers have no network")
}

func TestTheServerEndsWhenTheClusterFails(t *testing.T) {
	cluster, err := storagesim.New(storagesim.Config{Disks: storagesim.MemoryDisks})
	require.NoError(t, err)
	server, err := serve.Start(cluster, serve.Config{Kubeconfig: filepath.Join(t.TempDir(), "k"), Speed: 1})
	require.NoError(t, err)
	client, err := serve.NewClient(server.Kubeconfig())
	require.NoError(t, err)
	cluster.Engine().Interrupt()
	server.Do(func() {})
	failure := server.Wait(t.Context())
	require.Error(t, failure)
	_, err = client.Settle(t.Context())
	assert.ErrorContains(t, err, "the cluster has ended")
	require.Error(t, errors.Join(server.Close(), cluster.Close()), "Close tells of it too")
}

func TestANamespaceHasItsServiceAccountAndTheServersCertificateAtOnce(t *testing.T) {
	server, rest := started(t, serve.Config{})
	client := clientOf(t, rest)
	_, err := client.CoreV1().Namespaces().Create(t.Context(), &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "made"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = client.CoreV1().Namespaces().Apply(t.Context(), applyv1.Namespace("applied"), metav1.ApplyOptions{FieldManager: "me"})
	require.NoError(t, err)
	config, err := clientcmd.LoadFromFile(server.Kubeconfig())
	require.NoError(t, err)
	for _, namespace := range []string{"default", "kube-system", "made", "applied"} {
		_, err := client.CoreV1().ServiceAccounts(namespace).Get(t.Context(), "default", metav1.GetOptions{})
		require.NoError(t, err)
		m, err := client.CoreV1().ConfigMaps(namespace).Get(t.Context(), "kube-root-ca.crt", metav1.GetOptions{})
		require.NoError(t, err)
		for _, cluster := range config.Clusters {
			assert.Equal(t, string(cluster.CertificateAuthorityData), m.Data["ca.crt"])
		}
	}
	service, err := client.CoreV1().Services("default").Get(t.Context(), "kubernetes", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, "10.96.0.1", service.Spec.ClusterIP)
}

func TestARequestThatTakesTooLongIsAnsweredWithATimeout(t *testing.T) {
	_, config := started(t, serve.Config{RequestTimeout: time.Nanosecond})
	_, err := clientOf(t, config).CoreV1().Pods("default").Create(t.Context(), pod("web", "true"), metav1.CreateOptions{})
	require.True(t, apierrors.IsTimeout(err), "%v", err)
	require.EqualError(t, err, "Timeout: request did not complete within requested timeout - context deadline exceeded")
}

func TestVirtualTimeStopsWhenTheClientThatAskedForItGoes(t *testing.T) {
	server, config := started(t, serve.Config{})
	_, err := clientOf(t, config).CoreV1().Pods("default").Create(t.Context(), pod("web", "sh", "-c", "while :; do sleep 1; done"), metav1.CreateOptions{})
	require.NoError(t, err)
	client, err := serve.NewClient(server.Kubeconfig())
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err = client.RunFor(ctx, 2_000_000*time.Hour)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.True(t, soon.Is(t, func() bool { // as soon as the server sees that the client has gone, which is after the slice that is under way
		moved, err := client.RunFor(t.Context(), time.Second)
		require.NoError(t, err)
		again, err := client.RunFor(t.Context(), time.Second)
		require.NoError(t, err)
		return again.Now.Sub(moved.Now) < time.Hour
	}))
}

func TestOthersAreAnsweredWhileVirtualTimePasses(t *testing.T) {
	server, config := started(t, serve.Config{})
	_, err := clientOf(t, config).CoreV1().Pods("default").Create(t.Context(), pod("web", "sh", "-c", "while :; do sleep 1; done"), metav1.CreateOptions{})
	require.NoError(t, err)
	client, err := serve.NewClient(server.Kubeconfig())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = client.RunFor(ctx, 2_000_000*time.Hour)
	}()
	for range 3 {
		_, err := client.Step(t.Context())
		require.NoError(t, err)
	}
	cancel()
	<-ended
}

func TestALongStoryIsToldInParts(t *testing.T) {
	_, config := started(t, serve.Config{})
	clients := clientOf(t, config)
	for i := range 30 {
		_, err := clients.CoreV1().ConfigMaps("default").Create(t.Context(), &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("c-%d", i)}},
			metav1.CreateOptions{})
		require.NoError(t, err)
	}
	part := func(query ...string) string {
		request := clients.RESTClient().Get().AbsPath("/storagesim/story")
		for i := 0; i < len(query); i += 2 {
			request = request.Param(query[i], query[i+1])
		}
		text, err := request.DoRaw(t.Context())
		require.NoError(t, err)
		return string(text)
	}
	whole := part()
	assert.Contains(t, whole, "default/c-29")
	assert.NotContains(t, whole, "there is more")
	first := part("limit", "10")
	assert.Regexp(t, `\(there is more: /storagesim/story\?from=10\)\n$`, first)
	assert.Len(t, strings.Split(first, "\n"), 12)
	assert.Contains(t, part("from", "10", "limit", "1"), "from=11)")
	assert.Contains(t, part("from", "20"), "default/c-29")
	assert.NotContains(t, part("from", "20"), "default/c-0\n")
	assert.Empty(t, part("from", "100000"))
	_, err := clients.RESTClient().Get().AbsPath("/storagesim/story").Param("from", "-1").DoRaw(t.Context())
	assert.ErrorContains(t, err, "the server rejected our request")
}
