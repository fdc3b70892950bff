package pvcontroller_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/pvcontroller"
)

func TestARecycledVolumeIsAvailableAgain(t *testing.T) {
	plugin := &hostPath{}
	c := withPlugin(t, plugin, policy(v1.PersistentVolumeReclaimRecycle))
	require.Equal(t, []string{"pv"}, plugin.done)
	require.Equal(t, v1.VolumeAvailable, c.volume("pv").Status.Phase)
	require.Nil(t, c.volume("pv").Spec.ClaimRef)
	require.Equal(t, []string{"Normal VolumeRecycled"}, c.events("pv"))
}

func TestARecycleVolumeThatNoPluginKnowsFails(t *testing.T) {
	c := withPlugin(t, nil, policy(v1.PersistentVolumeReclaimRecycle), func(volume *v1.PersistentVolume) {
		volume.Spec.PersistentVolumeSource = v1.PersistentVolumeSource{FC: &v1.FCVolumeSource{WWIDs: []string{"3600508b400105e21"}}}
	})
	require.Equal(t, v1.VolumeFailed, c.volume("pv").Status.Phase)
	require.Equal(t, "No recycler plugin found for the volume!", c.volume("pv").Status.Message)
	require.Equal(t, []string{"Warning VolumeFailedRecycle"}, c.events("pv"))
}

func TestAVolumeThatAPodStillUsesIsNotRecycled(t *testing.T) {
	plugin := &hostPath{}
	c := newCluster(t, engine.Config{}, pvcontroller.Config{Recyclers: map[string]pvcontroller.Recycler{pvcontroller.HostPathPlugin: plugin}})
	c.offered("pv", "5Gi", policy(v1.PersistentVolumeReclaimRecycle))
	c.settle()
	c.claimed("data")
	c.settle()
	c.pod("waiting", "data", "") // without a node it does not keep the claim
	c.deleteClaim("data")
	c.settle()
	require.False(t, c.exists("data"))
	require.Equal(t, v1.VolumeReleased, c.volume("pv").Status.Phase)
	require.Equal(t, []string{"Normal VolumeFailedRecycle"}, c.events("pv"))
	require.Contains(t, c.engine.Trace().String(), "Volume is used by pods: default/waiting")
	require.Empty(t, plugin.done)

	c.endPod("waiting", v1.PodSucceeded, "") // though it is still there
	c.resync()
	require.Equal(t, []string{"pv"}, plugin.done)
	require.Equal(t, v1.VolumeAvailable, c.volume("pv").Status.Phase)
}

func TestAVolumeIsRecycledThoughPodsOfALaterClaimOfThatNameRun(t *testing.T) { // semantics 1.6
	plugin := &hostPath{}
	c := newCluster(t, engine.Config{}, pvcontroller.Config{Recyclers: map[string]pvcontroller.Recycler{pvcontroller.HostPathPlugin: plugin}})
	c.offered("pv", "5Gi", policy(v1.PersistentVolumeReclaimRecycle))
	c.settle()
	c.claimed("data")
	c.settle()
	c.pod("waiting", "data", "")
	c.deleteClaim("data")
	c.settle()
	require.Empty(t, plugin.done)
	c.claimed("data", ofClass("other")) // now the pod waits for this one
	c.resync()
	require.Equal(t, []string{"pv"}, plugin.done)
	require.Equal(t, v1.VolumeAvailable, c.volume("pv").Status.Phase)
	require.Equal(t, []string{"Normal VolumeFailedRecycle", "Normal VolumeRecycled"}, c.events("pv"))
}

func TestAFailedRecyclingIsTriedAgainAtEverySync(t *testing.T) { // semantics 1.6: no backoff, unlike deletion
	plugin := &hostPath{errs: []error{errors.New("1"), errors.New("2"), errors.New("3"), errors.New("4"), errors.New("5"), errors.New("6"), errors.New("7")}}
	c := withPlugin(t, plugin, policy(v1.PersistentVolumeReclaimRecycle))
	require.Len(t, plugin.errs, 5, "once when released, and once as that it Failed is an update")
	for left := 4; left >= 0; left-- {
		require.NoError(t, c.engine.RunFor(15*time.Second))
		require.Len(t, plugin.errs, left)
		require.Equal(t, "Recycle failed: 1", c.volume("pv").Status.Message, "what was said first stays")
	}
	require.NoError(t, c.engine.RunFor(15*time.Second))
	require.Equal(t, v1.VolumeAvailable, c.volume("pv").Status.Phase)
	require.Equal(t, []string{"Warning VolumeFailedRecycle", "Normal VolumeRecycled"}, c.events("pv"))
}

// meddling is a recycler during whose work another actor changes the volume.
type meddling struct {
	hostPath
	meddle func()
}

func (p *meddling) Recycle(ctx context.Context, volume *v1.PersistentVolume) error {
	p.meddle()
	return p.hostPath.Recycle(ctx, volume)
}

func TestAVolumeThatChangesWhileItIsRecycledIsSeenAsItIsThen(t *testing.T) { // semantics 1.6: the write that makes it Available is refused
	for name, test := range map[string]struct {
		patch    string
		recycled int
		phase    v1.PersistentVolumePhase
	}{
		"labelled":         {`{"metadata":{"labels":{"a":"b"}}}`, 2, v1.VolumeAvailable},
		"to be kept":       {`{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}`, 1, v1.VolumeReleased},
		"made available":   {`{"spec":{"claimRef":null}}`, 1, v1.VolumeAvailable},
		"kept for another": {`{"spec":{"claimRef":{"name":"other","uid":null}}}`, 1, v1.VolumeAvailable},
	} {
		plugin := &meddling{}
		c := newCluster(t, engine.Config{}, pvcontroller.Config{Recyclers: map[string]pvcontroller.Recycler{pvcontroller.HostPathPlugin: plugin}})
		plugin.meddle = func() { c.patchVolume("pv", test.patch) }
		c.offered("pv", "5Gi", policy(v1.PersistentVolumeReclaimRecycle))
		c.settle()
		c.claimed("data")
		c.settle()
		c.deleteClaim("data")
		c.resync()
		c.resync()
		require.Len(t, plugin.done, test.recycled, name)
		require.Equal(t, test.phase, c.volume("pv").Status.Phase, name)
	}
}
