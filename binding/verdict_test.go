package binding_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	upstream "k8s.io/component-helpers/storage/volume"

	"github.com/storagesim/storagesim/binding"
)

// upstreamsFilters holds the filters of upstream's FindMatchingVolume, one by one, in
// its order (semantics 1.3), written with upstream's own predicates. A volume
// reserved for the claim need not pass those marked free.
var upstreamsFilters = []struct {
	filter binding.Filter
	free   bool
	fails  func(w world, volume *v1.PersistentVolume) bool
}{
	{binding.Excluded, false, func(w world, v *v1.PersistentVolume) bool { _, found := w.Excluded[v.Name]; return found }},
	{binding.Claimed, false, func(w world, v *v1.PersistentVolume) bool {
		return v.Spec.ClaimRef != nil && !upstream.IsVolumeBoundToClaim(v, w.Claim)
	}},
	{binding.TooSmall, false, func(w world, v *v1.PersistentVolume) bool {
		capacity := v.Spec.Capacity[v1.ResourceStorage]
		return capacity.Cmp(w.Claim.Spec.Resources.Requests[v1.ResourceStorage]) < 0
	}},
	{binding.WrongMode, false, func(w world, v *v1.PersistentVolume) bool {
		return upstream.CheckVolumeModeMismatches(&w.Claim.Spec, &v.Spec)
	}},
	{binding.WrongAttributesClass, false, func(w world, v *v1.PersistentVolume) bool {
		name := func(s *string) string {
			if s == nil {
				return ""
			}
			return *s
		}
		return name(w.Claim.Spec.VolumeAttributesClassName) != name(v.Spec.VolumeAttributesClassName)
	}},
	{binding.Deleting, false, func(_ world, v *v1.PersistentVolume) bool { return v.DeletionTimestamp != nil }},
	{binding.Delayed, true, func(w world, _ *v1.PersistentVolume) bool { return w.Node == nil && w.Delay }},
	{binding.NotAvailable, true, func(_ world, v *v1.PersistentVolume) bool { return v.Status.Phase != v1.VolumeAvailable }},
	{binding.WrongLabels, true, func(w world, v *v1.PersistentVolume) bool {
		selector, err := metav1.LabelSelectorAsSelector(w.Claim.Spec.Selector)
		return w.Claim.Spec.Selector != nil && (err != nil || !selector.Matches(labels.Set(v.Labels)))
	}},
	{binding.WrongClass, true, func(w world, v *v1.PersistentVolume) bool {
		return upstream.GetPersistentVolumeClass(v) != upstream.GetPersistentVolumeClaimClass(w.Claim)
	}},
	{binding.WrongNode, false, func(w world, v *v1.PersistentVolume) bool {
		return w.Node != nil && upstream.CheckNodeAffinity(v, w.Node.Labels) != nil
	}},
	// Without a node the PV controller's index checks the access modes.
	{binding.WrongAccessModes, true, func(w world, v *v1.PersistentVolume) bool {
		return w.Node != nil && !upstream.CheckAccessModes(w.Claim, v)
	}},
	{binding.WrongAccessModes, false, func(w world, v *v1.PersistentVolume) bool {
		return w.Node == nil && !containsAll(modeString(v.Spec.AccessModes), w.Claim.Spec.AccessModes)
	}},
}

// firstFailed returns the first of upstream's filters that the volume fails.
func firstFailed(w world, volume *v1.PersistentVolume) binding.Filter {
	for _, f := range upstreamsFilters {
		if (!f.free || volume.Spec.ClaimRef == nil) && f.fails(w, volume) {
			return f.filter
		}
	}
	return binding.Passed
}

// agreeOnVerdicts checks that Explain chooses what the search finds, and that for every
// other volume it names the filter at which upstream drops it. A volume that passes all is
// outranked, or blocked by a reserved volume that the node cannot reach.
func agreeOnVerdicts(t testing.TB, w world) []binding.Verdict {
	t.Helper()
	text := shown{w}
	verdicts, err := binding.Explain(w.Claim, w.Volumes, w.Node, w.Excluded, w.Delay)
	require.NoError(t, err)
	chosen := searched(t, w)
	if len(verdicts) != len(w.Volumes) {
		t.Fatalf("%d verdicts\n%s", len(verdicts), text)
	}
	for i, verdict := range verdicts {
		failed := firstFailed(w, w.Volumes[i])
		var ok bool
		switch verdict.Filter {
		case binding.Passed:
			ok = w.Volumes[i] == chosen && verdict.Chosen
		case binding.Outranked:
			ok = failed == binding.Passed && chosen != nil && chosen != w.Volumes[i]
		case binding.Blocked:
			ok = failed == binding.Passed && chosen == nil && w.Node != nil
		default:
			ok = failed == verdict.Filter
		}
		if !ok || verdict.Reason == "" || verdict.Volume != w.Volumes[i].Name || verdict.Chosen != (w.Volumes[i] == chosen) {
			t.Fatalf("%s (filter %d; upstream drops it at %d)\n%s", verdict, verdict.Filter, failed, text)
		}
	}
	return verdicts
}

// searched returns what the search that Explain explains finds.
func searched(t testing.TB, w world) *v1.PersistentVolume {
	t.Helper()
	if w.Node != nil {
		found, err := upstream.FindMatchingVolume(w.Claim, w.Volumes, w.Node, w.Excluded, w.Delay, true)
		require.NoError(t, err)
		return found
	}
	found, err := binding.FindBestMatchForClaim(w.Claim, w.Volumes, w.Delay)
	require.NoError(t, err)
	return found
}
