package remote

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/klog/v2"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/trace"
)

// Config says what to run, and where.
type Config struct {
	// REST says how to reach the API server; required. Its rate limits and its timeout are
	// not used: see QPS.
	REST *restclient.Config
	// Actors are the controllers; at least one. Their names are unique.
	Actors []control.Actor
	// Lease is the name of the lease that lets one Run at a time go on, in the namespace
	// LeaseNamespace; default "storagesim-control" in "kube-system". NoLease does without.
	Lease, LeaseNamespace string
	NoLease               bool
	// Identity is the holder in the lease; default the machine's name and a random UUID.
	Identity string
	// QPS and Burst limit how many requests each actor makes in a second; default 50 and
	// 100. A negative QPS limits nothing. Watches and events do not count.
	QPS   float32
	Burst int
	// Tell is called with what the actors do and decide, one record at a time; may be nil.
	Tell func(trace.Entry)
	// Warn is called with what goes wrong and is tried again, such as a kind that the
	// server does not have, from any goroutine but once at a time; may be nil.
	Warn func(error)
}

// The times of the lease. Upstream: component-base config/v1alpha1
// RecommendedDefaultLeaderElectionConfiguration, v1.37.
const (
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	retryPeriod   = 2 * time.Second
)

// Run waits for the lease and then runs the actors until ctx ends, and returns nil then.
// Its errors are a Config that cannot work, a server that cannot be reached, a lease that
// is lost, and code of an actor that panics or whose factory fails.
func Run(ctx context.Context, cfg Config) error {
	if err := cfg.complete(); err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(cfg.REST)
	if err != nil {
		return err
	}
	if _, err := client.Discovery().ServerVersion(); err != nil {
		return fmt.Errorf("cannot reach the API server at %s: %w", cfg.REST.Host, err)
	}
	r := &run{cfg: cfg, client: client, ended: ctx.Done(), warned: map[string]time.Time{}}
	ctx = klog.NewContext(ctx, logr.New(sink{r}))
	if cfg.NoLease {
		return r.actors(ctx)
	}
	return r.elected(ctx)
}

// complete sets defaults, and refuses what cannot work.
func (cfg *Config) complete() error {
	if cfg.REST == nil {
		return errors.New("remote.Config.REST: required")
	}
	if len(cfg.Actors) == 0 {
		return errors.New("remote.Config.Actors: at least one is required")
	}
	seen := map[string]bool{}
	for i, a := range cfg.Actors {
		switch {
		case a.Name == "":
			return fmt.Errorf("remote.Config.Actors[%d].Name: required", i)
		case a.Factory == nil:
			return fmt.Errorf("remote.Config.Actors[%d].Factory: required, %s has none", i, a.Name)
		case seen[a.Name]:
			return fmt.Errorf("remote.Config.Actors[%d].Name: there are two actors called %q", i, a.Name)
		}
		seen[a.Name] = true
	}
	cfg.REST = restclient.CopyConfig(cfg.REST)
	cfg.REST.QPS, cfg.REST.Timeout = -1, 0
	if cfg.REST.ContentType == "" {
		// The same for watches and writes: an object in protobuf has fewer fields than in JSON
		// (the kinds of a StatefulSet's claim templates), which would be told as changes.
		cfg.REST.ContentType, cfg.REST.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
	}
	if cfg.Lease == "" {
		cfg.Lease = "storagesim-control"
	}
	if cfg.LeaseNamespace == "" {
		cfg.LeaseNamespace = "kube-system"
	}
	if cfg.QPS == 0 {
		cfg.QPS = 50
	}
	if cfg.Burst <= 0 {
		cfg.Burst = 100
	}
	if cfg.Identity == "" {
		host, err := os.Hostname()
		if err != nil {
			return err
		}
		cfg.Identity = host + "_" + string(uuid.NewUUID())
	}
	return nil
}

// run is one call of Run.
type run struct {
	ended  <-chan struct{} // closed when the run is to end
	cfg    Config
	client kubernetes.Interface // for what is not an actor's own

	mu     sync.Mutex // one record, one warning at a time
	warned map[string]time.Time
}

// elected runs the actors while it has the lease. The lease is released when their code has
// returned, and not before.
func (r *run) elected(ctx context.Context) error {
	electing, release := context.WithCancel(context.WithoutCancel(ctx))
	defer release()
	started, stopped := make(chan context.Context, 1), make(chan struct{})
	elector, err := r.elector(func(leading context.Context) { started <- leading })
	if err != nil {
		return err
	}
	go func() {
		defer close(stopped)
		elector.Run(electing)
	}()
	select {
	case leading := <-started:
		acting, end := context.WithCancel(leading)
		defer context.AfterFunc(ctx, end)()
		err = r.actors(acting)
		end()
		if err == nil && ctx.Err() == nil {
			err = fmt.Errorf("the lease %s/%s is lost", r.cfg.LeaseNamespace, r.cfg.Lease)
		}
	case <-ctx.Done():
	}
	release()
	<-stopped
	return err
}

func (r *run) elector(started func(context.Context)) (*leaderelection.LeaderElector, error) {
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, r.cfg.LeaseNamespace, r.cfg.Lease, r.client.CoreV1(), r.client.CoordinationV1(),
		resourcelock.ResourceLockConfig{Identity: r.cfg.Identity})
	if err != nil {
		return nil, err
	}
	return leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, Name: r.cfg.Lease, ReleaseOnCancel: true,
		LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: started,
			OnStoppedLeading: func() {},
			OnNewLeader: func(identity string) {
				if identity != r.cfg.Identity {
					r.warn(fmt.Errorf("%s holds the lease %s/%s: waiting for it", identity, r.cfg.LeaseNamespace, r.cfg.Lease))
				}
			},
		},
	})
}

// actors runs all actors until ctx ends or one of them fails.
func (r *run) actors(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var processes []*process
	for _, a := range r.cfg.Actors {
		events, err := r.events(ctx, a.Name)
		if err == nil {
			defer events.shutdown()
			p := newProcess(ctx, r, a.Name, cancel, events)
			processes = append(processes, p)
			err = p.begin(a.Factory)
		}
		if err != nil {
			cancel(fmt.Errorf("actor %s: %w", a.Name, err))
			break
		}
	}
	<-ctx.Done()
	for _, p := range processes {
		p.tasks.Wait()
	}
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// events returns what writes an actor's events, in its name, as each controller of upstream's has its own.
func (r *run) events(ctx context.Context, actor string) (*broadcasters, error) {
	cfg := restclient.CopyConfig(r.cfg.REST)
	cfg.UserAgent = actor
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	return newBroadcasters(ctx, client), nil
}

// tell passes a record on.
func (r *run) tell(actor string, record trace.Record) {
	if r.cfg.Tell == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cfg.Tell(trace.Entry{Time: time.Now().UTC(), Actor: actor, Record: record})
}

// clients returns the clients of one actor: their requests release the actor's lock and count
// for its rate limit.
func (r *run) clients(p *process) (kubernetes.Interface, control.Objects, error) {
	cfg := restclient.CopyConfig(r.cfg.REST)
	cfg.UserAgent = p.name
	server, _, err := restclient.DefaultServerUrlFor(cfg)
	if err != nil {
		return nil, nil, err
	}
	limit := flowcontrol.NewFakeAlwaysRateLimiter()
	if r.cfg.QPS > 0 {
		limit = flowcontrol.NewTokenBucketRateLimiter(r.cfg.QPS, r.cfg.Burst)
	}
	cfg.Wrap(p.transport(limit, server.Path))
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, nil, err
	}
	objects, err := newObjects(cfg)
	return client, objects, err
}
