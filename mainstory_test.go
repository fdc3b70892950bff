package storagesim_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/seedtest"
)

// The main story: an OpenEBS local volume from claim to data on disk and back to
// nothing, with the manifests of examples/openebs-hostpath.
var mainStory = func() []string {
	var texts []string
	for _, name := range []string{"openebs-hostpath", "local-hostpath-pvc", "local-hostpath-pod"} {
		text, err := os.ReadFile("examples/openebs-hostpath/" + name + ".yaml")
		if err != nil {
			panic(err)
		}
		texts = append(texts, string(text))
	}
	return texts
}()

// greeting is what the pod's own loop writes, after the time.
const greeting = " [hello-local-hostpath-pod] Hello from OpenEBS Local PV.\n"

// playMainStory plays it on a cluster made from cfg. It returns the transcript.
// trouble, if not nil, is called when the cluster is up and before anything is
// applied.
func playMainStory(cfg storagesim.Config, trouble func(*storagesim.Cluster) error) (story string, err error) {
	cfg.Nodes = storagesim.Nodes("node1", "node2")
	c, err := storagesim.New(cfg)
	if err != nil {
		return "", err
	}
	defer c.Close()
	defer func() { story = c.Story() }()
	if err := c.InstallOpenEBS(); err != nil {
		return "", err
	}
	if err := c.Settle(); err != nil {
		return "", err
	}
	if trouble != nil {
		if err := trouble(c); err != nil {
			return "", err
		}
	}
	if err := c.Apply(mainStory...); err != nil {
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
	data, err := c.ReadFile("node/"+pod.Spec.NodeName, "/var/openebs/local/"+claim.Spec.VolumeName+"/greet.txt")
	if err != nil || !strings.HasSuffix(string(data), greeting) {
		return "", fmt.Errorf("the pod's greeting is not in the volume's directory: %q, %w", data, err)
	}
	if err := c.Delete("pod/hello-local-hostpath-pod", "pvc/local-hostpath-pvc"); err != nil {
		return "", err
	}
	if err := c.Settle(); err != nil {
		return "", err
	}
	if trouble != nil {
		// What trouble leaves to a backoff that Settle does not wait for.
		if err := c.RunFor(time.Hour); err != nil {
			return "", err
		}
	}
	names, err := c.ListDir("node/"+pod.Spec.NodeName, "/var/openebs/local")
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

// Safety and convergence of the whole: whoever crashes, at whatever call,
// before the call is made or after its answer is lost, the story ends well.
func TestTheMainStorySurvivesACrashOfAnyActorAtAnyCall(t *testing.T) {
	for _, actor := range []string{
		storagesim.PVController, storagesim.PVCProtection, storagesim.PVProtection, storagesim.Scheduler,
		"openebs.io/local", "kubelet/node1",
	} {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s after=%v", actor, after), func(t *testing.T) {
				t.Parallel()
				for skip := 0; ; skip++ {
					story, err := playMainStory(storagesim.Config{Disks: storagesim.MemoryDisks}, func(c *storagesim.Cluster) error {
						return c.Inject(engine.Fault{Actor: actor, Skip: skip, After: after, Crash: true, Restart: time.Second})
					})
					require.NoError(t, err, "crash at call %d\n%s", skip, story)
					crashed := containsLine(story, actor, "starts again")
					if !crashed {
						require.True(t, skip > 0 || strings.HasPrefix(actor, "kubelet/") || actor == storagesim.PVCProtection || actor == storagesim.PVProtection, "%s makes no call", actor)
						return
					}
				}
			})
		}
	}
}

func BenchmarkMainStory(b *testing.B) {
	for name, disks := range map[string]storagesim.Disks{"directories": storagesim.DirectoryDisks, "memory": storagesim.MemoryDisks} {
		b.Run("disks="+name, func(b *testing.B) {
			first := ""
			for b.Loop() {
				story, err := playMainStory(storagesim.Config{Seed: 1, Disks: disks}, nil)
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
