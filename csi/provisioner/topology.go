package provisioner

import (
	"errors"
	"fmt"
	"slices"

	"github.com/container-storage-interface/spec/lib/go/csi"
	v1 "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

// GenerateAccessibilityRequirements returns the topologies from which the claim's volume must be reachable. node is
// the selected node, or "". nil means that the driver may choose freely. The error is NotFound if the node is gone.
//
// Upstream: topology.go GenerateAccessibilityRequirements, v6.4.
func (p *csiProvisioner) GenerateAccessibilityRequirements(claim *v1.PersistentVolumeClaim, allowed []v1.TopologySelectorTerm,
	node string) (*csi.TopologyRequirement, error) {
	var selected topologyTerm
	var keys []string
	if node != "" {
		var err error
		if keys, selected, err = p.selectedTopology(claim.UID, node); err != nil {
			return nil, err
		}
	}
	requisite, err := p.requisite(claim.UID, allowed, node, keys, selected)
	if err != nil || len(requisite) == 0 {
		return nil, err
	}
	slices.SortFunc(requisite, topologyTerm.compare)
	requisite = slices.CompactFunc(requisite, slices.Equal)
	preferred := requisite
	switch {
	case node == "":
		hash, index := getPVCNameHashAndIndexOffset(claim.Name)
		preferred = rotate(requisite, int((hash+index)%uint32(len(requisite)))) // the list is short
	case !p.cfg.StrictTopology:
		at := slices.IndexFunc(requisite, func(t topologyTerm) bool { return t.subset(selected) })
		if at < 0 {
			return nil, fmt.Errorf("topology %v from selected node %q is not in requisite: %v", selected, node, requisite)
		}
		preferred = rotate(requisite, at)
	}
	return &csi.TopologyRequirement{Requisite: toCSITopology(requisite), Preferred: toCSITopology(preferred)}, nil
}

func rotate(terms []topologyTerm, first int) []topologyTerm {
	return slices.Concat(terms[first:], terms[:first])
}

// selectedTopology returns the driver's topology keys and the selected node's topology.
//
// Upstream: topology.go topologyKeysLookup and getTopologyFromNodeName, v6.4.
func (p *csiProvisioner) selectedTopology(uid types.UID, node string) (keys []string, selected topologyTerm, err error) {
	known := p.topologies.of(uid)
	if keys = known.keys; len(keys) == 0 {
		csiNode, ok := p.csiNodes.Get(node)
		if !ok {
			return nil, nil, fmt.Errorf("failed to get selected CSINode %s: %w", node, apierrors.NewNotFound(storage.Resource("csinode"), node))
		}
		if keys = getTopologyKeys(csiNode, p.cfg.Driver); len(keys) == 0 {
			// The driver is not registered on the node, or not again yet.
			return nil, nil, fmt.Errorf("no topology key found for node %s", node)
		}
		known.keys = keys
	}
	if selected, ok := topologyOf(known.labels, keys); ok {
		return keys, selected, nil
	}
	labels := known.labels
	if object, ok := p.nodes.Get(node); ok {
		labels = object.Labels
		if len(labels) > 0 {
			known.labels = labels
		}
		if selected, ok := topologyOf(labels, keys); ok {
			return keys, selected, nil
		}
	}
	return nil, nil, fmt.Errorf("topology labels from selected node %v does not match topology keys from CSINode %v", labels, keys)
}

// requisite returns the topologies that the volume may be in, in any order.
func (p *csiProvisioner) requisite(uid types.UID, allowed []v1.TopologySelectorTerm, node string, keys []string,
	selected topologyTerm) ([]topologyTerm, error) {
	switch {
	case node != "" && p.cfg.StrictTopology:
		if terms := flatten(allowed); len(allowed) > 0 && !slices.ContainsFunc(terms, func(t topologyTerm) bool { return t.subset(selected) }) {
			return nil, fmt.Errorf("selected node '%q' topology '%v' is not in allowed topologies: %v", node, selected, terms)
		}
		return []topologyTerm{selected}, nil
	case len(allowed) > 0:
		return flatten(allowed), nil
	case node == "" && !p.cfg.immediateTopology():
		return nil, nil
	}
	terms, err := p.aggregateTopologies(uid, node, keys)
	if err == nil && len(terms) == 0 {
		err = errors.New("no available topology found") // the driver has not registered on any node
	}
	return terms, err
}

// aggregateTopologies returns the topologies of all nodes on which the driver has registered: those of the selected node's
// keys or, without one, those of each set of keys that the driver has registered on any node. A node counts for a set
// of keys only if the driver has registered all of them there.
//
// Upstream: topology.go aggregateTopologies, v6.4.
func (p *csiProvisioner) aggregateTopologies(uid types.UID, node string, keys []string) ([]topologyTerm, error) {
	known := p.topologies.of(uid)
	if len(known.requisite) > 0 {
		return slices.Clone(known.requisite), nil
	}
	sets := [][]string{keys}
	if node == "" {
		if sets = p.distinctTopologyKeySets(); len(sets) == 0 {
			return nil, nil
		}
	}
	var terms []topologyTerm
	for _, set := range sets {
		terms = append(terms, p.aggregateTopologiesForKeys(set)...)
	}
	switch {
	case len(terms) == 0 && node == "":
		return nil, fmt.Errorf("topologyKeys %v were not found on any nodes", sets)
	case len(terms) == 0:
		return nil, fmt.Errorf("topologyKeys %v were not found on any nodes", keys)
	}
	known.requisite = slices.Clone(terms)
	return terms, nil
}

// aggregateTopologiesForKeys returns the topology of each node on which the driver has registered these keys.
//
// Upstream: topology.go aggregateTopologiesForKeys and registeredTopologyKeys, v6.4.
func (p *csiProvisioner) aggregateTopologiesForKeys(keys []string) (terms []topologyTerm) {
	for n := range p.nodes.All() {
		csiNode, ok := p.csiNodes.Get(n.Name)
		if !ok {
			continue
		}
		registered := getTopologyKeys(csiNode, p.cfg.Driver)
		if slices.ContainsFunc(keys, func(key string) bool { return !slices.Contains(registered, key) }) {
			continue
		}
		if term, ok := topologyOf(n.Labels, keys); ok {
			terms = append(terms, term)
		}
	}
	return terms
}

// distinctTopologyKeySets returns the sets of keys that the driver has registered on nodes, each once and sorted.
//
// Upstream: topology.go distinctTopologyKeySets, v6.4.
func (p *csiProvisioner) distinctTopologyKeySets() (sets [][]string) {
	for csiNode := range p.csiNodes.All() {
		if keys := slices.Sorted(slices.Values(getTopologyKeys(csiNode, p.cfg.Driver))); len(keys) > 0 {
			sets = append(sets, keys)
		}
	}
	slices.SortFunc(sets, slices.Compare[[]string])
	return slices.CompactFunc(sets, slices.Equal[[]string])
}

// Upstream: topology.go getTopologyKeys, v6.4.
func getTopologyKeys(csiNode *storage.CSINode, driver string) []string {
	for _, d := range csiNode.Spec.Drivers {
		if d.Name == driver {
			return d.TopologyKeys
		}
	}
	return nil
}

// topologyStore holds the topology of claims whose volume is not created yet, by UID.
//
// Upstream: cache.go InMemoryStore, v6.4.
type topologyStore map[types.UID]*topologyInfo

type topologyInfo struct {
	labels    map[string]string // of the selected node
	keys      []string
	requisite []topologyTerm
}

func (s topologyStore) of(uid types.UID) *topologyInfo {
	if s[uid] == nil {
		s[uid] = &topologyInfo{}
	}
	return s[uid]
}

func (s topologyStore) forget(uid types.UID) { delete(s, uid) }
