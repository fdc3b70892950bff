package capacity

import (
	"context"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"

	"github.com/storagesim/storagesim/control"
)

// Controller publishes the capacity of one driver.
//
// Upstream: capacity.go Controller, v6.4.
type Controller struct {
	cfg      Config
	env      control.Env
	queue    control.Queue
	topology control.Queue
	ready    bool

	nodes      *control.Cache[*v1.Node]
	csiNodes   *control.Cache[*storage.CSINode]
	classes    *control.Cache[*storage.StorageClass]
	published  *control.Cache[*storage.CSIStorageCapacity]
	fixed      segment // the only segment, if it is not nil
	segments   map[string]segment
	capacities map[string]*workItem
}

// workItem is a pair of a segment and a class, and its object, nil if there is none yet.
type workItem struct {
	segment  segment
	class    string
	capacity *storage.CSIStorageCapacity
}

// keyOf returns the key of a work item in the queue.
func keyOf(class string, s segment) string { return "class " + class + " at {" + s.String() + "}" }

// deletion begins the keys of objects that are to be deleted.
const deletion = "delete "

// New returns the controller for an actor with these caches. The caches of nodes are nil if there is only one node.
// Start starts it.
//
// Upstream: capacity.go NewCentralCapacityController, v6.4.
func New(cfg Config, env control.Env, classes *control.Cache[*storage.StorageClass], nodes *control.Cache[*v1.Node],
	csiNodes *control.Cache[*storage.CSINode]) *Controller {
	if cfg.ManagedBy == "" {
		cfg.ManagedBy = "external-provisioner"
	}
	c := &Controller{
		cfg: cfg, env: env, classes: classes, nodes: nodes, csiNodes: csiNodes,
		published:  control.NewCache[*storage.CSIStorageCapacity](env, control.CSIStorageCapacities()),
		capacities: map[string]*workItem{},
	}
	retry := control.RateLimiter{Base: cfg.RetryIntervalStart, Max: cfg.RetryIntervalMax, QPS: -1}
	about := func(key string) string { return "the capacity of " + key }
	c.queue = env.Queue(control.QueueConfig{Name: "csistoragecapacity", About: about, Reconcile: c.processNextWorkItem, Limiter: retry})
	c.topology = env.Queue(control.QueueConfig{Name: "csitopology", Reconcile: c.syncTopology, Limiter: retry})
	c.watch()
	env.Every("ask CSI driver "+cfg.Driver+" for its capacity", cfg.PollInterval, func(context.Context) { c.refresh(func(*workItem) bool { return true }) })
	return c
}

// Start starts to publish. Call it when the driver answers. only, if it is not nil, is the only segment: that of the
// node on which the provisioner runs. Otherwise all nodes have segments.
//
// Upstream: capacity.go prepare, v6.4.
func (c *Controller) Start(only map[string]string) {
	c.ready, c.fixed = true, only
	c.onTopologyChanges()
	for capacity := range c.published.All() {
		c.onCAddOrUpdate(capacity)
	}
}

// watch adds the handlers of changes.
func (c *Controller) watch() {
	c.classes.Handle(control.Handler[*storage.StorageClass]{
		Add: c.onSCAddOrUpdate, Update: func(_, class *storage.StorageClass) { c.onSCAddOrUpdate(class) }, Delete: c.onSCDelete,
	})
	c.published.Handle(control.Handler[*storage.CSIStorageCapacity]{
		Add: c.onCAddOrUpdate, Update: func(_, capacity *storage.CSIStorageCapacity) { c.onCAddOrUpdate(capacity) }, Delete: c.onCDelete,
	})
	if c.nodes != nil && c.csiNodes != nil {
		c.watchNodes(func() { c.topology.Add("segments") })
	}
}

// watchNodes calls changed when segments may have changed.
//
// Upstream: pkg/capacity/topology/nodes.go NewNodeTopology, v6.4.
func (c *Controller) watchNodes(changed func()) {
	c.nodes.Handle(control.Handler[*v1.Node]{
		Add: func(*v1.Node) { changed() }, Delete: func(*v1.Node) { changed() },
		Update: func(old, node *v1.Node) {
			if !maps.Equal(old.Labels, node.Labels) {
				changed()
			}
		},
	})
	c.csiNodes.Handle(control.Handler[*storage.CSINode]{
		Add: func(*storage.CSINode) { changed() }, Delete: func(*storage.CSINode) { changed() },
		Update: func(old, node *storage.CSINode) {
			before, was := driverTopologyKeys(old, c.cfg.Driver)
			after, is := driverTopologyKeys(node, c.cfg.Driver)
			if was != is || !slices.Equal(before, after) {
				changed()
			}
		},
	})
}

// syncTopology finds the segments again, once for changes that come together.
func (c *Controller) syncTopology(context.Context, string) error {
	if c.ready {
		c.onTopologyChanges()
	}
	return nil
}

// onTopologyChanges adds the pairs of new segments and removes those of segments that are gone.
//
// Upstream: capacity.go onTopologyChanges, v6.4.
func (c *Controller) onTopologyChanges() {
	before := c.segments
	c.segments = c.findSegments()
	for class := range c.classes.All() {
		if !c.wants(class) {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(c.segments)) {
			if before[name] == nil {
				c.addWorkItem(c.segments[name], class)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(before)) {
			if c.segments[name] == nil {
				c.removeWorkItem(keyOf(class.Name, before[name]))
			}
		}
	}
}

// wants reports whether capacity is published for the class.
func (c *Controller) wants(class *storage.StorageClass) bool {
	if class.Provisioner != c.cfg.Driver {
		return false
	}
	mode := class.VolumeBindingMode
	return c.cfg.ImmediateBinding || mode == nil || *mode != storage.VolumeBindingImmediate
}

// Upstream: capacity.go onSCAddOrUpdate, v6.4.
func (c *Controller) onSCAddOrUpdate(class *storage.StorageClass) {
	if !c.ready || !c.wants(class) {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(c.segments)) {
		c.addWorkItem(c.segments[name], class)
	}
}

// Upstream: capacity.go onSCDelete, v6.4.
func (c *Controller) onSCDelete(class *storage.StorageClass) {
	if class.Provisioner != c.cfg.Driver {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(c.segments)) {
		c.removeWorkItem(keyOf(class.Name, c.segments[name]))
	}
}

// Upstream: capacity.go addWorkItem, v6.4.
func (c *Controller) addWorkItem(s segment, class *storage.StorageClass) {
	key := keyOf(class.Name, s)
	if c.capacities[key] == nil {
		c.capacities[key] = &workItem{segment: s, class: class.Name}
	}
	c.queue.Add(key)
}

// Upstream: capacity.go removeWorkItem, v6.4.
func (c *Controller) removeWorkItem(key string) {
	item := c.capacities[key]
	delete(c.capacities, key)
	if item != nil && item.capacity != nil {
		c.queue.Add(deletion + control.Key(item.capacity))
	}
}

// refresh queues some pairs, so that the driver is asked again.
func (c *Controller) refresh(which func(*workItem) bool) {
	for _, key := range slices.Sorted(maps.Keys(c.capacities)) {
		if which(c.capacities[key]) {
			c.queue.Add(key)
		}
	}
}

// RefreshTopology asks again for the segments of a volume's node affinity.
//
// Upstream: capacity.go refreshTopology, v6.4.
func (c *Controller) RefreshTopology(affinity *v1.VolumeNodeAffinity) {
	if affinity == nil || affinity.Required == nil {
		return
	}
	for _, term := range affinity.Required.NodeSelectorTerms {
		if s, ok := termToSegment(term); ok {
			c.refresh(func(item *workItem) bool { return maps.Equal(item.segment, s) })
		}
	}
}

// RefreshSC asks again for a class.
//
// Upstream: capacity.go refreshSC, v6.4.
func (c *Controller) RefreshSC(class string) {
	c.refresh(func(item *workItem) bool { return item.class == class })
}

// processNextWorkItem processes a pair, or deletes an object.
//
// Upstream: capacity.go processNextWorkItem, v6.4.
func (c *Controller) processNextWorkItem(ctx context.Context, key string) error {
	if object, ok := strings.CutPrefix(key, deletion); ok {
		return c.deleteCapacity(ctx, object)
	}
	return c.syncCapacity(ctx, key)
}
