package pvcontroller_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/pvcontroller"
)

// outcomesOf returns what outcome says of a cluster at each of 40 seeds, and in order. It is a
// loop, not a seedtest: what all of them say together counts, so -short must not take fewer.
func outcomesOf(t *testing.T, outcome func(c *cluster) string) (inOrder string, seeded map[string]int) {
	t.Helper()
	seeded = map[string]int{}
	for seed := range uint64(40) {
		c := newCluster(t, engine.Config{Policy: engine.Seeded(seed)}, pvcontroller.Config{})
		got := outcome(c)
		seeded[got]++
		again := newCluster(t, engine.Config{Policy: engine.Replay(c.engine.Choices())}, pvcontroller.Config{})
		require.Equal(t, got, outcome(again), "a replay of seed %d", seed)
		require.Equal(t, c.engine.Trace().String(), again.engine.Trace().String(), "a replay of seed %d", seed)
	}
	return outcome(newCluster(t, engine.Config{}, pvcontroller.Config{})), seeded
}

func TestAnyOfSeveralEqualVolumesMayBeBoundAndInOrderTheFirstIs(t *testing.T) {
	inOrder, seeded := outcomesOf(t, func(c *cluster) string {
		for _, name := range []string{"a", "b", "c"} {
			c.offered(name, "5Gi")
		}
		c.offered("small", "1Gi")
		c.offered("large", "6Gi")
		c.settle()
		c.claimed("data")
		c.settle()
		return c.claim("data").Spec.VolumeName
	})
	require.Equal(t, "a", inOrder)
	require.Len(t, seeded, 3, "volumes bound: %v", seeded)
}

func TestAnyGroupOfAsManyModesMayBeTakenAndInOrderTheFirstIs(t *testing.T) {
	inOrder, seeded := outcomesOf(t, func(c *cluster) string {
		with := func(mode v1.PersistentVolumeAccessMode) func(*v1.PersistentVolume) {
			return func(v *v1.PersistentVolume) { v.Spec.AccessModes = append(v.Spec.AccessModes, mode) }
		}
		c.offered("rwo-rwx", "5Gi", with(v1.ReadWriteMany))
		c.offered("rwo-rox", "9Gi", with(v1.ReadOnlyMany))
		c.settle()
		c.claimed("data")
		c.settle()
		return c.claim("data").Spec.VolumeName
	})
	require.Equal(t, "rwo-rox", inOrder)
	require.Len(t, seeded, 2, "volumes bound: %v", seeded)
}

func TestAnyOfTheClaimsThatWaitMayBeLookedAtFirstInAResync(t *testing.T) {
	inOrder, seeded := outcomesOf(t, func(c *cluster) string {
		for _, name := range []string{"a", "b", "c"} {
			c.claimed(name)
		}
		c.settle()
		c.offered("pv", "5Gi")
		c.settle()
		c.resync()
		return c.volume("pv").Spec.ClaimRef.Name
	})
	require.Equal(t, "a", inOrder)
	require.Len(t, seeded, 3, "claims bound: %v", seeded)
}

func TestAFailedRecyclingIsTriedAgainAtOnceOrAtTheNextResync(t *testing.T) { // its last write may be seen before it has ended
	inOrder, seeded := outcomesOf(t, func(c *cluster) string {
		c.offered("pv", "5Gi", policy(v1.PersistentVolumeReclaimRecycle))
		c.settle()
		c.claimed("data")
		c.settle()
		c.deleteClaim("data")
		c.settle()
		c.deletePod(recycler)
		require.NoError(t, c.engine.RunFor(1500*time.Millisecond))
		require.Equal(t, v1.VolumeFailed, c.volume("pv").Status.Phase)
		if _, again := c.podNamed(recycler); again {
			return "at once"
		}
		return "later"
	})
	require.Equal(t, "at once", inOrder)
	require.Len(t, seeded, 2, "%v", seeded)
}

func TestOfTwoRecyclingsThatBeginTogetherOneMayWaitForEver(t *testing.T) { // a quirk of upstream's: they share a template
	inOrder, seeded := outcomesOf(t, func(c *cluster) string {
		for _, name := range []string{"a", "b"} {
			c.offered("pv-"+name, "5Gi", policy(v1.PersistentVolumeReclaimRecycle))
			c.settle()
			c.claimed("of-" + name)
			c.settle()
		}
		c.deleteClaim("of-a")
		c.deleteClaim("of-b")
		for range 10 {
			c.resync()
			for _, name := range []string{"recycler-for-pv-a", "recycler-for-pv-b"} {
				if _, found := c.podNamed(name); found {
					c.endPod(name, v1.PodSucceeded, "")
				}
			}
		}
		return string(c.volume("pv-a").Status.Phase + " " + c.volume("pv-b").Status.Phase)
	})
	require.Equal(t, "Available Available", inOrder)
	require.Positive(t, seeded["Released Available"]+seeded["Available Released"], "%v", seeded)
}
