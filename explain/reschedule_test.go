package explain_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/provisioner"
	"github.com/storagesim/storagesim/storagesimtest"
)

// full gives each claim back to the scheduler.
type full struct{ wild }

func (full) Provision(context.Context, provisioner.ProvisionOptions) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	return nil, provisioner.ProvisioningReschedule, errors.New("the disk is full")
}

// The scheduler does not know why, and finds the same node good again.
func TestWhatAProvisionerSaysThatGivesAClaimBackIsTheCause(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Nodes: storagesim.Nodes("node-1")})
	c.AddProvisioner("example.com/full", full{})
	c.Apply(classOf("full", "example.com/full")+"volumeBindingMode: WaitForFirstConsumer\n", explainClaim("data", "1Gi", ", storageClassName: full"),
		explainPod("web", "", "data"))
	c.RunUntil(func() bool { return c.Pod("web").Status.NominatedNodeName != "" })
	c.RunUntil(func() bool { return c.Pod("web").Status.NominatedNodeName == "" })
	require.Contains(t, c.Explain("pod/web"), "pod default/web is Pending: node node-1 can take it, and the scheduler tries again; "+
		"example.com/full failed once to make a volume for pvc default/data, last with: the disk is full. To do: remove the cause that the message names.\n")
	c.RunFor(time.Minute)
	c.RunUntil(func() bool { return c.Pod("web").Status.NominatedNodeName != "" })
	c.RunUntil(func() bool { return c.Pod("web").Status.NominatedNodeName == "" })
	require.Regexp(t, `the scheduler tries again; example.com/full failed \d+ times to make a volume`, c.Explain("pod/web"))
}
