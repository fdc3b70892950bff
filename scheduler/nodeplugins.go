package scheduler

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// The reasons are upstream's.
const (
	reasonUnschedulable = "node(s) were unschedulable"
	reasonTaint         = "node(s) had untolerated taint(s)"
	reasonPorts         = "node(s) didn't have free ports for the requested pod ports"
)

// nodeUnschedulable turns down cordoned nodes.
// Upstream: plugins/nodeunschedulable, v1.37.
type nodeUnschedulable struct{}

func (nodeUnschedulable) Name() string { return "NodeUnschedulable" }

// Upstream: node_unschedulable.go EventsToRegister, v1.37.
func (nodeUnschedulable) EventsToRegister() []registration {
	return []registration{
		upon(added|updateNodeTaint, isSchedulableAfterCordonChange),
		upon(updatePodToleration, func(pod *v1.Pod, _, after *v1.Pod) bool { return pod.UID == after.UID && toleratesCordon(after) }),
	}
}

// isSchedulableAfterCordonChange: a node comes that is not cordoned, or a cordon ends.
// Upstream: node_unschedulable.go isSchedulableAfterNodeChange, v1.37.
func isSchedulableAfterCordonChange(_ *v1.Pod, before, after *v1.Node) bool {
	return !after.Spec.Unschedulable && (before == nil || before.Spec.Unschedulable)
}

func (nodeUnschedulable) Filter(c *cycle, node *nodeInfo) *status {
	if !node.cordoned || toleratesCordon(c.pod) {
		return nil
	}
	return refuse(unresolvable, reasonUnschedulable)
}

// toleratesCordon: the pod may go to a cordoned node.
func toleratesCordon(pod *v1.Pod) bool {
	return tolerated(pod, &v1.Taint{Key: v1.TaintNodeUnschedulable, Effect: v1.TaintEffectNoSchedule})
}

// taintToleration turns down nodes with a NoSchedule or NoExecute taint that the
// pod does not tolerate, and prefers nodes with fewer untolerated
// PreferNoSchedule taints.
// Upstream: plugins/tainttoleration, v1.37.
type taintToleration struct{}

func (taintToleration) Name() string  { return "TaintToleration" }
func (taintToleration) Weight() int64 { return 3 }

// Upstream: taint_toleration.go EventsToRegister, v1.37.
func (taintToleration) EventsToRegister() []registration {
	return []registration{
		upon(added|updateNodeTaint, isSchedulableAfterTaintChange),
		upon(updatePodToleration, func(pod *v1.Pod, _, after *v1.Pod) bool { return pod.UID == after.UID }),
	}
}

// isSchedulableAfterTaintChange: a node comes that has no taint that keeps the pod off,
// or loses the last one.
// Upstream: taint_toleration.go isSchedulableAfterNodeChange, v1.37.
func isSchedulableAfterTaintChange(pod *v1.Pod, before, after *v1.Node) bool {
	return untolerated(pod, after.Spec.Taints) == nil && (before == nil || untolerated(pod, before.Spec.Taints) != nil)
}

func (taintToleration) Filter(c *cycle, node *nodeInfo) *status {
	if untolerated(c.pod, node.taints) != nil {
		return refuse(unresolvable, reasonTaint)
	}
	return nil
}

// untolerated returns the first taint that keeps the pod off.
func untolerated(pod *v1.Pod, taints []v1.Taint) *v1.Taint {
	for i := range taints {
		taint := &taints[i]
		if taint.Effect != v1.TaintEffectPreferNoSchedule && !tolerated(pod, taint) {
			return taint
		}
	}
	return nil
}

// Score counts the taints that would rather keep the pod off.
func (taintToleration) Score(c *cycle, node *nodeInfo) int64 {
	bad := 0
	for i := range node.taints {
		taint := &node.taints[i]
		if taint.Effect == v1.TaintEffectPreferNoSchedule && !tolerated(c.pod, taint) {
			bad++
		}
	}
	return int64(bad)
}

func (taintToleration) NormalizeScore(scores []int64) { defaultNormalizeScore(scores, true) }

func tolerated(pod *v1.Pod, taint *v1.Taint) bool {
	return slices.ContainsFunc(pod.Spec.Tolerations, func(t v1.Toleration) bool { return tolerates(t, taint) })
}

// tolerates: an empty effect matches every effect, an empty key every key, and
// an empty operator means Equal.
// Upstream: api/core/v1 Toleration.ToleratesTaint, v1.37.
func tolerates(t v1.Toleration, taint *v1.Taint) bool {
	if t.Effect != "" && t.Effect != taint.Effect || t.Key != "" && t.Key != taint.Key {
		return false
	}
	switch t.Operator {
	case v1.TolerationOpExists:
		return true
	case "", v1.TolerationOpEqual:
		return t.Value == taint.Value
	}
	return false
}

// hostPort is a port that a container takes on its node.
type hostPort struct {
	ip, protocol string
	port         int32
}

// clashes: the same port and protocol on the same address; 0.0.0.0 is all
// addresses.
func (p hostPort) clashes(other hostPort) bool {
	const all = "0.0.0.0"
	return p.port == other.port && p.protocol == other.protocol && (p.ip == other.ip || p.ip == all || other.ip == all)
}

func hostPorts(pod *v1.Pod) []hostPort {
	var list []hostPort
	for _, c := range pod.Spec.Containers {
		for _, p := range c.Ports {
			if p.HostPort == 0 {
				continue
			}
			port := hostPort{ip: p.HostIP, protocol: string(p.Protocol), port: p.HostPort}
			if port.ip == "" {
				port.ip = "0.0.0.0"
			}
			if port.protocol == "" {
				port.protocol = string(v1.ProtocolTCP)
			}
			list = append(list, port)
		}
	}
	return list
}

// nodePorts turns down nodes on which a host port of the pod is taken.
// Upstream: plugins/nodeports, v1.37.
type nodePorts struct{}

func (nodePorts) Name() string { return "NodePorts" }

// Upstream: node_ports.go EventsToRegister, v1.37.
func (nodePorts) EventsToRegister() []registration {
	return []registration{upon(deleted, isSchedulableAfterPortsFreed), upon(added, always[*v1.Node])}
}

// isSchedulableAfterPortsFreed: a pod leaves that had one of the ports.
// Upstream: node_ports.go isSchedulableAfterAssignedPodDeleted, v1.37.
func isSchedulableAfterPortsFreed(pod, before, _ *v1.Pod) bool {
	taken := hostPorts(before)
	return hasPlace(before) && slices.ContainsFunc(hostPorts(pod), func(want hostPort) bool { return slices.ContainsFunc(taken, want.clashes) })
}

func (nodePorts) PreFilter(c *cycle) *status {
	if c.ports = hostPorts(c.pod); len(c.ports) == 0 {
		return refuse(skip)
	}
	return nil
}

func (nodePorts) Filter(c *cycle, node *nodeInfo) *status {
	for _, want := range c.ports {
		if slices.ContainsFunc(node.ports, want.clashes) {
			return refuse(unschedulable, reasonPorts)
		}
	}
	return nil
}
