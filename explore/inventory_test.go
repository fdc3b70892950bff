package explore_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim"
	csidriver "github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/explore"
	"github.com/storagesim/storagesim/provisioner/localpath"
	"github.com/storagesim/storagesim/provisioner/openebs"
)

// A backend that does not say what it holds can leak unseen: that is said, with what to write.
func TestABackendThatCannotBeLookedAtIsNamed(t *testing.T) {
	report, err := explore.Run(t.Context(), explore.Config{Runs: 3}, comesAndGoes(false))
	require.NoError(t, err)
	require.Equal(t, []string{"example.com/shelf"}, report.WithoutInventory)
	require.Contains(t, report.Unlisted(), "what is left in the backend of example.com/shelf was not looked for: it has no Inventory")
	require.Contains(t, report.Unlisted(), "func (p *yours) Volumes(context.Context) ([]string, error) {")

	report, err = explore.Run(t.Context(), explore.Config{Runs: 3, Cluster: storagesim.Config{Nodes: storagesim.Nodes("node-1")}},
		explore.Scenario(func(c *explore.Cluster) {
			c.AddProvisioner("example.com/forty", forty{c.AddNFSServer("nas", "/srv")})
			c.AddProvisionController(openebs.Controller(openebs.Config{}))
			c.AddProvisionController(localpath.Controller(localpath.Config{}))
			c.InstallCSIDriver(csidriver.Config{})
			c.Settle()
		}))
	require.NoError(t, err)
	require.Empty(t, report.Unlisted())
}

// A run that fails and does not fail again says nothing that could be repeated.
func TestAFailureThatDoesNotRepeatIsCalledOne(t *testing.T) {
	var runs atomic.Int64
	_, err := explore.Run(t.Context(), explore.Config{Runs: 20, Workers: 1}, explore.Scenario(func(c *explore.Cluster) {
		c.Settle()
		if runs.Add(1) == 9 {
			c.T.Fatal("by chance")
		}
	}))
	odd, ok := errors.AsType[*explore.NotRepeatable](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, 7, odd.Failure.Run)
	require.ErrorContains(t, err, "failed, and did not fail so when it was repeated")
	require.ErrorContains(t, err, "by chance")
}

// Two runs whose stories are the same may differ in what no story tells.
func TestPlainRunsAreComparedInAllThatTheyRecord(t *testing.T) {
	n := 0
	_, err := explore.Run(t.Context(), explore.Config{Runs: 3}, explore.Scenario(func(c *explore.Cluster) {
		n++
		c.Apply(fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {n: x%d}}", n%2))
		c.Settle()
	}))
	_, ok := errors.AsType[*explore.NotRepeatable](err)
	require.True(t, ok, "%v", err)
}
