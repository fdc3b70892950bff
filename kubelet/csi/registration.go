package csi

import (
	"context"
	"path"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/volume"
)

// RegistryDir is the directory of the sockets with which drivers register.
const RegistryDir = "/var/lib/kubelet/plugins_registry"

// loopSleepDuration is the interval at which upstream compares the existing sockets with the
// registered ones. Here a socket waits for the next round only if it is new or gone.
//
// Upstream: plugin_manager.go loopSleepDuration, v1.37.
const loopSleepDuration = time.Second

// Backoff of a registration that failed.
//
// Upstream: pkg/util/goroutinemap/exponentialbackoff, v1.37.
const (
	initialDurationBeforeRetry = 500 * time.Millisecond
	maxDurationBeforeRetry     = 2*time.Minute + 2*time.Second
)

// driver is one that is registered.
//
// Upstream: csi_drivers_store.go Driver, v1.37.
type driver struct {
	endpoint string
	highest  *version.Version
}

// registered is a socket whose plugin was registered.
//
// Upstream: pluginmanager/cache/actual_state_of_world.go PluginInfo, v1.37.
type registered struct {
	id             int
	name, endpoint string
}

// registry is the sockets that there are, and those that are registered.
//
// Upstream: pkg/kubelet/pluginmanager, v1.37.
type registry struct {
	nodes volume.NodeInfoManager
	queue control.Queue
	began time.Time
	ready bool
	// wanted are the sockets that there are, each with a number that is new when the socket
	// is made again.
	wanted map[string]int
	made   int
	// registered are the registered plugins.
	registered map[string]registered
}

// WatchRegistrations implements volume.RegistrationPlugin.
//
// Upstream: plugin_watcher.go Start, v1.37.
func (plugin *csiPlugin) WatchRegistrations(env control.Env, nodes volume.NodeInfoManager) {
	plugin.env, plugin.nodes, plugin.began = env, nodes, env.Now()
	plugin.queue = env.Queue(control.QueueConfig{
		Name: "plugins", Reconcile: plugin.reconcile,
		About:   func(key string) string { return "the plugin at " + key },
		Limiter: control.RateLimiter{Base: initialDurationBeforeRetry, Max: maxDurationBeforeRetry, QPS: -1},
	})
	plugin.watchDrivers()
	if plugin.node.stop != nil {
		plugin.node.stop()
	}
	plugin.node.stop = plugin.node.Watch(RegistryDir, plugin.socketChanged)
}

// Ready implements volume.RegistrationPlugin: sockets that were there before are found.
func (plugin *csiPlugin) Ready() {
	plugin.ready = true
	for _, socket := range plugin.node.Sockets(RegistryDir) {
		plugin.socketChanged(socket)
	}
}

// socketChanged notes that a socket was made or removed. Names with a dot in front do not
// count.
//
// Upstream: plugin_watcher.go handleCreateEvent and handleDeleteEvent, v1.37.
func (plugin *csiPlugin) socketChanged(socket string) {
	if strings.HasPrefix(path.Base(socket), ".") || !plugin.ready {
		return
	}
	delete(plugin.wanted, socket)
	if slices.Contains(plugin.node.Sockets(RegistryDir), socket) {
		plugin.made++
		plugin.wanted[socket] = plugin.made
	}
	since := plugin.env.Now().Sub(plugin.began)
	plugin.queue.AddAfter(socket, loopSleepDuration-since%loopSleepDuration)
}

// reconcile unregisters what was at a socket and is not, or is not the same any more, and
// registers what is there.
//
// Upstream: pluginmanager/reconciler/reconciler.go reconcile, v1.37.
func (plugin *csiPlugin) reconcile(ctx context.Context, socket string) error {
	id, there := plugin.wanted[socket]
	was, known := plugin.registered[socket]
	if known && (!there || was.id != id) {
		delete(plugin.registered, socket)
		plugin.deregister(ctx, was)
	}
	if !there || known && was.id == id {
		return nil
	}
	return plugin.register(ctx, socket, id)
}
