// Package ctrlruntime plays an operator that is made with sigs.k8s.io/controller-runtime as an actor of a simulated
// cluster. Its SetupWithManager and its Reconcile stay as they are:
//
//	err := ctrlruntime.Add(cluster, ctrlruntime.Operator{
//		Name:    "backup-operator",
//		Options: manager.Options{Scheme: scheme},
//		Setup: func(mgr manager.Manager) error {
//			return (&BackupReconciler{Client: mgr.GetClient()}).SetupWithManager(mgr)
//		},
//	})
//
// Each call to the API server is a step, as those of the cluster's own controllers are: the process may crash there, the call may
// be late or fail, and package explore tries all of that. The same seed gives the same run.
//
// # How
//
// The manager, its client, its cache with its indexes, selectors and namespaces, the builder, the sources, the handlers and the
// predicates are the library's own. Only what has goroutines that wait for the world is ours: an informer gets its changes from
// the cluster's caches, which may be late; a controller's queue is one of the cluster's; and the transport of the REST
// client carries a request out in the goroutine that makes it.
//
// # What differs from a real manager
//
//   - The wall clock is the machine's. A reconciler that calls time.Now sees another time than the cluster; one that
//     takes its clock as a field can be given Cluster.Now. In a bubble of testing/synctest time.Now stands still, so that it is
//     the same in each run. A reconciler that waits (time.Sleep, wait.Poll) waits for the machine's time, and all others for it.
//   - A reconciler works in one goroutine. A call from a goroutine that it has started fails with [ErrGoroutine].
//   - Runnables that are not controllers are refused, and so is a source that waits for something else than the API, such as a
//     channel, and a queue whose items are not reconcile.Requests.
//   - There is no leader election, and the servers for metrics and probes are not started.
//   - Its webhooks are asked if Operator.WebhookService is set, as a part of the step of the write: no virtual time passes, their calls to the API
//     server are no steps, and they must not wait. Without it the test must write into objects what webhooks would set there.
//   - Requests are taken in the order in which they came: the priorities of the library's queue are not modelled, and a queue of the
//     operator's own (Options.NewQueue of a controller) is not used.
//   - A watch of the client's own, a log and a command in a container fail.
//   - A crash ends the code as a panic does. Where it waits in k8s.io/apimachinery, as in a retry, that logs the panic: klog.SetLogger keeps it quiet.
//   - Caches begin with their first list. The resync of informers after ten hours does not take place.
//
// A result with RequeueAfter is waited for by Settle only for about a minute (Config.Patience), so that a cluster whose operator
// looks again and again comes to rest; RunFor goes on.
//
// It is a module of its own, so that the main one does not depend on the library.
package ctrlruntime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/engine"
)

// Operator is an operator made with controller-runtime.
type Operator struct {
	// Name of the actor, as writes and the trace show it.
	Name string
	// Options for the manager, as for manager.New. Leader election, metrics, probes, NewCache, and Cache.NewInformer are set by Add,
	// and names of controllers are not checked, since each process that starts again has them once more. The log goes nowhere
	// unless Logger is set.
	Options manager.Options
	// Setup adds the controllers, as main does between manager.New and Start. It is called for each process: what the reconciler
	// keeps in memory must be made in it, or it outlives a crash.
	Setup func(mgr manager.Manager) error
	// WebhookService is the Service, "namespace/name", by which MutatingWebhookConfigurations and ValidatingWebhookConfigurations name
	// the operator. The API server asks the webhooks of those that are stored; the Service itself, its certificate and its
	// endpoints need not be there. Default: none is asked.
	WebhookService string
}

// Cluster can be a storagesim.Cluster, a storagesimtest.Cluster or an explore.Cluster.
type Cluster interface {
	// Engine drives the actors.
	Engine() *engine.Engine
}

// Add adds an operator to a cluster as an actor. The kinds that it watches must be there: apply the CustomResourceDefinitions
// before. An error says what Setup returned, which kind is not known, or what cannot be played (see the package comment).
func Add(c Cluster, op Operator) error {
	switch {
	case op.Name == "":
		return errors.New("ctrlruntime: Operator.Name is empty; it must name the actor")
	case op.Setup == nil:
		return fmt.Errorf("ctrlruntime: operator %s: Setup is not set; it must add the controllers to the manager", op.Name)
	}
	asks := &webhooks{}
	if op.WebhookService != "" {
		var err error
		if asks, err = webhooksOf(op); err != nil {
			return err
		}
	}
	err := c.Engine().Add(op.Name, func(env control.Env) error {
		p, err := start(c.Engine(), env, op)
		if err != nil {
			return fmt.Errorf("operator %s: %w", op.Name, err)
		}
		asks.process.Store(p)
		return nil
	})
	if err == nil && op.WebhookService != "" {
		c.Engine().Server().AskWebhooks(asks)
	}
	return err
}

// process is one life of an operator.
type process struct {
	engine      *engine.Engine
	env         control.Env
	ctx         context.Context // ends with the process
	inside      goroutines      // those that may call the API server
	asked       goroutines      // those of requests that its webhooks are asked about
	hooks       http.Handler    // of its webhooks
	informers   informers
	controllers []controller
}

// start makes the manager, has Setup add the controllers to it, and has their sources register with informers and queues of the
// cluster.
func start(e *engine.Engine, env control.Env, op Operator) (*process, error) {
	mortal, ok := env.(control.Mortal)
	if !ok {
		return nil, fmt.Errorf("the environment %T does not tell when a process ends (control.Mortal)", env)
	}
	ctx, end := context.WithCancel(context.Background())
	mortal.OnEnd(end)
	p := &process{engine: e, env: env, ctx: ctx, informers: informers{failed: make(chan error, 1)}, hooks: http.NotFoundHandler()}
	defer p.inside.enter()()
	options := op.Options
	options.LeaderElection, options.Metrics, options.HealthProbeBindAddress, options.PprofBindAddress = false, metricsserver.Options{BindAddress: "0"}, "0", ""
	options.Controller.SkipNameValidation = new(true)
	if options.Logger.IsZero() {
		options.Logger = logr.New(silent{}) // logr.Discard counts as none
	}
	options.NewCache = func(config *rest.Config, of cache.Options) (cache.Cache, error) {
		of.NewInformer = p.newInformer
		real, err := cache.New(config, of)
		return checked{real, &p.informers}, err
	}
	real, err := manager.New(p.config(e), options)
	if err != nil {
		return nil, err
	}
	if err := op.Setup(&actorManager{Manager: real, process: p}); err != nil {
		return nil, err
	}
	if mux := real.GetWebhookServer().WebhookMux(); mux != nil {
		p.hooks = mux
	}
	go real.GetCache().Start(p.ctx) //nolint:errcheck // it fails only if it is started twice
	if !real.GetCache().WaitForCacheSync(p.ctx) {
		return nil, errors.New("the cache did not start")
	}
	for _, c := range p.controllers {
		if err := c.begin(p); err != nil {
			return nil, err
		}
	}
	return p, p.informers.connect(p.env)
}

// checked is the manager's cache, which fails once an informer could not be played.
type checked struct {
	cache.Cache
	informers *informers
}

func (c checked) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	err := c.Cache.Get(ctx, key, obj, opts...)
	return cmp.Or(c.informers.err(), err)
}

func (c checked) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	err := c.Cache.List(ctx, list, opts...)
	return cmp.Or(c.informers.err(), err)
}

func (c checked) GetInformer(ctx context.Context, obj client.Object, opts ...cache.InformerGetOption) (cache.Informer, error) {
	got, err := c.Cache.GetInformer(ctx, obj, opts...)
	return got, cmp.Or(c.informers.err(), err)
}

func (c checked) GetInformerForKind(ctx context.Context, gvk schema.GroupVersionKind, opts ...cache.InformerGetOption) (cache.Informer, error) {
	got, err := c.Cache.GetInformerForKind(ctx, gvk, opts...)
	return got, cmp.Or(c.informers.err(), err)
}

// silent is a log that goes nowhere.
type silent struct{}

func (silent) Init(logr.RuntimeInfo)          {}
func (silent) Enabled(int) bool               { return false }
func (silent) Info(int, string, ...any)       {}
func (silent) Error(error, string, ...any)    {}
func (silent) WithValues(...any) logr.LogSink { return silent{} }
func (silent) WithName(string) logr.LogSink   { return silent{} }

// actorManager changes of the library's manager what it starts and what it gives to controllers.
type actorManager struct {
	manager.Manager
	process *process
	caches  int // how many sources have asked for it
}

// Add takes a controller.
func (m *actorManager) Add(r manager.Runnable) error {
	c, err := controllerOf(r)
	if err != nil {
		return err
	}
	m.process.controllers = append(m.process.controllers, c)
	return nil
}

// Start fails: Add of this package starts the manager.
func (m *actorManager) Start(context.Context) error {
	return errors.New("an actor's manager starts by itself when Setup has returned: leave Start out")
}

// Elected returns a closed channel: there is no other process.
func (m *actorManager) Elected() <-chan struct{} {
	elected := make(chan struct{})
	close(elected)
	return elected
}

// GetCache returns the cache with a number: the sources of a controller register in goroutines, and their handlers are to be
// called in the order in which the sources were made.
func (m *actorManager) GetCache() cache.Cache {
	m.caches++
	return numbered{m.Manager.GetCache(), m.process, m.caches}
}

// numbered is the cache as one source has it.
type numbered struct {
	cache.Cache
	process *process
	number  int
}

// GetInformer returns an informer that knows the source's number.
func (n numbered) GetInformer(ctx context.Context, obj client.Object, opts ...cache.InformerGetOption) (cache.Informer, error) {
	got, err := n.Cache.GetInformer(ctx, obj, opts...)
	if err != nil {
		n.process.informers.fail(err) // the source would try for ever
		return nil, err
	}
	return numberedInformer{got, n.process, n.number}, nil
}

// numberedInformer is an informer as one source has it. It may stand for several, one for each namespace.
type numberedInformer struct {
	cache.Informer
	process *process
	number  int
}

// AddEventHandler adds a handler with the source's number.
func (n numberedInformer) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	defer n.process.informers.as(n.number)()
	return n.Informer.AddEventHandler(h)
}

// AddEventHandlerWithOptions adds a handler with the source's number.
func (n numberedInformer) AddEventHandlerWithOptions(h toolscache.ResourceEventHandler,
	o toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	defer n.process.informers.as(n.number)()
	return n.Informer.AddEventHandlerWithOptions(h, o)
}
