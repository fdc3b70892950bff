package sidecar

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/trace"
)

// Intervals of the restarts of a sidecar's container, and of its probes.
const (
	probeInterval = time.Second
	firstRestart  = 10 * time.Second
	lastRestart   = 5 * time.Minute
)

// Driver holds the answers of a CSI driver about itself.
type Driver struct {
	// Name is the driver's answer to GetPluginInfo.
	Name string
	// Services holds the plugin capabilities.
	Services map[csi.PluginCapability_Service_Type]bool
	// Controller holds the capabilities of the controller service; it is empty without such a service.
	Controller map[csi.ControllerServiceCapability_RPC_Type]bool
}

// HasController reports whether the driver has a controller service.
func (d Driver) HasController() bool {
	return d.Services[csi.PluginCapability_Service_CONTROLLER_SERVICE]
}

// SupportsTopology reports whether volumes of the driver cannot be reached from every node.
func (d Driver) SupportsTopology() bool {
	return d.Services[csi.PluginCapability_Service_VOLUME_ACCESSIBILITY_CONSTRAINTS]
}

// Meet waits until the driver answers, and returns its answers. name is the name that the driver must have; timeout
// limits one call. Errors are written to the trace, about the CSIDriver of that name.
func Meet(ctx context.Context, env control.Env, conn grpc.ClientConnInterface, name string, timeout time.Duration) Driver {
	delay := time.Duration(0)
	for {
		driver, err := meet(ctx, env, conn, name, timeout)
		if err == nil {
			return driver
		}
		env.Trace(trace.Decision{About: trace.Ref{Kind: "CSIDriver", Name: name}, Text: NotMet + err.Error()})
		_ = env.Sleep(control.InBackground(ctx), delay)
		delay = min(max(2*delay, firstRestart), lastRestart)
	}
}

// NotMet begins the decision in the trace of a sidecar that cannot start.
const NotMet = "cannot start: "

// meet does what one life of the container does before its controllers run.
//
// Upstream: cmd/csi-provisioner/csi-provisioner.go main, v6.4; cmd/csi-attacher/main.go
// main, v4.13.
func meet(ctx context.Context, env control.Env, conn grpc.ClientConnInterface, name string, timeout time.Duration) (Driver, error) {
	if err := probeForever(ctx, env, conn, timeout); err != nil {
		return Driver{}, err
	}
	identity := csi.NewIdentityClient(conn)
	info, err := identity.GetPluginInfo(control.WithTimeout(ctx, env, timeout), &csi.GetPluginInfoRequest{})
	switch {
	case err != nil:
		return Driver{}, fmt.Errorf("GetPluginInfo: %w", err)
	case info.GetName() == "":
		return Driver{}, errors.New("GetPluginInfo: driver name is empty")
	case info.GetName() != name:
		return Driver{}, fmt.Errorf("GetPluginInfo: the driver says that its name is %q; it was installed as %q", info.GetName(), name)
	}
	driver := Driver{Name: name}
	if driver.Services, err = pluginCapabilities(control.WithTimeout(ctx, env, timeout), identity); err != nil {
		return Driver{}, fmt.Errorf("GetPluginCapabilities: %w", err)
	}
	if !driver.HasController() {
		return driver, nil
	}
	if driver.Controller, err = controllerCapabilities(control.WithTimeout(ctx, env, timeout), conn); err != nil {
		return Driver{}, fmt.Errorf("ControllerGetCapabilities: %w", err)
	}
	return driver, nil
}

// probeForever waits until the driver exists and is ready. It returns any error except a timeout and a missing
// driver.
//
// Upstream: csi-lib-utils connection/connection.go Connect and rpc/common.go ProbeForever,
// v0.25.
func probeForever(ctx context.Context, env control.Env, conn grpc.ClientConnInterface, timeout time.Duration) error {
	identity := csi.NewIdentityClient(conn)
	for {
		answer, err := identity.Probe(control.WithTimeout(ctx, env, timeout), &csi.ProbeRequest{})
		if code := status.Code(err); err != nil && code != codes.DeadlineExceeded && code != codes.Unavailable {
			return fmt.Errorf("CSI driver probe failed: %w", err)
		}
		// Readiness that is not set means ready.
		if err == nil && (answer.GetReady() == nil || answer.GetReady().GetValue()) {
			return nil
		}
		if err := env.Sleep(control.InBackground(ctx), probeInterval); err != nil {
			return err
		}
	}
}

// Upstream: csi-lib-utils rpc/common.go GetPluginCapabilities, v0.25.
func pluginCapabilities(ctx context.Context, identity csi.IdentityClient) (map[csi.PluginCapability_Service_Type]bool, error) {
	answer, err := identity.GetPluginCapabilities(ctx, &csi.GetPluginCapabilitiesRequest{})
	if err != nil {
		return nil, err
	}
	found := map[csi.PluginCapability_Service_Type]bool{}
	for _, capability := range answer.GetCapabilities() {
		if service := capability.GetService(); service != nil {
			found[service.GetType()] = true
		}
	}
	return found, nil
}

// Upstream: csi-lib-utils rpc/common.go GetControllerCapabilities, v0.25.
func controllerCapabilities(ctx context.Context, conn grpc.ClientConnInterface) (map[csi.ControllerServiceCapability_RPC_Type]bool, error) {
	answer, err := csi.NewControllerClient(conn).ControllerGetCapabilities(ctx, &csi.ControllerGetCapabilitiesRequest{})
	if err != nil {
		return nil, err
	}
	found := map[csi.ControllerServiceCapability_RPC_Type]bool{}
	for _, capability := range answer.GetCapabilities() {
		if rpc := capability.GetRpc(); rpc != nil {
			found[rpc.GetType()] = true
		}
	}
	return found, nil
}

// TakesGroups reports whether a driver takes group snapshots. Without an answer it returns false.
//
// Upstream: csi-lib-utils rpc/common.go GetGroupControllerCapabilities, v0.25.
func TakesGroups(ctx context.Context, groups csi.GroupControllerClient) bool {
	answer, err := groups.GroupControllerGetCapabilities(ctx, &csi.GroupControllerGetCapabilitiesRequest{})
	return err == nil && slices.ContainsFunc(answer.GetCapabilities(), func(c *csi.GroupControllerServiceCapability) bool {
		return c.GetRpc().GetType() == csi.GroupControllerServiceCapability_RPC_CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT
	})
}
