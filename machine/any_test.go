package machine_test

import (
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/internal/rigs/clustertest"
	"github.com/storagesim/storagesim/internal/seedtest"
	"github.com/storagesim/storagesim/machine"
)

// troubledLife plays a local volume's pod from nothing to nothing. Trouble strikes
// while it starts, or while it ends. It says how often it struck.
func troubledLife(t testing.TB, seed uint64, ending bool, f machine.Fault) (struck int, story string) {
	t.Helper()
	c := withLocalVolume(t, storagesim.Config{Seed: seed})
	c.Machine("node/node-1").WriteFile("/data/k8s/localpv/old", "kept")
	if !ending {
		c.Inject(f)
	}
	c.Apply(localYAML)
	c.RunFor(5 * time.Minute)
	c.Lab().ClearFaults() // the test works on the machine, too
	require.Equal(t, v1.PodRunning, c.Pod("web").Status.Phase)
	require.Equal(t, "kept", c.Machine("pod/web").ReadFile("/data/old"))
	if ending {
		c.Inject(f)
	}
	c.Delete("pod/web")
	c.RunFor(5 * time.Minute)
	c.Lab().ClearFaults()
	require.Equal(t, "kept", c.Machine("node/node-1").ReadFile("/data/k8s/localpv/old"))
	c.RequireNoLeaks()
	story, struck = c.Story(), len(clustertest.Strikes(c.Engine().Trace()))
	require.NoError(t, c.Close())
	return struck, story
}

// Whatever mount or file operation fails, once or three times: the pod runs in the
// end, ends in the end, and its data is there.
func TestAPodsLifeEndsWellWhateverFailsOnItsMachine(t *testing.T) {
	for _, ending := range []bool{false, true} {
		for _, f := range []machine.Fault{
			{Err: syscall.EIO}, {Op: "create", Times: 3, Err: syscall.ENOSPC}, {Op: "mount", Err: syscall.EBUSY},
			{Op: "unmount", Err: syscall.EBUSY}, {Op: "look", Times: 3, Err: syscall.ESTALE},
		} {
			for ; ; f.Skip++ {
				f.Machine = "node/node-1"
				if struck, _ := troubledLife(t, 0, ending, f); struck == 0 {
					break // so many operations there are not
				}
			}
			if f.Op == "" {
				require.Greater(t, f.Skip, 15)
			}
		}
	}
}

func TestTroubleOfMachinesIsTheSameForOneSeed(t *testing.T) {
	seedtest.Each(t, 10, func(t testing.TB, seed uint64) {
		f := machine.Fault{Skip: int(seed), Times: 5, Err: errors.New("trouble")}
		struck, first := troubledLife(t, seed, false, f)
		require.Positive(t, struck)
		_, again := troubledLife(t, seed, false, f)
		require.Equal(t, first, again)
		require.Contains(t, first, " on node/node-1: trouble\n")
	})
}
