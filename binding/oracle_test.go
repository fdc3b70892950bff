package binding_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	upstream "k8s.io/component-helpers/storage/volume"
	"sigs.k8s.io/yaml"

	"github.com/storagesim/storagesim/binding"
)

// shown wraps a value that is printed only when a test fails.
type shown struct{ value any }

func (s shown) String() string {
	text, err := yaml.Marshal(s.value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// agree compares all rules, the index and Explain with upstream's own code on one random
// world. It returns the verdicts.
func agree(t testing.TB, w world) []binding.Verdict {
	t.Helper()
	text := shown{w}

	want, wantErr := upstream.FindMatchingVolume(w.Claim, w.Volumes, w.Node, w.Excluded, w.Delay, true)
	got, err := binding.FindMatchingVolume(w.Claim, w.Volumes, w.Node, w.Excluded, w.Delay)
	equal(t, wantErr != nil, err != nil, "error", text)
	same(t, want, got, "FindMatchingVolume", text)

	for _, volume := range w.Volumes {
		equal(t, upstream.IsVolumeBoundToClaim(volume, w.Claim), binding.IsVolumeBoundToClaim(volume, w.Claim), "IsVolumeBoundToClaim", text)
		equal(t, upstream.CheckAccessModes(w.Claim, volume), binding.CheckAccessModes(w.Claim, volume), "CheckAccessModes", text)
		equal(t, upstream.CheckVolumeModeMismatches(&w.Claim.Spec, &volume.Spec), binding.CheckVolumeModeMismatches(&w.Claim.Spec, &volume.Spec),
			"CheckVolumeModeMismatches", text)
		equal(t, upstream.GetPersistentVolumeClass(volume), binding.GetPersistentVolumeClass(volume), "GetPersistentVolumeClass", text)
		if w.Node != nil {
			agreeOnNode(t, volume, w.Node)
		}
	}
	if len(w.Volumes) > 0 { // one is enough: it takes long
		agreeOnBinding(t, w.Volumes[0], w.Claim)
	}
	equal(t, upstream.GetPersistentVolumeClaimClass(w.Claim), binding.GetPersistentVolumeClaimClass(w.Claim), "GetPersistentVolumeClaimClass", text)
	if err != nil {
		return nil
	}
	agreeOnIndex(t, w)
	return agreeOnVerdicts(t, w)
}

func agreeOnBinding(t testing.TB, volume *v1.PersistentVolume, claim *v1.PersistentVolumeClaim) {
	t.Helper()
	before := volume.DeepCopy()
	want, wantDirty, wantErr := upstream.GetBindVolumeToClaim(volume, claim)
	got, dirty, err := binding.GetBindVolumeToClaim(volume, claim)
	require.NoError(t, wantErr)
	require.NoError(t, err)
	require.Equal(t, wantDirty, dirty)
	require.Equal(t, want, got)
	require.Equal(t, before, volume, "what binding does not change is shared, and stays as it was")
}

func agreeOnNode(t testing.TB, volume *v1.PersistentVolume, node *v1.Node) {
	t.Helper()
	text := shown{volume.Spec.NodeAffinity}
	want := upstream.CheckNodeAffinity(volume, node.Labels)
	got := binding.CheckNodeAffinity(volume, node.Labels)
	if (want == nil) != (got == nil) {
		t.Fatalf("upstream says %v, we say %v: labels %v\n%s", want, got, node.Labels, text)
	}
	if volume.Spec.NodeAffinity == nil || volume.Spec.NodeAffinity.Required == nil {
		return
	}
	selector := volume.Spec.NodeAffinity.Required
	wantMatch, wantErr := nodeaffinity.NewLazyErrorNodeSelector(selector).Match(node)
	match, err := binding.MatchNodeSelector(selector, node)
	if wantMatch != match || (wantErr != nil) != (err != nil) {
		t.Fatalf("upstream says %v, %v, we say %v, %v: labels %v\n%s", wantMatch, wantErr, match, err, node.Labels, text)
	}
}

// agreeOnIndex checks that the index answers as upstream does, whatever it held before, and
// is empty when all volumes are removed.
func agreeOnIndex(t testing.TB, w world) {
	t.Helper()
	text := shown{w}
	index := binding.NewIndex()
	for _, volume := range w.Before {
		index.Put(volume)
	}
	if len(w.Volumes)%2 == 0 { // from here on the class has buckets by node label
		_, err := index.FindMatchingVolume(w.Claim, &v1.Node{}, nil, nil)
		require.NoError(t, err)
	}
	for i := range w.Volumes {
		index.Put(w.Volumes[len(w.Volumes)-1-i])
	}
	for _, volume := range w.Before {
		if strings.HasPrefix(volume.Name, "gone") {
			index.Delete(volume.Name)
		}
	}
	got, err := index.FindBestMatchForClaim(w.Claim, w.Delay, nil)
	require.NoError(t, err)
	allowed := bestMatches(w)
	if !slices.Contains(allowed, got) {
		require.Contains(t, allowed, got, "Index.FindBestMatchForClaim\n%s", text)
	}
	linear, err := binding.FindBestMatchForClaim(w.Claim, w.Volumes, w.Delay)
	require.NoError(t, err)
	same(t, linear, got, "FindBestMatchForClaim", text)

	ofClass := slices.DeleteFunc(slices.Clone(w.Volumes), func(volume *v1.PersistentVolume) bool {
		return upstream.GetPersistentVolumeClass(volume) != upstream.GetPersistentVolumeClaimClass(w.Claim)
	})
	want, err := upstream.FindMatchingVolume(w.Claim, ofClass, w.Node, w.Excluded, true, true)
	require.NoError(t, err)
	got, err = index.FindMatchingVolume(w.Claim, w.Node, w.Excluded, nil)
	require.NoError(t, err)
	same(t, want, got, "Index.FindMatchingVolume", text)

	for _, volume := range w.Volumes {
		index.Delete(volume.Name)
	}
	if !index.Empty() {
		t.Fatalf("the index still holds something\n%s", text)
	}
}

// equal does what require.Equal does, same what require.Same does, for code that runs
// millions of times.
func equal[T comparable](t testing.TB, want, got T, what string, text shown) {
	t.Helper()
	if want != got {
		require.Equal(t, want, got, "%s\n%s", what, text)
	}
}

func same(t testing.TB, want, got *v1.PersistentVolume, what string, text shown) {
	t.Helper()
	if want != got {
		require.Same(t, want, got, "%s\n%s", what, text)
	}
}

// bestMatches returns the answers that upstream's PV controller may give: those for the
// groups with an answer and the fewest modes. The order of groups with equally many modes
// is undefined.
// Upstream: index.go persistentVolumeOrderedIndex.findByClaim, v1.37.
func bestMatches(w world) []*v1.PersistentVolume {
	groups := map[string][]*v1.PersistentVolume{}
	for _, volume := range w.Volumes {
		offered := modeString(volume.Spec.AccessModes)
		groups[offered] = append(groups[offered], volume)
	}
	best, fewest := []*v1.PersistentVolume{nil}, len(modes)+1
	for offered, group := range groups {
		count := strings.Count(offered, "+")
		found, err := upstream.FindMatchingVolume(w.Claim, group, nil, nil, w.Delay, true)
		if err != nil || found == nil || count > fewest || !containsAll(offered, w.Claim.Spec.AccessModes) {
			continue
		}
		if count < fewest {
			best, fewest = nil, count
		}
		best = append(best, found)
	}
	return best
}

// modeString returns a word for each known mode, once and in a fixed order.
func modeString(offered []v1.PersistentVolumeAccessMode) (words string) {
	for _, mode := range modes {
		if slices.Contains(offered, mode) {
			words += "+" + string(mode) + ","
		}
	}
	return words
}

func containsAll(offered string, wanted []v1.PersistentVolumeAccessMode) bool {
	return !slices.ContainsFunc(wanted, func(mode v1.PersistentVolumeAccessMode) bool {
		return !strings.Contains(offered, "+"+string(mode)+",")
	})
}
