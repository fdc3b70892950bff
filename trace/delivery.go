package trace

import (
	"slices"
	"time"
)

// Delivery says that a cache has heard of a change. It is no record: a log that keeps values has deliveries in a list of their own, so that
// the numbers of records are the same without them.
type Delivery struct {
	// After is the number of records that were there before it.
	After int
	Time  time.Time
	// Actor is that of the cache, and Resource the plural name of what it holds, "persistentvolumes".
	Actor, Resource string
	// RV is the version of the change: that of its Write. The first list of a cache, and each list anew, is no delivery.
	RV uint64
}

// KeepValues makes the log keep what only views ask for: deliveries, and the Choice of each Decision, from now on. Call it while no record is added.
func (t *Log) KeepValues() { t.values = true }

// Weigh returns the record with its values, if the log keeps them, and else without.
func (t *Log) Weigh(r Record) Record {
	d, ok := r.(Decision)
	if !ok || d.Weigh == nil {
		return r
	}
	if t.values && d.Choice == nil {
		d.Choice = d.Weigh()
	}
	d.Weigh = nil
	return d
}

// Deliver adds a delivery, with its After, if the log keeps values. As many are kept as records: beyond that the older half is dropped.
func (t *Log) Deliver(d Delivery) {
	if !t.values {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.deliveries) >= t.limit {
		half := len(t.deliveries)/2 + 1
		t.lostDeliveries += half
		t.deliveries = slices.Clone(t.deliveries[half:])
	}
	d.After = t.dropped + len(t.entries)
	t.deliveries = append(t.deliveries, d)
}

// Deliveries returns the deliveries kept, in order. They are shared: do not change them.
func (t *Log) Deliveries() []Delivery {
	list, _ := t.DeliveriesSince(0)
	return list
}

// DeliveriesSince returns the deliveries from number n on, as far as they are kept, and the number of the next one.
func (t *Log) DeliveriesSince(n int) (list []Delivery, next int) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	list = t.deliveries[min(max(n-t.lostDeliveries, 0), len(t.deliveries)):]
	return slices.Clip(list), t.lostDeliveries + len(t.deliveries)
}
