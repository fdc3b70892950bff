package csi_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/internal/rigs/soon"
	"github.com/storagesim/storagesim/live"
	"github.com/storagesim/storagesim/storagesimtest"
)

func TestADriverWhoseSidecarsAreOutsideListensForThemAndHasNoneHere(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks})
	d, err := driver.New(driver.Config{})
	require.NoError(t, err)
	d.SidecarSocket = filepath.Join(t.TempDir(), "s")
	c.InstallCSIDriver(d)
	c.Must(c.Lab().InstallSnapshots())
	here := slices.DeleteFunc(c.Engine().Actors(), func(actor string) bool { return !strings.HasPrefix(actor, "csi-") })
	require.Equal(t, []string{"csi-driver/csi.storagesim.io", "csi-driver/csi.storagesim.io/node-1", "csi-registrar/csi.storagesim.io/node-1"}, here)
	c.RunFor(5 * time.Second)

	running := live.Start(c.Engine())
	ask := func() (csi.Driver, error) {
		return csi.AtEndpoint(t.Context(), "unix://"+d.SidecarSocket)
	}
	found, err := ask()
	require.NoError(t, err)
	require.Equal(t, "csi.storagesim.io", found.Name)
	require.True(t, found.Attaches())
	require.True(t, running.Do(func() { err = c.Cluster.Stop("csi-driver/csi.storagesim.io") }))
	require.NoError(t, err)
	_, err = ask()
	require.ErrorContains(t, err, "connect: ")
	require.True(t, running.Do(func() { err = c.Cluster.Start("csi-driver/csi.storagesim.io") }))
	require.NoError(t, err)
	require.True(t, soon.Is(t, func() bool { _, err := ask(); return err == nil }))
	require.NoError(t, running.Stop())
}

func TestADriverOnNodesWhoseSidecarsAreOutsideListensOnEachNode(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks})
	d, err := driver.New(driver.Config{OnNodes: true})
	require.NoError(t, err)
	d.SidecarSocket = filepath.Join(t.TempDir(), "s")
	c.InstallCSIDriver(d)
	here := slices.DeleteFunc(c.Engine().Actors(), func(actor string) bool { return !strings.HasPrefix(actor, "csi-") })
	require.Equal(t, []string{"csi-driver/csi.storagesim.io/node-1", "csi-registrar/csi.storagesim.io/node-1"}, here)
	c.RunFor(5 * time.Second)
	running := live.Start(c.Engine())
	found, err := csi.AtEndpoint(t.Context(), "unix://"+d.NodeSidecarSocket("node-1"))
	require.NoError(t, err)
	require.Equal(t, "csi.storagesim.io", found.Name)
	require.NoError(t, running.Stop())
}

func TestASidecarSocketThatCannotBeIsRefusedByName(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks})
	d, err := driver.New(driver.Config{})
	require.NoError(t, err)
	d.SidecarSocket = "csi.sock"
	require.EqualError(t, c.Cluster.InstallCSIDriver(d), `csi.Driver csi.storagesim.io: SidecarSocket: "unix://csi.sock" is not the address of a gRPC server: `+
		`expected unix:// and the absolute path of a socket, or tcp://HOST:PORT`)
	d.SidecarSocket, d.NewController = "/run/csi.sock", nil
	require.EqualError(t, c.Cluster.InstallCSIDriver(d),
		"csi.Driver csi.storagesim.io: SidecarSocket is for drivers with Controller, NewController or NodeController")
}
