package pvcontroller_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/pvcontroller"
	"github.com/storagesim/storagesim/trace"
)

func TestAFailedKeyIsTriedAgainSoonAndThenEverLater(t *testing.T) { // semantics 1.1: 5 ms, doubled
	c := newCluster(t, engine.Config{}, pvcontroller.Config{})
	c.offered("pv", "5Gi")
	c.settle()
	for range 3 {
		require.NoError(t, c.engine.Inject(engine.Fault{
			Actor: pvcontroller.ActorName, Verb: "update", Resource: "persistentvolumes",
			Err: apierrors.NewConflict(control.PersistentVolumes().GroupResource(), "pv", nil),
		}))
	}
	began := c.engine.Now()
	c.claimed("data")
	require.NoError(t, c.engine.RunUntil(time.Second, func() bool { return c.claim("data").Status.Phase == v1.ClaimBound }))
	var delays []time.Duration
	for _, entry := range c.engine.Trace().Entries() {
		if retry, ok := entry.Record.(trace.Retry); ok {
			require.Equal(t, "default/data", retry.Key)
			delays = append(delays, retry.Delay)
		}
	}
	require.Equal(t, []time.Duration{5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond}, delays)
	require.Less(t, c.engine.Now().Sub(began), time.Second)
}

func TestAKeyThatFailsForEverIsNotWaitedFor(t *testing.T) {
	c := newCluster(t, engine.Config{}, pvcontroller.Config{})
	c.offered("pv", "5Gi", reservedFor("other"))
	c.claimed("data", func(claim *v1.PersistentVolumeClaim) {
		claim.Spec.VolumeName = "pv"
		claim.Annotations = map[string]string{"pv.kubernetes.io/bound-by-controller": "yes"}
	})
	c.resync()
	require.Equal(t, []string{"Warning FailedBinding"}, c.events("data"))
	require.Contains(t, c.engine.Trace().String(), `invalid binding of claim "default/data" to volume "pv": volume already claimed by "default/other"`)
	c.patchVolume("pv", `{"spec":{"claimRef":null}}`)
	c.resync()
	c.requireBound("data", "pv")
}
