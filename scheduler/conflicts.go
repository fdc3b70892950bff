package scheduler

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/binding"
)

// problem is a Conflict that has not been put into words: most are only counted.
type problem struct {
	reason ConflictReason
	cause  cause
	claim  *v1.PersistentVolumeClaim
	pv     *v1.PersistentVolume
}

// cause is the exact reason of a conflict.
type cause int

const (
	// none is no problem.
	none cause = iota
	// noVolume: the claim is bound to a volume that does not exist.
	noVolume
	// volumeElsewhere: the claim's volume cannot be reached.
	volumeElsewhere
	// otherNodeSelected: the claim is being provisioned on another node.
	otherNodeSelected
	// noProvisioner: no volume fits, and none will be made.
	noProvisioner
	// wrongTopology: the class allows no volume here.
	wrongTopology
	// noRoom: the storage system has too little left.
	noRoom
)

// detail says in words what is wrong on the node; allowed are the topologies of the
// claim's class.
func (p problem) detail(node *v1.Node, allowed []v1.TopologySelectorTerm) string {
	class := binding.GetPersistentVolumeClaimClass(p.claim)
	switch p.cause {
	case noVolume:
		return fmt.Sprintf("it is bound to pv %s, which does not exist", p.claim.Spec.VolumeName)
	case volumeElsewhere:
		return fmt.Sprintf("it is bound to pv %s: %s", p.pv.Name, binding.ExplainNodeAffinity(p.pv, node.Labels))
	case otherNodeSelected:
		return fmt.Sprintf("its volume is being made for node %s (%s)", p.claim.Annotations[binding.AnnSelectedNode], binding.AnnSelectedNode)
	case noProvisioner:
		return fmt.Sprintf("no volume of class %s fits, and the class has no provisioner", class)
	case wrongTopology:
		return fmt.Sprintf("allowedTopologies of class %s do not include the node: %s", class, binding.ExplainNodeSelector(topologySelector(allowed), node))
	case noRoom:
		request := p.claim.Spec.Resources.Requests[v1.ResourceStorage]
		return fmt.Sprintf("no CSIStorageCapacity of class %s for the node has room for %s", class, request.String())
	}
	return ""
}

// topologySelector returns a class's allowedTopologies as a selector of nodes.
func topologySelector(terms []v1.TopologySelectorTerm) *v1.NodeSelector {
	selector := &v1.NodeSelector{}
	for _, term := range terms {
		var same v1.NodeSelectorTerm
		for _, r := range term.MatchLabelExpressions {
			same.MatchExpressions = append(same.MatchExpressions, v1.NodeSelectorRequirement{Key: r.Key, Operator: v1.NodeSelectorOpIn, Values: r.Values})
		}
		selector.NodeSelectorTerms = append(selector.NodeSelectorTerms, same)
	}
	return selector
}

// reasonSet is a set of reasons, a bit for each of conflictReasons.
type reasonSet uint8

// allReasons is the set of all of them.
const allReasons reasonSet = 1<<4 - 1

// setOf returns the set of one reason.
func setOf(reason ConflictReason) reasonSet {
	switch reason {
	case ErrReasonNodeConflict:
		return 1
	case ErrReasonBindConflict:
		return 1 << 1
	case ErrReasonNotEnoughSpace:
		return 1 << 2
	default: // ErrReasonPVNotExist
		return 1 << 3
	}
}

// texts returns the reasons in upstream's order.
func (s reasonSet) texts() []string {
	var list []string
	for _, reason := range conflictReasons() {
		if s&setOf(reason) != 0 {
			list = append(list, string(reason))
		}
	}
	return list
}
