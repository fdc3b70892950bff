package storagesim_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/rigs/clustertest"
	"github.com/storagesim/storagesim/internal/seedtest"
	"github.com/storagesim/storagesim/internal/unshared"
	"github.com/storagesim/storagesim/provisioner/openebs"
	"github.com/storagesim/storagesim/view"
	"github.com/storagesim/storagesim/view/page"
)

// greeting ends the line that the pod of the main story writes, after the time.
const greeting = " [hello-local-hostpath-pod] Hello from OpenEBS Local PV.\n"

// playMainStory plays the main story on a cluster made from cfg, from the claim to data on disk and
// back to nothing, and returns its transcript. It calls faults, if not nil, when the cluster is up
// and before anything is applied.
func playMainStory(cfg storagesim.Config, faults func(*storagesim.Cluster) error) (story string, err error) {
	cfg.Nodes = storagesim.Nodes("node1", "node2")
	c, err := storagesim.New(cfg)
	if err != nil {
		return "", err
	}
	defer c.Close()
	defer func() { story = c.Story() }()
	if err := c.AddProvisionController(openebs.Controller(openebs.Config{})); err != nil {
		return "", err
	}
	if err := c.Settle(); err != nil {
		return "", err
	}
	if faults != nil {
		if err := faults(c); err != nil {
			return "", err
		}
	}
	if err := c.Apply(clustertest.MainStory...); err != nil {
		return "", err
	}
	if err := c.Settle(); err != nil {
		return "", err
	}
	pod, err := c.Pod("hello-local-hostpath-pod")
	if err != nil {
		return "", err
	}
	if pod.Status.Phase != v1.PodRunning {
		// The PV controller may have looked at the claim before it heard of the class.
		// It looks again at its resync, every 15 s, which Settle does not wait for.
		if err := c.RunFor(20 * time.Second); err != nil {
			return "", err
		}
		if pod, err = c.Pod("hello-local-hostpath-pod"); err != nil {
			return "", err
		}
	}
	if pod.Status.Phase != v1.PodRunning {
		why, _ := c.Explain("pod/hello-local-hostpath-pod")
		return "", fmt.Errorf("the pod does not run: %s", why)
	}
	claim, err := c.Claim("local-hostpath-pvc")
	if err != nil {
		return "", err
	}
	data, err := c.Machine("node/" + pod.Spec.NodeName).ReadFile("/var/openebs/local/" + claim.Spec.VolumeName + "/greet.txt")
	if err != nil || !strings.HasSuffix(data, greeting) {
		return "", fmt.Errorf("the pod's greeting is not in the volume's directory: %q, %w", data, err)
	}
	if err := c.Delete("pod/hello-local-hostpath-pod", "pvc/local-hostpath-pvc"); err != nil {
		return "", err
	}
	if err := c.Settle(); err != nil {
		return "", err
	}
	if faults != nil {
		// What faults leaves to a backoff that Settle does not wait for.
		if err := c.RunFor(time.Hour); err != nil {
			return "", err
		}
	}
	names, err := c.Machine("node/" + pod.Spec.NodeName).ListDir("/var/openebs/local")
	if err != nil || len(names) > 0 {
		return "", fmt.Errorf("the directory is not gone: %q, %w", names, err)
	}
	return "", c.RequireNoLeaks()
}

func TestTheMainStoryIsTheSameForOneSeed(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	different := map[string]bool{}
	tried := seedtest.Each(t, 100, func(t testing.TB, seed uint64) {
		first, err := playMainStory(storagesim.Config{Seed: seed, Disks: storagesim.MemoryDisks}, nil)
		require.NoError(t, err, first)
		again, err := playMainStory(storagesim.Config{Seed: seed, Disks: storagesim.MemoryDisks}, nil)
		require.NoError(t, err)
		require.Equal(t, first, again)
		mu.Lock()
		defer mu.Unlock()
		different[first] = true
	})
	require.Len(t, different, tried, "seeds tell different stories")
}

// The main story is the same to the byte on both kinds of disks, in order and in other
// orders, and in memory it leaves nothing on this machine.
func TestTheMainStoryIsTheSameOnBothKindsOfDisks(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, seed := range []uint64{0, 1, 2, 3} {
		onDirectories, err := playMainStory(storagesim.Config{Seed: seed}, nil)
		require.NoError(t, err)
		inMemory, err := playMainStory(storagesim.Config{Seed: seed, Disks: storagesim.MemoryDisks}, func(c *storagesim.Cluster) error {
			entries, err := os.ReadDir(os.Getenv("TMPDIR"))
			require.Empty(t, entries)
			require.Empty(t, c.Lab().Dir())
			return err
		})
		require.NoError(t, err)
		require.Equal(t, onDirectories, inMemory)
	}
}

func TestBindTheMainStoryIsToldWithRealMounts(t *testing.T) {
	unshared.Test(t, func(t *testing.T) {
		real, err := playMainStory(storagesim.Config{RealMounts: true}, nil)
		require.NoError(t, err, real)
		links, err := playMainStory(storagesim.Config{}, nil)
		require.NoError(t, err)
		require.Equal(t, links, real)
	})
}

// Safety and convergence of the whole: if any actor crashes at any call, before
// the call is made or after its answer is lost, the story still ends well. In CI each call is
// tried, where STORAGESIM_SEEDS is 1, and else each fifth.
func TestTheMainStorySurvivesACrashOfAnyActorAtAnyCall(t *testing.T) {
	stride := 5
	switch {
	case os.Getenv("STORAGESIM_SEEDS") != "":
		stride = 1
	case testing.Short():
		stride = 15
	}
	var tried atomic.Int64
	t.Cleanup(func() { t.Logf("tried %d calls", tried.Load()) })
	for _, actor := range []string{
		storagesim.PVController, storagesim.PVCProtection, storagesim.PVProtection, storagesim.Scheduler,
		"openebs.io/local", "kubelet/node1",
	} {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s after=%v", actor, after), func(t *testing.T) {
				t.Parallel()
				for skip := 0; ; skip += stride {
					tried.Add(1)
					story, err := playMainStory(storagesim.Config{Disks: storagesim.MemoryDisks}, func(c *storagesim.Cluster) error {
						return c.Inject(engine.Fault{Actor: actor, Skip: skip, After: after, Crash: true, Restart: time.Second})
					})
					require.NoError(t, err, "crash at call %d\n%s", skip, story)
					crashed := clustertest.ContainsLine(story, actor, "starts again")
					if !crashed {
						require.True(t, skip > 0 || strings.HasPrefix(actor, "kubelet/") || actor == storagesim.PVCProtection || actor == storagesim.PVProtection,
							"%s makes no call", actor)
						return
					}
				}
			})
		}
	}
}

func BenchmarkMainStory(b *testing.B) {
	for name, cfg := range map[string]storagesim.Config{
		"disks=directories":       {Disks: storagesim.DirectoryDisks},
		"disks=memory":            {Disks: storagesim.MemoryDisks},
		"disks=memory,deliveries": {Disks: storagesim.MemoryDisks, RecordValues: true}, // as -o html has it
	} {
		b.Run(name, func(b *testing.B) {
			first := ""
			cfg.Seed = 1
			for b.Loop() {
				story, err := playMainStory(cfg, nil)
				if err != nil {
					b.Fatal(err)
				}
				if first == "" {
					first = story
				}
				if story != first {
					b.Fatal("one seed told two stories")
				}
			}
		})
	}
}

// The page of the main story, from its records to HTML.
func BenchmarkPage(b *testing.B) {
	var c *storagesim.Cluster
	_, err := playMainStory(storagesim.Config{Seed: 1, Disks: storagesim.MemoryDisks, RecordValues: true},
		func(made *storagesim.Cluster) error { c = made; return nil })
	clustertest.Must(b, err)
	var text bytes.Buffer
	for b.Loop() {
		text.Reset()
		told := c.Engine().Trace().Len() - len(c.Trace().Records())
		clustertest.Must(b, page.Write(&text,
			view.OfLog(c.Engine().Trace(), view.Options{Title: "The main story", Start: engine.Start(), Told: told, Shorten: c.Trace().ShortIDs})))
	}
	b.ReportMetric(float64(text.Len())/1000, "kB")
}

func BenchmarkFirstBoundClaim(b *testing.B) {
	static := `
apiVersion: v1
kind: PersistentVolume
metadata: {name: pv}
spec:
  storageClassName: manual
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  hostPath: {path: /data}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  storageClassName: manual
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
`
	for b.Loop() {
		c, err := storagesim.New(storagesim.Config{})
		if err != nil {
			b.Fatal(err)
		}
		bound := func() bool {
			claim, err := c.Claim("data")
			return err == nil && claim.Status.Phase == v1.ClaimBound
		}
		if err := c.Apply(static); err != nil {
			b.Fatal(err)
		}
		if err := c.RunUntil(bound); err != nil {
			b.Fatal(err)
		}
		if err := c.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
