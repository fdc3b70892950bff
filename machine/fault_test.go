package machine_test

import (
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/rigs/clustertest"
	"github.com/storagesim/storagesim/machine"
	"github.com/storagesim/storagesim/storagesimtest"
)

func TestAFaultSkipsAndStrikesAsOftenAsItSays(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	made := 0
	try := func() (answers string) {
		for range 6 {
			made++
			switch err := c.Cluster.Machine("node/node-1").MakeDir(fmt.Sprintf("/srv/%d", made), 0o755); {
			case err == nil:
				answers += "."
			case errors.Is(err, syscall.EIO):
				answers += "I"
			case errors.Is(err, syscall.ENOSPC):
				answers += "N"
			}
		}
		return answers
	}
	c.Inject(machine.Fault{Op: "mkdir", Err: syscall.EIO})
	require.Equal(t, "I.....", try(), "once unless it says more")
	c.Inject(machine.Fault{Op: "mkdir", Skip: 1, Times: 2, Err: syscall.EIO})
	require.Equal(t, ".II...", try())
	c.Inject(machine.Fault{Op: "mkdir", Skip: 2, Err: syscall.EIO})
	c.Inject(machine.Fault{Op: "mkdir", Times: -1, Err: syscall.ENOSPC})
	require.Equal(t, "NNINNN", try(), "the first that matches")
	c.Lab().ClearFaults()
	require.Equal(t, "......", try())
}

func TestAFaultStrikesWhereItSaysAndNowhereElse(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Nodes: storagesim.Nodes("node-1", "node-2")})
	c.AddNFSServer(nfsServer, "/srv")
	c.AddNFSServer("other.example.com", "/srv")
	for _, node := range []string{"node/node-1", "node/node-2"} {
		c.Machine(node).MakeDir("/data/a/deep", 0o755)
		c.Machine(node).MakeDir("/database", 0o755)
	}
	fails := func(f machine.Fault, where, path string) bool {
		f.Err = syscall.EIO
		c.Inject(f)
		defer c.Lab().ClearFaults()
		err := c.Cluster.Machine(where).WriteFile(path, "x")
		require.True(t, err == nil || errors.Is(err, syscall.EIO), "%v", err)
		return err != nil
	}
	for _, test := range []struct {
		fault       machine.Fault
		where, path string
		want        bool
	}{
		{machine.Fault{}, "node/node-1", "/x", true},
		{machine.Fault{}, "nfs/" + nfsServer, "/srv/x", true},
		{machine.Fault{Machine: "node/node-1"}, "node/node-1", "/x", true},
		{machine.Fault{Machine: "node/node-1"}, "node/node-2", "/x", false},
		{machine.Fault{Machine: "node/node-1"}, "nfs/" + nfsServer, "/srv/x", false},
		{machine.Fault{Machine: "nfs/" + nfsServer}, "nfs/" + nfsServer, "/srv/x", true},
		{machine.Fault{Machine: "nfs/" + nfsServer}, "nfs/other.example.com", "/srv/x", false},
		{machine.Fault{Machine: "nfs/Other.Example.Com"}, "nfs/other.example.com", "/srv/x", true},
		{machine.Fault{Path: "/"}, "node/node-1", "/x", true},
		{machine.Fault{Path: "/data"}, "node/node-1", "/data/a/deep/x", true},
		{machine.Fault{Path: "/data"}, "node/node-1", "/database/x", false},
		{machine.Fault{Path: "/data/*/deep"}, "node/node-1", "/data/a/deep/x", true},
		{machine.Fault{Path: "/data/*/dee?/x"}, "node/node-1", "/data/a/deep/x", true},
		{machine.Fault{Path: "/*/deep"}, "node/node-1", "/data/a/deep/x", false},
		{machine.Fault{Path: "/data/a/deep/x/y"}, "node/node-1", "/data/a/deep/x", false},
		{machine.Fault{Op: "write"}, "node/node-1", "/x", true},
		{machine.Fault{Op: "create"}, "node/node-1", "/x", true},
		{machine.Fault{Op: "change"}, "node/node-1", "/x", true},
		{machine.Fault{Op: "mkdir"}, "node/node-1", "/x", false},
		{machine.Fault{Op: "read"}, "node/node-1", "/x", false},
		{machine.Fault{Op: "mount"}, "node/node-1", "/x", false},
	} {
		require.Equal(t, test.want, fails(test.fault, test.where, test.path), "%+v: %s:%s", test.fault, test.where, test.path)
	}
}

// Whatever package disk calls it, the record says what can be injected.
func TestARecordOfTroubleNamesAnOp(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Machine("node/node-1").WriteFile("/data", "x")
	for op, do := range map[string]func(){
		"read": func() { _, _ = c.Cluster.Machine("node/node-1").ListDir("/") },
		"stat": func() { _ = c.Cluster.Machine("node/node-1").MakeDir("/x", 0o755) },
	} {
		c.Inject(machine.Fault{Op: op, Err: syscall.EIO})
		before := len(clustertest.Strikes(c.Engine().Trace()))
		do()
		struck := clustertest.Strikes(c.Engine().Trace())[before:]
		require.Len(t, struck, 1)
		require.Contains(t, struck[0], "user cannot "+op+" /")
	}
}

// Two for one: see machine.Fault.Skip.
func TestAWriteOnAShareIsAnOperationOfTheNodeAndOneOfTheServer(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.AddNFSServer(nfsServer, "/srv")
	c.Apply(nfsPod("one", "node-1", `{server: 192.168.203.110, path: /srv}`))
	c.Settle()
	c.Inject(machine.Fault{Op: "write", Skip: 1, Err: syscall.EIO})
	require.ErrorIs(t, c.Cluster.Machine("pod/one").WriteFile("/data/x", ""), syscall.EIO)
	require.Equal(t, []string{"user cannot write /srv/x on nfs/" + nfsServer + ": input/output error"}, clustertest.Strikes(c.Engine().Trace()))
}

func TestAServerThatComesLaterHasTheTroubleOfAnyMachine(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Inject(machine.Fault{Op: "write", Times: -1, Err: syscall.EIO})
	c.AddNFSServer(nfsServer, "/srv")
	require.ErrorIs(t, c.Cluster.Machine("nfs/"+nfsServer).WriteFile("/srv/x", ""), syscall.EIO)
}

func TestClearFaultsEndsTheTroubleOfCallsToo(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Inject(engine.Fault{Actor: storagesim.PVController, Times: -1, Err: errors.New("no")})
	c.Lab().ClearFaults()
	c.Apply(localYAML)
	c.Settle()
	require.NotContains(t, c.Story(), "is refused")
}

func TestASenselessMachineFaultIsRefusedInWords(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.AddNFSServer(nfsServer, "/srv")
	for says, f := range map[string]machine.Fault{
		`machine.Fault.Machine: no node is called "node-9" (did you mean "node-1"?); expected node-1`:                    {Machine: "node/node-9", Err: syscall.EIO},
		`machine.Fault.Machine: no NFS server is called "x"; expected 192.168.203.110`:                                   {Machine: "nfs/x", Err: syscall.EIO},
		`machine.Fault.Machine: "node-1" is not a machine (did you mean "node/node-1"?); expected node/NAME or nfs/NAME`: {Machine: "node-1", Err: syscall.EIO},
		`machine.Fault.Machine: "pod/web" is not a machine`:                                                              {Machine: "pod/web", Err: syscall.EIO},
		`machine.Fault.Op: "mount" is done by nodes; nfs/192.168.203.110 is a server`: {Machine: "nfs/" + nfsServer, Op: "mount",
			Err: syscall.EIO},
		`machine.Fault.Op: unknown operation "umount" (did you mean "unmount"?); expected one of change, chmod`: {Op: "umount", Err: syscall.EIO},
		`machine.Fault.Path: "data": `:                                     {Path: "data", Err: syscall.EIO},
		`machine.Fault.Path: "/data/../etc": `:                             {Path: "/data/../etc", Err: syscall.EIO},
		`machine.Fault.Path: "/data/[": "[": syntax error in pattern`:      {Path: "/data/[", Err: syscall.EIO},
		`machine.Fault.Path: "/data/[a/b]": "[a": syntax error in pattern`: {Path: "/data/[a/b]", Err: syscall.EIO},
		`machine.Fault.Skip: -1 is negative`:                               {Skip: -1, Err: syscall.EIO},
		`machine.Fault.Err is nil; it must be an error`:                    {Op: "mount"},
	} {
		require.ErrorContains(t, c.Cluster.Inject(f), says)
	}
	c.Machine("node/node-1").MakeDir("/x", 0o755)
	require.NoError(t, c.Close())
	require.ErrorIs(t, c.Cluster.Inject(machine.Fault{Err: syscall.EIO}), engine.ErrClosed)
}
