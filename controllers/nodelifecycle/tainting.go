package nodelifecycle

import (
	"context"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/control"
)

// nodeEvictionPeriod is the number of times that the lines of nodes to be tainted are looked at.
// Upstream: nodelifecycle/scheduler NodeEvictionPeriod, v1.36.
const nodeEvictionPeriod = 100 * time.Millisecond

// line holds the nodes of a zone that are to be tainted, and how often that may be done. A
// node stays in the set after its turn, so that it does not get in line again.
// Upstream: nodelifecycle/scheduler RateLimitedTimedQueue, v1.36.
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

// done takes a node out of the line, but not out of the set.
func (l *line) done(name string) {
	l.waiting = slices.DeleteFunc(l.waiting, func(other string) bool { return other == name })
}

// refill counts what has come since the last look. There is never more than one token.
func (l *line) refill(now time.Time) {
	l.tokens = min(1, l.tokens+now.Sub(l.refilled).Seconds()*l.qps)
	l.refilled = now
}

// accept takes a token, if there is one.
func (l *line) accept(now time.Time) bool {
	l.refill(now)
	const almost = 1 - 1e-9 // of many small parts
	if l.qps <= 0 || l.tokens < almost {
		return false
	}
	l.tokens--
	return true
}

// swapLimiter changes how often nodes are tainted. Who had to wait goes on waiting.
// Upstream: nodelifecycle/scheduler SwapLimiter, v1.36.
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

// next returns the time that until a node can be tainted; false if none waits, or none may be.
func (l *line) next(now time.Time) (time.Duration, bool) {
	if len(l.waiting) == 0 || l.qps <= 0 {
		return 0, false
	}
	l.refill(now)
	return max(nodeEvictionPeriod, time.Duration((1-l.tokens)/l.qps*float64(time.Second)).Round(time.Millisecond)), true
}

// evictionTaint returns the taint with which a node of that condition Ready is to have its pods
// evicted, and the one that it must not have then. A node that is ready needs neither.
// Upstream: node_lifecycle_controller.go NotReadyTaintTemplate and
// UnreachableTaintTemplate, v1.36.
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

// markNodeForTainting puts a node into the line of its zone, anew if it has lost the taint.
// Upstream: node_lifecycle_controller.go markNodeForTainting, v1.36.
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

// markNodeAsReachable frees a node of the taints that evict. If that fails, the next round
// tries again.
// Upstream: node_lifecycle_controller.go markNodeAsReachable, v1.36.
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

// startTainting handles the queues of nodes in the background, as long as a node waits there.
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

// nextTaint returns the time that until some node can be tainted.
func (c *controller) nextTaint() (pause time.Duration, waits bool) {
	for _, z := range c.zones {
		if d, ok := z.next(c.env.Now()); ok && (!waits || d < pause) {
			pause, waits = d, true
		}
	}
	return pause, waits
}

// doNoExecuteTaintingPass taints those nodes whose turn it is.
// Upstream: node_lifecycle_controller.go doNoExecuteTaintingPass, v1.36.
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

// taintForEviction gives a node the taint that evicts its pods, and says whether nothing is
// left to do.
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
