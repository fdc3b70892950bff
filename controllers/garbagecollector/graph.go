package garbagecollector

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/semantic"
)

// ActorName is the name of this controller in upstream's controller manager.
const ActorName = "generic-garbage-collector"

// Config configures the garbage collector.
type Config struct {
	// Kinds lists the kinds whose objects may own others or be owned. If a kind is listed in two versions, the first
	// counts. Objects of other kinds, such as events, are ignored, except those of custom kinds, which are followed
	// as soon as they are defined.
	// Upstream: graph_builder.go syncMonitors, v1.37, which gets them from discovery.
	Kinds []metav1.APIResource
}

// New returns the factory of the controller.
// Upstream: garbagecollector.go NewComposedGarbageCollector, v1.37.
func New(cfg Config) control.Factory {
	return func(env control.Env) error {
		c := &controller{
			env: env, objects: env.Objects(), kinds: make(map[string]*kind, len(cfg.Kinds)),
			learning: map[string]bool{}, items: map[types.UID]string{}, dependents: map[types.UID]map[string]bool{},
		}
		for _, kind := range cfg.Kinds {
			c.follow(kind, false)
		}
		c.followCustomKinds()
		c.attemptToDelete = env.Queue(control.QueueConfig{Name: "objects", Reconcile: c.attemptToDeleteItem})
		c.attemptToOrphan = env.Queue(control.QueueConfig{Name: "orphaned owners", Reconcile: c.attemptToOrphanItem})
		return nil
	}
}

// controller is the garbage collector. An item is the kind of an object, with its group, and the object's key: "Pod
// default/web", "StatefulSet.apps default/db".
// Upstream: GarbageCollector and GraphBuilder, v1.37.
type controller struct {
	env     control.Env
	objects control.Objects
	kinds   map[string]*kind // by id
	// learning holds the definitions whose kinds discovery does not have yet.
	learning map[string]bool
	// items holds all objects by UID.
	items map[types.UID]string
	// dependents holds, for each owner, the items that name it. The owner may not exist.
	dependents map[types.UID]map[string]bool

	attemptToDelete control.Queue
	attemptToOrphan control.Queue
}

func (k *kind) item(obj control.Object) string { return k.id + " " + control.Key(obj) }

// object returns an item's kind and the object in its cache.
func (c *controller) object(item string) (*kind, control.Object, bool) {
	id, key, _ := strings.Cut(item, " ")
	k := c.kinds[id]
	obj, found := k.cache.Get(key)
	return k, obj, found
}

// dependentsOf returns the items that name the object as their owner, in any order.
func (c *controller) dependentsOf(owner types.UID) []string {
	items := make([]string, 0, len(c.dependents[owner]))
	for item := range c.dependents[owner] {
		items = append(items, item)
	}
	slices.Sort(items)
	control.Shuffle(c.env, items)
	return items
}

// added adds a new object to the graph. Upstream: graph_builder.go insertNode, v1.37.
func (c *controller) added(k *kind, obj control.Object) {
	item := k.item(obj)
	c.items[obj.GetUID()] = item
	c.addDependentToOwners(item, obj.GetOwnerReferences())
	c.processTransitions(item, nil, obj)
}

// updated records a change of owners or of the way in which the object is deleted.
// Upstream: graph_builder.go processGraphChanges, v1.37.
func (c *controller) updated(k *kind, old, obj control.Object) {
	if old.GetUID() != obj.GetUID() {
		c.deleted(k, old)
		c.added(k, obj)
		return
	}
	item := c.items[obj.GetUID()]
	was, is := old.GetOwnerReferences(), obj.GetOwnerReferences()
	if len(was)+len(is) > 0 && !semantic.Equal(was, is) {
		c.removeDependentFromOwners(item, was)
		c.addDependentToOwners(item, is)
		c.addUnblockedOwnersToDeleteQueue(was, is)
	}
	c.processTransitions(item, old, obj)
}

// deleted queues the object's dependents, and owners that wait for it.
// Upstream: graph_builder.go processGraphChanges, v1.37.
func (c *controller) deleted(k *kind, obj control.Object) {
	delete(c.items, obj.GetUID())
	c.removeDependentFromOwners(k.item(obj), obj.GetOwnerReferences())
	for _, dependent := range c.dependentsOf(obj.GetUID()) {
		c.attemptToDelete.Add(dependent)
	}
	for _, ref := range obj.GetOwnerReferences() {
		if owner, found := c.items[ref.UID]; found && c.isDeletingDependents(owner) {
			c.attemptToDelete.Add(owner)
		}
	}
}

// addDependentToOwners records who owns the item. An owner that is unknown, or differs from the item's description
// of it, may not exist: then the item is queued.
// Upstream: graph_builder.go addDependentToOwners, v1.37.
func (c *controller) addDependentToOwners(item string, owners []metav1.OwnerReference) {
	for _, ref := range owners {
		if c.dependents[ref.UID] == nil {
			c.dependents[ref.UID] = map[string]bool{}
		}
		c.dependents[ref.UID][item] = true
		if known, found := c.items[ref.UID]; !found || !describes(ref, item, known) {
			c.attemptToDelete.Add(item)
		}
	}
}

// describes reports whether the item's reference has the kind, namespace and name of the owner.
func describes(ref metav1.OwnerReference, item, owner string) bool {
	_, key, _ := strings.Cut(item, " ")
	kind, ownerKey, _ := strings.Cut(owner, " ")
	namespace, _ := control.SplitKey(key)
	ownerNamespace, name := control.SplitKey(ownerKey)
	return idOf(ref) == kind && ref.Name == name && (ownerNamespace == "" || ownerNamespace == namespace)
}

func (c *controller) removeDependentFromOwners(item string, owners []metav1.OwnerReference) {
	for _, ref := range owners {
		delete(c.dependents[ref.UID], item)
		if len(c.dependents[ref.UID]) == 0 {
			delete(c.dependents, ref.UID)
		}
	}
}

// addUnblockedOwnersToDeleteQueue queues owners whose deletion the object does not block any more.
// Upstream: graph_builder.go addUnblockedOwnersToDeleteQueue, v1.37.
func (c *controller) addUnblockedOwnersToDeleteQueue(was, is []metav1.OwnerReference) {
	for _, ref := range was {
		still := slices.ContainsFunc(is, func(other metav1.OwnerReference) bool { return other.UID == ref.UID && blocks(other) })
		if owner, found := c.items[ref.UID]; found && blocks(ref) && !still {
			c.attemptToDelete.Add(owner)
		}
	}
}

func blocks(ref metav1.OwnerReference) bool {
	return ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion
}

// processTransitions queues an owner that has begun to wait for its dependents.
// Upstream: graph_builder.go processTransitions, v1.37.
func (c *controller) processTransitions(item string, old, obj control.Object) {
	begins := func(finalizer string) bool {
		return waitsFor(obj, finalizer) && (old == nil || !waitsFor(old, finalizer))
	}
	switch {
	case begins(metav1.FinalizerOrphanDependents):
		c.attemptToOrphan.Add(item)
	case begins(metav1.FinalizerDeleteDependents):
		for _, dependent := range c.dependentsOf(obj.GetUID()) {
			c.attemptToDelete.Add(dependent)
		}
		c.attemptToDelete.Add(item)
	}
}

// waitsFor reports whether the object is being deleted and has the finalizer.
func waitsFor(obj control.Object, finalizer string) bool {
	return obj.GetDeletionTimestamp() != nil && slices.Contains(obj.GetFinalizers(), finalizer)
}

// isDeletingDependents reports whether the item waits until its dependents are gone.
func (c *controller) isDeletingDependents(item string) bool {
	_, obj, found := c.object(item)
	return found && waitsFor(obj, metav1.FinalizerDeleteDependents)
}
