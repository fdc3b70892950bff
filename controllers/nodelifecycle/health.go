package nodelifecycle

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/semantic"
)

// Upstream: node_lifecycle_controller.go retrySleepTime, and nodelifecycle/scheduler
// NodeHealthUpdateRetry, v1.37.
const (
	retrySleepTime        = 20 * time.Millisecond
	nodeHealthUpdateRetry = 5
)

// nodeHealth holds the last signs of life of one node.
// Upstream: node_lifecycle_controller.go nodeHealthData, v1.37.
type nodeHealth struct {
	// ready is the condition Ready at the last look, nil if the node had none.
	ready *v1.NodeCondition
	// renewed is the time in the node's lease and leaseVersion the version of that lease, probe the time of the last
	// sign of life that this controller saw.
	renewed      metav1.MicroTime
	leaseVersion string
	probe        time.Time
}

// readyCondition returns the condition Ready of a node, nil if it has none.
func readyCondition(node *v1.Node) *v1.NodeCondition { return conditionOf(node, v1.NodeReady) }

func conditionOf(node *v1.Node, kind v1.NodeConditionType) *v1.NodeCondition {
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == kind {
			return c
		}
	}
	return nil
}

// probe looks for signs of life of a node since the last round. It returns them and the time for which the node may
// be silent.
// Upstream: node_lifecycle_controller.go tryUpdateNodeHealth, v1.37, its first half.
func (c *controller) probe(node *v1.Node) (*nodeHealth, time.Duration) {
	now, grace := c.env.Now(), nodeMonitorGracePeriod
	known, ready := c.health[node.Name], readyCondition(node)
	if ready == nil {
		grace = nodeStartupGracePeriod
		if known == nil {
			known = &nodeHealth{probe: node.CreationTimestamp.Time}
		}
		known.ready = nil
	}
	switch {
	case known == nil, known.ready == nil && ready != nil:
		known = &nodeHealth{ready: ready, probe: now}
	case ready != nil && !known.ready.LastHeartbeatTime.Equal(&ready.LastHeartbeatTime):
		known = &nodeHealth{ready: ready, probe: now, renewed: known.renewed, leaseVersion: known.leaseVersion}
	}
	c.health[node.Name] = known
	lease, found := c.leases.Get(v1.NamespaceNodeLease + "/" + node.Name)
	if found && lease.Spec.RenewTime != nil && (known.renewed.IsZero() || known.renewed.Before(lease.Spec.RenewTime)) {
		known.renewed, known.leaseVersion, known.probe = *lease.Spec.RenewTime, lease.ResourceVersion, now
	}
	return known, grace
}

// errLeaseCacheStale is the error for a node of which nothing can be said before the cache of leases has caught up.
// Upstream: node_lifecycle_controller.go shortCircuitError, v1.37.
var errLeaseCacheStale = errors.New("the cache of leases is stale")

// checkLease returns an error if the node's lease on the server is not the one whose renewal counted last: it may have
// been renewed. Until the cache has that version, no node is given up. A lease that is changed in another way after its
// last renewal keeps its node for ever, as upstream.
// Upstream: node_lifecycle_controller.go tryUpdateNodeHealth with NodeControllerLeaseCircuitBreaker, v1.37.
func (c *controller) checkLease(ctx context.Context, name string, health *nodeHealth) error {
	lease, err := c.client.CoordinationV1().Leases(v1.NamespaceNodeLease).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("%w: %w", errLeaseCacheStale, err)
	case lease.ResourceVersion != health.leaseVersion:
		c.mustSee = leaseVersion{name, lease.ResourceVersion}
		return errLeaseCacheStale
	}
	return nil
}

// A leaseVersion is a version of a node's lease.
type leaseVersion struct{ node, version string }

// leasesReady reports whether the cache of leases has the version that it was found to lack.
// Upstream: node_lifecycle_controller.go consistencyStore.EnsureReady, v1.37.
func (c *controller) leasesReady() bool {
	if c.mustSee.node == "" {
		return true
	}
	lease, found := c.leases.Get(v1.NamespaceNodeLease + "/" + c.mustSee.node)
	if found && versionLess(lease.ResourceVersion, c.mustSee.version) {
		return false
	}
	c.mustSee = leaseVersion{}
	return true
}

// versionLess compares two resource versions, which are numbers without leading zeros.
// Upstream: apimachinery pkg/util/resourceversion CompareResourceVersion, v0.37.
func versionLess(a, b string) bool { return len(a) < len(b) || len(a) == len(b) && a < b }

// tryUpdateNodeHealth sets the conditions of a node that has been silent for too long to Unknown. It returns the
// condition Ready before and after that.
// Upstream: node_lifecycle_controller.go tryUpdateNodeHealth, v1.37.
func (c *controller) tryUpdateNodeHealth(ctx context.Context, node *v1.Node) (observed v1.NodeCondition, current *v1.NodeCondition, err error) {
	if !c.leasesReady() {
		return observed, nil, errLeaseCacheStale
	}
	health, grace := c.probe(node)
	observed = v1.NodeCondition{
		Type: v1.NodeReady, Status: v1.ConditionUnknown, LastHeartbeatTime: node.CreationTimestamp, LastTransitionTime: node.CreationTimestamp,
	}
	if current = readyCondition(node); current != nil {
		observed = *current
	}
	if !c.env.Now().After(health.probe.Add(grace)) || observed.Status == v1.ConditionUnknown && current != nil {
		return observed, current, nil
	}
	if err := c.checkLease(ctx, node.Name, health); err != nil {
		return observed, current, err
	}
	node = node.DeepCopy()
	c.setUnknown(node)
	if current = readyCondition(node); semantic.Equal(*current, observed) {
		return observed, current, nil
	}
	if _, err := c.client.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{}); err != nil {
		return observed, current, err
	}
	health.ready = current
	return observed, current, nil
}

// setUnknown sets a node's conditions to Unknown, except NetworkUnavailable, which the kubelet does not report.
// Upstream: node_lifecycle_controller.go tryUpdateNodeHealth, v1.37.
func (c *controller) setUnknown(node *v1.Node) {
	now := metav1.NewTime(c.env.Now().Truncate(time.Second))
	for _, kind := range []v1.NodeConditionType{v1.NodeReady, v1.NodeMemoryPressure, v1.NodeDiskPressure, v1.NodePIDPressure} {
		condition := conditionOf(node, kind)
		switch {
		case condition == nil:
			node.Status.Conditions = append(node.Status.Conditions, v1.NodeCondition{
				Type: kind, Status: v1.ConditionUnknown, Reason: "NodeStatusNeverUpdated", Message: "Kubelet never posted node status.",
				LastHeartbeatTime: node.CreationTimestamp, LastTransitionTime: now,
			})
		case condition.Status != v1.ConditionUnknown:
			condition.Status, condition.LastTransitionTime = v1.ConditionUnknown, now
			condition.Reason, condition.Message = "NodeStatusUnknown", "Kubelet stopped posting node status."
		}
	}
}

// updateNodeHealth calls tryUpdateNodeHealth. If that fails, it reads the node and tries again, unless the cache is to
// blame. It returns the node read last; nil if it cannot be read, or is left to the next round.
// Upstream: node_lifecycle_controller.go monitorNodeHealth, v1.37.
func (c *controller) updateNodeHealth(ctx context.Context, node *v1.Node) (_ *v1.Node, observed v1.NodeCondition, current *v1.NodeCondition) {
	for range nodeHealthUpdateRetry {
		var err error
		if observed, current, err = c.tryUpdateNodeHealth(ctx, node); err == nil {
			return node, observed, current
		}
		if errors.Is(err, errLeaseCacheStale) {
			break
		}
		if node, err = c.client.CoreV1().Nodes().Get(ctx, node.Name, metav1.GetOptions{}); err != nil {
			break
		}
		if c.env.Sleep(control.InBackground(ctx), retrySleepTime) != nil {
			break
		}
	}
	return nil, observed, nil
}
