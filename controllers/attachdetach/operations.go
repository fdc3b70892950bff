package attachdetach

import (
	"context"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Upstream: util/goroutinemap/exponentialbackoff, v1.37.
const (
	initialBackoff = 500 * time.Millisecond
	maxBackoff     = 2*time.Minute + 2*time.Second
)

// Names of operations, as upstream's.
const (
	attachOperation = "volume_attach"
	detachOperation = "volume_detach"
)

// operationFor returns the scope of an operation on a volume: one node if the volume may be attached to several,
// else all nodes, which is a place without a node. Two operations at the same place exclude each other, and an
// operation on all nodes excludes every other.
// Upstream: operation_executor.go AttachVolume and DetachVolume, v1.37.
func operationFor(pv *v1.PersistentVolume, at place) place {
	if !isMultiAttachAllowed(pv) {
		at.node = ""
	}
	return at
}

// operationAt returns the scope of an operation on an attached volume, as operationFor does.
func (c *controller) operationAt(at place) place { return operationFor(c.actual.pvs[at.volume], at) }

// operation is an operation that runs or has failed.
type operation struct {
	at      place
	name    string
	pending bool
	// failed is the time of the last failure, and backoff the wait after it.
	failed  time.Time
	backoff time.Duration
}

// backsOff reports whether a failed operation must still wait.
func (op *operation) backsOff(now time.Time) bool { return now.Sub(op.failed) <= op.backoff }

// fail records a failure.
// Upstream: exponential_backoff.go Update, v1.37.
func (op *operation) fail(now time.Time) {
	op.failed, op.backoff = now, min(max(initialBackoff, 2*op.backoff), maxBackoff)
}

// operations holds the operations that run or have failed, by volume.
// Upstream: volume/util/nestedpendingoperations, v1.37.
type operations map[v1.UniqueVolumeName][]*operation

// find returns the operation that excludes another at a place, or nil. It prefers a running operation to a failed
// one, and among the failed that at this very place.
// Upstream: nestedpendingoperations.go isOperationExists, v1.37.
func (o operations) find(at place) *operation {
	var found *operation
	for _, op := range o[at.volume] {
		if op.at.node != "" && at.node != "" && op.at.node != at.node {
			continue
		}
		if op.pending {
			return op
		}
		if found == nil || op.at == at {
			found = op
		}
	}
	return found
}

// isPending reports whether an operation is running.
// Upstream: nestedpendingoperations.go IsOperationPending, v1.37.
func (o operations) isPending(at place) bool {
	op := o.find(at)
	return op != nil && op.pending
}

// isSafeToRetry reports whether an operation of that name may start.
// Upstream: nestedpendingoperations.go IsOperationSafeToRetry, v1.37.
func (o operations) isSafeToRetry(at place, name string, now time.Time) bool {
	op := o.find(at)
	return op == nil || !op.pending && !(op.backsOff(now) && op.name == name)
}

// begin records the start of an operation. One that has failed becomes the new one, and keeps its backoff if that
// was over.
// Upstream: nestedpendingoperations.go Run, v1.37.
func (o operations) begin(at place, name string, now time.Time) *operation {
	op := o.find(at)
	if op == nil {
		op = &operation{name: name}
		o[at.volume] = append(o[at.volume], op)
	} else if op.backsOff(now) {
		op.name, op.failed, op.backoff = name, time.Time{}, 0
	}
	op.at, op.pending = at, true
	return op
}

// forget removes an operation that has succeeded.
func (o operations) forget(op *operation) {
	list := slices.DeleteFunc(o[op.at.volume], func(other *operation) bool { return other == op })
	if len(list) == 0 {
		delete(o, op.at.volume)
	} else {
		o[op.at.volume] = list
	}
}

// run starts an operation as a task, unless another excludes it or it backs off. It reports whether it did. The operation marks the volume when it
// ends, so that the loop turns: another one may be possible then.
func (c *controller) run(at place, name, about string, f func(ctx context.Context) error) bool {
	if !c.operations.isSafeToRetry(at, name, c.env.Now()) {
		return false
	}
	op := c.operations.begin(at, name, c.env.Now())
	c.env.Go(about, func(ctx context.Context) {
		err := f(ctx)
		op.pending = false
		if err == nil {
			c.operations.forget(op)
		} else {
			op.fail(c.env.Now())
			c.touchAfter(op.backoff+1, at.volume) // at its very end it still backs off
		}
	})
	return true
}
