package binding

import (
	"iter"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// labelIndex holds the free volumes of a class by the node label that their node affinity
// requires. Empty buckets stay as long as the class has free volumes; usually there is one
// for each node.
type labelIndex struct {
	// anyNode holds the volumes that labelRequirement finds no label for.
	anyNode bucketsByModes
	// labels holds the others, in no particular order. Usually there is only one label, the
	// host name.
	labels []labelValues
	// version counts the label values that were added.
	version int
}

// labelValues holds the volumes that require a label, by its value.
type labelValues struct {
	key     string
	buckets map[string]*bucketsByModes
}

func newLabelIndex(free *bucketsByModes) *labelIndex {
	x := &labelIndex{}
	for _, b := range free {
		if b == nil {
			continue
		}
		for _, chunk := range b.chunks {
			for _, c := range chunk {
				x.add(c)
			}
		}
	}
	return x
}

// bucketsOf returns the buckets for a label, which it adds if they are missing.
func (x *labelIndex) bucketsOf(label nodeLabel) *bucketsByModes {
	if label == (nodeLabel{}) {
		return &x.anyNode
	}
	i := slices.IndexFunc(x.labels, func(l labelValues) bool { return l.key == label.key })
	if i < 0 {
		i, x.labels = len(x.labels), append(x.labels, labelValues{label.key, map[string]*bucketsByModes{}})
	}
	buckets := x.labels[i].buckets
	if buckets[label.value] == nil {
		buckets[label.value] = &bucketsByModes{}
		x.version++
	}
	return buckets[label.value]
}

func (x *labelIndex) add(c *candidate) {
	for _, label := range labelsOf(c.volume) {
		x.bucketsOf(label).add(c)
	}
}

func (x *labelIndex) remove(c *candidate) {
	for _, label := range labelsOf(c.volume) {
		x.bucketsOf(label).remove(c)
	}
}

// NodeBuckets holds a node and the buckets of an index with the volumes that it may reach.
// It keeps them from one search to the next. Set only Node, and use it with one Index.
type NodeBuckets struct {
	Node *v1.Node

	// index and version tell for what first and more were found.
	index   *labelIndex
	version int
	// first and more hold the buckets for the node's labels, nearly always at most one.
	first *bucketsByModes
	more  []*bucketsByModes
}

// find looks up the node's buckets, unless they are known.
func (n *NodeBuckets) find(x *labelIndex) {
	if n.index == x && n.version == x.version {
		return
	}
	*n = NodeBuckets{Node: n.Node, index: x, version: x.version}
	for i := range x.labels {
		value, found := n.Node.Labels[x.labels[i].key]
		switch buckets := x.labels[i].buckets[value]; {
		case !found || buckets == nil:
		case n.first == nil:
			n.first = buckets
		default:
			n.more = append(n.more, buckets)
		}
	}
}

// all walks the buckets of the volumes that the node may reach. Some may be empty.
func (n *NodeBuckets) all() iter.Seq[*bucketsByModes] {
	return func(yield func(*bucketsByModes) bool) {
		if !yield(&n.index.anyNode) || n.first != nil && !yield(n.first) {
			return
		}
		for _, buckets := range n.more {
			if !yield(buckets) {
				return
			}
		}
	}
}

// nodeLabel is a label that a node must have to reach a volume. The zero nodeLabel stands
// for labelIndex.anyNode: no requirement is for the key "", which is not a label key.
type nodeLabel struct{ key, value string }

// maxValues bounds the label values, and so the buckets, of a volume. More are rare.
const maxValues = 16

// labelsOf returns the labels of a volume's buckets. A node without any of them cannot reach
// the volume; whether a node with one of them can is for the rule to decide. There is at
// least one label, and one may come twice.
func labelsOf(volume *v1.PersistentVolume) (labels []nodeLabel) {
	r := labelRequirement(volume)
	if r == nil {
		return []nodeLabel{{}}
	}
	for _, value := range r.Values {
		labels = append(labels, nodeLabel{r.Key, value})
	}
	return labels
}

// labelRequirement returns a requirement with the operator In from the only term of the
// volume's node affinity: the one for the host name, else the first. It returns nil if
// there is no such requirement, or several terms.
func labelRequirement(volume *v1.PersistentVolume) *v1.NodeSelectorRequirement {
	if volume.Spec.NodeAffinity == nil || volume.Spec.NodeAffinity.Required == nil {
		return nil
	}
	terms := volume.Spec.NodeAffinity.Required.NodeSelectorTerms
	if len(terms) != 1 {
		return nil
	}
	var found *v1.NodeSelectorRequirement
	for i := range terms[0].MatchExpressions {
		r := &terms[0].MatchExpressions[i]
		if r.Operator != v1.NodeSelectorOpIn || len(r.Values) > maxValues || invalidLabelRequirement(r) != "" {
			continue
		}
		if r.Key == v1.LabelHostname {
			return r
		}
		if found == nil {
			found = r
		}
	}
	return found
}

// requiresOnlyLabel reports whether every node with a label of labelsOf reaches the volume.
func requiresOnlyLabel(volume *v1.PersistentVolume) bool {
	if volume.Spec.NodeAffinity == nil || volume.Spec.NodeAffinity.Required == nil {
		return true
	}
	terms := volume.Spec.NodeAffinity.Required.NodeSelectorTerms
	return labelRequirement(volume) != nil && len(terms[0].MatchExpressions) == 1 && len(terms[0].MatchFields) == 0
}
