package volumemanager

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/trace"
)

// verb says what an operation does.
type verb string

const (
	mountVolume   verb = "mount"
	unmountVolume verb = "unmount"
	unmountDevice verb = "unmount-device"
	expandVolume  verb = "expand"
)

// operation is work on one volume of one pod, or of the node.
type operation struct {
	verb verb
	podVolume
}

// key names the operation in the queue and in the trace.
func (op operation) key() string {
	return string(op.verb) + " " + string(op.pod) + "/" + string(op.volume)
}

// pendingOperation is an operation that the queue has, now or after a backoff.
type pendingOperation struct {
	operation
	// started: it was started since it last began to run.
	started bool
	// retry: the queue will have it after a backoff.
	retry bool
	// backingOff: the last attempt failed.
	backingOff bool
	// since is the time at which it was started.
	since time.Time
}

// operationExecutor carries out operations, one at a time. Each has a backoff of its own.
//
// Upstream: operation_executor.go and nestedpendingoperations.go, v1.36.
type operationExecutor struct {
	*shared
	mounts    *mountOperations
	expansion *expandOperations
	queue     control.Queue
	// pending holds the operations by key.
	pending map[string]*pendingOperation
	// slow is the last operation that took time.
	slow slowOperation
}

// slowOperation is an operation that took time.
type slowOperation struct {
	volume v1.UniqueVolumeName
	ended  time.Time
}

// noteWaiting records that an operation waited for a slow one of another volume, where upstream does both at once.
func (x *operationExecutor) noteWaiting(p *pendingOperation) {
	if p.started && x.slow.volume != p.volume && x.slow.ended.After(p.since) {
		x.env.Trace(trace.Deviate(trace.OneVolumeAtATime, x.nodeRef()))
	}
}

// start queues an operation, unless it has failed and waits for its next try.
//
// Upstream: nestedpendingoperations.go Run, v1.36.
func (x *operationExecutor) start(op operation) {
	key := op.key()
	p := x.pending[key]
	if p == nil {
		p = &pendingOperation{operation: op}
		x.pending[key] = p
	}
	if !p.backingOff {
		if !p.started {
			p.since = x.env.Now()
		}
		p.started = true
		x.queue.Add(key)
	}
}

// run carries out one operation. When it has succeeded, the reconciler looks at the volume
// again, and the pod wakes.
func (x *operationExecutor) run(ctx context.Context, key string) error {
	p := x.pending[key]
	switch {
	case p == nil:
		return nil // an attempt between has succeeded
	case !p.started:
		p.retry = false // this is it
	}
	x.noteWaiting(p)
	p.started = false
	began := x.env.Now()
	err := x.execute(ctx, p.operation)
	if now := x.env.Now(); now.After(began) {
		x.slow = slowOperation{p.volume, now}
	}
	if err != nil {
		p.retry, p.backingOff = true, true
		if p.pod != "" && !x.pods.WantsVolumes(p.pod) {
			x.kubelet.WakePod(p.pod) // it may wait for a directory to go
		}
		return err
	}
	p.backingOff = false
	if !p.started && !p.retry {
		delete(x.pending, key)
	}
	x.touch(p.podVolume)
	if p.pod != "" {
		x.kubelet.WakePod(p.pod)
	}
	return nil
}

func (x *operationExecutor) execute(ctx context.Context, op operation) error {
	switch op.verb {
	case mountVolume:
		return x.mounts.mountVolume(ctx, op.podVolume)
	case unmountVolume:
		return x.mounts.unmountVolume(ctx, op.podVolume)
	case unmountDevice:
		return x.mounts.unmountDevice(ctx, op.volume)
	case expandVolume:
		return x.expansion.expandInUseVolume(ctx, op.podVolume)
	}
	return fmt.Errorf("there is no operation %q", op.verb)
}

// about says in the trace what a key of the queue stands for.
func (x *operationExecutor) about(key string) string {
	switch p := x.pending[key]; {
	case p == nil:
		return key
	case p.verb == unmountDevice:
		return fmt.Sprintf("to unmount the device of volume %s", p.volume)
	default:
		return fmt.Sprintf("to %s volume %s of %s", p.verb, p.volume, x.podRef(p.pod))
	}
}
