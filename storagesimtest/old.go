package storagesimtest

import (
	nfsp "github.com/storagesim/storagesim/provisioner/nfs"

	"io/fs"
	"time"

	"github.com/storagesim/storagesim/csi/socket"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/machine"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/provisioner"
	"github.com/storagesim/storagesim/provisioner/localpath"
	"github.com/storagesim/storagesim/provisioner/openebs"
)

// Counters returns a provisioner's metrics, as Cluster.Counters says.
func (c *Cluster) Counters(name string) *provisioner.Counters {
	c.T.Helper()
	counters, err := c.Lab().Counters(name)
	c.Must(err)
	return counters
}

// InstallOpenEBS installs OpenEBS, as Cluster.InstallOpenEBS does.
func (c *Cluster) InstallOpenEBS(cfg ...openebs.Config) {
	c.T.Helper()
	c.Must(c.Cluster.InstallOpenEBS(cfg...))
}

// InstallLocalPath installs Rancher's local-path provisioner, as
// Cluster.InstallLocalPath does.
func (c *Cluster) InstallLocalPath(cfg ...localpath.Config) {
	c.T.Helper()
	c.Must(c.Cluster.InstallLocalPath(cfg...))
}

// InstallNFS installs the NFS provisioner that makes nothing, as Cluster.InstallNFS
// does.
func (c *Cluster) InstallNFS() {
	c.T.Helper()
	c.Must(c.Cluster.AddProvisioner(nfsp.StaticName, nfsp.Static{}))
}

// InstallSnapshots installs the snapshot controller, as Cluster.InstallSnapshots does.
func (c *Cluster) InstallSnapshots() {
	c.T.Helper()
	c.Must(c.Cluster.InstallSnapshots())
}

// CrashFor ends an actor's process and starts it again after downtime.
func (c *Cluster) CrashFor(actor string, downtime time.Duration) {
	c.T.Helper()
	c.Must(c.Cluster.CrashFor(actor, downtime))
}

// InjectMachine adds a fault of a machine, as Cluster.InjectMachine does.
func (c *Cluster) InjectMachine(f machine.Fault) {
	c.T.Helper()
	c.Must(c.Cluster.InjectMachine(f))
}

// InjectCSI adds a fault of calls to CSI drivers, as Cluster.InjectCSI does.
func (c *Cluster) InjectCSI(f socket.Fault) {
	c.T.Helper()
	c.Must(c.Cluster.InjectCSI(f))
}

// InjectPoint adds a fault at a point of an author's code (package mayfail), as Cluster.InjectPoint does.
func (c *Cluster) InjectPoint(f engine.PointFault) {
	c.T.Helper()
	c.Must(c.Cluster.InjectPoint(f))
}

// ReadFile reads a file of a node or a pod, as Cluster.ReadFile does.
func (c *Cluster) ReadFile(where, path string) string {
	c.T.Helper()
	data, err := c.Cluster.ReadFile(where, path)
	c.Must(err)
	return string(data)
}

// ListDir lists a directory of a node or a pod, as Cluster.ListDir does.
func (c *Cluster) ListDir(where, path string) []string {
	c.T.Helper()
	names, err := c.Cluster.ListDir(where, path)
	c.Must(err)
	return names
}

// Disk returns the disk of a machine, as Cluster.Disk does.
func (c *Cluster) Disk(name string) *disk.Disk {
	c.T.Helper()
	d, err := c.Cluster.Disk(name)
	c.Must(err)
	return d
}

// MakeDir makes a directory of a node or a pod, as Cluster.MakeDir does.
func (c *Cluster) MakeDir(where, path string, mode fs.FileMode) {
	c.T.Helper()
	c.Must(c.Cluster.MakeDir(where, path, mode))
}

// WriteFile writes a file of a node or a pod, as Cluster.WriteFile does.
func (c *Cluster) WriteFile(where, path, data string) {
	c.T.Helper()
	c.Must(c.Cluster.WriteFile(where, path, []byte(data)))
}

// GetYAML prints what `kubectl get ARGS -o yaml` prints.
func (c *Cluster) GetYAML(args ...string) string {
	c.T.Helper()
	text, err := c.Cluster.Get(append(args, "-o", "yaml")...)
	c.Must(err)
	return text
}
