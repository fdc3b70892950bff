package ctrlruntime

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strconv"
	"sync"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	restclient "k8s.io/client-go/rest"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/fake"
	"github.com/storagesim/storagesim/api/rest"
	"github.com/storagesim/storagesim/engine"
)

// ErrGoroutine is the error of a call to the API server from a goroutine that a reconciler, a handler or Setup has started. Their
// calls are steps of the one goroutine that the cluster runs.
var ErrGoroutine = errors.New("an operator that is played as an actor calls the API server only in the goroutine of its Reconcile, handlers or Setup")

// config returns the REST configuration by which all clients of the operator reach the API server: as the actor, in the
// goroutine that calls.
func (p *process) config(e *engine.Engine) *restclient.Config {
	way := apiWay{e.Server(), p.env.Client().(*fake.Clientset), p}
	config := rest.New(way, e.Server().Registry(), p.env.Now).Config(p.env.Name())
	config.Transport = transport{p, config.Transport}
	return config
}

// apiWay is the API server as the actor reaches it.
type apiWay struct {
	*api.Server
	client  *fake.Clientset
	process *process
}

// Do implements api.Handler: it is a step of the actor, or a part of the step of the request that a webhook is asked about.
func (w apiWay) Do(ctx context.Context, req api.Request) (apiruntime.Object, error) {
	if w.process.asked.here() {
		req.Actor = w.process.env.Name()
		return w.Server.Do(ctx, req)
	}
	return w.client.Do(ctx, req)
}

// Watch implements api.Handler.
func (w apiWay) Watch(_ context.Context, req api.Request) (watch.Interface, error) {
	return nil, fmt.Errorf("watch %s: an operator that is played as an actor receives changes by its manager's cache only", req.Resource.Resource)
}

// transport carries out the requests of an operator's clients.
type transport struct {
	process *process
	real    http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if asked, ok := r.Context().Value(questionKey{}).(*question); ok {
		asked.request = r
		return nil, errOnlyAsked
	}
	if _, ofResource := rest.RequestOf(r); ofResource && !t.process.inside.here() && !t.process.asked.here() { // discovery is no step
		return nil, fmt.Errorf("%s %s: %w", r.Method, r.URL.Path, ErrGoroutine)
	}
	return t.real.RoundTrip(r)
}

// goroutines counts for each goroutine how often the cluster has entered an operator's code in it.
type goroutines struct {
	mu  sync.Mutex
	ids map[int]int // by goroutine
}

// enter notes the calling goroutine until leave is called.
func (g *goroutines) enter() (leave func()) {
	id := goroutine()
	g.add(id, 1)
	return func() { g.add(id, -1) }
}

func (g *goroutines) add(id, n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ids == nil {
		g.ids = map[int]int{}
	}
	if g.ids[id] += n; g.ids[id] == 0 {
		delete(g.ids, id)
	}
}

// here reports whether the calling goroutine is one of them.
func (g *goroutines) here() bool {
	id := goroutine()
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ids[id] > 0
}

// goroutine returns the number of the calling goroutine, which only the text of its stack tells.
func goroutine() int {
	var text [64]byte
	_, rest, _ := bytes.Cut(text[:runtime.Stack(text[:], false)], []byte(" "))
	number, _, _ := bytes.Cut(rest, []byte(" "))
	id, err := strconv.Atoi(string(number))
	if err != nil {
		panic(err) // the text is the runtime's own
	}
	return id
}
