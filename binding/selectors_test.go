package binding

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Which nodes a volume can be used on: each operator, with a label that is there, one that is not, and values that are no values.
func TestARequirementSelectsNodes(t *testing.T) {
	const most, least = "9223372036854775807", "-9223372036854775808"
	for _, c := range []struct {
		operator v1.NodeSelectorOperator
		values   string // separated by spaces
		label    string // "-": there is none
		want     bool
	}{
		{v1.NodeSelectorOpIn, "a b", "b", true},
		{v1.NodeSelectorOpIn, "a b", "c", false},
		{v1.NodeSelectorOpIn, "a b", "-", false},
		{v1.NodeSelectorOpIn, "", "a", false},
		{v1.NodeSelectorOpNotIn, "a b", "b", false},
		{v1.NodeSelectorOpNotIn, "a b", "c", true},
		{v1.NodeSelectorOpNotIn, "a b", "-", true},
		{v1.NodeSelectorOpNotIn, "", "a", false},
		{v1.NodeSelectorOpExists, "", "a", true},
		{v1.NodeSelectorOpExists, "", "-", false},
		{v1.NodeSelectorOpExists, "a", "a", false},
		{v1.NodeSelectorOpDoesNotExist, "", "a", false},
		{v1.NodeSelectorOpDoesNotExist, "", "-", true},
		{v1.NodeSelectorOpGt, "5", "6", true},
		{v1.NodeSelectorOpGt, "5", "5", false},
		{v1.NodeSelectorOpGt, "5", "4", false},
		{v1.NodeSelectorOpGt, "9", "10", true}, // as numbers, not as texts
		{v1.NodeSelectorOpGt, "5", "-", false},
		{v1.NodeSelectorOpGt, "5", "a", false},
		{v1.NodeSelectorOpGt, "5 6", "9", false},
		{v1.NodeSelectorOpGt, "", "9", false},
		{v1.NodeSelectorOpGt, "a", "9", false},
		{v1.NodeSelectorOpGt, "9", "a", false},
		{v1.NodeSelectorOpGt, "1", most, true},
		{v1.NodeSelectorOpGt, "9223372036854775806", most, true},
		{v1.NodeSelectorOpLt, "5", "4", true},
		{v1.NodeSelectorOpLt, "5", "5", false},
		{v1.NodeSelectorOpLt, "5", "6", false},
		{v1.NodeSelectorOpLt, "5", "a", false},
		{v1.NodeSelectorOpLt, most, "1", true},
		{v1.NodeSelectorOpLt, most, "9223372036854775806", true},
		{v1.NodeSelectorOpLt, "0", least, true},
		{v1.NodeSelectorOpLt, "0", "9", false},
		{"Near", "a", "a", false},
	} {
		node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{}}}
		if c.label != "-" {
			node.Labels["key"] = c.label
		}
		volume := &v1.PersistentVolume{}
		volume.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{
			{}, {MatchExpressions: []v1.NodeSelectorRequirement{{Key: "key", Operator: c.operator, Values: strings.Fields(c.values)}}},
		}}}
		assert.Equal(t, c.want, Reachable(volume, node), "%+v", c)
		match, _ := MatchNodeSelector(volume.Spec.NodeAffinity.Required, node)
		assert.Equal(t, c.want, match, "%+v", c)
		assert.Equal(t, c.want, CheckNodeAffinity(volume, node.Labels) == nil, "%+v", c)
	}
	match, err := MatchNodeSelector(nil, &v1.Node{})
	assert.True(t, match && err == nil, "no selector selects all")
	match, err = MatchNodeSelector(&v1.NodeSelector{}, nil)
	assert.False(t, match || err != nil, "there is no node")
	all := &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "k",
		Operator: v1.NodeSelectorOpDoesNotExist}}}}}
	assert.Equal(t, "there are none", ExplainNodeSelector(all, &v1.Node{}), "it matches")
	assert.Equal(t, "there is nothing to compare", ExplainNodeSelector(nil, &v1.Node{}))
	assert.Equal(t, "there is nothing to compare", ExplainNodeSelector(&v1.NodeSelector{}, nil))
}

func TestANodeThatASelectorDoesNotSelectLearnsWhy(t *testing.T) {
	in := func(key string, values ...string) []v1.NodeSelectorRequirement {
		return []v1.NodeSelectorRequirement{{Key: key, Operator: v1.NodeSelectorOpIn, Values: values}}
	}
	for want, term := range map[string]v1.NodeSelectorTerm{
		`zone In [a b], the node has "c"`: {MatchExpressions: in("zone", "a", "b")},
		"rack Exists, the node " +
			"has no such label": {MatchExpressions: []v1.NodeSelectorRequirement{{Key: "rack", Operator: v1.NodeSelectorOpExists}}},
		"zone In [] matches nothing: values must not be empty for In and NotIn": {MatchExpressions: in("zone")},
		"metadata.name In [other], the node is n":                               {MatchFields: in("metadata.name", "other")},
		"a term without requirements matches no node":                           {},
	} {
		node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"zone": "c"}}}
		assert.Equal(t, want, ExplainNodeSelector(&v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{term}}, node))
	}
}

// What may be a label's key, and what its value: a volume whose requirement has another one is in reach of no node.
func TestWhatALabelMayBe(t *testing.T) {
	long := strings.Repeat("a", 63)
	domain := strings.Repeat("a.", 126) + "a"
	for s, want := range map[string]bool{
		"": false, "a": true, "Z9": true, "0": true, "a-b_c.d": true, "a/b": false, "-a": false, "a-": false, ".a": false, "a_": false, "a b": false, "é": false,
		long: true, long + "a": false, "a..b": true, "a@b": false, "[": false, "`": false, "{": false, "@": false, ":": false, "A": true, "z": true,
	} {
		assert.Equal(t, want, isLabelName(s), "name %q", s)
		if s != "" {
			value := v1.NodeSelectorRequirement{Key: "k", Operator: v1.NodeSelectorOpIn, Values: []string{s}}
			assert.Equal(t, want, invalidLabelRequirement(&value) == "", "value %q", s)
		}
	}
	for s, want := range map[string]bool{
		"": false, "a": true, "9": true, "A": false, "a.b": true, "a-b": true, "a--b": true, "a..b": false, "-a": false, "a-": false, ".a": false, "a.": false,
		"a-.b": false, "a.-b": false, "a_b": false, "a.b.c": true, "0.9": true, "z": true, "a{b": false, "a`b": false, "a/b": false, "a:b": false, "ab": true,
		domain: true, domain + "a": false, "a-b.c-d": true, "aa.bb": true, "ab-": false, "-ab": false,
	} {
		assert.Equal(t, want, isSubdomain(s), "subdomain %q", s)
		assert.Equal(t, want, isLabelKey(s+"/name"), "key %q", s)
	}
	assert.True(t, isLabelKey("name"))
	assert.False(t, isLabelKey("a.b/"))
	assert.False(t, isLabelKey("a/b/c"))
}

// A volume that asks for more than the one label by which it is kept is in reach of those nodes only that have the rest.
func TestAVolumeThatAsksForMoreThanALabelIsNotEverywhereThatLabelIs(t *testing.T) {
	in := func(key string, values ...string) v1.NodeSelectorRequirement {
		return v1.NodeSelectorRequirement{Key: key, Operator: v1.NodeSelectorOpIn, Values: values}
	}
	bad := []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn}} // no value
	for name, c := range map[string]struct {
		term v1.NodeSelectorTerm
		want bool
	}{
		"the label":          {v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{in("zone", "a")}}, true},
		"and another one":    {v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{in("zone", "a"), in("rack", "b")}}, false},
		"and a wrong field":  {v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{in("zone", "a")}, MatchFields: bad}, false},
		"nothing":            {v1.NodeSelectorTerm{}, false},
		"only a wrong field": {v1.NodeSelectorTerm{MatchFields: bad}, false},
	} {
		volume := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}}
		volume.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{c.term}}}
		candidate := newCandidate(volume)
		candidate.reachable = requiresOnlyLabel(volume)
		node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"zone": "a"}}}
		assert.Equal(t, c.want, candidate.reachableFrom(node), name)
		assert.Equal(t, c.want, candidate.reachable, "%s: it need not be looked at again", name)
	}
}

// A search that has what it looks for ends a walk wherever it is.
func TestAWalkEndsWhereTheSearchDoes(t *testing.T) {
	walks := 0
	for range modeSet(0).supersets() {
		walks++
		break
	}
	node := &NodeBuckets{index: &labelIndex{}, first: &bucketsByModes{}, more: []*bucketsByModes{{}, {}}}
	for end := 1; end <= 4; end++ {
		n := 0
		for range node.all() {
			if n++; n == end {
				break
			}
		}
		assert.Equal(t, end, n)
		walks++
	}
	assert.Equal(t, 5, walks)
}
