package binding_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/binding"
)

// claimOf returns a claim default/data with UID 1 of class manual.
func claimOf(request string, modes ...v1.PersistentVolumeAccessMode) *v1.PersistentVolumeClaim {
	return &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data", UID: "1"},
		Spec: v1.PersistentVolumeClaimSpec{
			AccessModes: modes, StorageClassName: new("manual"),
			Resources: v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse(request)}},
		},
	}
}

// volumeOf returns an Available volume of class manual.
func volumeOf(name, size string, modes ...v1.PersistentVolumeAccessMode) *v1.PersistentVolume {
	return &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1.PersistentVolumeSpec{
			AccessModes: modes, StorageClassName: "manual",
			Capacity: v1.ResourceList{v1.ResourceStorage: resource.MustParse(size)},
		},
		Status: v1.PersistentVolumeStatus{Phase: v1.VolumeAvailable},
	}
}

// with changes an object and returns it.
func with[T any](obj T, change func(T)) T { change(obj); return obj }

func reserved(uid types.UID) func(*v1.PersistentVolume) {
	return func(volume *v1.PersistentVolume) {
		volume.Spec.ClaimRef = &v1.ObjectReference{Namespace: "default", Name: "data", UID: uid}
	}
}

func onNode(name string) func(*v1.PersistentVolume) {
	return func(volume *v1.PersistentVolume) {
		volume.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
			MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: []string{name}}},
		}}}}
	}
}

func nodeOf(name string) *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelHostname: name}}}
}

// find searches a list and an index, which must agree. It returns "" if no volume fits.
func find(t testing.TB, claim *v1.PersistentVolumeClaim, delay bool, volumes ...*v1.PersistentVolume) string {
	t.Helper()
	linear, err := binding.FindBestMatchForClaim(claim, volumes, delay)
	require.NoError(t, err)
	index := binding.NewIndex()
	for _, volume := range volumes {
		index.Put(volume)
	}
	indexed, err := index.FindBestMatchForClaim(claim, delay, nil)
	require.NoError(t, err)
	require.Same(t, linear, indexed)
	if linear == nil {
		return ""
	}
	return linear.Name
}

func TestFewestAccessModesGoBeforeTheSmallestSize(t *testing.T) { // semantics 1 must 1
	require.Equal(t, "big", find(t, claimOf("5Gi", v1.ReadWriteOnce), false,
		volumeOf("big", "10Gi", v1.ReadWriteOnce), volumeOf("small", "5Gi", v1.ReadWriteOnce, v1.ReadWriteMany)))
}

func TestOfEqualModesTheSmallestSufficientSizeWins(t *testing.T) { // semantics 1 must 2
	require.Equal(t, "pv-8", find(t, claimOf("5Gi", v1.ReadWriteOnce), false,
		volumeOf("pv-1", "1Gi", v1.ReadWriteOnce), volumeOf("pv-20", "20Gi", v1.ReadWriteOnce), volumeOf("pv-8", "8Gi", v1.ReadWriteOnce)))
}

func TestADelayedClaimGetsOnlyAVolumeReservedForIt(t *testing.T) { // semantics 1 must 3
	claim, free := claimOf("5Gi", v1.ReadWriteOnce), volumeOf("free", "5Gi", v1.ReadWriteOnce)
	require.Empty(t, find(t, claim, true, free))
	require.Equal(t, "mine", find(t, claim, true, free, with(volumeOf("mine", "9Gi", v1.ReadWriteOnce), reserved(""))))
}

func TestAReservedVolumeWinsInItsGroupWhateverItsClassLabelsAndPhase(t *testing.T) { // semantics 1 must 4
	claim := with(claimOf("5Gi", v1.ReadWriteOnce), func(claim *v1.PersistentVolumeClaim) {
		claim.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	})
	free := with(volumeOf("free", "5Gi", v1.ReadWriteOnce), func(v *v1.PersistentVolume) { v.Labels = map[string]string{"a": "b"} })
	mine := with(volumeOf("mine", "50Gi", v1.ReadWriteOnce), reserved(""))
	mine.Spec.StorageClassName, mine.Status.Phase = "other", v1.VolumeReleased
	require.Equal(t, "mine", find(t, claim, false, free, mine))

	mine.Spec.Capacity[v1.ResourceStorage] = resource.MustParse("1Gi")
	require.Equal(t, "free", find(t, claim, false, free, mine), "too small")
	mine.Spec.Capacity[v1.ResourceStorage] = resource.MustParse("50Gi")
	mine.Spec.VolumeMode = new(v1.PersistentVolumeBlock)
	require.Equal(t, "free", find(t, claim, false, free, mine), "wrong mode")
}

func TestAReservedVolumeOutOfTheNodesReachMeansNoMatchAtAll(t *testing.T) {
	claim := claimOf("5Gi", v1.ReadWriteOnce)
	mine := with(with(volumeOf("mine", "5Gi", v1.ReadWriteOnce), reserved("1")), onNode("node-1"))
	free := volumeOf("free", "5Gi", v1.ReadWriteOnce)
	for node, want := range map[string]*v1.PersistentVolume{"node-1": mine, "node-2": nil} {
		got, err := binding.FindMatchingVolume(claim, []*v1.PersistentVolume{free, mine}, nodeOf(node), nil, true)
		require.NoError(t, err)
		require.Same(t, want, got, node)
	}
}

func TestAnInvalidSelectorIsAnErrorThatNamesTheClaimAndTheField(t *testing.T) {
	claim := with(claimOf("5Gi"), func(claim *v1.PersistentVolumeClaim) {
		claim.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}
	})
	_, err := binding.FindMatchingVolume(claim, nil, nil, nil, false)
	require.ErrorContains(t, err, "claim default/data: spec.selector: ")
	require.ErrorContains(t, err, `"Near"`)
	_, err = binding.FindBestMatchForClaim(claim, nil, false)
	require.Error(t, err)
	_, err = binding.NewIndex().FindBestMatchForClaim(claim, false, nil)
	require.Error(t, err)
	_, err = binding.NewIndex().Search(claim)
	require.Error(t, err)
}

func TestFindMatchingVolumeAllocatesNothingPerVolume(t *testing.T) {
	claim, node := claimOf("5Gi", v1.ReadWriteOnce), nodeOf("node-1")
	claim.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	allocations := func(n int) float64 {
		volumes := make([]*v1.PersistentVolume, n)
		for i := range volumes { // ever smaller, so that each goes through all filters
			volumes[i] = with(volumeOf(fmt.Sprintf("pv-%d", i), fmt.Sprintf("%dMi", 20_000-i), v1.ReadWriteOnce), onNode(fmt.Sprintf("node-%d", i%2)))
			volumes[i].Labels = map[string]string{"a": "b"}
		}
		// The fewest of many runs: under the race detector, a sync.Pool drops entries at
		// random, and they are allocated again.
		fewest := math.Inf(1)
		for range 100 {
			fewest = min(fewest, testing.AllocsPerRun(1, func() {
				_, _ = binding.FindMatchingVolume(claim, volumes, node, map[string]*v1.PersistentVolume{}, true)
			}))
		}
		return fewest
	}
	require.Equal(t, allocations(10), allocations(1000))
}

func TestAVolumeThatAClaimNamesMustSatisfyIt(t *testing.T) { // semantics 1.2
	deleted := metav1.Unix(0, 0)
	for _, test := range []struct {
		want, field, has, wants string
		change                  func(*v1.PersistentVolume)
	}{
		{change: func(*v1.PersistentVolume) {}},
		{change: func(v *v1.PersistentVolume) { v.Status.Phase = v1.VolumeReleased }},
		{`the volume is marked for deletion "pv"`, "metadata.deletionTimestamp", deleted.String(), "",
			func(v *v1.PersistentVolume) { v.DeletionTimestamp = &deleted }},
		{"requested PV is too small", "storage", "1Gi", "5Gi", func(v *v1.PersistentVolume) { v.Spec.Capacity[v1.ResourceStorage] = resource.MustParse("1Gi") }},
		{"storageClassName does not match", "spec.storageClassName", "other", "manual", func(v *v1.PersistentVolume) { v.Spec.StorageClassName = "other" }},
		{"volumeAttributesClassName does not match", "spec.volumeAttributesClassName", "gold", "",
			func(v *v1.PersistentVolume) { v.Spec.VolumeAttributesClassName = new("gold") }},
		{"incompatible volumeMode", "spec.volumeMode", "Block", "Filesystem", func(v *v1.PersistentVolume) { v.Spec.VolumeMode = new(v1.PersistentVolumeBlock) }},
		{"incompatible accessMode", "spec.accessModes", "ReadOnlyMany,ReadWriteMany", "ReadWriteOnce", func(v *v1.PersistentVolume) {
			v.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadOnlyMany, v1.ReadWriteMany}
		}},
	} {
		err := binding.CheckVolumeSatisfyClaim(with(volumeOf("pv", "5Gi", v1.ReadWriteOnce), test.change), claimOf("5Gi", v1.ReadWriteOnce))
		if test.want == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, test.want)
		var mismatch *binding.MismatchError
		require.ErrorAs(t, err, &mismatch)
		require.Equal(t, []string{"pv", test.field, test.has, test.wants}, []string{mismatch.Volume, mismatch.Field, mismatch.Has, mismatch.Wants})
	}
}

func TestOfSeveralReservedVolumesTheFirstThatFitsIsTheAnswer(t *testing.T) { // semantics 1.3 (8)
	claim := claimOf("5Gi", v1.ReadWriteOnce)
	small, first, second := volumeOf("a", "1Gi", v1.ReadWriteOnce), volumeOf("b", "9Gi", v1.ReadWriteOnce), volumeOf("c", "5Gi", v1.ReadWriteOnce)
	stranger := with(volumeOf("0", "5Gi", v1.ReadWriteOnce), reserved("another"))
	for _, volume := range []*v1.PersistentVolume{small, first, second} {
		reserved("")(volume)
	}
	require.Equal(t, "b", find(t, claim, false, stranger, small, first, second))
	require.Equal(t, "c", find(t, claim, true, stranger, small, second))
	require.Empty(t, find(t, claim, true, stranger, small))
}

func TestSizesAreComparedExactly(t *testing.T) { // semantics 1.3 (3)
	require.Equal(t, "enough", find(t, claimOf("1.5", v1.ReadWriteOnce), false, volumeOf("a-little-less", "1499999999n", v1.ReadWriteOnce),
		volumeOf("enough", "1500m", v1.ReadWriteOnce)))
	huge := "123456789012345678901234567890"
	require.Equal(t, "huge", find(t, claimOf("9Ei", v1.ReadWriteOnce), false, volumeOf("huge", huge, v1.ReadWriteOnce)))
	require.Empty(t, find(t, claimOf(huge, v1.ReadWriteOnce), false, volumeOf("pv", "7Ei", v1.ReadWriteOnce)))
	nothing := with(volumeOf("pv", "1Gi", v1.ReadWriteOnce), func(v *v1.PersistentVolume) { v.Spec.Capacity = nil })
	require.Empty(t, find(t, claimOf("1", v1.ReadWriteOnce), false, nothing), "absent capacity is none")
	require.Equal(t, "pv", find(t, claimOf("0", v1.ReadWriteOnce), false, nothing))
}
