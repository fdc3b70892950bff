package explore_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/explore"
	"github.com/storagesim/storagesim/provisioner"
)

// impatient gives a claim up after two failures of the storage.
type impatient struct {
	*appliance
	failures map[string]int
}

func (p *impatient) Provision(ctx context.Context, o provisioner.ProvisionOptions) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	if p.failures[o.PVName] >= 2 {
		return nil, provisioner.ProvisioningFinished, &provisioner.IgnoredError{Reason: "it has failed too often"}
	}
	pv, state, err := p.appliance.Provision(ctx, o)
	if err != nil {
		p.failures[o.PVName]++
	}
	return pv, state, err
}

// One fault is mended by the next try. A storage that is away for a while is met by some claims several times.
func TestAProvisionerThatGivesUpIsFoundByAnOutage(t *testing.T) {
	play := plantedBug{class: "example.com/disks", install: func(c *explore.Cluster) {
		c.AddProvisioner("example.com/disks", &impatient{&appliance{forty: forty{c.AddNFSServer("nas", "/srv")}, tries: map[string]int{}}, map[string]int{}})
	}}.scenario
	_, err := explore.Run(t.Context(), onOneNode(explore.Config{ShrinkRuns: 60}), explore.Scenario(play))
	f, ok := errors.AsType[*explore.Failure](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, explore.Outages, f.Strategy)
	require.Equal(t, explore.Reason{Rule: explore.Liveness, Object: "pvc/default/data"}, f.Reason())
	require.Len(t, f.Plan.Faults, 1)
	require.Contains(t, f.Plan.String(), "x1;faults=1..3:example.com/disks:appliance.create:point-error", "the two claims take turns")

	again := explore.Replay(onOneNode(explore.Config{}), f.Plan.String(), explore.Scenario(play))
	require.ErrorContains(t, again, "what runs in order runs")
	require.NoError(t, explore.Replay(onOneNode(explore.Config{}), "x1;faults=1..2:example.com/disks:appliance.create:point-error", explore.Scenario(play)))
	for _, line := range []string{"x1;faults=3..3:refused", "x1;faults=3..2:a:p:point-error", "x1;faults=1..x:a:p:point-error"} {
		_, err := explore.Parse(line)
		require.ErrorContains(t, err, "N..M strikes all from N to M", line)
	}
}

// Of the single faults those at the author's points come first: two points, each with two crashes and three faults.
func TestTheAuthorsPointsAreTriedFirst(t *testing.T) {
	_, err := explore.Run(t.Context(), onOneNode(explore.Config{ShrinkRuns: -1}), explore.Scenario(withAppliance(true)))
	f, ok := errors.AsType[*explore.Failure](err)
	require.True(t, ok, "%v", err)
	require.LessOrEqual(t, f.Run, 1+2*5)
	require.Contains(t, f.Plan.String(), "1:example.com/disks:appliance.create:point-lost")
}
