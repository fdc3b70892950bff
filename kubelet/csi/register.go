package csi

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/csi/socket"
	"github.com/storagesim/storagesim/volume"
)

// How long a plugin may take to say who it is, and to hear what became of it.
//
// Upstream: pluginmanager/operationexecutor/operation_generator.go, v1.37.
const (
	getInfoTimeout        = time.Second
	notifyTimeoutDuration = 5 * time.Second
)

// register asks the plugin at a socket who it is, registers it, and tells it what came of
// that.
//
// Upstream: operation_generator.go GenerateRegisterPluginFunc, v1.37.
func (plugin *csiPlugin) register(ctx context.Context, where string, id int) error {
	conn := plugin.node.Transport().Registrar(plugin.env, socket.At(plugin.node.Machine, where))
	info, err := conn.GetInfo(control.WithTimeout(ctx, plugin.env, getInfoTimeout))
	if err != nil {
		return fmt.Errorf("RegisterPlugin error -- failed to get plugin info using RPC GetInfo at socket %s, err: %w", where, err)
	}
	if info.Type != socket.PluginType {
		return plugin.notify(ctx, conn, fmt.Sprintf("RegisterPlugin error -- no handler registered for plugin type: %s at socket %s", info.Type, where))
	}
	endpoint := info.Endpoint
	if endpoint == "" {
		endpoint = where
	}
	if _, err := plugin.validateVersions("ValidatePlugin", info.Name, info.SupportedVersions); err != nil {
		err = fmt.Errorf("validation failed for CSI Driver %s at endpoint %s: %w", info.Name, endpoint, err)
		return plugin.notify(ctx, conn, fmt.Sprintf("RegisterPlugin error -- plugin validation failed with err: %v", err))
	}
	plugin.registered[where] = registered{id, info.Name, endpoint}
	if err := plugin.registerDriver(ctx, info.Name, endpoint, info.SupportedVersions); err != nil {
		delete(plugin.registered, where)
		return plugin.notify(ctx, conn, fmt.Sprintf("RegisterPlugin error -- plugin registration failed with err: %v", err))
	}
	if err := plugin.notify(ctx, conn, ""); err != nil {
		delete(plugin.registered, where)
		plugin.deregister(ctx, registered{id, info.Name, endpoint})
		return fmt.Errorf("RegisterPlugin error -- failed to send registration status at socket %s, err: %w", where, err)
	}
	return nil
}

// notify tells a plugin whether it is registered, or what is wrong, which is the error then.
//
// Upstream: operation_generator.go notifyPlugin, v1.37.
func (plugin *csiPlugin) notify(ctx context.Context, conn socket.Registrar, problem string) error {
	ctx = control.WithTimeout(ctx, plugin.env, notifyTimeoutDuration)
	err := conn.NotifyRegistrationStatus(ctx, problem)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", problem, err)
	case problem != "":
		return errors.New(problem)
	}
	return nil
}

// validateVersions finds the highest of a driver's versions that is supported. A driver of
// a name that is registered already needs a higher one.
//
// Upstream: csi_plugin.go validateVersions, v1.37.
func (plugin *csiPlugin) validateVersions(caller, name string, versions []string) (*version.Version, error) {
	if len(versions) == 0 {
		return nil, failf("%s for CSI driver %q failed. Plugin returned an empty list for supported versions", caller, name)
	}
	highest, err := version.HighestSupportedVersion(versions)
	if err != nil {
		return nil, failf("%s for CSI driver %q failed. None of the versions specified %q are supported. err=%w", caller, name, versions, err)
	}
	if there, ok := plugin.drivers[name]; ok && !there.highest.LessThan(highest) {
		return nil, failf("%s for CSI driver %q failed. Another driver with the same name is already registered with a higher supported version: %q",
			caller, name, there.highest)
	}
	return highest, nil
}

// registerDriver notes where the driver is, asks it about the node, and tells the API.
//
// Upstream: csi_plugin.go RegisterPlugin, v1.37.
func (plugin *csiPlugin) registerDriver(ctx context.Context, name, endpoint string, versions []string) error {
	highest, err := plugin.validateVersions("RegisterPlugin", name, versions)
	if err != nil {
		return err
	}
	plugin.drivers[name] = driver{endpoint, highest}
	found, err := plugin.nodeInfo(ctx, name)
	if err == nil {
		err = plugin.nodes.InstallCSIDriver(ctx, found)
	}
	if err != nil {
		plugin.unregisterDriver(ctx, name)
		return err
	}
	plugin.syncDriverUpdater(name)
	return nil
}

// nodeInfo returns what the driver says of itself and of the node.
func (plugin *csiPlugin) nodeInfo(ctx context.Context, name string) (volume.CSINodeDriver, error) {
	c, err := plugin.client(name)
	if err != nil {
		return volume.CSINodeDriver{}, err
	}
	info, err := c.Info(plugin.operation(ctx))
	if err != nil {
		return volume.CSINodeDriver{}, err
	}
	installed := volume.CSINodeDriver{Name: name, NodeID: info.NodeID, Topology: info.Topology}
	switch most := info.MaxVolumes; {
	case most > math.MaxInt32:
		installed.MaxVolumes = math.MaxInt32
	case most < 0:
		plugin.note(fmt.Sprintf("Invalid attach limit value %d cannot be added to CSINode object for %q", most, name))
	default:
		installed.MaxVolumes = int32(most)
	}
	return installed, nil
}

// deregister forgets a driver whose socket is gone.
//
// Upstream: csi_plugin.go DeRegisterPlugin, v1.37.
func (plugin *csiPlugin) deregister(ctx context.Context, was registered) {
	plugin.note(fmt.Sprintf("CSI driver %s at %s is not registered any more", was.name, was.endpoint))
	plugin.unregisterDriver(ctx, was.name)
	plugin.syncDriverUpdater(was.name)
}

// unregisterDriver forgets a driver, and tells the API. What fails then is not tried again.
//
// Upstream: csi_plugin.go unregisterDriver, v1.37.
func (plugin *csiPlugin) unregisterDriver(ctx context.Context, name string) {
	delete(plugin.drivers, name)
	if err := plugin.nodes.UninstallCSIDriver(ctx, name); err != nil {
		plugin.note(strings.TrimSpace("Error uninstalling CSI driver: " + err.Error()))
	}
}
