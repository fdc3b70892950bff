package binding

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// Searches on other nodes skip a volume that is kept by a label. The differential test
// cannot see whether they do, so this table says for which volumes.
func TestAVolumeIsKeptByTheOneLabelThatSaysWhereItIs(t *testing.T) {
	in := func(key string, values ...string) v1.NodeSelectorRequirement {
		return v1.NodeSelectorRequirement{Key: key, Operator: v1.NodeSelectorOpIn, Values: values}
	}
	exists := v1.NodeSelectorRequirement{Key: "ssd", Operator: v1.NodeSelectorOpExists}
	term := func(requirements ...v1.NodeSelectorRequirement) []v1.NodeSelectorTerm {
		return []v1.NodeSelectorTerm{{MatchExpressions: requirements}}
	}
	anywhere := []nodeLabel{{}}
	for name, test := range map[string]struct {
		terms []v1.NodeSelectorTerm
		want  []nodeLabel
	}{
		"one host":                    {term(in(v1.LabelHostname, "a")), []nodeLabel{{v1.LabelHostname, "a"}}},
		"another label":               {term(in("topology.example.com/node", "a")), []nodeLabel{{"topology.example.com/node", "a"}}},
		"two zones":                   {term(in("zone", "a", "b")), []nodeLabel{{"zone", "a"}, {"zone", "b"}}},
		"the host rather than a zone": {term(in("zone", "a"), in(v1.LabelHostname, "b")), []nodeLabel{{v1.LabelHostname, "b"}}},
		"whatever else the term says": {term(exists, in("zone", "a")), []nodeLabel{{"zone", "a"}}},
		"not In":                      {term(exists), anywhere},
		"an In that matches nothing":  {term(in("", "a")), anywhere},
		"too many values":             {term(in("zone", slices.Repeat([]string{"a"}, maxValues+1)...)), anywhere},
		"terms that offer a choice":   {append(term(in("zone", "a")), term(in("zone", "b"))...), anywhere},
		"no terms":                    {nil, anywhere},
	} {
		volume := &v1.PersistentVolume{Spec: v1.PersistentVolumeSpec{NodeAffinity: &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: test.terms}}}}
		require.Equal(t, test.want, labelsOf(volume), name)
	}
	require.Equal(t, anywhere, labelsOf(&v1.PersistentVolume{}), "no node affinity")
}
