package binding_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/binding"
)

// verdicts explains a search and returns the sentences.
func verdicts(t testing.TB, claim *v1.PersistentVolumeClaim, node *v1.Node, delay bool, volumes ...*v1.PersistentVolume) []string {
	t.Helper()
	list, err := binding.Explain(claim, volumes, node, nil, delay)
	require.NoError(t, err)
	var lines []string
	for _, verdict := range list {
		lines = append(lines, verdict.String())
	}
	return lines
}

func TestEveryVolumePassedOverIsExplained(t *testing.T) {
	claim := with(claimOf("5Gi", v1.ReadWriteOnce), func(claim *v1.PersistentVolumeClaim) {
		claim.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"disk": "fast"}}
	})
	rwo := v1.ReadWriteOnce
	fast := func(name, size string, change func(*v1.PersistentVolume)) *v1.PersistentVolume {
		volume := volumeOf(name, size, rwo)
		volume.Labels = map[string]string{"disk": "fast"}
		return with(volume, change)
	}
	same := func(*v1.PersistentVolume) {}
	require.Equal(t, []string{
		"a is passed over: it belongs to claim default/other",
		"a2 is passed over: it belongs to claim other/data",
		"b is passed over: it belongs to an earlier claim of the same name (UID 7)",
		"c is passed over: capacity 1Gi is less than the requested 5Gi",
		"d is passed over: volumeMode is Block, the claim wants Filesystem",
		`e is passed over: volumeAttributesClassName is "gold", the claim wants ""`,
		"f is passed over: it is being deleted",
		`g is passed over: its phase is "Released", not Available`,
		"h is passed over: its labels do not match the claim's selector disk=fast",
		`i is passed over: its class is "other", the claim wants "manual"`,
		"j is passed over: it does not offer ReadWriteOnce",
		"k is passed over: it fits, but m has fewer access modes",
		"l is passed over: it fits, but m is smaller",
		"m is chosen: the smallest that fits",
		"n is passed over: it fits, but m comes first",
	}, verdicts(t, claim, nil, false,
		fast("a", "9Gi", func(v *v1.PersistentVolume) {
			v.Spec.ClaimRef = &v1.ObjectReference{Namespace: "default", Name: "other"}
		}),
		fast("a2", "9Gi", func(v *v1.PersistentVolume) {
			v.Spec.ClaimRef = &v1.ObjectReference{Namespace: "other", Name: "data"}
		}),
		fast("b", "9Gi", reserved("7")),
		fast("c", "1Gi", same),
		fast("d", "9Gi", func(v *v1.PersistentVolume) { v.Spec.VolumeMode = new(v1.PersistentVolumeBlock) }),
		fast("e", "9Gi", func(v *v1.PersistentVolume) { v.Spec.VolumeAttributesClassName = new("gold") }),
		fast("f", "9Gi", func(v *v1.PersistentVolume) { v.DeletionTimestamp = &metav1.Time{} }),
		fast("g", "9Gi", func(v *v1.PersistentVolume) { v.Status.Phase = v1.VolumeReleased }),
		volumeOf("h", "9Gi", rwo),
		fast("i", "9Gi", func(v *v1.PersistentVolume) { v.Spec.StorageClassName = "other" }),
		fast("j", "9Gi", func(v *v1.PersistentVolume) { v.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadOnlyMany} }),
		fast("k", "5Gi", func(v *v1.PersistentVolume) { v.Spec.AccessModes = append(v.Spec.AccessModes, v1.ReadWriteMany) }),
		fast("l", "9Gi", same),
		fast("m", "6Gi", same),
		fast("n", "6Gi", same),
	))
}

func TestTheSchedulersSearchIsExplainedWithTheNode(t *testing.T) {
	claim := claimOf("5Gi", v1.ReadWriteOnce)
	far := with(volumeOf("far", "5Gi", v1.ReadWriteOnce), onNode("node-1"))
	free := volumeOf("free", "9Gi", v1.ReadWriteOnce)
	require.Equal(t, []string{
		`far is passed over: it cannot be reached from node node-2: kubernetes.io/hostname In [node-1], the node has "node-2"`,
		"free is chosen: the smallest that fits",
	}, verdicts(t, claim, nodeOf("node-2"), true, far, free))

	wide := volumeOf("wide", "9Gi", v1.ReadWriteOnce, v1.ReadWriteMany)
	require.Equal(t, []string{
		"free is chosen: the smallest that fits",
		"wide is passed over: it fits, but free comes first",
	}, verdicts(t, claim, nodeOf("node-2"), true, free, wide), "access modes count without a node only")

	mine := with(with(volumeOf("mine", "5Gi", v1.ReadWriteOnce), reserved("")), onNode("node-1"))
	small := with(with(volumeOf("small", "1Gi", v1.ReadWriteOnce), reserved("")), onNode("node-2"))
	require.Equal(t, []string{
		`far is passed over: it cannot be reached from node node-2: kubernetes.io/hostname In [node-1], the node has "node-2"`,
		"small is passed over: capacity 1Gi is less than the requested 5Gi",
		"free is passed over: mine is reserved for the claim but cannot be reached from node node-2, so no other is considered",
		`mine is passed over: it cannot be reached from node node-2: kubernetes.io/hostname In [node-1], the node has "node-2"`,
	}, verdicts(t, claim, nodeOf("node-2"), true, far, small, free, mine))
	require.Equal(t, []string{
		"free is passed over: it fits, but mine is reserved for the claim",
		"mine is chosen: it is reserved for the claim",
	}, verdicts(t, claim, nodeOf("node-1"), true, free, mine))
}

// The volume fails every filter at first; each step corrects what the last verdict named.
func TestTheFiltersAreLookedAtInUpstreamsOrder(t *testing.T) { // semantics 1.3
	claim := with(claimOf("5Gi", v1.ReadWriteOnce), func(claim *v1.PersistentVolumeClaim) {
		claim.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"disk": "fast"}}
	})
	volume := with(with(volumeOf("pv", "1Gi"), onNode("node-1")), func(v *v1.PersistentVolume) {
		v.Spec.ClaimRef = &v1.ObjectReference{Namespace: "default", Name: "other"}
		v.Spec.VolumeMode, v.Spec.VolumeAttributesClassName = new(v1.PersistentVolumeBlock), new("gold")
		v.DeletionTimestamp, v.Status.Phase, v.Spec.StorageClassName = &metav1.Time{}, v1.VolumeReleased, "other"
	})
	node, excluded, delay := nodeOf("node-2"), map[string]*v1.PersistentVolume{"pv": volume}, false
	for _, step := range []struct {
		filter binding.Filter
		mend   func()
	}{
		{binding.Excluded, func() { excluded = nil }},
		{binding.Claimed, func() { volume.Spec.ClaimRef = nil }},
		{binding.TooSmall, func() { volume.Spec.Capacity[v1.ResourceStorage] = resource.MustParse("5Gi") }},
		{binding.WrongMode, func() { volume.Spec.VolumeMode = nil }},
		{binding.WrongAttributesClass, func() { volume.Spec.VolumeAttributesClassName = nil }},
		{binding.Deleting, func() { volume.DeletionTimestamp, node, delay = nil, nil, true }},
		{binding.Delayed, func() { node = nodeOf("node-2") }},
		{binding.NotAvailable, func() { volume.Status.Phase = v1.VolumeAvailable }},
		{binding.WrongLabels, func() { volume.Labels = map[string]string{"disk": "fast"} }},
		{binding.WrongClass, func() { volume.Spec.StorageClassName = "manual" }},
		{binding.WrongNode, func() { node = nodeOf("node-1") }},
		{binding.WrongAccessModes, func() { volume.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce} }},
		{binding.Passed, func() {}},
	} {
		list, err := binding.Explain(claim, []*v1.PersistentVolume{volume}, node, excluded, delay)
		require.NoError(t, err)
		require.Equal(t, step.filter, list[0].Filter, "%s", list[0])
		require.NotEmpty(t, list[0].Reason)
		step.mend()
	}
}

func TestAFilterHasAName(t *testing.T) {
	require.Equal(t, []string{"Passed", "TooSmall", "Outranked", "unknown"},
		[]string{binding.Passed.String(), binding.TooSmall.String(), binding.Outranked.String(), (binding.Outranked + 1).String()})
}

// Upstream knows no other modes, so that no group of volumes is asked.
func TestAClaimForAnUnknownAccessModeIsToldSo(t *testing.T) {
	require.Equal(t, []string{"pv is passed over: the claim requests an unknown access mode"},
		verdicts(t, claimOf("5Gi", "Nonsense"), nil, false, volumeOf("pv", "5Gi", "Nonsense")))
}

func TestADelayedSearchSaysThatTheSchedulerWillChoose(t *testing.T) {
	require.Equal(t, []string{"free is passed over: the claim's class waits for the first consumer, so the scheduler will choose"},
		verdicts(t, claimOf("5Gi", v1.ReadWriteOnce), nil, true, volumeOf("free", "9Gi", v1.ReadWriteOnce)))
}

func TestNodeAffinityNamesTheRequirementThatFails(t *testing.T) {
	volume := with(volumeOf("pv", "1Gi"), onNode("node-1"))
	terms := &volume.Spec.NodeAffinity.Required.NodeSelectorTerms
	*terms = append(*terms, v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "zone", Operator: v1.NodeSelectorOpExists}}},
		v1.NodeSelectorTerm{})
	err := binding.CheckNodeAffinity(volume, nodeOf("node-2").Labels)
	require.EqualError(t, err, "no matching NodeSelectorTerms", "as upstream, which says no more")
	require.Equal(t, `no matching NodeSelectorTerms: kubernetes.io/hostname In [node-1], the node has "node-2"; or zone Exists, the node has no such label; `+
		`or a term without requirements matches no node`,
		binding.ExplainNodeAffinity(volume, nodeOf("node-2").Labels))
	var affinity *binding.NodeAffinityError
	require.ErrorAs(t, err, &affinity)
	require.Equal(t, "pv", affinity.Volume)
	require.NoError(t, binding.CheckNodeAffinity(volume, nodeOf("node-1").Labels))
	require.Empty(t, binding.ExplainNodeAffinity(volume, nodeOf("node-1").Labels))
}

// A volume that another claim has blocks no search, and a claim whose selector is no selector has no answer.
func TestAVolumeOfAnotherClaimDoesNotBlock(t *testing.T) {
	claim := claimOf("1Gi", v1.ReadWriteOnce)
	taken := with(volumeOf("a", "1Gi", v1.ReadWriteOnce), func(pv *v1.PersistentVolume) {
		pv.Spec.ClaimRef = &v1.ObjectReference{Namespace: claim.Namespace, Name: "other", UID: "other"}
	})
	verdicts, err := binding.Explain(claim, []*v1.PersistentVolume{taken, volumeOf("b", "1Gi", v1.ReadWriteOnce)}, nodeOf("n"), nil, true)
	require.NoError(t, err)
	chosen := map[string]bool{}
	for _, v := range verdicts {
		chosen[v.Volume] = v.Chosen
	}
	require.Equal(t, map[string]bool{"a": false, "b": true}, chosen)

	claim.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "k", Operator: "Near"}}}
	_, err = binding.Explain(claim, []*v1.PersistentVolume{taken}, nil, nil, false)
	require.Error(t, err)
}
