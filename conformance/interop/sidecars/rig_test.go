package sidecars

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/conformance"
	"github.com/storagesim/storagesim/control/snapshots"
	"github.com/storagesim/storagesim/csi"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/csi/provisioner"
	"github.com/storagesim/storagesim/live/serve"
)

// programs are the real sidecars, and the snapshot controller.
var programs = []string{"csi-provisioner", "csi-attacher", "csi-resizer", "csi-snapshotter", "snapshot-controller"}

// built builds them once, into the user's cache; later it takes a moment to see that they are there.
var built = sync.OnceValues(func() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "storagesim", "sidecars")
	build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", dir+string(filepath.Separator), "tool")
	if text, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", build, err, text)
	}
	return dir, nil
})

// rig is a cluster that is served over HTTPS and driven live, with the reference driver.
type rig struct {
	testing.TB
	cluster *storagesim.Cluster
	server  *serve.Server
	watcher *conformance.Watcher
	logs    map[string]*log // of the programs, if they are the real ones

	seen  []*conformance.Observation
	began time.Time

	mu      sync.Mutex
	refused map[string][]codes.Code // what the next calls of a method get
	adamant bool                    // and each one after them, what the last got
	lacks   []string                // capabilities that the driver is not to say it has
}

// setup describes a rig.
type setup struct {
	real   bool // the sidecars
	driver driver.Config
	nodes  int
	flags  []string            // of the real sidecars
	more   map[string][]string // flags of one of them
	quick  bool                // nothing is observed
	groups bool                // there are the definitions of group snapshots
	speed  float64             // of virtual time
	lacks  []string            // capabilities that the driver is not to say it has
	across bool                // the server lets sources of claims be in other namespaces

	ours func(*provisioner.Config) // what stands for the flags of the provisioner

	writers []string // programs that must have written something, real or ours
}

func start(t testing.TB, s setup) *rig {
	t.Helper()
	var nodes []string
	for i := range s.nodes {
		nodes = append(nodes, fmt.Sprintf("node-%d", i+1))
	}
	cluster, err := storagesim.New(storagesim.Config{Nodes: storagesim.Nodes(nodes...), Disks: storagesim.MemoryDisks,
		Start: time.Now().UTC().Truncate(time.Second), CrossNamespaceVolumeDataSource: s.across})
	require.NoError(t, err)
	r := &rig{TB: t, cluster: cluster, logs: map[string]*log{}, refused: map[string][]codes.Code{}, lacks: s.lacks, began: time.Now()}
	dir, err := os.MkdirTemp("", "csi") // short, as a socket's path must be
	require.NoError(t, err)
	socket := filepath.Join(dir, "csi.sock")
	r.install(s, socket)
	r.server, err = serve.Start(cluster, serve.Config{Kubeconfig: filepath.Join(dir, "kubeconfig"), Speed: s.speed})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, r.server.Close())
		require.NoError(t, cluster.Close())
		require.NoError(t, os.RemoveAll(dir))
	})
	r.until("nodes know the driver", func() bool { return r.driversOnNodes() == s.nodes })
	if s.real {
		r.launch(socket, s)
	}
	return r
}

// install has the driver in the cluster, with our sidecars or without any.
func (r *rig) install(s setup, socket string) {
	d, err := driver.New(s.driver)
	require.NoError(r, err)
	if s.real {
		d.SidecarSocket = socket
	}
	if s.ours != nil {
		of := d.Sidecars.Provisioner
		d.Sidecars.Provisioner = func(cfg *provisioner.Config) { of(cfg); s.ours(cfg) }
	}
	if !s.quick {
		r.watcher = conformance.Watch(r.cluster, d.Name)
		d.Interceptors = append(d.Interceptors, r.watcher.Intercept, r.intercept)
	}
	require.NoError(r, r.cluster.InstallCSIDriver(d))
	require.NoError(r, r.cluster.Lab().InstallSnapshots())
	if s.groups { // before the real programs, which look once
		definitions, err := snapshots.GroupDefinitions()
		require.NoError(r, err)
		require.NoError(r, r.cluster.Apply(definitions...))
	}
	if s.real {
		require.NoError(r, r.cluster.Stop(storagesim.SnapshotController))
	}
}

// launch starts the real programs: those of a cluster, or a provisioner for each node.
func (r *rig) launch(socket string, s setup) {
	dir, err := built()
	require.NoError(r, err)
	for i := range s.nodes {
		if node := fmt.Sprintf("node-%d", i+1); s.driver.OnNodes {
			r.run(s, filepath.Join(dir, "csi-provisioner"), node, "--csi-address="+csi.Driver{SidecarSocket: socket}.NodeSidecarSocket(node))
		}
	}
	for _, name := range programs {
		switch {
		case s.driver.OnNodes:
		case name == "snapshot-controller":
			r.run(s, filepath.Join(dir, name), "", "--retry-crd-interval-max=1s") // else it looks for group snapshots for 30 s
		default:
			r.run(s, filepath.Join(dir, name), "", "--csi-address="+socket)
		}
	}
}

// run starts a program, on a node or on none.
func (r *rig) run(s setup, program, node, flag string) {
	name := filepath.Base(program)
	cmd := exec.Command(program, slices.Concat([]string{"--kubeconfig=" + r.server.Kubeconfig(), flag}, s.flags, s.more[name])...)
	said := &log{}
	cmd.Env = append(os.Environ(), "NAMESPACE=default", "POD_NAME="+name, "NODE_NAME="+node) // as the downward API gives them
	r.logs[name+" "+node], cmd.Stderr, cmd.Stdout = said, said, said
	require.NoError(r, cmd.Start())
	r.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}

// log holds the output of a program.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(text)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := l.text.String()
	return text[max(0, len(text)-6000):]
}

// step plays one step: what the user does, what shall come of it, and then whatever still happens.
func (r *rig) step(name string, do func(), is func() bool) {
	r.Helper()
	r.watcher.Begin()
	do()
	r.until(name, is)
	r.until(name+": rest", func() bool { return r.watcher.Quiet() > rest })
	r.Logf("after %s: %s", time.Since(r.began).Round(time.Second), name)
	seen, err := r.watcher.End(name)
	require.NoError(r, err)
	r.seen = append(r.seen, seen)
}

// rest is the time without a write or call after which a step is over: longer than the real
// sidecars wait before they try again what has failed once.
const rest = 1500 * time.Millisecond

// until waits for something, in the end in vain.
func (r *rig) until(what string, is func() bool) {
	r.Helper()
	for end := time.Now().Add(3 * time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().Before(end) {
			continue
		}
		for name, said := range r.logs {
			r.Logf("%s said:\n%s", name, said)
		}
		r.server.Do(func() { r.Logf("the story:\n%s", r.cluster.Story()) })
		r.Fatalf("in three minutes this has not come about: %s", what)
	}
}

func (r *rig) apply(manifests ...string) {
	r.Helper()
	var err error
	require.True(r, r.server.Do(func() { err = r.cluster.Apply(manifests...) }))
	require.NoError(r, err)
}

func (r *rig) delete(refs ...string) {
	r.Helper()
	var err error
	require.True(r, r.server.Do(func() { err = r.cluster.Delete(refs...) }))
	require.NoError(r, err)
}

func (r *rig) driversOnNodes() (n int) {
	list, err := r.cluster.Client().StorageV1().CSINodes().List(context.Background(), metav1.ListOptions{})
	require.NoError(r, err)
	for _, node := range list.Items {
		n += len(node.Spec.Drivers)
	}
	return n
}

// running reports whether so many pods run.
func (r *rig) running(n int) func() bool { return func() bool { return r.pods() == n } }

// pods returns the number of pods that run.
func (r *rig) pods() int {
	list, err := r.cluster.Client().CoreV1().Pods("default").List(context.Background(), metav1.ListOptions{FieldSelector: "status.phase=" + string(v1.PodRunning)})
	require.NoError(r, err)
	return len(list.Items)
}

// empty reports whether no pod, claim, volume and attachment is left.
func (r *rig) empty() bool {
	ctx, all := context.Background(), metav1.ListOptions{}
	pods, err := r.cluster.Client().CoreV1().Pods("").List(ctx, all)
	require.NoError(r, err)
	claims, err := r.cluster.Client().CoreV1().PersistentVolumeClaims("").List(ctx, all)
	require.NoError(r, err)
	volumes, err := r.cluster.Client().CoreV1().PersistentVolumes().List(ctx, all)
	require.NoError(r, err)
	attachments, err := r.cluster.Client().StorageV1().VolumeAttachments().List(ctx, all)
	require.NoError(r, err)
	return len(pods.Items)+len(claims.Items)+len(volumes.Items)+len(attachments.Items) == 0
}

func (r *rig) claim(name string) *v1.PersistentVolumeClaim { return r.claimIn("default", name) }

func (r *rig) claimIn(namespace, name string) *v1.PersistentVolumeClaim {
	claim, err := r.cluster.Client().CoreV1().PersistentVolumeClaims(namespace).Get(context.Background(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return &v1.PersistentVolumeClaim{}
	}
	require.NoError(r, err)
	return claim
}

// reads returns the content of a file that a pod reads.
func (r *rig) reads(pod, file string) string {
	r.Helper()
	text := ""
	var err error
	require.True(r, r.server.Do(func() {
		var result storagesim.ExecResult
		result, err = r.cluster.Machine("pod/"+pod).Exec("", "cat", file)
		text = result.Stdout
	}))
	require.NoError(r, err)
	return text
}
