package volumemanager

import (
	"context"
	"fmt"
	"slices"

	"github.com/storagesim/storagesim/control"
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

// pendingOperation is an operation that the queue has, now or after a backoff, or that is in work or behind another one.
//
// Of one that is neither in work nor behind another, started or retry is set: that is why the queue has it. Both are, if it was started again
// during an attempt that failed. A success is the end of it only if neither is set.
type pendingOperation struct {
	operation
	// started: it was started since it last began to run.
	started bool
	// retry: the queue will have it after a backoff.
	retry bool
	// backingOff: the last attempt failed. While it is set, starting the operation changes nothing.
	backingOff bool
}

// operationExecutor carries out operations. Those of different volumes overlap if they take time; each has
// a backoff of its own.
//
// Upstream: operation_executor.go and nestedpendingoperations.go, v1.37.
type operationExecutor struct {
	*given
	*states

	mounts    *mountOperations
	expansion *expandOperations
	queue     control.Queue
	// pending holds the operations by key.
	pending map[string]*pendingOperation
	// inWork holds the scopes of the operations that have begun and not ended.
	inWork []scope
	// behind holds the keys of operations that wait until another one of their volume ends.
	behind []string
}

// scope names the object of an operation: a volume of one pod or, if whole is set, of all its pods.
type scope struct {
	podVolume
	whole bool
}

// overlaps reports whether operations with both scopes must not be carried out at once.
//
// Upstream: nestedpendingoperations.go isOperationExists, v1.37.
func (s scope) overlaps(other scope) bool {
	return s.volume == other.volume && (s.pod == other.pod || s.whole || other.whole)
}

// scopeOf returns the scope of an operation. A volume that is mounted for the node is mounted for one pod at
// a time; it may be unmounted from several at once.
//
// Upstream: operation_executor.go MountVolume, UnmountVolume, UnmountDevice and ExpandInUseVolume, v1.37.
func (x *operationExecutor) scopeOf(op operation) scope {
	whole := op.verb != unmountVolume
	if op.verb == mountVolume {
		v := x.desired.get(op.podVolume)
		whole = v != nil && (v.attachable || v.device != nil)
	}
	return scope{op.podVolume, whole}
}

// start queues an operation, unless it has failed and waits for its next try.
//
// Upstream: nestedpendingoperations.go Run, v1.37.
func (x *operationExecutor) start(op operation) {
	key := op.key()
	p := x.pending[key]
	if p == nil {
		p = &pendingOperation{operation: op}
		x.pending[key] = p
	}
	if !p.backingOff {
		p.started = true
		x.queue.Add(key)
	}
}

// run carries out one operation. When it has succeeded, the reconciler looks at the volume
// again, and the pod wakes. A volume that may not be expanded yet, since the resizer has not finished, waits for the next look at all
// volumes, which is at most a minute away.
func (x *operationExecutor) run(ctx context.Context, key string) error {
	p := x.pending[key]
	switch {
	case p == nil:
		return nil // an attempt between has succeeded
	case !p.started:
		p.retry = false // this is it
	}
	scope := x.scopeOf(p.operation)
	if slices.ContainsFunc(x.inWork, scope.overlaps) {
		x.behind = append(x.behind, key)
		return nil
	}
	p.started = false
	if err := x.executeAlone(ctx, p.operation, scope); err != nil {
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
	if p.verb == expandVolume && x.sizes.needsExpansion(p.volume) {
		return nil
	}
	x.touch(p.podVolume)
	if p.pod != "" {
		x.kubelet.WakePod(p.pod)
	}
	return nil
}

// executeAlone carries out an operation, and queues those that wait for its end.
func (x *operationExecutor) executeAlone(ctx context.Context, op operation, scope scope) error {
	x.inWork = append(x.inWork, scope)
	err := x.execute(ctx, op)
	at := slices.Index(x.inWork, scope) // only one has it: they would overlap
	x.inWork = slices.Delete(x.inWork, at, at+1)
	for _, key := range x.behind {
		x.queue.Add(key)
	}
	x.behind = nil
	return err
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
