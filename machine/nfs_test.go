package machine_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/internal/rigs/clustertest"
	"github.com/storagesim/storagesim/storagesimtest"
)

const nfsServer = "192.168.203.110"

// nfsPod returns a pod on a node with an nfs volume of its own at /data.
func nfsPod(name, node, volume string) string {
	return `apiVersion: v1
kind: Pod
metadata: {name: ` + name + `}
spec:
  nodeName: ` + node + `
  containers: [{name: c, image: busybox, volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, nfs: ` + volume + `}]
`
}

// The document's volume, claim and pod, as they stand there.
func TestTheDocumentsNFSVolumeIsMounted(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{NFSServers: []storagesim.NFSServer{{Name: nfsServer, Exports: []string{"/data/nfs"}}}})
	for _, file := range []string{"nfs-pv.yaml", "nfs-pvc.yaml", "test-nfs.yaml"} {
		c.Apply(clustertest.ReadFile("examples/static-binding/" + file))
	}
	c.Settle()
	require.Equal(t, v1.PodRunning, c.Pod("test-nfs").Status.Phase)
	c.Machine("pod/test-nfs").WriteFile("/data/greet.txt", "hello")
	require.Equal(t, "hello", c.Machine("nfs/"+nfsServer).ReadFile("/data/nfs/greet.txt"))

	c.Crash("kubelet/node-1")
	c.Settle()
	require.Equal(t, "hello", c.Machine("pod/test-nfs").ReadFile("/data/greet.txt"), "a mount outlives the kubelet")

	c.Delete("pod/test-nfs")
	c.Settle()
	c.RequireNoLeaks()
	require.Equal(t, "hello", c.Machine("nfs/"+nfsServer).ReadFile("/data/nfs/greet.txt"))
}

func TestTwoNodesShareAnExport(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Nodes: storagesim.Nodes("node-1", "node-2")})
	c.AddNFSServer("fd00::1", "/srv")
	share := `{server: "fd00:0::1", path: /srv}`
	c.Apply(nfsPod("one", "node-1", share), nfsPod("two", "node-2", share), nfsPod("reader", "node-2", `{server: "fd00::1", path: /srv, readOnly: true}`))
	c.Settle()
	c.Machine("pod/one").WriteFile("/data/x", "from one")
	require.Equal(t, "from one", c.Machine("pod/two").ReadFile("/data/x"))
	require.Equal(t, "from one", c.Machine("pod/reader").ReadFile("/data/x"))
	require.ErrorContains(t, c.Cluster.Machine("pod/reader").WriteFile("/data/x", ""), "read-only")
	require.Contains(t, c.Story(), "mounts data: [fd00::1]:/srv -> ")
	c.Delete("pod/one", "pod/two", "pod/reader")
	c.Settle()
	c.RequireNoLeaks()
}

func TestWhatNoServerExportsFailsToMountUntilItDoes(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.AddNFSServer(nfsServer, "/data/nfs")
	for name, test := range map[string]struct{ volume, want string }{
		"server": {`{server: 10.0.0.9, path: /x}`, "mount.nfs: Connection timed out for 10.0.0.9:/x"},
		"host":   {`{server: files.example.com, path: /x}`, "mount.nfs: Failed to resolve server files.example.com: Name or service not known"},
		"path":   {`{server: 192.168.203.110, path: /data}`, "mount.nfs: access denied by server while mounting 192.168.203.110:/data"},
		"subpath": {`{server: 192.168.203.110, path: /data/nfs/later}`,
			"mounting 192.168.203.110:/data/nfs/later failed, reason given by server: No such file or directory"},
		"out": {`{server: 192.168.203.110, path: /data/nfs2}`, "access denied by server"},
	} {
		c.Apply(nfsPod(name, "node-1", test.volume))
		c.Settle()
		require.Equal(t, v1.PodPending, c.Pod(name).Status.Phase, name)
		require.Contains(t, c.Explain("pod/"+name), `Warning FailedMount`, name)
		require.Contains(t, c.Explain("pod/"+name), test.want, name)
		require.Contains(t, c.Explain("pod/"+name), "mount failed: exit status 32", name)
	}
	c.Machine("nfs/"+nfsServer).MakeDir("/data/nfs/later", 0o755)
	c.AddNFSServer("files.example.com", "/x")
	c.RunFor(5 * time.Minute)
	require.Equal(t, v1.PodRunning, c.Pod("subpath").Status.Phase)
	require.Equal(t, v1.PodRunning, c.Pod("host").Status.Phase)
	c.Delete("pod/server", "pod/host", "pod/path", "pod/subpath", "pod/out")
	c.Settle()
	c.RequireNoLeaks()
}

func TestNFSServersAreChecked(t *testing.T) {
	_, err := storagesim.New(storagesim.Config{NFSServers: []storagesim.NFSServer{{Name: "a b"}}})
	require.ErrorContains(t, err, `Config.NFSServers[0].Name: "a b" is neither an IP address nor a DNS name`)
	c := storagesimtest.New(t, storagesim.Config{})
	c.AddNFSServer("nas")
	for want, add := range map[string]func() error{
		"called \"nas\" already":        func() error { _, err := c.Cluster.AddNFSServer("nas"); return err },
		"neither an IP address":         func() error { _, err := c.Cluster.AddNFSServer("../x"); return err },
		`export "../etc": check ../etc`: func() error { _, err := c.Cluster.AddNFSServer("one", "../etc"); return err },
		"leads out":                     func() error { _, err := c.Cluster.AddNFSServer("two", "/srv/../.."); return err },
	} {
		require.ErrorContains(t, add(), want)
	}
	_, err = c.Cluster.Machine("nfs/none").ReadFile("/x")
	require.ErrorContains(t, err, `no NFS server is called "none"; expected nas`)
}

// A symbolic link in an export leads nowhere.
func TestALinkInAnExportDoesNotLeadOut(t *testing.T) {
	p := newPrison(t)
	server := p.AddNFSServer(nfsServer, "/export")
	p.Machine("nfs/"+nfsServer).WriteFile("/canary", "alive")
	p.before = p.outside()
	p.Apply(nfsPod("hostile", "node-1", `{server: 192.168.203.110, path: /export}`))
	p.Settle()
	for text, at := range map[string]string{"/": "/export/out", "/canary": "/export/file"} {
		_, err := server.Disk().Symlink(text, at)
		require.NoError(t, err)
	}
	for _, name := range []string{"/data/out/canary", "/data/file", "/data/../canary"} {
		_, err := p.Cluster.Machine("pod/hostile").ReadFile(name)
		require.Error(t, err, name)
		require.Error(t, p.Cluster.Machine("pod/hostile").WriteFile(name, "dead"), name)
	}
	require.Equal(t, "alive", p.Machine("nfs/"+nfsServer).ReadFile("/canary"))
	_, err := p.Cluster.Machine("pod/hostile").ListDir("/data/out")
	require.Error(t, err)
}
