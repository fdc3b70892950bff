package shelf

import (
	"errors"
	"io/fs"
	"net"
	"path/filepath"
	"testing"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/kubernetes-csi/csi-test/v5/pkg/sanity"
	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/storagesim/storagesim/csi"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/machine"
	"github.com/storagesim/storagesim/machine/disk"
)

// serve has a driver listen on a real socket, as one binary with all three servers, and
// is its node.
func serve(t *testing.T, cfg driver.Config) (address string, node *machine.Machine) {
	t.Helper()
	d, err := driver.New(cfg)
	require.NoError(t, err)
	var machines machine.Set
	remote := func(fstype, source string) (*disk.Disk, error) {
		if open := d.FSTypes[fstype]; open != nil {
			return open(source)
		}
		return nil, errors.New("unknown filesystem type")
	}
	host, err := machines.Add(machine.Config{Kind: machine.Host, Name: "storage", Now: time.Now})
	require.NoError(t, err)
	node, err = machines.Add(machine.Config{Kind: machine.Node, Name: "node-1", Now: time.Now, Remote: remote})
	require.NoError(t, err)
	at, newController := csi.Host{Machine: host, Now: time.Now}, d.NewController
	if d.NodeController != nil {
		at, newController = csi.Host{Machine: node, Node: "node-1", Now: time.Now}, d.NodeController
	}
	controller, err := newController(at)
	require.NoError(t, err)
	nodeServer, err := d.Node(csi.Host{Machine: node, Node: "node-1", Now: time.Now})
	require.NoError(t, err)

	socket := filepath.Join(t.TempDir(), "csi.sock")
	l, err := net.Listen("unix", socket)
	require.NoError(t, err)
	server := grpc.NewServer()
	spec.RegisterIdentityServer(server, d.Identity)
	spec.RegisterControllerServer(server, controller)
	if groups, ok := controller.(spec.GroupControllerServer); ok {
		spec.RegisterGroupControllerServer(server, groups)
	}
	spec.RegisterNodeServer(server, nodeServer)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() {
		held := d.Inventory.Holdings()
		require.Empty(t, held.Volumes)
		require.Empty(t, held.Snapshots)
		require.Empty(t, held.Attached)
		require.Empty(t, held.Staged)
		require.Empty(t, held.Published)
		server.Stop()
		_ = machines.Close()
	})
	return "unix://" + socket, node
}

// config has csi-sanity work on the simulated node's disk.
func config(address string, node *machine.Machine) sanity.TestConfig {
	at := node.Disk()
	make := func(name string) (string, error) { return name, at.MkdirAll(name, 0o755) }
	remove := func(name string) error { return at.RemoveAll(name) }
	cfg := sanity.NewTestConfig()
	cfg.Address = address
	cfg.DialOptions = []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}
	cfg.ControllerDialOptions = cfg.DialOptions
	cfg.TargetPath, cfg.StagingPath = "/var/lib/kubelet/pods/sanity", "/var/lib/kubelet/plugins/sanity"
	cfg.CreateTargetDir, cfg.CreateStagingDir = make, make
	cfg.RemoveTargetPath, cfg.RemoveStagingPath = remove, remove
	cfg.CheckPath = func(name string) (sanity.PathKind, error) {
		info, err := at.Stat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return sanity.PathIsNotFound, nil
		case err != nil:
			return "", err
		case info.IsDir():
			return sanity.PathIsDir, nil
		case info.Mode().IsRegular():
			return sanity.PathIsFile, nil
		}
		return sanity.PathIsOther, nil
	}
	cfg.IdempotentCount = 3
	return cfg
}

// TestCSISanity runs csi-sanity, the tests of the specification's authors, on the reference
// driver as it is deployed in seven ways. Ginkgo runs all of them as one suite. A spec that is skipped in all of them needs a capability
// that the driver lacks.
func TestCSISanity(t *testing.T) {
	block := func(cfg *sanity.TestConfig) { cfg.TestVolumeAccessType = "block" }
	modify := func(cfg *sanity.TestConfig) { cfg.TestVolumeMutableParameters = map[string]string{"iops": "3000"} }
	limit := func(cfg *sanity.TestConfig) { cfg.TestNodeVolumeAttachLimit = true }
	for name, c := range map[string]struct {
		driver driver.Config
		change func(*sanity.TestConfig)
	}{
		"mount volumes": {driver: driver.Config{}},
		"block volumes": {driver: driver.Config{}, change: block},
		"volumes of one node that attach to none": {driver: driver.Config{NoAttach: true, Topology: true}},
		"volumes that are not staged":             {driver: driver.Config{NoStage: true}},
		"volumes of a controller on each node":    {driver: driver.Config{OnNodes: true}},
		"volumes that can be modified":            {driver: driver.Config{AttributesClasses: true}, change: modify},
		"nodes with three volumes at most":        {driver: driver.Config{MaxVolumes: 3}, change: limit},
	} {
		address, node := serve(t, c.driver)
		cfg := config(address, node)
		if c.change != nil {
			c.change(&cfg)
		}
		ginkgo.Describe(name, func() {
			sc := sanity.GinkgoTest(&cfg)
			t.Cleanup(sc.Finalize)
		})
	}
	gomega.RegisterFailHandler(ginkgo.Fail)
	require.True(t, ginkgo.RunSpecs(t, "csi-sanity"))
}
