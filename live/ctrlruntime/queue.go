package ctrlruntime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/tools/reference"
	"k8s.io/client-go/util/workqueue"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/trace"
)

// controller is one of the library's, as far as its fields are needed. Its type is internal to the library.
type controller struct {
	manager.Runnable
	name        string
	workers     int
	do          reconcile.Reconciler
	limiter     workqueue.TypedRateLimiter[reconcile.Request]
	log         func(*reconcile.Request) logr.Logger
	recovers    bool
	timeout     time.Duration
	setNewQueue func(newQueue)
}

type newQueue = func(string, workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request]

// controllerOf returns what is needed of a controller.
func controllerOf(r manager.Runnable) (c controller, err error) {
	c.Runnable = r
	fields := reflect.ValueOf(r)
	if fields.Kind() == reflect.Pointer {
		fields = fields.Elem()
	}
	if fields.Kind() != reflect.Struct || !fields.FieldByName("NewQueue").IsValid() {
		return c, fmt.Errorf("a %T was added to the manager, which is no controller: only controllers can be played as an actor", r)
	}
	var queue newQueue
	var recovers *bool
	for _, field := range []struct {
		name string
		to   any
	}{
		{"Do", &c.do}, {"Name", &c.name}, {"MaxConcurrentReconciles", &c.workers}, {"RateLimiter", &c.limiter}, {"LogConstructor", &c.log},
		{"RecoverPanic", &recovers}, {"ReconciliationTimeout", &c.timeout}, {"NewQueue", &queue},
	} {
		from, into := fields.FieldByName(field.name), reflect.ValueOf(field.to).Elem()
		if !from.IsValid() || !from.Type().AssignableTo(into.Type()) {
			return c, fmt.Errorf("a %T was added to the manager, whose field %s is not a %s: only controllers of reconcile.Requests can be played as an actor",
				r, field.name, into.Type())
		}
		into.Set(from)
	}
	c.recovers = recovers == nil || *recovers
	c.setNewQueue = func(f newQueue) { fields.FieldByName("NewQueue").Set(reflect.ValueOf(f)) }
	return c, nil
}

// begin starts the sources of a controller, and returns when all have registered. Its workers end at once.
func (c controller) begin(p *process) error {
	q := &queue{process: p, controller: c, limiter: c.limiter, connected: make(chan struct{})}
	q.keys = p.env.Queue(q.config())
	c.setNewQueue(func(string, workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
		return q
	})
	if err := c.sources(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Start(p.ctx) }()
	select {
	case <-q.connected:
		return nil
	case err := <-ended:
		return err
	case err := <-p.informers.failed:
		return fmt.Errorf("controller %s: %w", c.name, err)
	}
}

// sources refuses those that do not wait for the API.
func (c controller) sources() error {
	watches := reflect.ValueOf(c.Runnable).Elem().FieldByName("startWatches")
	for i := range watches.Len() {
		if name := watches.Index(i).Elem().Type().String(); strings.HasPrefix(name, "*source.channel[") {
			return fmt.Errorf("controller %s: a source of type %s waits for a channel, which cannot be played as an actor", c.name, name)
		}
	}
	return nil
}

// queue is a controller's queue as the library's handlers see it.
type queue struct {
	process    *process
	controller controller
	keys       control.Queue
	limiter    workqueue.TypedRateLimiter[reconcile.Request] // nil if the cluster's own is meant
	once       sync.Once
	connected  chan struct{} // closed when all sources have registered
}

var _ workqueue.TypedRateLimitingInterface[reconcile.Request] = (*queue)(nil)

// config says how keys are reconciled. Limiters with a bucket know only the machine's time: the cluster's queue, which has the same
// default, stands for them.
func (q *queue) config() control.QueueConfig {
	if strings.HasPrefix(fmt.Sprintf("%T", q.limiter), "*workqueue.TypedMaxOfRateLimiter[") {
		q.limiter = nil
	}
	return control.QueueConfig{Name: q.controller.name, Workers: q.controller.workers, Reconcile: q.reconcile}
}

func keyFor(request reconcile.Request) string {
	if request.Namespace == "" {
		return request.Name
	}
	return request.Namespace + "/" + request.Name
}

func (q *queue) Add(request reconcile.Request) { q.keys.Add(keyFor(request)) }
func (q *queue) AddAfter(request reconcile.Request, d time.Duration) {
	q.keys.AddAfter(keyFor(request), d)
}
func (q *queue) AddRateLimited(request reconcile.Request) { q.retry(request) }
func (q *queue) Len() int                                 { return q.keys.Len() }
func (q *queue) Done(reconcile.Request)                   {}
func (q *queue) ShutDown()                                {}
func (q *queue) ShutDownWithDrain()                       {}
func (q *queue) ShuttingDown() bool                       { return q.process.ctx.Err() != nil }

// Get ends the library's worker: tasks of the cluster do its work. When the first worker asks, all sources have registered.
func (q *queue) Get() (_ reconcile.Request, shutdown bool) {
	q.once.Do(func() { close(q.connected) })
	return reconcile.Request{}, true
}

// Forget implements workqueue.TypedRateLimitingInterface.
func (q *queue) Forget(request reconcile.Request) {
	if q.limiter != nil {
		q.limiter.Forget(request)
		return
	}
	q.keys.Forget(keyFor(request))
}

// NumRequeues implements workqueue.TypedRateLimitingInterface.
func (q *queue) NumRequeues(request reconcile.Request) int {
	if q.limiter != nil {
		return q.limiter.NumRequeues(request)
	}
	return q.keys.NumRequeues(keyFor(request))
}

// retry adds a request after its backoff, and returns how long that is if it is known.
func (q *queue) retry(request reconcile.Request) time.Duration {
	if q.limiter == nil {
		q.keys.AddRateLimited(keyFor(request))
		return 0
	}
	delay := q.limiter.When(request)
	q.keys.AddAgain(keyFor(request), delay)
	return delay
}

// errAgain stands for a result that asks to be called again without saying when.
var errAgain = errors.New("the reconciler asks to be called again")

// reconcile calls the author's reconciler, and does with its answer what the library does.
// Upstream: sigs.k8s.io/controller-runtime/pkg/internal/controller Controller.reconcileHandler, v0.25.2.
func (q *queue) reconcile(ctx context.Context, key string) error {
	namespace, name := control.SplitKey(key)
	request := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
	result, err := q.call(ctx, request)
	switch {
	case errors.Is(err, reconcile.TerminalError(nil)):
		q.process.env.Trace(trace.GaveUp{Queue: q.controller.name, Key: key, About: q.about(key), Failures: q.NumRequeues(request) + 1, Err: err})
		return nil
	case err == nil && result.RequeueAfter > 0:
		q.Forget(request)
		q.keys.AddAgain(key, result.RequeueAfter)
		return nil
	case err == nil && result.Requeue: //nolint:staticcheck // reconcilers still return it
		err = errAgain
	case err == nil:
		q.Forget(request)
		return nil
	}
	if q.limiter == nil {
		return err
	}
	q.process.env.Trace(trace.Retry{Queue: q.controller.name, Key: key, About: q.about(key), Delay: q.retry(request), Err: err})
	return nil
}

func (q *queue) about(key string) string { return q.controller.name + " " + key }

// call calls the author's reconciler. A panic is an error, unless the controller is told not to recover: then it ends the process.
func (q *queue) call(ctx context.Context, request reconcile.Request) (result reconcile.Result, err error) {
	env := q.process.env
	if q.controller.timeout > 0 {
		ctx = control.WithTimeout(ctx, env, q.controller.timeout)
	}
	ctx = logf.IntoContext(ctx, q.controller.log(&request))
	do := func() {
		defer q.process.inside.enter()()
		if q.controller.recovers {
			defer func() { err = cmp.Or(recovered(recover()), err) }()
		}
		result, err = q.controller.do.Reconcile(ctx, request)
	}
	if foreign, ok := env.(control.Foreign); ok {
		foreign.Foreign("Reconcile", trace.Ref{Kind: q.controller.name, Namespace: request.Namespace, Name: request.Name}, do, func(time.Duration) {})
	} else {
		do()
	}
	return result, err
}

// recovered makes an error of what a reconciler panicked with, if it did. The end of the process goes on.
func recovered(thrown any) error {
	if _, ends := thrown.(control.Crash); ends {
		panic(thrown)
	}
	if thrown == nil {
		return nil
	}
	return fmt.Errorf("panic: %v [recovered]", thrown)
}

// GetEventRecorderFor returns a recorder of the cluster's events.
func (m *actorManager) GetEventRecorderFor(name string) record.EventRecorder {
	return eventRecorder{m.process.env.Recorder(name), m.GetScheme()}
}

// GetEventRecorder returns a recorder of events of events.k8s.io/v1.
func (m *actorManager) GetEventRecorder(name string) recorder.EventRecorder {
	return newEventRecorder{m.process.env.EventRecorder(name), m.GetScheme()}
}

// eventRecorder finds the kinds of objects in the operator's scheme. Annotations of events are not kept.
type eventRecorder struct {
	to     control.Recorder
	scheme *runtime.Scheme
}

func (r eventRecorder) Event(object runtime.Object, eventtype, reason, message string) {
	if ref := referenceTo(r.scheme, object); ref != nil {
		r.to.Event(ref, eventtype, reason, message)
	}
}

func (r eventRecorder) Eventf(object runtime.Object, eventtype, reason, format string, args ...any) {
	r.Event(object, eventtype, reason, fmt.Sprintf(format, args...))
}

func (r eventRecorder) AnnotatedEventf(object runtime.Object, _ map[string]string, eventtype, reason, format string, args ...any) {
	r.Event(object, eventtype, reason, fmt.Sprintf(format, args...))
}

// newEventRecorder is the same for the newer events.
type newEventRecorder struct {
	to     control.EventRecorder
	scheme *runtime.Scheme
}

func (r newEventRecorder) Eventf(regarding, related runtime.Object, eventtype, reason, action, note string, args ...any) {
	about := referenceTo(r.scheme, regarding)
	if about == nil {
		return
	}
	var other runtime.Object
	if ref := referenceTo(r.scheme, related); ref != nil {
		other = ref
	}
	r.to.Eventf(about, other, eventtype, reason, action, note, args...)
}

func (r newEventRecorder) AnnotatedEventf(regarding, related runtime.Object, _ map[string]string, eventtype, reason, action, note string, args ...any) {
	r.Eventf(regarding, related, eventtype, reason, action, note, args...)
}

// referenceTo returns a reference to an object, nil if the scheme does not know it: upstream's recorder logs that.
func referenceTo(scheme *runtime.Scheme, object runtime.Object) *v1.ObjectReference {
	if object == nil {
		return nil
	}
	ref, err := reference.GetReference(scheme, object)
	if err != nil {
		return nil
	}
	return ref
}
