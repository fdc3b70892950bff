package kubelet_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/kubelet"
)

func TestAPodEndsThoughAnotherOneIsBeingLookedAt(t *testing.T) {
	w := simple(t)
	w.create(pod("web"))
	w.settle()
	w.boundVolume("data", nil)
	require.NoError(t, w.e.Inject(engine.Fault{Actor: actor, Verb: "get", Resource: "persistentvolumeclaims", Delay: 10 * time.Second}))
	w.create(pod("slow", claim("data")))
	require.NoError(t, w.e.RunFor(time.Second))
	w.delete("web")
	w.settle()
	require.Equal(t, v1.PodRunning, w.get("slow").Status.Phase)
	w.delete("slow")
	w.settle()
	w.requireNothingLeft()
}

// Names in the pods' directory are read back after a restart; who can write
// there can give them any.
func TestAPodDirectoryOfAnyNameIsCleanedUpAfterARestart(t *testing.T) {
	for _, name := range []string{"with spaces", "mount x y", " ", "-", "a\nb", "%s"} {
		t.Run(name, func(t *testing.T) {
			w := simple(t)
			require.NoError(t, w.node.MkdirAll("/var/lib/kubelet/pods/"+name+"/volumes/kubernetes.io~empty-dir/some volume", 0o755))
			require.NoError(t, w.e.Crash(actor))
			w.settle()
			w.requireNothingLeft()
		})
	}
}

func TestWhatNoPluginKnowsIsRemovedIfEmptyWhateverElseIsThere(t *testing.T) {
	w := simple(t)
	volumes := "/var/lib/kubelet/pods/gone/volumes/example.com~unknown/"
	require.NoError(t, w.node.MkdirAll(volumes+"a", 0o755))
	require.NoError(t, w.node.WriteFile(volumes+"a/data", []byte("somebody's"), 0o644))
	require.NoError(t, w.node.MkdirAll(volumes+"b", 0o755))
	require.NoError(t, w.e.Crash(actor))
	w.settle()
	names, err := w.node.List(volumes)
	require.NoError(t, err)
	require.Equal(t, []string{"a/"}, names)
	data, err := w.node.ReadFile(volumes + "a/data")
	require.NoError(t, err)
	require.Equal(t, "somebody's", string(data))
}

func TestAMountTableThatWasTamperedWithDoesNotStopTheKubelet(t *testing.T) {
	w := simple(t)
	w.boundVolume("data", nil)
	p := w.create(pod("web", claim("data")))
	w.settle()
	require.NoError(t, kubelet.WriteFile(w.node, w.runtime, p, "/data/keep", []byte("kept")))
	require.NoError(t, w.node.Mkdir("/run/mounts/directory.json", 0o755))
	for name, text := range map[string]string{"a": "", "b.json": "{", "c.json": `{"target": "/../../etc", "source": "/"}`, "d.json": "null"} {
		require.NoError(t, w.node.WriteFile("/run/mounts/"+name, []byte(text), 0o644))
	}
	require.NoError(t, w.e.Crash(actor))
	w.settle()
	require.Len(t, w.mounts(), 1)
	w.delete("web")
	w.settle()
	require.Empty(t, w.mounts())
	data, err := w.node.ReadFile("/disk/data/keep")
	require.NoError(t, err)
	require.Equal(t, "kept", string(data))
}
