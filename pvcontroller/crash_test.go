package pvcontroller_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/seedtest"
	"github.com/storagesim/storagesim/pvcontroller"
	"github.com/storagesim/storagesim/trace"
)

// faults are the ways in which a call can go wrong.
var faults = map[string]engine.Fault{
	"crash before":   {Crash: true},
	"crash after":    {Crash: true, After: true},
	"answer lost":    {After: true},
	"conflict":       {Err: apierrors.NewConflict(control.PersistentVolumes().GroupResource(), "x", nil)},
	"internal error": {Err: apierrors.NewInternalError(fmt.Errorf("no"))},
}

// atEveryCall runs a scenario again and again. In run number n the PV controller's
// n-th call after prepare meets a fault, until a run has fewer calls than that. check
// must hold in the end, whatever went wrong.
func atEveryCall(t *testing.T, prepare, act, check func(c *cluster)) {
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			struck := 0
			for n := 0; ; n++ {
				c := newCluster(t, engine.Config{}, pvcontroller.Config{})
				prepare(c)
				c.resync()
				fault := fault
				fault.Actor, fault.Skip = pvcontroller.ActorName, n
				require.NoError(t, c.engine.Inject(fault))
				act(c)
				c.settle()
				hit := false
				for _, entry := range c.engine.Trace().Entries() {
					_, is := entry.Record.(trace.Struck)
					hit = hit || is
				}
				c.engine.ClearFaults()
				c.resync()
				check(c)
				if !hit {
					break
				}
				struck++
			}
			require.Positive(t, struck)
			t.Logf("%d calls", struck)
		})
	}
}

func TestBindConvergesWhateverItsCallsRunInto(t *testing.T) { // semantics 1 must 5
	atEveryCall(t, func(c *cluster) {
		c.offered("a", "5Gi")
		c.offered("b", "5Gi")
	}, func(c *cluster) {
		c.claimed("data")
	}, func(c *cluster) {
		c.requireBound("data", "a")
		require.Equal(c, v1.VolumeAvailable, c.volume("b").Status.Phase)
		require.Nil(c, c.volume("b").Spec.ClaimRef)
	})
}

func TestReleasingConvergesWhateverItsCallsRunInto(t *testing.T) {
	atEveryCall(t, func(c *cluster) {
		c.offered("keep", "5Gi")
		c.claimed("data")
	}, func(c *cluster) {
		c.deleteClaim("data")
	}, func(c *cluster) {
		require.Equal(c, v1.VolumeReleased, c.volume("keep").Status.Phase)
	})
}

func TestDefaultClassAssignmentConvergesWhateverItsCallsRunInto(t *testing.T) {
	atEveryCall(t, func(c *cluster) {
		c.claimed("data", func(claim *v1.PersistentVolumeClaim) { claim.Spec.StorageClassName = nil })
	}, func(c *cluster) {
		c.class("std", "example.com/ext", storagev1.VolumeBindingImmediate, func(class *storagev1.StorageClass) {
			class.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
		})
		c.resync()
	}, func(c *cluster) {
		require.Equal(c, new("std"), c.claim("data").Spec.StorageClassName)
		require.Equal(c, "example.com/ext", c.claim("data").Annotations["volume.kubernetes.io/storage-provisioner"])
	})
}

func TestUnbindingConvergesWhateverItsCallsRunInto(t *testing.T) {
	atEveryCall(t, func(c *cluster) {
		c.offered("first", "5Gi")
		c.claimed("data")
	}, func(c *cluster) {
		uid := c.claim("data").UID
		c.offered("reserved", "5Gi", reservedFor("data"), func(v *v1.PersistentVolume) { v.Spec.ClaimRef.UID = uid })
	}, func(c *cluster) {
		require.Equal(c, v1.VolumeAvailable, c.volume("reserved").Status.Phase)
		require.Empty(c, c.volume("reserved").Spec.ClaimRef.UID)
		c.requireBound("data", "first")
	})
}

// Many claims and volumes, made and deleted while the controllers work, with crashes
// in between, in many interleavings. However it goes, in the end every binding is of
// one claim and one volume.
func TestNoVolumeIsSharedHoweverTheRunGoes(t *testing.T) {
	seedtest.Each(t, 60, func(t testing.TB, seed uint64) {
		c := newCluster(t, engine.Config{Policy: engine.Seeded(seed)}, pvcontroller.Config{})
		d := seed*2654435761 + 1
		next := func(n uint64) uint64 { d = d*6364136223846793005 + 1442695040888963407; return d >> 33 % n }
		for i := range 12 {
			c.offered(fmt.Sprintf("pv-%d", i), fmt.Sprintf("%dGi", 4+next(4)))
			c.claimed(fmt.Sprintf("data-%d", i))
			for range next(60) {
				_, err := c.engine.Step()
				require.NoError(t, err)
			}
			switch next(6) {
			case 0:
				require.NoError(t, c.engine.Crash(pvcontroller.ActorName))
			case 1:
				c.deleteClaim(fmt.Sprintf("data-%d", i))
				c.claimed(fmt.Sprintf("again-%d", i))
			case 2:
				c.removeVolume(fmt.Sprintf("pv-%d", i))
			}
		}
		c.resync()
		c.resync()
		c.requireConsistent()
	})
}
