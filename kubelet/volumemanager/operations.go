package volumemanager

import (
	"context"
	"fmt"
	"maps"
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
// While inWork or backingOff is set, starting it changes nothing: what it was for is looked at again after a success, and tried again after
// the backoff. A success is the end of it.
type pendingOperation struct {
	operation
	// inWork: an attempt has begun and not ended.
	inWork bool
	// retry: the queue will have it after a backoff.
	retry bool
	// backingOff: the last attempt failed.
	backingOff bool
	// sharers holds the keys of mounts of the same volume for other pods. They wait for the end of this one's backoff, since a volume
	// that is mounted for the node has one backoff, whichever pod it is mounted for.
	sharers []string
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

// start queues an operation, unless it is in work, or has failed and waits for its next try.
//
// Upstream: nestedpendingoperations.go Run, v1.37.
func (x *operationExecutor) start(op operation) {
	key := op.key()
	p := x.pending[key]
	if p == nil {
		p = &pendingOperation{operation: op}
		x.pending[key] = p
	}
	if !p.inWork && !p.backingOff {
		x.queue.Add(key)
	}
}

// run carries out one operation. When it has succeeded, the reconciler looks at the volume
// again, and the pod wakes. A volume that may not be expanded yet, since the resizer has not finished, waits for the next look at all
// volumes, which is at most a minute away.
func (x *operationExecutor) run(ctx context.Context, key string) error {
	p := x.pending[key]
	if p == nil {
		return nil // an attempt for another pod has mounted it
	}
	p.retry = false // this is it
	scope := x.scopeOf(p.operation)
	if slices.ContainsFunc(x.inWork, scope.overlaps) {
		x.behind = append(x.behind, key)
		return nil
	}
	if other := x.backoffOf(p.operation, scope); other != nil {
		if !slices.Contains(other.sharers, key) {
			other.sharers = append(other.sharers, key)
		}
		return nil
	}
	p.inWork = true
	defer func() { p.inWork = false }()
	isRetry := p.backingOff
	if len(p.sharers) > 0 {
		return x.runForOne(ctx, p, scope)
	}
	if err := x.executeAlone(ctx, p.operation, scope); err != nil {
		return x.failed(p, p.operation, err)
	}
	x.release(p) // they came meanwhile
	delete(x.pending, key)
	if !isRetry {
		x.takeOver(p.operation, scope)
	}
	x.done(p.operation)
	return nil
}

// backoffOf returns the mount of another pod whose backoff is that of an operation, too: nil if there is none.
//
// Upstream: operation_executor.go MountVolume, v1.37: what is mounted for the node is one operation for all pods, whose failures count together.
func (x *operationExecutor) backoffOf(op operation, scope scope) *pendingOperation {
	if op.verb != mountVolume || !scope.whole {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(x.pending)) {
		if p := x.pending[key]; p.verb == mountVolume && p.volume == op.volume && p.pod != op.pod && p.retry && p.backingOff {
			return p
		}
	}
	return nil
}

// runForOne tries a mount anew whose backoff is over, for one of the pods that need it: upstream finds them in a Go map. A failure is one more of
// this operation, whichever pod it was for; after a success the others begin.
func (x *operationExecutor) runForOne(ctx context.Context, p *pendingOperation, scope scope) error {
	var list []operation
	for _, key := range append([]string{p.key()}, p.sharers...) {
		if other := x.pending[key]; other != nil && x.desired.get(other.podVolume) != nil && !x.actual.isUpToDate(other.podVolume) {
			list = append(list, other.operation)
		}
	}
	op := p.operation
	if len(list) > 0 {
		op = list[x.env.Choose(len(list))]
	}
	scope.podVolume = op.podVolume
	if err := x.executeAlone(ctx, op, scope); err != nil {
		return x.failed(p, op, err)
	}
	p.backingOff = false
	x.release(p)
	if op != p.operation && slices.Contains(list, p.operation) {
		x.queue.Add(p.key())
	} else {
		delete(x.pending, p.key())
	}
	delete(x.pending, op.key())
	x.done(op)
	return nil
}

// takeOver ends the backoff of an operation of another kind on the volume, once one has succeeded that was tried for the first time: what it was
// for is looked at anew.
//
// Upstream: nestedpendingoperations.go Run, v1.37: an operation takes the entry of one of another name that waits for its backoff, and so its backoff is
// gone even if the attempt fails. Two that always fail thus follow each other without a pause; here each keeps its own.
func (x *operationExecutor) takeOver(op operation, scope scope) {
	for _, key := range slices.Sorted(maps.Keys(x.pending)) {
		if other := x.pending[key]; other.verb != op.verb && other.retry && other.backingOff && scope.overlaps(x.scopeOf(other.operation)) {
			delete(x.pending, key)
			x.queue.Forget(key)
			x.release(other)
			x.touch(other.podVolume)
			return
		}
	}
}

// release queues the mounts that waited for the end of an operation's backoff.
func (x *operationExecutor) release(p *pendingOperation) {
	for _, key := range p.sharers {
		x.queue.Add(key)
	}
	p.sharers = nil
}

// failed notes that an attempt failed, which was for the pod of op.
func (x *operationExecutor) failed(p *pendingOperation, op operation, err error) error {
	p.retry, p.backingOff = true, true
	if op.pod != "" && !x.pods.WantsVolumes(op.pod) {
		x.kubelet.WakePod(op.pod) // it may wait for a directory to go
	}
	return err
}

// done lets the reconciler look again at the volume of an operation that has succeeded, and wakes the pod.
func (x *operationExecutor) done(op operation) {
	if op.verb == expandVolume && x.sizes.needsExpansion(op.volume) {
		return
	}
	x.touch(op.podVolume)
	if op.pod != "" {
		x.kubelet.WakePod(op.pod)
	}
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
