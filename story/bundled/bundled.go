// Package bundled runs the provisioners that come with this library by their short names, as
// the command line and stories call them. It links all of them, and gRPC for the reference CSI
// driver; a program that names one in Go links that one only.
package bundled

import (
	"fmt"
	"maps"
	"slices"

	"github.com/storagesim/storagesim"
	csidriver "github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/provisioner/localpath"
	nfsprovisioner "github.com/storagesim/storagesim/provisioner/nfs"
	"github.com/storagesim/storagesim/provisioner/openebs"
)

// installers returns the provisioners that need no more than their name.
func installers() map[string]func(*storagesim.Cluster) error {
	return map[string]func(*storagesim.Cluster) error{
		"openebs": func(c *storagesim.Cluster) error {
			return c.AddProvisionController(openebs.Controller(openebs.Config{}))
		},
		"local-path": func(c *storagesim.Cluster) error {
			return c.AddProvisionController(localpath.Controller(localpath.Config{}))
		},
		"nfs": func(c *storagesim.Cluster) error {
			return c.AddProvisioner(nfsprovisioner.StaticName, nfsprovisioner.Static{})
		},
		"csi": func(c *storagesim.Cluster) error { return c.InstallCSIDriver(csidriver.Config{}) },
	}
}

// Names returns the names that Install takes, sorted.
func Names() []string { return slices.Sorted(maps.Keys(installers())) }

// NameOf returns the short name, for Install, of the provisioner that classes call by this name;
// false if this library has no such provisioner.
func NameOf(provisioner string) (name string, ok bool) {
	names := map[string]string{openebs.ProvisionerName: "openebs", localpath.ProvisionerName: "local-path", nfsprovisioner.StaticName: "nfs",
		csidriver.Name: "csi"}
	name, ok = names[provisioner]
	return name, ok
}

// Install runs a provisioner of this library by its short name, with its defaults:
// "openebs" is openebs.Controller, "local-path" localpath.Controller, "nfs" nfs.Static, "csi" the reference driver.
func Install(c *storagesim.Cluster, name string) error {
	install, ok := installers()[name]
	if !ok {
		return fmt.Errorf("there is no provisioner %q%s", name, prose.OneOf(name, Names()))
	}
	return install(c)
}
