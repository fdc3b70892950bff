package storagesim_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/rigs/clustertest"
	"github.com/storagesim/storagesim/internal/seedtest"
)

func TestTheMainStoryIsTheSameForOneSeed(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	different := map[string]bool{}
	tried := seedtest.Each(t, 100, func(t testing.TB, seed uint64) {
		first, err := clustertest.PlayMainStory(storagesim.Config{Seed: seed, Disks: storagesim.MemoryDisks}, nil)
		require.NoError(t, err, first)
		again, err := clustertest.PlayMainStory(storagesim.Config{Seed: seed, Disks: storagesim.MemoryDisks}, nil)
		require.NoError(t, err)
		require.Equal(t, first, again)
		mu.Lock()
		defer mu.Unlock()
		different[first] = true
	})
	require.Len(t, different, tried, "seeds tell different stories")
}

// Safety and convergence of the whole: if any actor crashes at any call, before
// the call is made or after its answer is lost, the story still ends well.
func TestTheMainStorySurvivesACrashOfAnyActorAtAnyCall(t *testing.T) {
	for _, actor := range []string{
		storagesim.PVController, storagesim.PVCProtection, storagesim.PVProtection, storagesim.Scheduler,
		"openebs.io/local", "kubelet/node1",
	} {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s after=%v", actor, after), func(t *testing.T) {
				t.Parallel()
				for skip := 0; ; skip++ {
					story, err := clustertest.PlayMainStory(storagesim.Config{Disks: storagesim.MemoryDisks}, func(c *storagesim.Cluster) error {
						return c.Inject(engine.Fault{Actor: actor, Skip: skip, After: after, Crash: true, Restart: time.Second})
					})
					require.NoError(t, err, "crash at call %d\n%s", skip, story)
					crashed := clustertest.ContainsLine(story, actor, "starts again")
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
	for name, cfg := range map[string]storagesim.Config{
		"disks=directories":       {Disks: storagesim.DirectoryDisks},
		"disks=memory":            {Disks: storagesim.MemoryDisks},
		"disks=memory,deliveries": {Disks: storagesim.MemoryDisks, RecordValues: true}, // as -o html has it
	} {
		b.Run(name, func(b *testing.B) {
			first := ""
			cfg.Seed = 1
			for b.Loop() {
				story, err := clustertest.PlayMainStory(cfg, nil)
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
