package capacity

import (
	"context"
	"fmt"

	"github.com/container-storage-interface/spec/lib/go/csi"
	storage "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/control"
)

// syncCapacity asks the driver, and creates or updates the object. The new version is recorded when the cache
// delivers it.
//
// Upstream: capacity.go syncCapacity, v6.4.
func (c *Controller) syncCapacity(ctx context.Context, key string) error {
	item := c.capacities[key]
	if item == nil {
		return nil // the class or the segment is gone
	}
	class, ok := c.classes.Get(item.class)
	if !ok {
		return nil
	}
	req := &csi.GetCapacityRequest{Parameters: class.Parameters, AccessibleTopology: &csi.Topology{Segments: item.segment}}
	answer, err := c.cfg.Controller.GetCapacity(control.WithTimeout(ctx, c.env, c.cfg.Timeout), req)
	if err != nil {
		return fmt.Errorf("CSI GetCapacity for %s: %w", key, err)
	}
	wanted := resource.NewQuantity(answer.GetAvailableCapacity(), resource.BinarySI)
	var largest *resource.Quantity
	if size := answer.GetMaximumVolumeSize(); size != nil {
		largest = resource.NewQuantity(size.GetValue(), resource.BinarySI)
	}
	if item.capacity == nil {
		return c.create(ctx, key, item, wanted, largest)
	}
	return c.update(ctx, key, item.capacity, wanted, largest)
}

func (c *Controller) create(ctx context.Context, key string, item *workItem, wanted, largest *resource.Quantity) error {
	capacity := &storage.CSIStorageCapacity{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: "csisc-", Labels: map[string]string{DriverNameLabel: c.cfg.Driver, ManagedByLabel: c.cfg.ManagedBy},
		},
		StorageClassName: item.class, NodeTopology: item.segment.GetLabelSelector(), Capacity: wanted, MaximumVolumeSize: largest,
	}
	if c.cfg.Owner != nil {
		capacity.OwnerReferences = []metav1.OwnerReference{*c.cfg.Owner}
	}
	if _, err := c.env.Client().StorageV1().CSIStorageCapacities(c.cfg.Namespace).Create(ctx, capacity, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create CSIStorageCapacity for %s: %w", key, err)
	}
	return nil
}

func (c *Controller) update(ctx context.Context, key string, capacity *storage.CSIStorageCapacity, wanted, largest *resource.Quantity) error {
	owned := c.cfg.Owner == nil || c.isOwnedByUs(capacity)
	if capacity.Capacity != nil && capacity.Capacity.Value() == wanted.Value() && sizesAreEqual(capacity.MaximumVolumeSize, largest) && owned {
		return nil
	}
	capacity = capacity.DeepCopy()
	capacity.Capacity, capacity.MaximumVolumeSize = wanted, largest
	if !owned {
		capacity.OwnerReferences = append(capacity.OwnerReferences, *c.cfg.Owner)
	}
	if _, err := c.env.Client().StorageV1().CSIStorageCapacities(capacity.Namespace).Update(ctx, capacity, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("update CSIStorageCapacity for %s: %w", key, err)
	}
	return nil
}

// deleteCapacity deletes an object by its key.
//
// Upstream: capacity.go deleteCapacity, v6.4.
func (c *Controller) deleteCapacity(ctx context.Context, object string) error {
	namespace, name := control.SplitKey(object)
	err := c.env.Client().StorageV1().CSIStorageCapacities(namespace).Delete(ctx, name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// onCAddOrUpdate records an object for its pair, or queues it for deletion.
//
// Upstream: capacity.go onCAddOrUpdate, v6.4.
func (c *Controller) onCAddOrUpdate(capacity *storage.CSIStorageCapacity) {
	if !c.ready {
		return
	}
	if !c.isManaged(capacity) {
		c.forget(capacity) // it may have been ours before
		return
	}
	if s, ok := segmentOf(capacity.NodeTopology); ok {
		item := c.capacities[keyOf(capacity.StorageClassName, s)]
		if item != nil && (item.capacity == nil || item.capacity.UID == capacity.UID) {
			item.capacity = capacity
			return
		}
	}
	c.queue.Add(deletion + control.Key(capacity))
}

// onCDelete queues the pair of an object that was deleted, so that it is created again.
//
// Upstream: capacity.go onCDelete, v6.4.
func (c *Controller) onCDelete(capacity *storage.CSIStorageCapacity) { c.forget(capacity) }

// forget removes an object from its pair, which is queued to get another one.
func (c *Controller) forget(capacity *storage.CSIStorageCapacity) {
	s, ok := segmentOf(capacity.NodeTopology)
	if !ok {
		return
	}
	key := keyOf(capacity.StorageClassName, s)
	if item := c.capacities[key]; item != nil && item.capacity != nil && item.capacity.UID == capacity.UID {
		item.capacity = nil
		c.queue.Add(key)
	}
}

// Upstream: capacity.go isOwnedByUs, v6.4.
func (c *Controller) isOwnedByUs(capacity *storage.CSIStorageCapacity) bool {
	for _, owner := range capacity.OwnerReferences {
		if owner.Controller != nil && *owner.Controller && owner.UID == c.cfg.Owner.UID {
			return true
		}
	}
	return false
}

// isManaged reports whether an object is this controller's, by its labels and its namespace.
//
// Upstream: capacity.go isManaged, v6.4.
func (c *Controller) isManaged(capacity *storage.CSIStorageCapacity) bool {
	return capacity.Namespace == c.cfg.Namespace && capacity.Labels[DriverNameLabel] == c.cfg.Driver && capacity.Labels[ManagedByLabel] == c.cfg.ManagedBy
}

func sizesAreEqual(a, b *resource.Quantity) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Value() == b.Value()
}
