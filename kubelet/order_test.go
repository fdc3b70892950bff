package kubelet_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/engine"
)

// semantics 5 must 9.
func TestNothingIsUnmountedBeforeAllPodsAreKnown(t *testing.T) {
	w := simple(t)
	w.boundVolume("data", nil)
	w.create(pod("web", claim("data")))
	w.settle()
	require.NoError(t, w.e.Hold(actor, "pods"))
	require.NoError(t, w.e.Crash(actor))
	require.NoError(t, w.e.RunFor(10*time.Minute))
	require.Contains(t, w.trace(), "finds volumes of an earlier life on disk: 1, each uncertain")
	require.Len(t, w.mounts(), 1)
	require.NoError(t, w.e.Release(actor, "pods"))
	w.settle()
	require.Len(t, w.mounts(), 1)
	require.NotContains(t, w.trace(), "unmounts")
}

// semantics 5 must 9: a pod that ends, or is gone, keeps its mounts, too, while
// another one's volumes are being looked up.
func TestAnEndingPodsVolumeStaysUntilTheLastPodIsLookedAt(t *testing.T) {
	for name, grace := range map[string]int64{"it ends": 30, "it is gone": 0} {
		t.Run(name, func(t *testing.T) {
			w := simple(t)
			for _, name := range []string{"one", "two"} {
				require.NoError(t, w.node.MkdirAll("/disk/"+name, 0o755))
				w.boundVolume(name, nil)
				w.create(pod(name, claim(name)))
			}
			w.settle()
			require.Len(t, w.mounts(), 2)
			require.NoError(t, w.e.Crash(actor))
			w.delete("one", grace)
			require.NoError(t, w.e.Inject(engine.Fault{Actor: actor, Verb: "get", Resource: "persistentvolumeclaims", Delay: 10 * time.Second}))
			require.NoError(t, w.e.RunFor(9*time.Second))
			require.Contains(t, w.trace(), "finds volumes of an earlier life on disk: 2, each uncertain")
			require.Len(t, w.mounts(), 2)
			require.NotContains(t, w.trace(), "unmounts")
			require.NoError(t, w.e.RunFor(2*time.Second))
			require.Len(t, w.mounts(), 1)
		})
	}
}

func TestAPodDeletedWhileTheKubeletWasDownLeavesNothing(t *testing.T) {
	w := simple(t)
	w.boundVolume("data", nil)
	w.create(pod("web", claim("data")))
	w.settle()
	require.NoError(t, w.e.Crash(actor))
	w.delete("web", 0)
	w.settle()
	w.requireNothingLeft()
}

// semantics 5 must 6.
func TestUnmountsPrecedeMounts(t *testing.T) {
	w := simple(t)
	w.boundVolume("data", nil)
	w.create(pod("one", claim("data")))
	w.settle()
	require.NoError(t, w.e.Hold(actor, "pods"))
	w.delete("one", 0)
	w.create(pod("two", claim("data")))
	require.NoError(t, w.e.Release(actor, "pods"))
	w.settle()
	story := w.trace()
	unmounted, mounted := strings.Index(story, "unmounts pv-data"), strings.LastIndex(story, "mounts pv-data: ")
	require.Positive(t, unmounted)
	require.Less(t, unmounted, mounted)
}
