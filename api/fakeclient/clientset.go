package fakeclient

import (
	"context"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/testing"

	"github.com/storagesim/storagesim/api"
)

// Clientset is a clientset over an API server, with the name of who calls. It is one
// of client-go's fake clientsets, so that PrependReactor and Actions work; but
// what answers is the server. It is safe for concurrent use.
type Clientset struct {
	*fake.Clientset
	server    api.Handler
	name      string
	remembers bool
	calls     atomic.Int64
	discovery *fakediscovery.FakeDiscovery
	resources sync.Once
	core      coreV1
	typed     sync.Map // of core's clients
}

var _ kubernetes.Interface = (*Clientset)(nil)

// New makes a clientset that calls the server as actor, and remembers its latest calls
// (Actions), at least 1000.
func New(server api.Handler, actor string) *Clientset {
	c := NewWithoutActions(server, actor)
	c.remembers = true
	return c
}

// NewWithoutActions makes a clientset that remembers no calls, which makes it faster:
// see direct.go.
func NewWithoutActions(server api.Handler, actor string) *Clientset {
	c := &Clientset{Clientset: &fake.Clientset{}, server: server, name: actor}
	c.core = coreV1{c.Clientset.CoreV1(), c}
	c.discovery = &fakediscovery.FakeDiscovery{Fake: &c.Fake, FakedServerVersion: server.Version()}
	c.AddReactor("*", "*", c.react)
	c.AddWatchReactor("*", c.reactWatch)
	return c
}

// Do carries out a request as the clientset's actor, whatever its kind: like a call of a
// typed client, but a watch.
func (c *Clientset) Do(ctx context.Context, req api.Request) (runtime.Object, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return c.Invokes(actionOf(&req), nil)
}

// Discovery implements kubernetes.Interface.
func (c *Clientset) Discovery() discovery.DiscoveryInterfaces {
	c.resources.Do(func() { c.Resources = c.server.Resources() })
	return c.discovery
}

// IsWatchListSemanticsUnSupported tells client-go's reflectors that they may
// stream the first list: unlike a bare fake clientset, this server can.
func (c *Clientset) IsWatchListSemanticsUnSupported() bool { return false }

// keepActions is how many calls a client that remembers them keeps at least.
const keepActions = 1000

// react answers everything but watches. Fake.Invokes holds its lock meanwhile;
// it is released here, so that a gate may wait and other goroutines may use the
// same client.
func (c *Clientset) react(action testing.Action) (bool, runtime.Object, error) {
	switch action.(type) {
	case testing.GenericActionImpl, testing.ActionImpl:
		return false, nil, nil // discovery and logs
	}
	if len(c.ReactionChain) > 1 {
		action = action.DeepCopy() // another reactor may have kept the object
	}
	defer c.relock(c.unlock())
	c.forgetActions()
	obj, err := c.do(context.Background(), requestOf(c.name, action))
	return true, obj, err
}

// do has the server carry out a request.
func (c *Clientset) do(ctx context.Context, req api.Request) (runtime.Object, error) {
	return c.server.Do(ctx, req)
}

func (c *Clientset) reactWatch(action testing.Action) (bool, watch.Interface, error) {
	defer c.relock(c.unlock())
	c.forgetActions()
	w, err := c.server.Watch(context.Background(), requestOf(c.name, action))
	return true, w, err
}

// serves says whether the server has that subresource.
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

// unlock releases the lock that Fake.Invokes holds while a reactor runs, and
// says whether it did: a reactor that is called directly, out of the
// client's ReactionChain, has no lock to release.
func (c *Clientset) unlock() (held bool) {
	held = !c.TryLock()
	c.Unlock()
	return held
}

// relock takes back what unlock released.
func (c *Clientset) relock(held bool) {
	if held {
		c.Lock()
	}
}

// forgetActions keeps the list of recorded actions, which nothing else ever
// shortens, from growing without bound.
func (c *Clientset) forgetActions() {
	if !c.remembers || c.calls.Add(1)%keepActions == 0 {
		c.ClearActions()
	}
}
