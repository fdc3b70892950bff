package explore_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/explore"
	"github.com/storagesim/storagesim/trace"
)

// writesTheTaintAgain returns a scenario in which a taint cannot be written at once, before then.
func writesTheTaintAgain(then func(c *explore.Cluster)) func(c *storagesim.Cluster) error {
	return explore.Scenario(func(c *explore.Cluster) {
		c.Settle()
		c.Inject(engine.Fault{Actor: storagesim.NodeLifecycle, Verb: "patch", Resource: "nodes", Err: apierrors.NewInternalError(errors.New("injected"))})
		c.Stop("kubelet/node-1")
		c.RunFor(2 * time.Minute)
		c.Start("kubelet/node-1")
		c.RunFor(2 * time.Minute)
		then(c)
	})
}

func TestAnExplorationRepeatsInWhichSituationsItIsNoProof(t *testing.T) {
	scenario := writesTheTaintAgain(func(*explore.Cluster) {})
	cfg := explore.Config{Runs: 3, Cluster: storagesim.Config{Nodes: storagesim.Nodes("node-1")}}
	report, err := explore.Run(t.Context(), cfg, scenario)
	require.NoError(t, err)
	require.Len(t, report.Deviations, 1, "once, however many runs")
	require.Equal(t, trace.TaintRepeated, report.Deviations[0].Situation)

	report, err = explore.Repeat(cfg, "x1", scenario)
	require.NoError(t, err)
	require.Len(t, report.Deviations, 1)
	require.Equal(t, 1, report.Runs)
}

func TestAFailureSaysInWhichSituationsItsRunIsNoProof(t *testing.T) {
	const says = "this run deviates at node node-1: upstream logs the error and writes the taint when the node changes next"
	for name, then := range map[string]func(c *explore.Cluster){
		"by the author": func(c *explore.Cluster) { c.T.Fatal("by the author") },
		"nothing leaks": func(c *explore.Cluster) {
			c.Apply("{apiVersion: storage.k8s.io/v1, kind: VolumeAttachment, metadata: {name: left}, spec: {attacher: example.com, nodeName: ghost, source: " +
				"{persistentVolumeName: pv-1}}}")
			c.Settle()
		},
	} {
		_, err := explore.Run(t.Context(), explore.Config{Runs: 1, Cluster: storagesim.Config{Nodes: storagesim.Nodes("node-1")}}, writesTheTaintAgain(then))
		failure, ok := errors.AsType[*explore.Failure](err)
		require.True(t, ok, "%s: %v", name, err)
		require.ErrorContains(t, failure.Err, name)
		require.Len(t, failure.Deviations, 1, name)
		require.Equal(t, 1, strings.Count(failure.Error(), says), name)
	}
}
