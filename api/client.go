package api

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
)

// Client is a clientset over the server, with the name of who calls. It is one
// of client-go's fake clientsets, so that PrependReactor and Actions work; but
// what answers is the server. It is safe for concurrent use.
type Client struct {
	*fake.Clientset
	server    *Server
	name      string
	gate      Gate
	remembers bool
	calls     atomic.Int64
	discovery *fakediscovery.FakeDiscovery
	resources sync.Once
	core      coreV1
	typed     sync.Map // of core's clients
}

var _ kubernetes.Interface = (*Client)(nil)

// Call is one request of a client.
type Call struct {
	Actor, Verb                  string
	Resource                     schema.GroupVersionResource
	Subresource, Namespace, Name string
}

// String is the call in short: "update persistentvolumes/status pv-1".
func (c Call) String() string {
	s := c.Verb + " " + c.Resource.Resource
	if c.Subresource != "" {
		s += "/" + c.Subresource
	}
	switch {
	case c.Name != "":
		s += " " + keyOf(c.Namespace, c.Name)
	case c.Namespace != "":
		s += " in " + c.Namespace
	}
	return s
}

// Gate stands between a client and the server. It runs in the goroutine of the
// caller, without any lock, and may wait or panic.
type Gate interface {
	// Before runs ahead of the call; an error is the caller's answer and the
	// server never hears of the call.
	Before(Call) error
	// After gets the server's answer and returns what the caller gets: an error,
	// or nil for success.
	After(Call, error) error
}

// Client makes a client that calls as name and remembers its latest calls
// (Actions).
func (s *Server) Client(name string) *Client {
	c := s.ClientWithGate(name, nil)
	c.remembers = true
	return c
}

// ClientWithGate makes a client whose every call passes through g; nil stands for
// an open door. It remembers no calls, which makes it faster: see direct.go.
func (s *Server) ClientWithGate(name string, g Gate) *Client {
	c := &Client{Clientset: &fake.Clientset{}, server: s, name: name, gate: g}
	c.core = coreV1{c.Clientset.CoreV1(), c}
	c.discovery = &fakediscovery.FakeDiscovery{Fake: &c.Clientset.Fake, FakedServerVersion: serverVersion()}
	c.AddReactor("*", "*", c.react)
	c.AddWatchReactor("*", c.reactWatch)
	return c
}

// Discovery implements kubernetes.Interface.
func (c *Client) Discovery() discovery.DiscoveryInterfaces {
	c.resources.Do(func() { c.Resources = resourceLists() })
	return c.discovery
}

// IsWatchListSemanticsUnSupported tells client-go's reflectors that they may
// stream the first list: unlike a bare fake clientset, this server can.
func (c *Client) IsWatchListSemanticsUnSupported() bool { return false }

// keepActions is how many calls a client that remembers them keeps at least.
const keepActions = 1000

// react answers everything but watches. Fake.Invokes holds its lock meanwhile;
// it is released here, so that a gate may wait and other goroutines may use the
// same client.
func (c *Client) react(action testing.Action) (bool, runtime.Object, error) {
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

// do has the server carry out a request that passes the gate.
func (c *Client) do(ctx context.Context, req Request) (obj runtime.Object, err error) {
	err = c.pass(&req, func() (err error) {
		obj, err = c.server.Do(ctx, req)
		return err
	})
	if err != nil {
		return nil, err
	}
	return obj, nil
}

func (c *Client) reactWatch(action testing.Action) (bool, watch.Interface, error) {
	defer c.relock(c.unlock())
	c.forgetActions()
	var w watch.Interface
	req := requestOf(c.name, action)
	err := c.pass(&req, func() (err error) {
		w, err = c.server.Watch(context.Background(), req)
		return err
	})
	if err != nil && w != nil {
		w.Stop()
	}
	return true, w, err
}

// unlock releases the lock that Fake.Invokes holds while a reactor runs, and
// says whether it did: a reactor that is called directly, out of the
// client's ReactionChain, has no lock to release.
func (c *Client) unlock() (held bool) {
	held = !c.TryLock()
	c.Unlock()
	return held
}

// relock takes back what unlock released.
func (c *Client) relock(held bool) {
	if held {
		c.Lock()
	}
}

// pass runs a request through the gate.
func (c *Client) pass(req *Request, do func() error) error {
	if c.gate == nil {
		return do()
	}
	call := req.call()
	if err := c.gate.Before(call); err != nil {
		return err
	}
	return c.gate.After(call, do())
}

// forgetActions keeps the list of recorded actions, which nothing else ever
// shortens, from growing without bound.
func (c *Client) forgetActions() {
	if !c.remembers || c.calls.Add(1)%keepActions == 0 {
		c.ClearActions()
	}
}
