package fake

import (
	"context"
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/testing"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/internal/typed"
)

// Clientset is a clientset over an API server, with the name of the actor that calls. Like one of
// client-go's fakes it has PrependReactor, Actions and Tracker; but what answers is the
// server. It is safe for concurrent use.
type Clientset struct {
	// Fake has the chains of reactors. Its lock is held while a test's reactors run, and
	// not while the server works.
	testing.Fake
	typed.Groups
	server  api.Handler
	actor   string
	keeps   bool             // the latest calls
	actions []testing.Action // guarded by Fake's lock
}

var _ kubernetes.Interface = (*Clientset)(nil)

// New makes a clientset that calls the server as actor and keeps its latest calls, at most
// 1000, for Actions.
func New(server api.Handler, actor string) *Clientset {
	c := NewWithoutActions(server, actor)
	c.keeps = true
	return c
}

// NewWithoutActions makes a clientset that keeps no calls, which makes it faster: the
// objects of a call need not be copied for it.
func NewWithoutActions(server api.Handler, actor string) *Clientset {
	c := &struct {
		Clientset
		reactor [1]testing.Reactor
		watches [1]testing.WatchReactor
	}{Clientset: Clientset{server: server, actor: actor}}
	c.Groups = typed.Groups{Client: (*requester)(&c.Clientset)}
	c.reactor[0], c.watches[0] = (*serverReactor)(&c.Clientset), (*serverWatchReactor)(&c.Clientset)
	c.ReactionChain, c.WatchReactionChain = c.reactor[:], c.watches[:]
	return &c.Clientset
}

// Do carries out a request of any kind, except a watch, as the clientset's actor, as the
// typed clients do. The request's object is copied.
func (c *Clientset) Do(ctx context.Context, req api.Request) (runtime.Object, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	req.Actor = c.actor
	if isNil(req.Object) {
		req.Object = nil
	}
	if !c.listens() || !hasAction(&req) {
		req.Object = whatIsRead(&req)
		return c.server.Do(ctx, req)
	}
	if req.Values != nil {
		data, err := json.Marshal(req.Values)
		if err != nil {
			return nil, err
		}
		req.Patch, req.Values = data, nil
	}
	action := actionOf(&req)
	if handled, obj, err := c.react(action); handled {
		return obj, err
	}
	if a, ok := action.(interface{ GetObject() runtime.Object }); ok {
		req.Object = copyOf(a.GetObject()) // a reactor may have changed it, and may have kept it
	}
	return c.server.Do(ctx, req)
}

// Watch begins a watch of any kind as the clientset's actor. It ends with ctx.
func (c *Clientset) Watch(ctx context.Context, req api.Request) (watch.Interface, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	req.Actor, req.Verb, req.List.Watch = c.actor, "watch", true
	if c.listens() && hasAction(&req) {
		handled, w, err := c.reactToWatch(testing.NewWatchActionWithOptions(req.Resource, req.Namespace, req.List))
		if handled {
			return endingWith(ctx, w), err
		}
	}
	return c.server.Watch(ctx, req)
}

// Discovery implements kubernetes.Interface. Its calls are actions like any others.
func (c *Clientset) Discovery() discovery.DiscoveryInterfaces {
	fake := &testing.Fake{ReactionChain: []testing.Reactor{(*forward)(c)}, Resources: c.Resources}
	if fake.Resources == nil {
		fake.Resources = c.server.Resources()
	}
	return &fakediscovery.FakeDiscovery{Fake: fake, FakedServerVersion: c.server.Version()}
}

// IsWatchListSemanticsUnSupported tells client-go's reflectors that they may
// stream the first list: unlike client-go's fakes, this server can.
func (c *Clientset) IsWatchListSemanticsUnSupported() bool { return false }

// serves reports whether the server has that subresource.
func (c *Clientset) serves(gvr schema.GroupVersionResource, sub string) bool {
	for _, list := range c.server.Resources() {
		if list.GroupVersion != gvr.GroupVersion().String() {
			continue
		}
		for _, r := range list.APIResources {
			if r.Name == gvr.Resource+"/"+sub {
				return true
			}
		}
	}
	return false
}
