package scheduler

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/binding"
)

// nodeInfo is a node with what the pods on it use.
// Upstream: framework.NodeInfo, v1.37.
type nodeInfo struct {
	node *v1.Node // nil if there is no such Node
	// What each decision reads of very many nodes is kept here, side by side: name, cordoned
	// and taints are the node's own, volumes holds the index's buckets for it.
	name          string
	cordoned      bool
	taints        []v1.Taint
	pods, maxPods int64
	volumes       binding.NodeBuckets
	volumeScore   volumeScore

	allocatable resources
	requested   resources
	ports       []hostPort // in use, in no particular order
	// placed are the pods, in no particular order.
	placed []*placement
	// volumePods are the pods with volumes, in no particular order.
	volumePods []*placement
}

// placement is a pod that counts on a node: bound there, or assumed to be.
type placement struct {
	pod     *v1.Pod
	node    string
	request resources
	claims  []string // keys of its claims
	// terms holds its affinity to other pods, nil if it has none.
	terms *affinityTerms
	// assumed: chosen by us and not yet seen bound in the cache.
	assumed bool
}

// clusterState is the nodes and pods as the scheduler counts them: what its
// caches have heard, and on top the pods it has assumed. Between two API calls
// nothing changes it, so a scheduling cycle needs no snapshot of its own.
// Upstream: scheduler/backend/cache, v1.37.
type clusterState struct {
	nodes []*nodeInfo // those that exist, by name
	// byZone are the same, a node of each zone in turn; nil: to be made anew.
	byZone []*nodeInfo
	infos  map[string]*nodeInfo // also of nodes that pods name and that do not exist
	placed map[types.UID]*placement
	// claimUsers counts the placed pods that use a claim.
	claimUsers map[string]int
	// affine are the placed pods with terms of affinity to other pods, in the order in which they were placed.
	affine []*placement
	// priorities counts the placed pods of each priority.
	priorities map[int32]int
}

func newClusterState() *clusterState {
	return &clusterState{infos: map[string]*nodeInfo{}, placed: map[types.UID]*placement{}, claimUsers: map[string]int{}, priorities: map[int32]int{}}
}

// hasBelow reports whether a placed pod has a lower priority than the pod.
func (s *clusterState) hasBelow(pod *v1.Pod) bool {
	for p := range s.priorities { // a question of whether, not of which
		if p < priority(pod) {
			return true
		}
	}
	return false
}

// node returns a node that exists.
func (s *clusterState) node(name string) (*nodeInfo, bool) {
	info, ok := s.infos[name]
	return info, ok && info.node != nil
}

func (s *clusterState) info(name string) *nodeInfo {
	if s.infos[name] == nil {
		s.infos[name] = &nodeInfo{}
	}
	return s.infos[name]
}

// setNode takes in a node's new state.
func (s *clusterState) setNode(node *v1.Node) {
	info := s.info(node.Name)
	if info.node == nil {
		at, _ := s.find(node.Name)
		s.nodes, s.byZone = slices.Insert(s.nodes, at, info), nil
	} else if zoneKey(info.node) != zoneKey(node) {
		s.byZone = nil
	}
	info.setNode(node)
}

// list returns the nodes in the order in which they are looked at: one of each zone in turn,
// so that a search that ends early has seen all zones. Within a zone they are in order of
// name.
// Upstream: backend/cache node_tree.go list, v1.37, in the order in which they came.
func (s *clusterState) list() []*nodeInfo {
	if s.byZone != nil || len(s.nodes) == 0 {
		return s.byZone
	}
	var order []string
	zones := map[string][]*nodeInfo{}
	for _, info := range s.nodes {
		zone := zoneKey(info.node)
		if zones[zone] == nil {
			order = append(order, zone)
		}
		zones[zone] = append(zones[zone], info)
	}
	for i := 0; len(s.byZone) < len(s.nodes); i++ {
		for _, zone := range order {
			if nodes := zones[zone]; i < len(nodes) {
				s.byZone = append(s.byZone, nodes[i])
			}
		}
	}
	return s.byZone
}

// zoneKey tells zones apart. Upstream: component-helpers/node/topology GetZoneKey, v1.37.
func zoneKey(node *v1.Node) string {
	label := func(beta, key string) string { return cmp.Or(node.Labels[beta], node.Labels[key]) }
	return label(v1.LabelFailureDomainBetaRegion, v1.LabelTopologyRegion) + ":\x00:" + label(v1.LabelFailureDomainBetaZone, v1.LabelTopologyZone)
}

// newNodeInfo returns the node without pods.
func newNodeInfo(node *v1.Node) *nodeInfo {
	info := &nodeInfo{}
	info.setNode(node)
	return info
}

func (info *nodeInfo) setNode(node *v1.Node) {
	info.node, info.name, info.cordoned, info.taints = node, node.Name, node.Spec.Unschedulable, node.Spec.Taints
	info.volumes = binding.NodeBuckets{Node: node}
	info.allocatable = resourcesOf(node.Status.Allocatable)
	info.maxPods = node.Status.Allocatable.Pods().Value()
}

// dropNode takes in that the node is gone. What is on it counts again when it comes
// back.
func (s *clusterState) dropNode(node *v1.Node) {
	if at, found := s.find(node.Name); found {
		s.nodes[at].node, s.byZone = nil, nil
		s.nodes = slices.Delete(s.nodes, at, at+1)
	}
}

func (s *clusterState) find(name string) (at int, found bool) {
	return slices.BinarySearchFunc(s.nodes, name, func(info *nodeInfo, name string) int { return cmp.Compare(info.node.Name, name) })
}

// setPod takes in a pod's new state: it counts while it is bound to a node and
// has not ended. A pod assumed by us keeps its assumed place until it is seen
// bound.
func (s *clusterState) setPod(pod *v1.Pod) {
	old, known := s.placed[pod.UID]
	switch {
	case pod.Spec.NodeName != "" && !ended(pod):
		if known && !old.assumed && old.node == pod.Spec.NodeName {
			s.update(old, pod)
			return
		}
		s.forget(pod.UID)
		s.place(&placement{pod: pod, node: pod.Spec.NodeName})
	case known && (!old.assumed || ended(pod)):
		s.forget(pod.UID)
	}
}

// update takes in that a pod changed that counts on its node: it may be resized.
// Upstream: cache.UpdatePod.
func (s *clusterState) update(p *placement, pod *v1.Pod) {
	if !sameRequests(p.pod, pod) {
		info := s.info(p.node)
		info.requested.add(p.request, -1)
		p.request = podRequest(pod)
		info.requested.add(p.request, 1)
	}
	p.pod = pod
}

// assume counts the pod on the node from now on.
// Upstream: cache.AssumePod.
func (s *clusterState) assume(pod *v1.Pod, node string) {
	s.forget(pod.UID)
	s.place(&placement{pod: pod, node: node, assumed: true})
}

// placedPod returns the pod on the node where it counts.
func (s *clusterState) placedPod(pod *v1.Pod) *v1.Pod {
	if p, ok := s.placed[pod.UID]; ok {
		return placedOn(pod, p.node)
	}
	return pod
}

func (s *clusterState) isAssumed(uid types.UID) bool {
	p, ok := s.placed[uid]
	return ok && p.assumed
}

func (s *clusterState) place(p *placement) {
	p.request, p.claims = podRequest(p.pod), claimKeys(p.pod)
	s.placed[p.pod.UID] = p
	if p.terms, _ = affinityTermsOf(p.pod); p.terms != nil { // terms that cannot be read match nothing
		s.affine = append(s.affine, p)
	}
	s.priorities[priority(p.pod)]++
	info := s.info(p.node)
	info.requested.add(p.request, 1)
	info.pods++
	info.placed = append(info.placed, p)
	info.ports = append(info.ports, hostPorts(p.pod)...)
	if len(p.pod.Spec.Volumes) > 0 {
		info.volumePods = append(info.volumePods, p)
	}
	for _, key := range p.claims {
		s.claimUsers[key]++
	}
}

// forget takes the pod off its node.
// Upstream: cache.ForgetPod, RemovePod.
func (s *clusterState) forget(uid types.UID) {
	p, ok := s.placed[uid]
	if !ok {
		return
	}
	delete(s.placed, uid)
	if p.terms != nil {
		s.affine = slices.DeleteFunc(s.affine, func(other *placement) bool { return other == p })
	}
	if s.priorities[priority(p.pod)]--; s.priorities[priority(p.pod)] == 0 {
		delete(s.priorities, priority(p.pod))
	}
	info := s.info(p.node)
	info.requested.add(p.request, -1)
	info.pods--
	info.placed = slices.DeleteFunc(info.placed, func(other *placement) bool { return other == p })
	info.volumePods = slices.DeleteFunc(info.volumePods, func(other *placement) bool { return other == p })
	for _, port := range hostPorts(p.pod) {
		if i := slices.Index(info.ports, port); i >= 0 {
			info.ports = slices.Delete(info.ports, i, i+1)
		}
	}
	for _, key := range p.claims {
		if s.claimUsers[key]--; s.claimUsers[key] == 0 {
			delete(s.claimUsers, key)
		}
	}
}

// ended says that the pod's containers will never run again.
func ended(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
}

// claimNames returns the names of the pod's claims in the order of its volumes, a
// claim named twice once.
func claimNames(pod *v1.Pod) []podClaim {
	var list []podClaim
	for _, c := range claimVolumes(pod) {
		list = addOnce(list, c)
	}
	return list
}

// claimVolumes returns the claims of the pod's volumes: a claim named by two volumes
// is given twice.
func claimVolumes(pod *v1.Pod) []podClaim {
	var list []podClaim
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if name := binding.ClaimOfVolume(pod, v); name != "" {
			list = append(list, podClaim{name: name, ephemeral: v.Ephemeral != nil})
		}
	}
	return list
}

// podClaim is a claim as a pod names it.
type podClaim struct {
	name string
	// ephemeral: the claim is made for the pod and owned by it.
	ephemeral bool
}

// claimKeys returns the keys of the pod's claims.
func claimKeys(pod *v1.Pod) []string {
	var keys []string
	for _, c := range claimNames(pod) {
		keys = append(keys, pod.Namespace+"/"+c.name)
	}
	return keys
}

// namedClaims returns the keys of those that are not made for the pod.
func namedClaims(pod *v1.Pod) []string {
	var keys []string
	for _, c := range claimNames(pod) {
		if !c.ephemeral {
			keys = append(keys, pod.Namespace+"/"+c.name)
		}
	}
	return keys
}

// placedOn returns the pod as it would be on the node.
func placedOn(pod *v1.Pod, node string) *v1.Pod {
	placed := pod.DeepCopy()
	placed.Spec.NodeName = node
	return placed
}

// hasPlace: the pod is on a node, or is to go to one.
func hasPlace(pod *v1.Pod) bool { return pod.Spec.NodeName != "" || pod.Status.NominatedNodeName != "" }
