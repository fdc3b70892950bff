package binding_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	upstream "k8s.io/component-helpers/storage/volume"
	"sigs.k8s.io/yaml"

	"github.com/storagesim/storagesim/binding"
)

// shown is a value that is printed only when a test fails.
type shown struct{ value any }

func (s shown) String() string {
	text, err := yaml.Marshal(s.value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// agree compares every rule on one random world with upstream's own code, and the
// index and the explanation with the rule.
func agree(t *testing.T, w world) {
	t.Helper()
	text := shown{w}

	want, wantErr := upstream.FindMatchingVolume(w.Claim, w.Volumes, w.Node, w.Excluded, w.Delay, true)
	got, err := binding.FindMatchingVolume(w.Claim, w.Volumes, w.Node, w.Excluded, w.Delay)
	require.Equal(t, wantErr != nil, err != nil, "error\n%s", text)
	require.Same(t, want, got, "FindMatchingVolume\n%s", text)

	for _, volume := range w.Volumes {
		require.Equal(t, upstream.IsVolumeBoundToClaim(volume, w.Claim), binding.IsVolumeBoundToClaim(volume, w.Claim))
		require.Equal(t, upstream.CheckAccessModes(w.Claim, volume), binding.CheckAccessModes(w.Claim, volume))
		require.Equal(t, upstream.CheckVolumeModeMismatches(&w.Claim.Spec, &volume.Spec), binding.CheckVolumeModeMismatches(&w.Claim.Spec, &volume.Spec))
		require.Equal(t, upstream.GetPersistentVolumeClass(volume), binding.GetPersistentVolumeClass(volume))
		agreeOnBinding(t, volume, w.Claim)
		if w.Node != nil {
			agreeOnNode(t, volume, w.Node)
		}
	}
	require.Equal(t, upstream.GetPersistentVolumeClaimClass(w.Claim), binding.GetPersistentVolumeClaimClass(w.Claim))
	if err == nil {
		agreeOnIndex(t, w)
	}
}

func agreeOnBinding(t *testing.T, volume *v1.PersistentVolume, claim *v1.PersistentVolumeClaim) {
	t.Helper()
	want, wantDirty, wantErr := upstream.GetBindVolumeToClaim(volume, claim)
	got, dirty, err := binding.GetBindVolumeToClaim(volume, claim)
	require.NoError(t, wantErr)
	require.NoError(t, err)
	require.Equal(t, wantDirty, dirty)
	require.Equal(t, want, got)
}

func agreeOnNode(t *testing.T, volume *v1.PersistentVolume, node *v1.Node) {
	t.Helper()
	text := shown{volume.Spec.NodeAffinity}
	want := upstream.CheckNodeAffinity(volume, node.Labels)
	got := binding.CheckNodeAffinity(volume, node.Labels)
	require.Equal(t, want == nil, got == nil, "upstream says %v, we say %v: labels %v\n%s", want, got, node.Labels, text)
	if volume.Spec.NodeAffinity == nil || volume.Spec.NodeAffinity.Required == nil {
		return
	}
	selector := volume.Spec.NodeAffinity.Required
	wantMatch, wantErr := nodeaffinity.NewLazyErrorNodeSelector(selector).Match(node)
	match, err := binding.MatchNodeSelector(selector, node)
	require.Equal(t, wantMatch, match, "labels %v\n%s", node.Labels, text)
	require.Equal(t, wantErr != nil, err != nil, "upstream says %v, we say %v\n%s", wantErr, err, text)
}

// agreeOnIndex: the index answers as the linear rules do, and Explain chooses what
// they choose.
func agreeOnIndex(t *testing.T, w world) {
	t.Helper()
	text := shown{w}
	index := binding.NewIndex()
	for i := range w.Volumes {
		index.Put(w.Volumes[len(w.Volumes)-1-i])
	}
	want, err := binding.FindBestMatchForClaim(w.Claim, w.Volumes, w.Delay)
	require.NoError(t, err)
	got, err := index.FindBestMatchForClaim(w.Claim, w.Delay)
	require.NoError(t, err)
	require.Same(t, want, got, "FindBestMatchForClaim\n%s", text)

	chosen := want
	if w.Node != nil {
		var ofClass []*v1.PersistentVolume
		for _, volume := range w.Volumes {
			if upstream.GetPersistentVolumeClass(volume) == upstream.GetPersistentVolumeClaimClass(w.Claim) {
				ofClass = append(ofClass, volume)
			}
		}
		want, _ = upstream.FindMatchingVolume(w.Claim, ofClass, w.Node, w.Excluded, true, true)
		got, err = index.FindMatchingVolume(w.Claim, w.Node, w.Excluded)
		require.NoError(t, err)
		require.Same(t, want, got, "Index.FindMatchingVolume\n%s", text)
		chosen, _ = binding.FindMatchingVolume(w.Claim, w.Volumes, w.Node, w.Excluded, w.Delay)
	}
	verdicts, err := binding.Explain(w.Claim, w.Volumes, w.Node, w.Excluded, w.Delay)
	require.NoError(t, err)
	require.Len(t, verdicts, len(w.Volumes))
	for i, verdict := range verdicts {
		require.Equal(t, w.Volumes[i] == chosen, verdict.Chosen, "%s\n%s", verdict, text)
		require.Equal(t, verdict.Chosen, verdict.Filter == binding.Passed, "%s\n%s", verdict, text)
		require.NotEmpty(t, verdict.Reason)
	}
	for _, volume := range w.Volumes {
		index.Delete(volume.Name)
	}
	require.Zero(t, index.Len())
}

func TestTheRulesAgreeWithUpstreamOnRandomWorlds(t *testing.T) {
	cases := 40_000
	if testing.Short() {
		cases = 2_000
	}
	found := 0
	for seed := range cases {
		w := dice{rand.New(rand.NewPCG(uint64(seed), 1))}.world()
		agree(t, w)
		if got, err := binding.FindMatchingVolume(w.Claim, w.Volumes, w.Node, w.Excluded, w.Delay); err == nil && got != nil {
			found++
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	require.Greater(t, found, cases/20, "too few worlds have a match for the comparison to mean anything")
}

func FuzzTheRulesAgreeWithUpstream(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(seed, seed*7)
	}
	f.Fuzz(func(t *testing.T, a, b uint64) {
		agree(t, dice{rand.New(rand.NewPCG(a, b))}.world())
	})
}
