package csi

import (
	"context"
	"fmt"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/storagesim/storagesim/csi/call"
)

// AtEndpoint returns the driver that listens at an address, "unix:///run/csi.sock" or "tcp://HOST:PORT", in another
// process. It asks the driver, in real time, for its name, whether it has a controller and whether that attaches,
// and whether it has a node server. The caller sets the other fields of the CSIDriver object.
func AtEndpoint(ctx context.Context, endpoint string) (Driver, error) {
	conn, err := call.Connect(endpoint)
	if err != nil {
		return Driver{}, fmt.Errorf("csi.AtEndpoint: %w", err)
	}
	defer func() { _ = conn.Close() }()
	d, err := ask(ctx, conn, endpoint)
	if err != nil {
		return Driver{}, fmt.Errorf("csi.AtEndpoint: %s: %w", endpoint, err)
	}
	return d, nil
}

// ask calls a driver for its properties.
func ask(ctx context.Context, conn *grpc.ClientConn, endpoint string) (d Driver, err error) {
	identity := spec.NewIdentityClient(conn)
	info, err := identity.GetPluginInfo(ctx, &spec.GetPluginInfoRequest{})
	if err != nil {
		return d, fmt.Errorf("GetPluginInfo: %w", err)
	}
	d.Name = info.GetName()
	if !nameFormat.MatchString(d.Name) {
		return d, fmt.Errorf("GetPluginInfo: %w", d.Check())
	}
	services, err := identity.GetPluginCapabilities(ctx, &spec.GetPluginCapabilitiesRequest{})
	if err != nil {
		return d, fmt.Errorf("GetPluginCapabilities: %w", err)
	}
	for _, capability := range services.GetCapabilities() {
		if capability.GetService().GetType() == spec.PluginCapability_Service_CONTROLLER_SERVICE {
			d.Endpoint = endpoint
		}
	}
	if d.Spec.AttachRequired, err = attaches(ctx, conn, d.HasController()); err != nil {
		return d, err
	}
	_, err = spec.NewNodeClient(conn).NodeGetInfo(ctx, &spec.NodeGetInfoRequest{})
	if status.Code(err) != codes.Unimplemented { // any other error may be temporary
		d.NodeEndpoint = func(string) string { return endpoint }
	}
	return d, d.Check()
}

// attaches reports whether a driver attaches its volumes.
func attaches(ctx context.Context, conn *grpc.ClientConn, hasController bool) (*bool, error) {
	attach := false
	if !hasController {
		return &attach, nil
	}
	can, err := spec.NewControllerClient(conn).ControllerGetCapabilities(ctx, &spec.ControllerGetCapabilitiesRequest{})
	if err != nil {
		return nil, fmt.Errorf("ControllerGetCapabilities: %w", err)
	}
	for _, capability := range can.GetCapabilities() {
		if capability.GetRpc().GetType() == spec.ControllerServiceCapability_RPC_PUBLISH_UNPUBLISH_VOLUME {
			attach = true
		}
	}
	return &attach, nil
}

// checkNode returns an error if a driver cannot run on a node.
func (d Driver) checkNode(h Host) error {
	if d.RealPaths && h.Machine.Dir() == "" {
		return fmt.Errorf("csi.Driver %s: RealPaths: the files of node %s are in memory, so that they have no paths; set Config.Disks to DirectoryDisks",
			d.Name, h.Node)
	}
	if d.NodeEndpoint == nil {
		return nil
	}
	if err := call.CheckAddress(d.NodeEndpoint(h.Node)); err != nil {
		return fmt.Errorf("csi.Driver %s: NodeEndpoint(%q): %w", d.Name, h.Node, err)
	}
	if h.Machine.Dir() == "" {
		return fmt.Errorf("csi.Driver %s: its server for node %s runs in another process, at %s, which cannot reach files in memory; "+
			"set Config.Disks to DirectoryDisks",
			d.Name, h.Node, d.NodeEndpoint(h.Node))
	}
	return nil
}
