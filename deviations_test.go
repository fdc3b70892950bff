package storagesim_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/explain/leaks"
	"github.com/storagesim/storagesim/storagesimtest"
)

// Whatever a test looks at last, it learns that the run is no proof of what a cluster does.
func TestExplanationsLeaksAndTheTestsLogSayWhereTheRunIsNoProof(t *testing.T) {
	const says = "his run deviates at node node-1: upstream logs the error and writes the taint when the node changes next"
	f := &fakeTest{}
	logged := f.play(func(t testing.TB) {
		c := storagesimtest.New(t, storagesim.Config{Nodes: storagesim.Nodes("node-1")})
		c.Settle()
		c.Inject(engine.Fault{Actor: storagesim.NodeLifecycle, Verb: "patch", Resource: "nodes", Err: apierrors.NewInternalError(errors.New("injected"))})
		c.Stop("kubelet/node-1")
		c.RunFor(2 * time.Minute)
		c.Apply("{apiVersion: storage.k8s.io/v1, kind: VolumeAttachment, metadata: {name: left}, spec: {attacher: example.com, nodeName: ghost, source: " +
			"{persistentVolumeName: pv-1}}}")

		err := c.Cluster.RequireNoLeaks()
		left, ok := errors.AsType[*leaks.Error](err)
		require.True(t, ok, "%v", err)
		require.Equal(t, c.Trace().Deviations(), left.Deviations)
		require.Len(t, left.Leaks, 2)
		require.Equal(t, 1, strings.Count(left.Error(), says))

		why, err := c.Cluster.Explain("volumeattachment/left")
		require.NoError(t, err)
		require.Equal(t, 1, strings.Count(why, "\nt"+says))
		require.Equal(t, 1, strings.Count(c.Story(), "deviates at node node-1"))
	})
	require.False(t, f.failed, logged)
	require.Equal(t, 1, strings.Count(logged, "storagesim: t"+says))
}
