package kubelet_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/seedtest"
	"github.com/storagesim/storagesim/kubelet"
)

// life makes a pod with every kind of volume, and a helper, and deletes them.
func life(w *world) {
	w.boundVolume("data", nil)
	web := pod("web", claim("data"), hostPath("srv", "/srv", v1.HostPathDirectoryOrCreate),
		v1.Volume{Name: "tmp", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}})
	web.Spec.Containers[0].VolumeMounts[2].SubPath = "part"
	p := w.create(web)
	w.create(helper(pod("helper", hostPath("srv", "/srv", v1.HostPathDirectoryOrCreate)), "mkdir", "/srv/made"))
	w.settle()
	require.Equal(w.t, v1.PodRunning, w.get("web").Status.Phase)
	require.Equal(w.t, v1.PodSucceeded, w.get("helper").Status.Phase, "the command is run once: mkdir fails the second time")
	require.NoError(w.t, kubelet.WriteFile(w.node, w.runtime, p, "/data/keep", []byte("kept")))
	w.delete("web")
	w.delete("helper")
	w.settle()
	w.requireNothingLeft()
	data, err := w.node.ReadFile("/disk/data/keep")
	require.NoError(w.t, err, "data survives")
	require.Equal(w.t, "kept", string(data))
}

func TestACrashAtAnyCallConvergesAndLeavesNothing(t *testing.T) {
	calls := 0
	for _, after := range []bool{false, true} {
		for skip := 0; ; skip++ {
			w := simple(t)
			fault := engine.Fault{Actor: actor, Crash: true, Skip: skip, After: after}
			require.NoError(t, w.e.Inject(fault))
			life(w)
			if !strings.Contains(w.trace(), "is down") {
				break // the run has fewer calls than that
			}
			calls++
		}
	}
	require.GreaterOrEqual(t, calls, 20)
}

func TestARefusedCallIsTriedAgain(t *testing.T) {
	for skip := range 12 {
		t.Run(fmt.Sprint("call ", skip), func(t *testing.T) {
			w := simple(t)
			require.NoError(t, w.e.Inject(engine.Fault{Actor: actor, Err: errors.New("refused"), Skip: skip}))
			life(w)
		})
	}
}

func TestAnyInterleavingEndsTheSame(t *testing.T) {
	seedtest.Each(t, 40, func(t testing.TB, seed uint64) {
		w := newWorld(t, engine.Config{Policy: engine.Seeded(seed), Seed: seed}, kubelet.Config{})
		if seed%2 == 0 {
			require.NoError(t, w.e.Inject(engine.Fault{Actor: actor, Crash: true, Skip: int(seed) / 2}))
		}
		life(w)
	})
}

func TestTheSameSeedTellsTheSameStory(t *testing.T) {
	tell := func() string {
		w := newWorld(t, engine.Config{Policy: engine.Seeded(7), Seed: 7}, kubelet.Config{})
		life(w)
		return w.trace()
	}
	require.Equal(t, tell(), tell())
}
