package leaks_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/rigs/clustertest"
	"github.com/storagesim/storagesim/machine"
	"github.com/storagesim/storagesim/provisioner/openebs"
	"github.com/storagesim/storagesim/storagesimtest"
)

// lostDirectory returns a cluster with a directory of OpenEBS's that no volume uses, and
// the leak that it is.
func lostDirectory(t *testing.T) (c *storagesimtest.Cluster, lost string) {
	t.Helper()
	c = storagesimtest.New(t, storagesim.Config{Nodes: storagesim.Nodes("node-1"), Disks: storagesim.DirectoryDisks})
	c.AddProvisionController(openebs.Controller(openebs.Config{}))
	c.Apply(clustertest.MainStory...)
	c.Settle()
	pv := c.Claim("local-hostpath-pvc").Spec.VolumeName
	c.Delete("pod/hello-local-hostpath-pod")
	c.Settle()
	c.Inject(engine.Fault{Actor: openebs.ProvisionerName, Verb: "create", Resource: "pods", Times: -1, Err: syscall.EIO})
	c.Crash(openebs.ProvisionerName)
	c.Delete("pvc/local-hostpath-pvc", "pv/"+pv)
	c.Settle()
	return c, "directory /var/openebs/local/" + pv + " on node-1, which no volume uses (made by openebs.io/local)"
}

// A fault hides no leak, and looking for leaks uses up no fault.
func TestTheSearchForLeaksMeetsNoTroubleOfMachines(t *testing.T) {
	c, lost := lostDirectory(t)
	requireLeaks(t, c, lost)
	c.Inject(machine.Fault{Err: syscall.EIO})
	requireLeaks(t, c, lost)
	require.Empty(t, clustertest.Strikes(c.Engine().Trace()))
	require.ErrorIs(t, c.Cluster.Machine("node/node-1").WriteFile("/x", ""), syscall.EIO)
}

func TestTheSearchForLeaksSaysWhereItCannotLook(t *testing.T) {
	c, _ := lostDirectory(t)
	above := filepath.Join(c.Lab().Dir(), "node-1/var/openebs")
	require.NoError(t, os.RemoveAll(above))
	c.RequireNoLeaks()
	c.Machine("node/node-1").WriteFile("/var/openebs", "a file has nothing below it")
	c.RequireNoLeaks()
	require.NoError(t, os.Remove(above))
	require.NoError(t, os.Symlink("openebs", above))
	require.ErrorContains(t, c.Cluster.RequireNoLeaks(), "node node-1: lstat /var/openebs/local/pvc-")
}
