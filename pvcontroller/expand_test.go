package pvcontroller_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/pvcontroller"
	"github.com/storagesim/storagesim/pvcontroller/expand"
)

// expandable returns a cluster with a bound claim of a class whose claims may grow.
func expandable(t *testing.T, cfg engine.Config) *cluster {
	t.Helper()
	c := newCluster(t, cfg, pvcontroller.Config{})
	c.class("manual", "example.com/ext", storagev1.VolumeBindingImmediate, func(class *storagev1.StorageClass) {
		class.AllowVolumeExpansion = new(true)
	})
	c.offered("pv", "5Gi")
	c.settle()
	c.claimed("data")
	c.settle()
	c.requireBound("data", "pv")
	require.Empty(t, c.events("data"))
	return c
}

const grow = `{"spec":{"resources":{"requests":{"storage":"9Gi"}}}}`

func TestAClaimThatGrowsIsToldWhoMustExpandIt(t *testing.T) {
	c := expandable(t, engine.Config{})
	since := c.engine.Trace().Len()
	c.patchClaim("data", grow)
	c.settle()
	require.Equal(t, []string{"Normal ExternalExpanding"}, c.events("data"))
	c.patchClaim("data", `{"metadata":{"labels":{"a":"b"}}}`)
	c.resync()
	require.Equal(t, 1, strings.Count(c.engine.Trace().String(), "waiting for an external controller to expand this PVC"), "said once")
	require.Empty(t, c.writes("data", since), "it is told, and nothing is written")
	require.Equal(t, quantity("5Gi"), c.claim("data").Status.Capacity[v1.ResourceStorage])
}

func TestAClaimBoundToASmallerVolumeIsToldToo(t *testing.T) {
	c := newCluster(t, engine.Config{}, pvcontroller.Config{})
	c.offered("small", "1Gi", reservedFor("data"))
	c.claimed("data", func(claim *v1.PersistentVolumeClaim) { claim.Spec.VolumeName = "small" })
	c.resync()
	c.requireBound("data", "small")
	require.Equal(t, []string{"Normal ExternalExpanding"}, c.events("data"))
}

func TestAClaimThatGrowsWhileTheExpanderIsDownIsToldAfterwards(t *testing.T) {
	c := expandable(t, engine.Config{})
	require.NoError(t, c.engine.Inject(engine.Fault{Actor: expand.ActorName, Verb: "get", Crash: true}))
	c.patchClaim("data", grow)
	c.settle()
	require.Equal(t, []string{"Normal ExternalExpanding"}, c.events("data"))
}

func TestAClaimWhoseVolumeCannotBeReadIsToldLater(t *testing.T) {
	c := expandable(t, engine.Config{})
	require.NoError(t, c.engine.Inject(engine.Fault{Actor: expand.ActorName, Verb: "get", Err: apierrors.NewTimeoutError("no", 0)}))
	c.patchClaim("data", grow)
	c.settle()
	require.Equal(t, []string{"Normal ExternalExpanding"}, c.events("data"))
}

func TestAClaimWhoseVolumeIsAnothersIsNotToldToExpandIt(t *testing.T) {
	c := expandable(t, engine.Config{})
	require.NoError(t, c.engine.Hold(pvcontroller.ActorName, "persistentvolumes"))
	c.patchVolume("pv", `{"spec":{"claimRef":{"uid":"someone-else"}}}`)
	c.patchClaim("data", grow)
	c.settle()
	require.Empty(t, c.events("data"))
	require.Contains(t, c.engine.Trace().String(), "claim default/data: persistent volume pv is not bound to it")
}
