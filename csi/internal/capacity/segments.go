package capacity

import (
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// segment is a set of values of the driver's topology keys. It is never changed.
//
// Upstream: pkg/capacity/topology/topology.go Segment, v6.4.
type segment map[string]string

// String returns the same text for equal segments, in order of key.
func (s segment) String() string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(s)) {
		parts = append(parts, key+"="+s[key])
	}
	return strings.Join(parts, ",")
}

// GetLabelSelector returns the selector of the segment's nodes.
//
// Upstream: topology.go GetLabelSelector, v6.4.
func (s segment) GetLabelSelector() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: maps.Clone(s)}
}

// segmentOf returns the segment of a selector. The controller's selectors have only labels.
func segmentOf(selector *metav1.LabelSelector) (segment, bool) {
	if selector == nil || len(selector.MatchExpressions) > 0 {
		return nil, false
	}
	return selector.MatchLabels, true
}

// termToSegment returns the segment of one term of a volume's node affinity.
//
// Upstream: capacity.go termToSegment, v6.4.
func termToSegment(term v1.NodeSelectorTerm) (segment, bool) {
	found := segment{}
	for _, match := range term.MatchExpressions {
		if match.Operator != v1.NodeSelectorOpIn || len(match.Values) != 1 {
			return nil, false
		}
		found[match.Key] = match.Values[0]
	}
	return found, len(term.MatchFields) == 0
}

// findSegments returns the segments of all nodes on which the driver is registered, by String. A node whose labels
// do not exist yet does not count.
//
// Upstream: pkg/capacity/topology/nodes.go sync, v6.4.
func (c *Controller) findSegments() map[string]segment {
	if c.fixed != nil {
		return map[string]segment{c.fixed.String(): c.fixed}
	}
	found := map[string]segment{}
nodes:
	for csiNode := range c.csiNodes.All() {
		keys, registered := driverTopologyKeys(csiNode, c.cfg.Driver)
		node, ok := c.nodes.Get(csiNode.Name)
		if !registered || !ok {
			continue
		}
		s := segment{}
		for _, key := range keys {
			value, ok := node.Labels[key]
			if !ok {
				continue nodes
			}
			s[key] = value
		}
		found[s.String()] = s
	}
	return found
}

// driverTopologyKeys returns the keys that the driver has registered, and whether it is registered.
//
// Upstream: nodes.go driverTopologyKeys, v6.4.
func driverTopologyKeys(csiNode *storage.CSINode, driver string) ([]string, bool) {
	for _, d := range csiNode.Spec.Drivers {
		if d.Name == driver {
			return d.TopologyKeys, true
		}
	}
	return nil, false
}
