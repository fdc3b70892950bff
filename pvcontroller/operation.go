package pvcontroller

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
)

// The backoff of slow operations.
// Upstream: pkg/util/goroutinemap/exponentialbackoff, v1.37.
const (
	firstBackoff = 500 * time.Millisecond
	maxBackoff   = 2*time.Minute + 2*time.Second
)

// operation is a slow operation that is running, or has failed and may not run again
// for a while.
type operation struct {
	running bool
	backoff time.Duration
	after   time.Time
}

// scheduleOperation starts a slow operation on the volume as a task of its own, unless
// the same one is running or in backoff. The next sync of the volume tries again.
// Upstream: pv_controller.go scheduleOperation, v1.37.
func (c *controller) scheduleOperation(what string, volume *v1.PersistentVolume, run func(ctx context.Context, volume *v1.PersistentVolume) error) {
	name := fmt.Sprintf("%s-%s[%s]", what, volume.Name, volume.UID)
	op, known := c.operations[name]
	if known && (op.running || c.env.Now().Before(op.after)) {
		return
	}
	if !known {
		op = &operation{}
		c.operations[name] = op
	}
	op.running = true
	c.env.Go(name, func(ctx context.Context) {
		err := run(ctx, volume)
		// The event of the operation's last write may be handled before the operation has ended: then the volume is left to the resync.
		if c.env.Choose(2) == 1 {
			_ = c.env.Sleep(ctx, 0) // nothing cancels it
		}
		if err != nil {
			op.failed(c.env.Now())
			return
		}
		delete(c.operations, name)
	})
}

func (op *operation) failed(now time.Time) {
	op.running = false
	op.backoff = max(firstBackoff, min(2*op.backoff, maxBackoff))
	op.after = now.Add(op.backoff)
}
