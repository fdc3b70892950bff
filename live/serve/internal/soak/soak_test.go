package soak

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/storagesim/storagesim"
	_ "github.com/storagesim/storagesim/api/crd/cel"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/internal/stacks"
	"github.com/storagesim/storagesim/live/serve"
)

const (
	leastWrites = 100       // of the good client, however soon the hostile ones are done
	mostHeap    = 512 << 20 // bytes that live after a round
)

// bounds returns the first column of ARCHITECTURE.md's table of bounds.
func bounds(t *testing.T) (names []string) {
	t.Helper()
	text, err := os.ReadFile("../../../../ARCHITECTURE.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(text), "\n## Bounds\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n## ")
	for _, line := range strings.Split(table, "\n") {
		if cells := strings.Split(line, " | "); len(cells) == 5 && cells[0] != "| ---" {
			names = append(names, strings.TrimPrefix(cells[0], "| "))
		}
	}
	require.Equal(t, "what", names[0])
	return names[1:]
}

func TestEachBoundHasItsAttack(t *testing.T) {
	assert.ElementsMatch(t, bounds(t), slices.Collect(maps.Keys(attacks)))
}

// Each bound is attacked at once, round after round: once, or as long as STORAGESIM_SOAK says. Then 99 of 100 writes of the good
// client must also take less than a second, and the process less than 2 GB.
func TestAGoodClientWorksBesideAnAttackOnEachBound(t *testing.T) {
	var budget time.Duration
	if text := os.Getenv("STORAGESIM_SOAK"); text != "" {
		var err error
		budget, err = time.ParseDuration(text)
		require.NoError(t, err)
	}
	before := goroutines()
	began, rounds := time.Now(), 0
	var took []time.Duration
	heap, taken := uint64(0), uint64(0)
	for ; rounds == 0 || time.Since(began) < budget; rounds++ {
		round := play(t)
		took = append(took, round.took...)
		heap, taken = max(heap, round.heap), max(taken, round.taken)
		if t.Failed() {
			return
		}
	}
	assert.Empty(t, left(before), "goroutines that are left")
	slices.Sort(took)
	p99 := took[len(took)*99/100]
	t.Logf("rounds %d, attacks %d, good writes %d, p99 %s, most %s; heap after a round %d MB, taken from the system %d MB",
		rounds, rounds*len(attacks), len(took), p99.Round(10*time.Microsecond), took[len(took)-1].Round(time.Millisecond), heap>>20, taken>>20)
	if budget > 0 {
		assert.Less(t, p99, time.Second)
		assert.Less(t, taken, uint64(2<<30))
	}
}

// goroutines returns how many goroutines there are, by stack.
func goroutines() map[string]int {
	counts := map[string]int{}
	for _, g := range stacks.All() {
		counts[fmt.Sprint(g.Frames)]++
	}
	return counts
}

// left returns the stacks of which there are more than before, without the test's own. Goroutines that are ending have time to do so.
func left(before map[string]int) (more []string) {
	for range 10_000 {
		more = nil
		for stack, n := range goroutines() {
			if n > before[stack] && !strings.Contains(stack, "/soak.") {
				more = append(more, fmt.Sprintf("%d of %s", n-before[stack], stack))
			}
		}
		if more == nil {
			return nil
		}
		runtime.Gosched()
	}
	return more
}

// result holds what one round cost.
type result struct {
	took        []time.Duration // by the writes of the good client
	heap, taken uint64          // bytes that live at the end, and bytes taken from the system
}

// site is a cluster that is served and attacked.
type site struct {
	*serve.Server
	ctx     context.Context
	cluster *storagesim.Cluster
	client  *kubernetes.Clientset
	control *serve.Client
	stream  streamer
	driver  *lister
}

// play serves a cluster, attacks it in every way, and lets a good client write until all attacks are over.
func play(t *testing.T) (r result) {
	// On a slow machine, such as under the race detector, an attack takes longer than the limits in real time.
	const patience = time.Hour
	cluster, err := storagesim.New(storagesim.Config{
		Blocked: patience, Disks: storagesim.MemoryDisks, Nodes: storagesim.Nodes("good", "bad", "full", "filed"),
	})
	require.NoError(t, err)
	defer func() { assert.NoError(t, cluster.Close()) }()
	hostile := &lister{}
	require.NoError(t, cluster.InstallCSIDriver(driver.Config{}))
	require.NoError(t, cluster.InstallCSIDriver(hostile.driver(t)))
	require.NoError(t, cluster.AddProvisioner(lockerName, locker{}))
	dir := t.TempDir()
	server, err := serve.Start(cluster, serve.Config{Kubeconfig: filepath.Join(dir, "kubeconfig"), RequestTimeout: patience})
	require.NoError(t, err)
	defer func() {
		assert.NoError(t, server.Close())
		assert.NoFileExists(t, server.Kubeconfig())
	}()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := &site{Server: server, ctx: ctx, cluster: cluster, driver: hostile}
	config, err := clientcmd.BuildConfigFromFlags("", server.Kubeconfig())
	require.NoError(t, err)
	config.QPS = -1
	s.stream = streamer{config}
	s.client, err = kubernetes.NewForConfig(config)
	require.NoError(t, err)
	s.control, err = serve.NewClient(server.Kubeconfig())
	require.NoError(t, err)
	for _, name := range []string{driver.Name, hostileName, lockerName} {
		require.NoError(t, s.post("/apis/storage.k8s.io/v1/storageclasses", "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: "+name+
			"}, provisioner: "+name+"}"))
	}

	// The client that asks for more virtual time than will ever pass is there all the while: it moves the clock for the others.
	var all, pressing sync.WaitGroup
	pressing.Go(func() {
		_, err := s.control.RunFor(ctx, 2_000_000*time.Hour)
		assert.ErrorIs(t, err, context.Canceled)
	})
	var over atomic.Bool
	good := make(chan []time.Duration)
	go func() {
		took, err := s.work(over.Load)
		assert.NoError(t, err, "the good client")
		good <- took
	}()
	for name, attack := range attacks {
		all.Go(func() {
			assert.NoError(t, attack(s), name)
		})
	}
	all.Wait()
	over.Store(true)
	r.took = <-good
	cancel()
	pressing.Wait()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	r.heap, r.taken = m.HeapAlloc, m.Sys-m.HeapReleased
	assert.Less(t, r.heap, uint64(mostHeap), "bytes that live")
	return r
}

// work writes as the good client does until over says so, and returns how long each write took.
func (s *site) work(over func() bool) (took []time.Duration, err error) {
	maps, claims, pods := s.client.CoreV1().ConfigMaps("default"), s.client.CoreV1().PersistentVolumeClaims("default"), s.client.CoreV1().Pods("default")
	write := func(f func() error) {
		began := time.Now()
		err = errors.Join(err, f())
		took = append(took, time.Since(began))
	}
	for i := 0; err == nil && (i < leastWrites || !over()); i++ {
		name := fmt.Sprint("good-", i)
		write(func() error {
			_, err := maps.Create(s.ctx, &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
			return err
		})
		write(func() error {
			_, err := maps.Update(s.ctx, &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"a": "b"}}, metav1.UpdateOptions{})
			return err
		})
		write(func() error { return maps.Delete(s.ctx, name, metav1.DeleteOptions{}) })
		if i%50 > 0 || err != nil {
			continue
		}
		write(func() error { return s.claim(name, driver.Name, "8Mi") })
		write(func() error { return s.pod(name, "good", "echo fine > /data/x; cat /data/x", name) })
		if err != nil {
			return took, err
		}
		if log, wrong := s.ended(name); wrong != nil || log != "fine\n" {
			return took, fmt.Errorf("the good pod says %q: %w", log, wrong)
		}
		write(func() error { return pods.Delete(s.ctx, name, metav1.DeleteOptions{}) })
		write(func() error { return claims.Delete(s.ctx, name, metav1.DeleteOptions{}) })
	}
	return took, err
}

// post creates what a manifest says.
func (s *site) post(path, manifest string) error {
	return s.client.RESTClient().Post().AbsPath(path).SetHeader("Content-Type", "application/yaml").Body([]byte(manifest)).Do(s.ctx).Error()
}

// claim creates a claim of a class.
func (s *site) claim(name, class, size string) error {
	return s.post("/api/v1/namespaces/default/persistentvolumeclaims", fmt.Sprintf(
		"{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: %s}, spec: {storageClassName: %s, accessModes: [ReadWriteOnce], resources: "+
			"{requests: {storage: %s}}}}", name, class, size))
}

// pod creates a pod on a node that runs a script, with a claim at /data, or a directory of the node's without one.
func (s *site) pod(name, node, script, claim string) error {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.PodSpec{
		NodeName: node, RestartPolicy: v1.RestartPolicyNever, TerminationGracePeriodSeconds: new(int64(0)),
		Containers: []v1.Container{{Name: "c", Image: "busybox", Command: []string{"sh", "-c", script},
			VolumeMounts: []v1.VolumeMount{{Name: "data", MountPath: "/data"}}}},
		Volumes: []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}},
	}}
	if claim != "" {
		pod.Spec.Volumes[0].VolumeSource = v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}
	}
	_, err := s.client.CoreV1().Pods("default").Create(s.ctx, pod, metav1.CreateOptions{})
	return err
}

// until follows a pod until it is as done says.
func (s *site) until(name string, done func(*v1.Pod) bool) (*v1.Pod, error) {
	for {
		w, err := s.client.CoreV1().Pods("default").Watch(s.ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
		if err != nil {
			return nil, err
		}
		for event := range w.ResultChan() {
			if pod, ok := event.Object.(*v1.Pod); ok && done(pod) {
				w.Stop()
				return pod, nil
			}
		}
		if s.ctx.Err() != nil {
			return nil, s.ctx.Err()
		}
	}
}

// ended waits until a pod's container has ended, and returns its log.
func (s *site) ended(name string) (string, error) {
	_, err := s.until(name, func(pod *v1.Pod) bool { return pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed })
	if err != nil {
		return "", err
	}
	log, err := s.client.CoreV1().Pods("default").GetLogs(name, &v1.PodLogOptions{}).DoRaw(s.ctx)
	return string(log), err
}

// warned waits until an event of a claim says something, and returns its message.
func (s *site) warned(claim, want string) (string, error) {
	for {
		w, err := s.client.CoreV1().Events("default").Watch(s.ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=" + claim})
		if err != nil {
			return "", err
		}
		for event := range w.ResultChan() {
			if e, ok := event.Object.(*v1.Event); ok && strings.Contains(e.Message, want) {
				w.Stop()
				return e.Message, nil
			}
		}
		if s.ctx.Err() != nil {
			return "", s.ctx.Err()
		}
	}
}

// refused returns an error unless err is one that says what is wanted, with a code and in less than 100 KiB.
func refused(err error, code int32, want string) error {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	switch {
	case !ok:
		return fmt.Errorf("it is not refused: %w", err)
	case status.Status().Code != code || !strings.Contains(err.Error(), want):
		return fmt.Errorf("expected %d and %q, not %d: %.2000s", code, want, status.Status().Code, err.Error())
	case len(err.Error()) > 100<<10:
		return fmt.Errorf("a refusal of %d bytes", len(err.Error()))
	}
	return nil
}
