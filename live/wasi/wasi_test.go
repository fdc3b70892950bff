package wasi

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim"
)

const threeClaims = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: a}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: b}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: c}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`

// A program with goroutines of its own, which draws lots, does the same in all runs of one seed,
// and in the runs of other seeds it does other things.
func TestAProgramWithGoroutinesRunsTheSameWayForOneSeed(t *testing.T) {
	began := time.Now()
	binary := build(t)
	built := time.Now()
	p := compile(t, binary)
	t.Logf("%d MB, built in %s, compiled in %s", len(binary)>>20, built.Sub(began).Round(time.Second), time.Since(built).Round(time.Second))

	const seeds, each = 10, 3
	began, stories := time.Now(), map[string]bool{}
	for seed := range uint64(seeds) {
		first := p.play(t, seed+1, makeClaims)
		require.Contains(t, first, "labeller", "it does something")
		for range each - 1 {
			require.Equal(t, first, p.play(t, seed+1, makeClaims), "seed %d", seed+1)
		}
		stories[first] = true
	}
	require.Greater(t, len(stories), seeds/2, "seeds differ")
	t.Logf("%d different stories of %d seeds; %s a run", len(stories), seeds, (time.Since(began) / (seeds * each)).Round(time.Millisecond))
}

func makeClaims(c *storagesim.Cluster) error { return c.Apply(threeClaims) }

// build builds the program for wasip1.
func build(t *testing.T) []byte {
	path := filepath.Join(t.TempDir(), "guest.wasm")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", path, "./guest")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	binary, err := os.ReadFile(path)
	require.NoError(t, err)
	return binary
}
