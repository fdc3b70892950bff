package serve_test

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/live/serve"
	"github.com/storagesim/storagesim/story/bundled"
)

var update = flag.Bool("update", false, "write testdata/kubectl/output.txt anew")

// kubectl returns the path of kubectl, or of the program that $KUBECTL names.
func kubectl(t *testing.T) string {
	t.Helper()
	name := os.Getenv("KUBECTL")
	if name == "" {
		name = "kubectl"
	}
	file, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("there is no kubectl on this machine: %v", err)
	}
	return file
}

// session is a shell with a kubectl, before a cluster that moves only when told.
type session struct {
	t      *testing.T
	dir    string
	env    []string
	client *serve.Client
	api    *kubernetes.Clientset
}

func newSession(t *testing.T) *session {
	t.Helper()
	file := kubectl(t)
	cluster, err := storagesim.New(storagesim.Config{Nodes: storagesim.Nodes("n1", "n2"), Disks: storagesim.MemoryDisks})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, cluster.Close()) })
	require.NoError(t, bundled.Install(cluster, "openebs"))
	require.NoError(t, cluster.Settle())
	dir := t.TempDir()
	server, err := serve.Start(cluster, serve.Config{Kubeconfig: filepath.Join(dir, "kubeconfig")})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, server.Close()) })
	client, err := serve.NewClient(server.Kubeconfig())
	require.NoError(t, err)
	config, err := clientcmd.BuildConfigFromFlags("", server.Kubeconfig())
	require.NoError(t, err)
	files, err := filepath.Glob("testdata/kubectl/*.[jy]*") // manifests, in YAML or JSON
	require.NoError(t, err)
	for _, name := range files {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(name)), text, 0o600))
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "bin"), 0o700))
	require.NoError(t, os.Symlink(file, filepath.Join(dir, "bin", "kubectl")))
	return &session{t: t, dir: dir, client: client, api: clientOf(t, config), env: []string{
		"PATH=" + filepath.Join(dir, "bin") + ":" + os.Getenv("PATH"), "HOME=" + dir, "KUBECONFIG=" + server.Kubeconfig(), "TMPDIR=" + dir,
	}}
}

// run carries out a line of a script and returns what it printed. A line that hangs does so until go test ends the test.
func (s *session) run(line string) string {
	s.t.Helper()
	ctx := s.t.Context()
	var err error
	switch word, rest, _ := strings.Cut(line[2:], " "); word {
	case "settle":
		_, err = s.client.Settle(ctx)
	case "run-for":
		d, bad := time.ParseDuration(rest)
		require.NoError(s.t, bad)
		_, err = s.client.RunFor(ctx, d)
	default:
		for {
			text := s.shell(ctx, line[2:], line[0] == '&')
			if !strings.Contains(text, droppedByKubectl) {
				return text
			}
		}
	}
	require.NoError(s.t, err, line)
	return ""
}

// droppedByKubectl is the complaint of an older kubectl, such as v1.32, that reads from the connection
// before it has made its streams: it drops what the server sends at once. Newer ones wait. The
// command is run again then; it only reads.
const droppedByKubectl = "Unknown stream id"

// shell runs a command line. If that is asked for, the cluster moves meanwhile, and has come to rest at the end.
func (s *session) shell(ctx context.Context, line string, moving bool) string {
	cmd := exec.CommandContext(ctx, "bash", "-c", line)
	cmd.Dir, cmd.Env = s.dir, s.env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(s.t, cmd.Start())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = cmd.Wait()
	}()
	for ended := false; !ended; {
		select {
		case <-done:
			ended = true
		case <-time.After(50 * time.Millisecond):
		}
		if moving && (ended || s.asked(line)) {
			_, err := s.client.Settle(ctx)
			require.NoError(s.t, err)
		}
	}
	text := out.String()
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		text += fmt.Sprintf("[exit code %d]\n", code)
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	text = throttled.ReplaceAllString(text, "")
	return realTimes.ReplaceAllString(newerWarning.ReplaceAllString(olderWords.Replace(strings.ReplaceAll(text, s.dir, "DIR")), ""), "(a real time)")
}

// asked reports whether a command has made all of its requests that change something, and only waits. kubectl drain evicts
// each pod with a request of its own: if the cluster moved between two of them, the grace period of the first pod would pass or
// not before the next is evicted, as the machine is slow or fast.
func (s *session) asked(line string) bool {
	words := strings.Fields(line)
	if words[1] != "drain" {
		return true
	}
	node, err := s.api.CoreV1().Nodes().Get(s.t.Context(), words[2], metav1.GetOptions{})
	require.NoError(s.t, err)
	pods, err := s.api.CoreV1().Pods("").List(s.t.Context(), metav1.ListOptions{FieldSelector: "spec.nodeName=" + node.Name})
	require.NoError(s.t, err)
	return node.Spec.Unschedulable && !slices.ContainsFunc(pods.Items, func(p v1.Pod) bool {
		return p.DeletionTimestamp == nil
	})
}

// throttled matches what a client says if it had to wait for a second before a request, be it only for the processor.
var throttled = regexp.MustCompile(`(?m)^I\d{4} .*client-side throttling.*\n`)

// newerWarning matches what kubectl rollout undo says since v1.37 of objects that kubectl apply has made. Older ones say nothing.
var newerWarning = regexp.MustCompile(`Warning: resource \S+ was previously managed with 'kubectl apply'\. Rolling back will not update .*\n`)

// realTimes matches the moments that kubectl describe prints: they are told by the real clock, which is in no year of the simulation's.
var realTimes = regexp.MustCompile(`\w{3}, \d\d \w{3} 20\d\d \d\d:\d\d:\d\d \+0000`)

// olderWords replaces texts of kubectl v1.37 by those of v1.32.
var olderWords = strings.NewReplacer(
	" deleted from default namespace\n", " deleted\n",
	"error upgrading connection: unable to upgrade connection: ", "error upgrading connection: ",
)

func TestKubectlWorksAsOnACluster(t *testing.T) {
	s := newSession(t)
	script, err := os.ReadFile("testdata/kubectl/script.txt")
	require.NoError(t, err)
	var got strings.Builder
	for line := range strings.Lines(string(script)) {
		got.WriteString(line)
		if line = strings.TrimSuffix(line, "\n"); strings.HasPrefix(line, "$ ") || strings.HasPrefix(line, "& ") {
			got.WriteString(s.run(line))
		}
	}
	const golden = "testdata/kubectl/output.txt"
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(got.String()), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), got.String())
}

func TestKubectlWatches(t *testing.T) {
	s := newSession(t)
	s.run("$ kubectl apply -f claim.yaml")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd := exec.CommandContext(ctx, "kubectl", "get", "pvc", "-w", "--no-headers", "-o", "custom-columns=NAME:.metadata.name,PHASE:.status.phase")
	cmd.Path = filepath.Join(s.dir, "bin", "kubectl")
	cmd.Dir, cmd.Env = s.dir, s.env
	lines, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	out := bufio.NewScanner(lines)
	require.True(t, out.Scan(), "the list comes first, and the watch goes on from there")
	got := []string{out.Text()}
	s.run("$ kubectl apply -f pod.yaml")
	s.run("$ settle")
	for out.Scan() {
		got = append(got, out.Text())
		if strings.HasSuffix(out.Text(), "Bound") {
			break
		}
	}
	require.NoError(t, out.Err())
	assert.Equal(t, "data   Pending", got[0])
	assert.Equal(t, "data   Bound", got[len(got)-1])
	cancel()
	_ = cmd.Wait()
}

// The real kubectl describe tells ages by its own clock, at each speed of the virtual one.
func TestKubectlDescribeTellsAgesAtEachSpeed(t *testing.T) {
	file := kubectl(t)
	for name, speed := range map[string]float64{"in steps": 0, "at 1x": 1, "at 60x": 60} {
		t.Run(name, func(t *testing.T) {
			cluster, err := storagesim.New(storagesim.Config{Nodes: storagesim.Nodes("n1"), Disks: storagesim.MemoryDisks})
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, cluster.Close()) })
			require.NoError(t, cluster.Apply(`{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: c, image: nginx}]}}`))
			require.NoError(t, cluster.RunFor(12*time.Minute))
			server, err := serve.Start(cluster, serve.Config{Kubeconfig: filepath.Join(t.TempDir(), "kubeconfig"), Speed: speed})
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, server.Close()) })
			out, err := exec.CommandContext(t.Context(), file, "--kubeconfig", server.Kubeconfig(), "describe", "pod", "web").CombinedOutput()
			require.NoError(t, err, "%s", out)
			assert.NotContains(t, string(out), "<invalid>")
			assert.Regexp(t, `Scheduled +(1[2-9]m|[2-9]\dm|1\d\dm|\d+h)`, string(out), "it was scheduled twelve minutes ago, or more")
		})
	}
}
