package provisioner

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
	v1 "k8s.io/api/core/v1"
)

// topologySegment is a key and its value.
type topologySegment struct{ Key, Value string }

// topologyTerm is a topology: all of its segments, sorted by key.
//
// Upstream: topology.go topologyTerm, v6.4.
type topologyTerm []topologySegment

// topologyOf returns a node's topology in these keys; false if the node lacks one of them, or there are no keys.
func topologyOf(labels map[string]string, keys []string) (topologyTerm, bool) {
	term := topologyTerm{}
	for _, key := range keys {
		value, ok := labels[key]
		if !ok {
			return nil, false
		}
		term = append(term, topologySegment{key, value})
	}
	term.sort()
	return term, len(term) > 0
}

// flatten returns all combinations of a class's allowedTopologies: zone a or b and rack 1 or 2 are four topologies.
//
// Upstream: topology.go flatten, v6.4.
func flatten(allowed []v1.TopologySelectorTerm) []topologyTerm {
	var all []topologyTerm
	for _, selector := range allowed {
		var terms []topologyTerm
		for _, expression := range selector.MatchLabelExpressions {
			var longer []topologyTerm
			for _, value := range expression.Values {
				segment := topologySegment{expression.Key, value}
				if len(terms) == 0 {
					longer = append(longer, topologyTerm{segment})
				}
				for _, term := range terms {
					longer = append(longer, append(slices.Clone(term), segment))
				}
			}
			terms = longer
		}
		all = append(all, terms...)
	}
	for _, term := range all {
		term.sort()
	}
	return all
}

func (t topologyTerm) sort() { slices.SortFunc(t, topologySegment.compare) }

func (s topologySegment) compare(other topologySegment) int {
	return cmp.Or(strings.Compare(s.Key, other.Key), strings.Compare(s.Value, other.Value))
}

// compare orders terms: shorter ones first.
func (t topologyTerm) compare(other topologyTerm) int {
	return cmp.Or(len(t)-len(other), slices.CompareFunc(t, other, topologySegment.compare))
}

// subset reports whether all segments of t are in other.
func (t topologyTerm) subset(other topologyTerm) bool {
	return !slices.ContainsFunc(t, func(s topologySegment) bool { return !slices.Contains(other, s) })
}

func toCSITopology(terms []topologyTerm) []*csi.Topology {
	topologies := []*csi.Topology{}
	for _, term := range terms {
		if len(term) == 0 {
			continue
		}
		segments := make(map[string]string, len(term))
		for _, s := range term {
			segments[s.Key] = s.Value
		}
		topologies = append(topologies, &csi.Topology{Segments: segments})
	}
	return topologies
}

// getPVCNameHashAndIndexOffset spreads the claims of a StatefulSet, which are named CLAIM-SET-INDEX: it returns the
// hash of SET and the index. They are equal for all claims of one replica, so that its pod can reach all their
// volumes.
//
// Upstream: topology.go getPVCNameHashAndIndexOffset, v6.4.
func getPVCNameHashAndIndexOffset(name string) (hash, index uint32) {
	hashed := name
	if dash := strings.LastIndexByte(name, '-'); dash >= 0 {
		if id, err := strconv.ParseUint(name[dash+1:], 10, 32); err == nil {
			index = uint32(id)
			hashed = name[:dash]
			hashed = hashed[strings.LastIndexByte(hashed, '-')+1:]
		}
	}
	h := fnv.New32()
	_, _ = h.Write([]byte(hashed))
	return h.Sum32(), index
}
