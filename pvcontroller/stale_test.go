package pvcontroller_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/pvcontroller"
	"github.com/storagesim/storagesim/trace"
)

func TestNoClaimIsLostBecauseTheVolumesHaveNotBeenListedYet(t *testing.T) {
	c := newCluster(t, engine.Config{}, pvcontroller.Config{})
	c.offered("pv", "5Gi")
	c.settle()
	c.claimed("data")
	c.settle()
	require.NoError(t, c.engine.Hold(pvcontroller.ActorName, "persistentvolumes"))
	require.NoError(t, c.engine.Crash(pvcontroller.ActorName))
	c.resync()
	c.requireBound("data", "pv")
	c.patchClaim("data", `{"metadata":{"labels":{"a":"b"}}}`)
	c.resync()
	c.requireBound("data", "pv")
	require.NoError(t, c.engine.Release(pvcontroller.ActorName, "persistentvolumes"))
	c.resync()
	c.requireBound("data", "pv")
	require.Empty(t, c.events("data"))
}

func TestTheControllerSeesItsOwnWritesBeforeItsCacheDoes(t *testing.T) {
	c := newCluster(t, engine.Config{}, pvcontroller.Config{})
	c.offered("a", "5Gi")
	c.offered("b", "5Gi")
	c.settle()
	require.NoError(t, c.engine.Hold(pvcontroller.ActorName, "persistentvolumes"))
	c.claimed("first")
	c.claimed("second")
	c.settle()
	c.requireBound("first", "a")
	c.requireBound("second", "b")
	c.resync() // its cache has the volumes as they were
	c.requireNothingRefused()
}

func TestAnOlderVersionThanItsOwnLastWriteIsNotActedUpon(t *testing.T) { // semantics 1.1
	c := newCluster(t, engine.Config{}, pvcontroller.Config{})
	c.settle()
	c.offered("pv", "5Gi")
	require.NoError(t, c.engine.RunUntil(time.Second, func() bool { return c.volume("pv").Status.Phase == v1.VolumeAvailable }))
	require.NoError(t, c.engine.Hold(pvcontroller.ActorName, "persistentvolumes"))
	c.resync() // its cache has the volume as it was
	require.NoError(t, c.engine.Release(pvcontroller.ActorName, "persistentvolumes"))
	c.claimed("data")
	require.NoError(t, c.engine.RunUntil(time.Second, func() bool { return c.volume("pv").Status.Phase == v1.VolumeBound }))
	require.NoError(t, c.engine.Hold(pvcontroller.ActorName, "persistentvolumeclaims"))
	c.resync() // its cache has the claim as it was
	c.requireBound("data", "pv")
	c.requireNothingRefused()
}

// requireNothingRefused: every write of the run succeeded.
func (c *cluster) requireNothingRefused() {
	c.Helper()
	for _, entry := range c.engine.Trace().Entries() {
		if w, ok := entry.Record.(trace.Write); ok {
			require.NoError(c, w.Err)
		}
	}
}

// The answer to a write is on its way while the volume is removed by force. What the
// answer says must not bring the volume back in the controller's memory: the claim
// would stay Bound to nothing (kubernetes/kubernetes 124224).
func TestAVolumeRemovedDuringAWriteDoesNotComeBack(t *testing.T) {
	c := newCluster(t, engine.Config{}, pvcontroller.Config{})
	c.offered("pv", "5Gi")
	c.settle()
	require.NoError(t, c.engine.Inject(engine.Fault{
		Actor: pvcontroller.ActorName, Verb: "update", Resource: "persistentvolumes/status", After: true, Delay: time.Second,
	}))
	c.claimed("data")
	require.NoError(t, c.engine.RunUntil(time.Minute, func() bool { return c.volume("pv").Status.Phase == v1.VolumeBound }))
	c.removeVolume("pv")
	c.resync()
	require.Equal(t, v1.ClaimLost, c.claim("data").Status.Phase)
}
