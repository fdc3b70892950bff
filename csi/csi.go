package csi

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/storagesim/storagesim/csi/call"
	"github.com/storagesim/storagesim/csi/livenessprobe"
	"github.com/storagesim/storagesim/machine/disk"
)

// Driver is a CSI driver: its servers and their deployment. Name is required, and a Controller, a Node or both.
type Driver struct {
	// Name is the provisioner's name in classes, at most 63 letters, digits, dots and dashes.
	Name string
	// Identity is the identity server. The default answers Name, the capabilities that follow from the fields below,
	// and that it is ready.
	Identity spec.IdentityServer
	// Controller is the controller server. The value outlives crashes of its process, and so does its memory;
	// NewController instead creates a new one in each life of the process. A value that is a GroupControllerServer,
	// too, also serves as that.
	Controller    spec.ControllerServer
	NewController func(h Host) (spec.ControllerServer, error)
	// NodeController creates the controller server of a driver that has one on each node (--node-deployment), at the
	// node's socket, with a provisioner beside it that creates volumes for that node. It excludes Controller, and
	// the driver's volumes are not attached (Spec.AttachRequired false). NodeGetInfo must answer the node's
	// topology.
	NodeController func(h Host) (spec.ControllerServer, error)
	// Node creates a node's server, a new one in each life of its process.
	Node func(h Host) (spec.NodeServer, error)
	// RealPaths is for a Node that works on the files of this computer (package os, mount(8)) and not with its Host's
	// Disk and Mounter. Paths in its requests are then real ones, below the node's directory, as for a driver in another
	// process. It requires Config.Disks DirectoryDisks. Without it a NodeStageVolume or NodePublishVolume that leaves a
	// path of its request on this computer, and not on the node's disk, fails.
	RealPaths bool

	// Endpoint is the address of identity and controller servers in another process, "unix:///run/csi.sock" or
	// "tcp://HOST:PORT", and NodeEndpoint returns that of a node's server. They replace Controller and Node; see "A
	// driver in another process" in the package comment, and AtEndpoint.
	Endpoint     string
	NodeEndpoint func(node string) string

	// Spec is the spec of the CSIDriver object. Fields that are not set have their defaults; attachRequired is true.
	Spec storagev1.CSIDriverSpec
	// Interceptors see each call of all servers before its handler, the first one first.
	Interceptors []grpc.UnaryServerInterceptor
	// FSTypes holds, by type, file systems that the driver's nodes can mount from a source that is on no node.
	// Unmounting closes the disks that the functions return.
	FSTypes map[string]func(source string) (*disk.Disk, error)
	// Sidecars changes the configurations of the sidecars.
	Sidecars Sidecars
	// SidecarSocket, if set, leaves the driver's sidecars to processes outside of the simulation, such as the real
	// csi-provisioner. It is the path of a unix socket of this computer on which the identity and controller servers
	// listen for them, like /csi/csi.sock of a Deployment. The cluster then runs no provisioner, attacher, resizer
	// and snapshotter for the driver. A controller that panics in a call from outside is not started again.
	// SidecarSocket requires Controller, NewController or NodeController, and a live run. With NodeController each
	// node has a socket of its own, NodeSidecarSocket.
	SidecarSocket string
	// Liveness, if set, adds a livenessprobe, which probes the controller's process and restarts it.
	Liveness *livenessprobe.Config
	// Inventory, if set, lists what the driver holds. RequireNoLeaks compares it with the API.
	Inventory Inventory
}

// ControllerSocket is the path of a controller's socket, on its own machine.
const ControllerSocket = "/csi/csi.sock"

// NodeSocket returns the path of the socket of a driver's node server.
func NodeSocket(driver string) string {
	return path.Join("/var/lib/kubelet/plugins", driver, "csi.sock")
}

// Upstream: pkg/apis/core/validation ValidateCSIDriverName, v1.37.
var nameFormat = regexp.MustCompile(`^[a-zA-Z0-9]([-a-zA-Z0-9_.]{0,61}[a-zA-Z0-9])?$`)

// CheckName returns an error if no driver can have the name.
func CheckName(name string) error {
	if !nameFormat.MatchString(name) {
		return fmt.Errorf("%q is not the name of a driver: at most 63 letters, digits, dots, dashes and underscores, a letter or digit first and last", name)
	}
	return nil
}

// Check returns an error if the driver is invalid. It names the field and what is allowed.
func (d Driver) Check() error {
	if err := CheckName(d.Name); err != nil {
		return fmt.Errorf("csi.Driver.Name: %w", err)
	}
	controllers := 0
	for _, set := range []bool{d.Controller != nil, d.NewController != nil, d.Endpoint != ""} {
		if set {
			controllers++
		}
	}
	socket := NodeSocket(d.Name)
	for _, rule := range []struct {
		broken bool
		text   string
	}{
		{controllers > 1, "only one of Controller, NewController and Endpoint can be set"},
		{d.Node != nil && d.NodeEndpoint != nil, "only one of Node and NodeEndpoint can be set"},
		{controllers == 0 && !d.HasNodes(), "it has neither a controller (Controller, NewController, Endpoint) nor nodes (Node, NodeEndpoint)"},
		{d.RealPaths && d.Node == nil, "RealPaths is for drivers with Node; those at a NodeEndpoint get real paths always"},
		{d.NodeController != nil && (controllers > 0 || d.Node == nil), "NodeController is for drivers with Node and without Controller, NewController and Endpoint"},
		{d.NodeController != nil && d.Attaches(), "NodeController is for drivers whose volumes are not attached: Spec.AttachRequired must be false"},
		{len(socket) > call.MaxPath, fmt.Sprintf("the path of its socket, %s, has %d bytes; at most %d are possible", socket, len(socket), call.MaxPath)},
		{
			d.SidecarSocket != "" && d.Controller == nil && d.NewController == nil && d.NodeController == nil,
			"SidecarSocket is for drivers with Controller, NewController or NodeController",
		},
	} {
		if rule.broken {
			return fmt.Errorf("csi.Driver %s: %s", d.Name, rule.text)
		}
	}
	return cmp.Or(d.checkAddress("SidecarSocket", "unix://", d.SidecarSocket), d.checkAddress("Endpoint", "", d.Endpoint), d.checkFSTypes())
}

// checkAddress checks the address in a field, which may be empty.
func (d Driver) checkAddress(field, scheme, address string) error {
	if address == "" {
		return nil
	}
	if err := call.CheckAddress(scheme + address); err != nil {
		return fmt.Errorf("csi.Driver %s: %s: %w", d.Name, field, err)
	}
	return nil
}

func (d Driver) checkFSTypes() error {
	for _, fstype := range slices.Sorted(maps.Keys(d.FSTypes)) {
		if fstype == "" || fstype == "nfs" || d.FSTypes[fstype] == nil {
			return fmt.Errorf(`csi.Driver %s: FSTypes[%q]: the key must not be empty or "nfs", and the function must not be nil`, d.Name, fstype)
		}
	}
	return nil
}

// NodeSidecarSocket returns the path of the socket for outside sidecars on a node, if the driver has NodeController
// and SidecarSocket: SidecarSocket, a dot and the node's name.
func (d Driver) NodeSidecarSocket(node string) string { return d.SidecarSocket + "." + node }

// HasController reports whether the driver has a controller.
func (d Driver) HasController() bool {
	return d.Controller != nil || d.NewController != nil || d.Endpoint != ""
}

// HasNodes reports whether the driver runs on nodes.
func (d Driver) HasNodes() bool { return d.Node != nil || d.NodeEndpoint != nil }

// Attaches reports whether the driver's volumes are attached to nodes, by its CSIDriver object.
func (d Driver) Attaches() bool { return d.Spec.AttachRequired == nil || *d.Spec.AttachRequired }
