package nodelifecycle

import (
	"context"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/control"
)

// nodeEvictionPeriod is the interval at which the queues of nodes to be tainted are checked.
// Upstream: nodelifecycle/scheduler NodeEvictionPeriod, v1.37.
const nodeEvictionPeriod = 100 * time.Millisecond

// line is the queue of the nodes of a zone that are to be tainted, with its rate limit. A node stays in the set
// after its turn, so that it is not queued again.
// Upstream: nodelifecycle/scheduler RateLimitedTimedQueue, v1.37.
type line struct {
	waiting []string
	set     map[string]bool

	qps, tokens float64
	refilled    time.Time
}

func newLine(qps float64, now time.Time) line {
	return line{set: map[string]bool{}, qps: qps, tokens: 1, refilled: now}
}

func (l *line) add(name string) {
	if !l.set[name] {
		l.set[name] = true
		l.waiting = append(l.waiting, name)
	}
}

func (l *line) remove(name string) {
	if l.set[name] {
		delete(l.set, name)
		l.done(name)
	}
}

// done removes a node from the queue, but not from the set.
func (l *line) done(name string) {
	l.waiting = slices.DeleteFunc(l.waiting, func(other string) bool { return other == name })
}

// refill adds the tokens since the last call, up to one token.
func (l *line) refill(now time.Time) {
	l.tokens = min(1, l.tokens+now.Sub(l.refilled).Seconds()*l.qps)
	l.refilled = now
}

// accept takes a token, if there is one.
func (l *line) accept(now time.Time) bool {
	l.refill(now)
	const almost = 1 - 1e-9 // 1, after many roundings
	if l.qps <= 0 || l.tokens < almost {
		return false
	}
	l.tokens--
	return true
}

// swapLimiter changes the rate. Nodes that wait go on waiting.
// Upstream: nodelifecycle/scheduler SwapLimiter, v1.37.
func (l *line) swapLimiter(qps float64, now time.Time) {
	if l.qps == qps {
		return
	}
	waited := !l.accept(now)
	l.qps, l.tokens = qps, 1
	if waited {
		l.tokens = 0
	}
}

// next returns the time until a node can be tainted. It returns false if no node waits, or none may be tainted.
func (l *line) next(now time.Time) (time.Duration, bool) {
	if len(l.waiting) == 0 || l.qps <= 0 {
		return 0, false
	}
	l.refill(now)
	return max(nodeEvictionPeriod, time.Duration((1-l.tokens)/l.qps*float64(time.Second)).Round(time.Millisecond)), true
}

// evictionTaint returns, for a status of the condition Ready, the taint that evicts a node's pods and the taint that
// the node must not have then. A ready node needs neither.
// Upstream: node_lifecycle_controller.go NotReadyTaintTemplate and
// UnreachableTaintTemplate, v1.37.
func evictionTaint(ready v1.ConditionStatus) (want, opposite v1.Taint) {
	notReady := v1.Taint{Key: v1.TaintNodeNotReady, Effect: v1.TaintEffectNoExecute}
	unreachable := v1.Taint{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute}
	switch ready {
	case v1.ConditionFalse:
		return notReady, unreachable
	case v1.ConditionUnknown:
		return unreachable, notReady
	}
	return v1.Taint{}, v1.Taint{}
}

func hasTaint(node *v1.Node, taint v1.Taint) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t v1.Taint) bool { return t.MatchTaint(&taint) })
}

// markNodeForTainting queues a node in its zone, also again if it has lost the taint.
// Upstream: node_lifecycle_controller.go markNodeForTainting, v1.37.
func (c *controller) markNodeForTainting(node *v1.Node, taint v1.Taint) {
	z := c.zones[zoneOf(node)]
	if z == nil {
		return
	}
	if !hasTaint(node, taint) {
		z.remove(node.Name)
	}
	z.add(node.Name)
}

// markNodeAsReachable removes the taints that evict. If that fails, the next round tries again.
// Upstream: node_lifecycle_controller.go markNodeAsReachable, v1.37.
func (c *controller) markNodeAsReachable(ctx context.Context, node *v1.Node) {
	for _, status := range []v1.ConditionStatus{v1.ConditionUnknown, v1.ConditionFalse} {
		if taint, _ := evictionTaint(status); hasTaint(node, taint) {
			if err := c.removeTaints(ctx, node.Name, taint); err != nil {
				return
			}
		}
	}
	if z := c.zones[zoneOf(node)]; z != nil {
		z.remove(node.Name)
	}
}

// startTainting processes the queues in the background as long as a node waits.
func (c *controller) startTainting() {
	if _, waits := c.nextTaint(); c.tainting || !waits {
		return
	}
	c.tainting = true
	c.env.Go("taint nodes that are not ready", func(ctx context.Context) {
		defer func() { c.tainting = false }()
		for {
			pause, waits := c.nextTaint()
			if !waits || c.env.Sleep(control.InBackground(ctx), pause) != nil {
				return
			}
			c.doNoExecuteTaintingPass(ctx)
		}
	})
}

// nextTaint returns the time until any node can be tainted.
func (c *controller) nextTaint() (pause time.Duration, waits bool) {
	for _, z := range c.zones {
		if d, ok := z.next(c.env.Now()); ok && (!waits || d < pause) {
			pause, waits = d, true
		}
	}
	return pause, waits
}

// doNoExecuteTaintingPass taints the nodes whose turn it is.
// Upstream: node_lifecycle_controller.go doNoExecuteTaintingPass, v1.37.
func (c *controller) doNoExecuteTaintingPass(ctx context.Context) {
	for _, key := range slices.Sorted(maps.Keys(c.zones)) {
		z := c.zones[key]
		for z != nil && len(z.waiting) > 0 && z.accept(c.env.Now()) {
			name := z.waiting[0]
			if c.taintForEviction(ctx, name) {
				z.done(name)
			}
		}
	}
}

// taintForEviction gives a node the taint that evicts its pods. It reports whether nothing is left to do.
func (c *controller) taintForEviction(ctx context.Context, name string) bool {
	node, found := c.nodes.Get(name)
	if !found {
		return true
	}
	ready := readyCondition(node)
	if ready == nil {
		return false
	}
	want, opposite := evictionTaint(ready.Status)
	return want.Key == "" || c.swapNodeControllerTaint(ctx, name, []v1.Taint{want}, []v1.Taint{opposite}) == nil
}
