package attachdetach

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/trace"
)

// reconcile compares both worlds for the volumes that were touched. It detaches first, so that a volume can be
// attached elsewhere.
// Upstream: reconciler/reconciler.go reconcile, v1.37.
func (c *controller) reconcile(ctx context.Context, _ string) error {
	if !c.started {
		c.start()
	}
	touched := slices.Sorted(maps.Keys(c.touched))
	clear(c.touched)
	var actual []*attachedVolume
	for _, name := range touched {
		actual = append(actual, c.actual.at(name)...)
	}
	control.Shuffle(c.env, actual)
	for _, v := range actual {
		if c.desired.get(v.place) == nil {
			c.detachUndesired(ctx, v)
		}
	}
	var desired []*volumeToAttach
	for _, name := range touched {
		// The nodes that want a volume for one node share its backoff, so that the same one could always come first, be it one where
		// attaching fails for ever. Upstream takes them in the order of a map: by chance the others have their turn. Here the one that was
		// tried longest ago does.
		at := c.desired.at(name)
		slices.SortStableFunc(at, func(a, b *volumeToAttach) int { return a.tried.Compare(b.tried) })
		desired = append(desired, at...)
	}
	control.Shuffle(c.env, desired)
	for _, v := range desired {
		c.attachDesired(v)
	}
	c.updateNodeStatuses(ctx)
	return nil
}

// detachUndesired starts to detach a volume that no pod needs, if that is safe.
func (c *controller) detachUndesired(ctx context.Context, v *attachedVolume) {
	at, now := v.place, c.env.Now()
	if !c.operations.isSafeToRetry(c.operationAt(at), detachOperation, now) || c.actual.get(at) != v {
		return
	}
	if v.detachRequested.IsZero() {
		v.detachRequested = now
		c.touchAfter(c.cfg.maxWaitForUnmount(), at.volume)
	}
	verdict := judge(c.cfg, now.Sub(v.detachRequested), c.actual.inUse[at.node][at.volume], c.healthOfNode(at.node))
	if !verdict.detach {
		return
	}
	// First the node learns that the volume is not safe to mount any more.
	c.actual.unreport(at)
	if err := c.updateNodeStatusForNode(ctx, at.node); err != nil {
		c.actual.report(at)
		c.touch(at.volume)
		return
	}
	c.run(c.operationAt(at), detachOperation, fmt.Sprintf("detach %s from %s", c.nameOf(at.volume), at.node), func(ctx context.Context) error {
		return c.detachVolume(ctx, at, verdict.verify)
	})
	if verdict.forced != "" {
		c.note(at.volume, fmt.Sprintf("is detached from node %s although the node may still use it: %s", at.node, verdict.forced))
	}
}

// verdict is the decision about a volume that no pod needs.
type verdict struct {
	detach bool
	// verify: before it is detached, the API is asked whether the node uses it.
	verify bool
	// forced says why the volume is detached although the node uses it; "" if the node does not.
	forced string
}

// judge decides whether to detach a volume that no pod has needed for the time waited. inUse tells whether its node
// says that it uses the volume.
// Upstream: reconciler.go reconcile, v1.37.
func judge(cfg Config, waited time.Duration, inUse bool, node health) verdict {
	expired := waited > cfg.maxWaitForUnmount() && !cfg.DisableForceDetachOnTimeout
	force := expired && cfg.forceDetach(node.ready)
	v := verdict{detach: !inUse || force || node.outOfService, verify: !expired && !node.outOfService}
	switch {
	case !inUse:
	case node.outOfService:
		v.forced = "the node is out of service"
	case force && node.ready:
		v.forced = fmt.Sprintf("no pod has needed it for %s", cfg.maxWaitForUnmount())
	case force:
		v.forced = fmt.Sprintf("the node is not ready, and no pod has needed it for %s", cfg.maxWaitForUnmount())
	}
	return v
}

// health is the part of a node's state that decides about detaching.
type health struct{ ready, outOfService bool }

// healthOf reports whether a node is ready, and whether it was declared out of service.
// Upstream: reconciler.go nodeIsHealthy and hasOutOfServiceTaint, v1.37.
func healthOf(node *v1.Node) (h health) {
	for _, condition := range node.Status.Conditions {
		if condition.Type == v1.NodeReady {
			h.ready = condition.Status == v1.ConditionTrue
		}
	}
	h.outOfService = slices.ContainsFunc(node.Spec.Taints, func(t v1.Taint) bool { return t.Key == v1.TaintNodeOutOfService })
	return h
}

// healthOfNode returns the health of a node. A node that does not exist is not ready.
func (c *controller) healthOfNode(name string) (h health) {
	if node, ok := c.nodes.Get(name); ok {
		h = healthOf(node)
	}
	return h
}

// attachDesired starts to attach a volume that is not attached yet.
// Upstream: reconciler.go attachDesiredVolumes, v1.37.
func (c *controller) attachDesired(v *volumeToAttach) {
	key := operationFor(v.pv, v.place)
	if c.operations.isPending(key) {
		return
	}
	if c.actual.state(v.place) == attached {
		c.actual.get(v.place).detachRequested = time.Time{} // needed again
		return
	}
	if nodes := c.actual.nodesOf(v.volume); !isMultiAttachAllowed(v.pv) && len(nodes) > 0 {
		if !v.multiAttachErrorReported {
			c.reportMultiAttachError(v, nodes)
			v.multiAttachErrorReported = true
		}
		return
	}
	pods := v.scheduledPods()
	started := c.run(key, attachOperation, fmt.Sprintf("attach %s to %s", v.pv.Name, v.node), func(ctx context.Context) error {
		return c.attachVolume(ctx, v.place, v.pv, pods)
	})
	if started {
		v.tried = c.env.Now()
	}
}

// mark records the state of a volume at a node.
func (c *controller) mark(at place, pv *v1.PersistentVolume, state attachState) {
	if state == detached {
		c.actual.remove(at)
	} else {
		c.actual.set(at, pv, state)
	}
	c.touch(at.volume)
}

// note writes a decision about a volume to the trace.
func (c *controller) note(name v1.UniqueVolumeName, text string) {
	c.env.Trace(trace.Decision{About: trace.Ref{Kind: "PersistentVolume", Name: c.nameOf(name)}, Text: text})
}

// nameOf returns the name of a volume's PersistentVolume or, if it is not known, the volume's own.
func (c *controller) nameOf(name v1.UniqueVolumeName) string {
	if pv := c.actual.pvs[name]; pv != nil {
		return pv.Name
	}
	return string(name)
}
