package scheduler

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/control"
)

// What upstream's reasons leave out: each plugin says what exactly it found.

func (nodeUnschedulable) Why(*cycle, *nodeInfo) string {
	return "it is cordoned"
}

func (taintToleration) Why(c *cycle, node *nodeInfo) string {
	taint := untolerated(c.pod, node.taints)
	return fmt.Sprintf("the pod does not tolerate the taint %s", taint.ToString())
}

func (nodeAffinity) Why(c *cycle, node *nodeInfo) string {
	if c.excludes(node) {
		return "the pod's affinity is for " + strings.Join(slices.Sorted(maps.Keys(c.nodeNames)), ", ")
	}
	for _, key := range slices.Sorted(maps.Keys(c.pod.Spec.NodeSelector)) {
		want := c.pod.Spec.NodeSelector[key]
		switch have, ok := node.node.Labels[key]; {
		case !ok:
			return fmt.Sprintf("nodeSelector wants %s=%s, the node has no such label", key, want)
		case have != want:
			return fmt.Sprintf("nodeSelector wants %s=%s, the node has %q", key, want, have)
		}
	}
	return "required affinity: " + binding.ExplainNodeSelector(requiredSelector(c.pod), node.node)
}

func (nodePorts) Why(c *cycle, node *nodeInfo) string {
	for _, want := range c.ports {
		if slices.ContainsFunc(node.ports, want.clashes) {
			return fmt.Sprintf("port %d/%s is taken", want.port, want.protocol)
		}
	}
	return ""
}

func (resourcesFit) Why(c *cycle, node *nodeInfo) string {
	var list []string
	if node.pods+1 > node.maxPods {
		list = append(list, fmt.Sprintf("it has %d pods and takes %d", node.pods, node.maxPods))
	}
	say := func(name v1.ResourceName, want, has, used *resource.Quantity) {
		if free := has.DeepCopy(); !want.IsZero() {
			free.Sub(*used)
			if want.Cmp(free) > 0 {
				list = append(list, fmt.Sprintf("the pod requests %s %s, the node has %s, of which %s are requested already", want, name, has, used))
			}
		}
	}
	milli := func(n int64) *resource.Quantity { return resource.NewMilliQuantity(n, resource.DecimalSI) }
	bytes := func(n int64) *resource.Quantity { return resource.NewQuantity(n, resource.BinarySI) }
	request, has, used := c.request, node.allocatable, node.requested
	say(v1.ResourceCPU, milli(request.milliCPU), milli(has.milliCPU), milli(used.milliCPU))
	say(v1.ResourceMemory, bytes(request.memory), bytes(has.memory), bytes(used.memory))
	say(v1.ResourceEphemeralStorage, bytes(request.ephemeral), bytes(has.ephemeral), bytes(used.ephemeral))
	for _, name := range slices.Sorted(maps.Keys(request.scalar)) {
		say(name, milli(1000*request.scalar[name]), milli(1000*has.scalar[name]), milli(1000*used.scalar[name]))
	}
	return strings.Join(list, "; ")
}

func (p volumeRestrictions) Why(c *cycle, node *nodeInfo) string {
	for _, placed := range node.volumePods {
		if disksConflict(c.pod, placed.pod) {
			return fmt.Sprintf("pod %s on it has the same disk", control.Key(placed.pod))
		}
	}
	var users []string
	for _, key := range c.rwopClaims {
		for _, placed := range p.cluster.placed { // sorted below
			if slices.Contains(placed.claims, key) {
				users = append(users, fmt.Sprintf("pvc %s is used by pod %s on node %s", key, control.Key(placed.pod), placed.node))
			}
		}
	}
	slices.Sort(users)
	return strings.Join(users, "; ")
}

func (p nodeVolumeLimits) Why(c *cycle, node *nodeInfo) string {
	if driver := p.missing(c, node); driver != "" {
		return fmt.Sprintf("CSIDriver %s has preventPodSchedulingIfMissing, and the node's CSINode does not list it", driver)
	}
	driver, attached, limit := p.overLimit(c, node)
	return fmt.Sprintf("driver %s has %d volumes there and attaches at most %d", driver, attached, limit)
}

func (volumeZone) Why(c *cycle, node *nodeInfo) string {
	want := wrongZone(c.zones, node.node.Labels)
	where := fmt.Sprintf("pv %s is in %s %s", want.volume, want.key, strings.Join(want.values, " and "))
	for _, key := range []string{want.key, translateToGALabel(want.key)} {
		if have, ok := node.node.Labels[key]; ok {
			return fmt.Sprintf("%s, the node has %q", where, have)
		}
	}
	return where + ", the node has no such label"
}
