package control

import (
	"cmp"
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/trace"
)

// A Factory builds one controller on the Env it is given: it makes caches and
// queues, registers handlers, and returns. It must not call the API: work
// begins when every cache it has made has had its first list, so that what is
// missing in a cache has been missing in the API. After a crash the driver
// calls the factory again with a fresh Env, so whatever the controller kept in
// memory is gone, as in a restarted process.
type Factory func(env Env) error

// Env is everything a controller may touch. A controller never knows who drives
// it: it calls the API, sleeps, polls and starts tasks in plain sequential Go.
//
// The driver runs at most one piece of an actor's code at a time and switches
// only inside calls on Env or on the client: the code between two such calls is
// atomic, and a controller needs no locks. It may be crashed at any of those
// calls; deferred functions still run then, so they must not have effects on
// the world (files, mounts) beyond calls on Env and the client, which do
// nothing any more.
type Env interface {
	// Name is the actor's name, as writes, events and traces show it, for
	// example "persistent-volume-binder" or "kubelet/node-1".
	Name() string
	// Client calls the API server as this actor.
	Client() kubernetes.Interface
	// Objects calls the API server as this actor for objects of any kind.
	Objects() Objects

	Clock
	// PollBackoff is Clock.Poll with intervals that grow. It ends with ctx: see WithTimeout.
	PollBackoff(ctx context.Context, intervals Backoff, cond func(ctx context.Context) (bool, error)) error

	// Queue makes a work queue whose items are reconciled by cfg.Workers
	// workers, one key at a time, never the same key twice at once.
	Queue(cfg QueueConfig) Queue
	// Every runs f each period, first after one period. These are background
	// timers: settling does not wait for them.
	Every(name string, period time.Duration, f func(ctx context.Context))
	// Heartbeat is Every for work that needs no cache: its rounds come also while a cache
	// has had no first list yet, which everything else of an actor waits for.
	Heartbeat(name string, period time.Duration, f func(ctx context.Context))
	// Go starts f as a task of its own beside the caller, for example one
	// binding cycle. The name says what it works on.
	Go(name string, f func(ctx context.Context))
	// Recorder records events under the component name that `kubectl describe`
	// shows, for example "persistentvolume-controller".
	Recorder(component string) Recorder
	// EventRecorder records events of events.k8s.io/v1 as the reporting controller
	// of that name, for example "default-scheduler". What it has counted is lost with
	// the process, as upstream.
	EventRecorder(reportingController string) EventRecorder
	// Trace adds a record of what the controller did or decided to the trace.
	// It is the only log there is.
	Trace(trace.Record)
	// Choose picks one of n equal alternatives, 0 <= result < n, where upstream leaves
	// the choice to chance: a random number, the order of a Go map. The driver's policy
	// decides: in order it is always 0, seeded any, and a replay repeats it. It is no
	// yield point, and costs nothing in order. Put the alternative first that a reader
	// expects.
	Choose(n int) int
	// Follow subscribes a feed to a resource. NewCache is the usual way in.
	Follow(Feed)
}

// FullEnv is an Env with all the optional interfaces of this package. The one of package engine has them. An Env that changes
// what another does embeds it, so that none of them is lost.
type FullEnv interface {
	Env
	Ender
	Foreign
	Mortal
	Outside
	Points
}

// Clock tells the time and waits. Nothing else in a controller may.
type Clock interface {
	// Now is the current time, in UTC.
	Now() time.Time
	// Sleep waits for d. It returns ctx's error if ctx ends first. Settling waits for
	// it, unless ctx is one of InBackground.
	Sleep(ctx context.Context, d time.Duration) error
	// Poll calls cond every interval, first after one interval, until it
	// returns true or an error, which Poll returns. It returns ErrTimeout after
	// timeout (0 means never). cond may call the API. Unlike Sleep, a poll is
	// not something to wait for when settling, unless the world changed since
	// cond last looked: a poll for which nothing changes leaves the cluster at rest.
	Poll(ctx context.Context, interval, timeout time.Duration, cond func(ctx context.Context) (bool, error)) error
}

// Backoff describes waits that grow.
type Backoff struct {
	// First is the first wait. It must be positive.
	First time.Duration
	// Factor multiplies each wait to give the next one; 0 means 1.
	Factor float64
	// Max is the longest wait; 0 means any.
	Max time.Duration
	// Jitter is the share by which each wait may be longer, by choice; 0 means none.
	Jitter float64
}

// jitters is the number of parts of a jitter of which some are waited for.
const jitters = 4

// Wait returns the first wait with its jitter, which choose decides, as Env.Choose does.
func (b Backoff) Wait(choose func(n int) int) time.Duration {
	if b.Jitter <= 0 {
		return b.First
	}
	return b.First + time.Duration(float64(b.First)*b.Jitter*float64(choose(jitters+1))/jitters)
}

// Next returns the backoff after one wait.
func (b Backoff) Next() Backoff {
	if b.Factor > 0 {
		b.First = time.Duration(float64(b.First) * b.Factor)
	}
	if b.Max > 0 {
		b.First = min(b.First, b.Max)
	}
	return b
}

// PollFor implements Poll by PollBackoff, for drivers.
func PollFor(ctx context.Context, env Env, interval, timeout time.Duration, cond func(context.Context) (bool, error)) error {
	deadline := env.Now().Add(timeout)
	return env.PollBackoff(ctx, Backoff{First: interval}, func(ctx context.Context) (bool, error) {
		done, err := cond(ctx)
		if !done && err == nil && timeout > 0 && !env.Now().Before(deadline) {
			err = ErrTimeout
		}
		return done, err
	})
}

// ErrTimeout is the error of Poll when its time is up: that of a context, as client-go's polls return it.
var ErrTimeout = context.DeadlineExceeded

// QueueConfig says how a queue's keys are reconciled. Reconcile is required.
type QueueConfig struct {
	// Name of the queue in traces, for example "claims".
	Name string
	// About says in traces what a key stands for, for example "pvc default/data";
	// KeysOf makes it for keys that are an object's. Default: Name and the key.
	About func(key string) string
	// Workers is the number of keys that are reconciled at once; 0 means 1.
	Workers int
	// Overlap adds workers: while each worker waits in the middle of a key, for time or for an answer from
	// outside, one more takes the next key. It is for work that upstream does in a goroutine for each key.
	Overlap bool
	// Reconcile handles one key. A nil error forgets the key's failures; an
	// error puts it back after a backoff, or after the time that a RetryAfter says.
	Reconcile func(ctx context.Context, key string) error
	// Limiter is the backoff after errors; the zero value is client-go's
	// default controller limiter.
	Limiter RateLimiter
	// MaxRetries gives a key up, failures not forgotten, once it has failed
	// this many times and fails again; 0 means never.
	MaxRetries int
}

// RetryAfter is an error with which Reconcile puts its key back after a time of its own choice. The key's
// failures stay as they are: the backoff neither grows nor begins anew.
type RetryAfter struct {
	After time.Duration
	Err   error
}

func (e *RetryAfter) Error() string { return e.Err.Error() }

func (e *RetryAfter) Unwrap() error { return e.Err }

// ErrNotForgotten is the error with which Reconcile is done with a key and does not forget its failures: when it is added
// and fails again, the backoff goes on where it was.
var ErrNotForgotten = errors.New("done, and its failures are not forgotten")

// KeysOf returns a QueueConfig.About for a queue with the keys of one kind of object:
// "namespace/name", or "name" for objects without a namespace.
func KeysOf(kind string) func(key string) string {
	return func(key string) string { return trace.Ref{Kind: kind, Name: key}.String() }
}

// RateLimiter is the delay before a failed key is tried again: exponential per
// key, and at least what a token bucket over all keys asks for.
// Models client-go's workqueue.DefaultTypedControllerRateLimiter.
type RateLimiter struct {
	// Base is the first delay, doubled at each failure; default 5 ms.
	Base time.Duration
	// Max caps the delay; default 1000 s.
	Max time.Duration
	// QPS and Burst are the bucket's; defaults 10 and 100. A negative QPS
	// means no bucket.
	QPS   float64
	Burst int
	// Jitter is the share by which each delay may be longer, by choice; 0 means none.
	Jitter float64
}

// WithDefaults returns the limiter with what its zero fields mean.
func (l RateLimiter) WithDefaults() RateLimiter {
	l.Base = cmp.Or(l.Base, 5*time.Millisecond)
	l.Max = cmp.Or(l.Max, 1000*time.Second)
	l.QPS = cmp.Or(l.QPS, 10)
	l.Burst = cmp.Or(l.Burst, 100)
	return l
}

// Queue is a work queue of keys with client-go's semantics: a key waits at most
// once, and one added while being reconciled is reconciled again afterwards.
type Queue interface {
	Add(key string)
	// AddAfter adds the key once d has passed. Settling waits for it.
	AddAfter(key string, d time.Duration)
	// AddAgain adds the key once d has passed, for a reconciler that looks again and again. Settling waits
	// for it only as long as such waits, one after the other, take no longer than the driver's patience.
	AddAgain(key string, d time.Duration)
	// AddRateLimited adds the key after its next backoff, as an error from
	// Reconcile does.
	AddRateLimited(key string)
	// Forget clears the key's failures.
	Forget(key string)
	// NumRequeues is the number of times that the key has failed since it was forgotten.
	NumRequeues(key string) int
	// Len is the number of keys waiting, not counting those in work.
	Len() int
}

// Recorder records API events, as client-go's record.EventRecorder does.
// eventtype is v1.EventTypeNormal or v1.EventTypeWarning. The object may be a *v1.ObjectReference,
// which can name a part of an object: a container of a pod.
type Recorder interface {
	Event(object runtime.Object, eventtype, reason, message string)
	Eventf(object runtime.Object, eventtype, reason, messageFmt string, args ...any)
}

// EventRecorder records events of events.k8s.io/v1, as client-go's
// tools/events.EventRecorder does: events about the same object in the same
// resourceVersion, with the same type, reason and action, are a series of one event
// with any note; about another resourceVersion they are a new event. action is the action
// that was tried, for example "Binding". related is another object that takes part, or nil.
type EventRecorder interface {
	Eventf(regarding, related runtime.Object, eventtype, reason, action, note string, args ...any)
}

// Feed receives the changes of one resource in order. Its methods must not call
// the API. The objects are shared: do not modify them.
type Feed interface {
	// Source says what to follow.
	Source() Source
	// Replace is a list: items is all there is now, in order of key. It comes first, and
	// again whenever the feed fell too far behind (410 Gone).
	Replace(items []Item)
	// Deliver delivers one change. old is the object as the feed last saw it, nil
	// if it was added; object is its last state if it was deleted.
	Deliver(change Change)
}

// Source is a resource and which of its objects to follow.
type Source struct {
	Resource schema.GroupVersionResource
	// NodeName, if set, follows only objects whose spec.nodeName is this.
	NodeName string
	// Name, if set, follows only the objects of this name.
	Name string
	// AtOnce: where the driver can, the first list is there when Follow returns, without a
	// step of its own. Such a feed changes nothing in the order of the others until there is
	// an object in it.
	AtOnce bool
}

// Item is an object of a list.
type Item struct {
	// Key is the object's Key. All caches that hold the object share this one string.
	Key    string
	Object runtime.Object
}

// ItemOf returns an object that is in no list yet.
func ItemOf(obj Object) Item { return Item{Key: Key(obj), Object: obj} }

// Change is one change of an object as a follower of its resource sees it. The objects
// are shared: do not modify them.
type Change struct {
	// Type is watch.Added, watch.Modified or watch.Deleted.
	Type watch.EventType
	// Item is the object in its new state, or in the last one if it is gone or has left
	// the selection.
	Item
	// Old is the state before, nil for an object that is new or has entered the selection.
	Old runtime.Object
	// RV is the version of the change.
	RV uint64
	// Heartbeat is set if it is only a sign of life of a node (trace.IsHeartbeat).
	Heartbeat bool
}
