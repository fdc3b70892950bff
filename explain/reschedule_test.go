package explain_test

import (
	"context"
	"errors"
	"strings"
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

// The PV controller has said under the reason of provisioners that there is no such class. That is no failure of the one that serves it now.
func TestAProvisionerIsNotBlamedForAClassThatWasNotThere(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Nodes: storagesim.Nodes("node-1")})
	c.AddProvisioner("example.com/full", full{})
	c.Apply(explainClaim("data", "1Gi", ", storageClassName: late"))
	c.Settle()
	require.Contains(t, c.Explain("pvc/data"), `its class "late" does not exist`)
	c.Apply(classOf("late", "example.com/full"))
	c.Settle()
	why := c.Explain("pvc/data")
	require.Contains(t, why, "ProvisioningFailed: storageclass.storage.k8s.io \"late\" not found")
	require.NotContains(t, why, "provisioner example.com/full failed")
}

// The explanation of a pod in the wrong namespace says where the claim is.
func TestAClaimOfAnotherNamespaceIsNamed(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Nodes: storagesim.Nodes("node-1")})
	there := strings.Replace(explainClaim("data", "1Gi", ""), "name: data", "name: data, namespace: shop", 1)
	c.Apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}", there, explainPod("web", "", "data"))
	c.Settle()
	require.Contains(t, c.Explain("pod/web"), "create the claim in namespace default (there is one in namespace shop, which pods of that namespace can use)")
}
