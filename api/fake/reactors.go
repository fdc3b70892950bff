package fake

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/testing"
)

// client-go's Fake holds its lock while it goes through its reactors. Here the server may
// take its time, or let others run meanwhile, so that the chain is gone through in this
// file: the lock is held for the reactors that a test put before the server, and no longer.
// The server itself is the last reactor of the chain.

// keepActions is the number of actions that Actions returns, the latest.
const keepActions = 1000

// serverReactor is the server as a reactor. A test's reactor may call it, without the
// caller's context; such a call keeps the clientset's lock for as long as it takes.
type serverReactor Clientset

func (s *serverReactor) Handles(testing.Action) bool { return true }

func (s *serverReactor) React(action testing.Action) (bool, runtime.Object, error) {
	if !isRequest(action) {
		return false, nil, nil
	}
	req := requestOf(s.actor, action)
	req.Object = copyOf(req.Object)
	obj, err := s.server.Do(context.Background(), req)
	return true, obj, err
}

// serverWatchReactor is the server as a reactor to watches.
type serverWatchReactor Clientset

func (s *serverWatchReactor) Handles(testing.Action) bool { return true }

func (s *serverWatchReactor) React(action testing.Action) (bool, watch.Interface, error) {
	w, err := s.server.Watch(context.Background(), requestOf(s.actor, action))
	return true, w, err
}

// forward hands the calls of one of client-go's own fakes to the clientset.
type forward Clientset

func (f *forward) Handles(testing.Action) bool { return true }

func (f *forward) React(action testing.Action) (bool, runtime.Object, error) {
	return (*Clientset)(f).react(action)
}

// listens reports whether the calls go to reactors or are recorded, beside the server.
func (c *Clientset) listens() bool {
	if c.keeps {
		return true
	}
	c.RLock()
	defer c.RUnlock()
	return len(c.ReactionChain) != 1 || c.ReactionChain[0] != testing.Reactor((*serverReactor)(c)) ||
		len(c.WatchReactionChain) != 1 || c.WatchReactionChain[0] != testing.WatchReactor((*serverWatchReactor)(c))
}

// react has the reactors before the server's answer. Without that one in the chain, nil is
// the answer.
func (c *Clientset) react(action testing.Action) (handled bool, obj runtime.Object, err error) {
	c.Lock()
	defer c.Unlock()
	c.keep(action)
	for _, r := range c.ReactionChain {
		if _, last := r.(*serverReactor); last {
			return false, nil, nil
		}
		if !r.Handles(action) {
			continue
		}
		if handled, obj, err = r.React(action); handled {
			return true, obj, err
		}
	}
	return isRequest(action), nil, nil
}

// reactToWatch runs the reactors of watches.
func (c *Clientset) reactToWatch(action testing.Action) (handled bool, w watch.Interface, err error) {
	c.Lock()
	defer c.Unlock()
	c.keep(action)
	for _, r := range c.WatchReactionChain {
		if _, last := r.(*serverWatchReactor); last {
			return false, nil, nil
		}
		if !r.Handles(action) {
			continue
		}
		if handled, w, err = r.React(action); handled {
			return true, w, err
		}
	}
	return true, nil, fmt.Errorf("no reactor handles the watch of %s", action.GetResource().Resource)
}

// keep remembers a call. The caller holds the lock.
func (c *Clientset) keep(action testing.Action) {
	if !c.keeps {
		return
	}
	if len(c.actions) == keepActions {
		c.actions = c.actions[1:]
	}
	c.actions = append(c.actions, action.DeepCopy())
}

// Actions returns the latest calls, at most 1000, the oldest first.
func (c *Clientset) Actions() []testing.Action {
	c.RLock()
	defer c.RUnlock()
	return append([]testing.Action{}, c.actions...)
}

// ClearActions forgets the calls so far.
func (c *Clientset) ClearActions() {
	c.Lock()
	defer c.Unlock()
	c.actions = nil
}

// Invokes makes the call that an action describes, as a typed client would. If no reactor
// answers it, defaultReturn is the answer.
func (c *Clientset) Invokes(action testing.Action, defaultReturn runtime.Object) (runtime.Object, error) {
	if !isRequest(action) {
		if handled, obj, err := c.react(action); handled {
			return obj, err
		}
		return defaultReturn, nil
	}
	return c.Do(context.Background(), requestOf(c.actor, action))
}

// InvokesWatch begins the watch that an action describes.
func (c *Clientset) InvokesWatch(action testing.Action) (watch.Interface, error) {
	return c.Watch(context.Background(), requestOf(c.actor, action))
}

// InvokesProxy asks the reactors of ProxyReactionChain: the server has no proxy.
func (c *Clientset) InvokesProxy(action testing.Action) rest.ResponseWrapper {
	c.Lock()
	c.keep(action)
	c.Unlock()
	return c.Fake.InvokesProxy(action)
}

// isRequest reports whether the server could answer that action. It could not answer those of
// discovery and logs.
func isRequest(action testing.Action) bool {
	switch action.(type) {
	case testing.GenericActionImpl, testing.ActionImpl, testing.ProxyGetActionImpl:
		return false
	}
	return true
}

// endingWith returns a watch that a reactor began and that ends with ctx.
func endingWith(ctx context.Context, w watch.Interface) watch.Interface {
	if w != nil && ctx.Done() != nil {
		context.AfterFunc(ctx, w.Stop)
	}
	return w
}
