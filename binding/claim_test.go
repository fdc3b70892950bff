package binding_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/binding"
)

func TestABoundVolumeNamesItsClaimInFull(t *testing.T) { // semantics 1.4 step 1
	claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data", UID: "u", ResourceVersion: "7"}}
	full := &v1.ObjectReference{
		Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: "default", Name: "data", UID: "u", ResourceVersion: "7",
	}
	marked := map[string]string{binding.AnnBoundByController: "yes"}
	for name, test := range map[string]struct {
		ref, want          *v1.ObjectReference
		annotations, after map[string]string
		dirty              bool
	}{
		"nobody's":             {nil, full, nil, marked, true},
		"another's":            {&v1.ObjectReference{Namespace: "default", Name: "other"}, full, nil, marked, true},
		"an earlier claim's":   {&v1.ObjectReference{Namespace: "default", Name: "data", UID: "before"}, full, nil, marked, true},
		"reserved by the user": {&v1.ObjectReference{Namespace: "default", Name: "data"}, full, nil, nil, true},
		"bound":                {full, full, marked, marked, false},
		"bound, an old version": {
			&v1.ObjectReference{Namespace: "default", Name: "data", UID: "u", ResourceVersion: "3"},
			&v1.ObjectReference{Namespace: "default", Name: "data", UID: "u", ResourceVersion: "3"}, nil, nil, false,
		},
		"marked by hand": {nil, full, map[string]string{binding.AnnBoundByController: "no"}, map[string]string{binding.AnnBoundByController: "no"}, true},
	} {
		volume := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Annotations: test.annotations}, Spec: v1.PersistentVolumeSpec{ClaimRef: test.ref}}
		before := volume.DeepCopy()
		bound, dirty, err := binding.GetBindVolumeToClaim(volume, claim)
		require.NoError(t, err, name)
		require.Equal(t, test.want, bound.Spec.ClaimRef, name)
		require.Equal(t, test.after, bound.Annotations, name)
		require.Equal(t, test.dirty, dirty, name)
		require.Equal(t, before, volume, "the volume is shared and must not change")
	}
}

func TestTheVolumeThatAClaimNamesIsMeasuredInWholeBytes(t *testing.T) { // semantics 1.2; unlike FindMatchingVolume
	for _, test := range []struct {
		capacity, request string
		fits              bool
	}{
		{"1500m", "1501m", true}, {"1500m", "2", true}, {"1500m", "2001m", false}, {"1Gi", "1Gi", true}, {"1Gi", "1.1Gi", false}, {"0.5", "1", true},
	} {
		volume := &v1.PersistentVolume{Spec: v1.PersistentVolumeSpec{Capacity: v1.ResourceList{v1.ResourceStorage: resource.MustParse(test.capacity)}}}
		claim := &v1.PersistentVolumeClaim{}
		claim.Spec.Resources.Requests = v1.ResourceList{v1.ResourceStorage: resource.MustParse(test.request)}
		err := binding.CheckVolumeSatisfyClaim(volume, claim)
		require.Equal(t, test.fits, err == nil, "%s for %s: %v", test.capacity, test.request, err)
	}
}

func TestAClaimHasAClassIfItSpeaksOfOne(t *testing.T) { // semantics 1.2 step 4
	claim := func(field *string, annotations map[string]string) *v1.PersistentVolumeClaim {
		return &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}, Spec: v1.PersistentVolumeClaimSpec{StorageClassName: field}}
	}
	for _, test := range []struct {
		claim *v1.PersistentVolumeClaim
		has   bool
		class string
	}{
		{claim(nil, nil), false, ""},
		{claim(new(""), nil), true, ""},
		{claim(new("a"), nil), true, "a"},
		{claim(nil, map[string]string{binding.AnnStorageClass: ""}), true, ""},
		{claim(new("a"), map[string]string{binding.AnnStorageClass: "b"}), true, "b"},
		{claim(new("a"), map[string]string{binding.AnnStorageClass: ""}), true, ""},
	} {
		require.Equal(t, test.has, binding.PersistentVolumeClaimHasClass(test.claim))
		require.Equal(t, test.class, binding.GetPersistentVolumeClaimClass(test.claim))
	}
}

func TestOnlyAKnownClassDelaysBinding(t *testing.T) { // semantics 1.2 step 1
	classes := map[string]*storagev1.StorageClass{
		"now":   {VolumeBindingMode: new(storagev1.VolumeBindingImmediate)},
		"later": {VolumeBindingMode: new(storagev1.VolumeBindingWaitForFirstConsumer)},
		"open":  {},
	}
	get := func(name string) (*storagev1.StorageClass, bool) { class, found := classes[name]; return class, found }
	for name, want := range map[string]bool{"": false, "nope": false, "now": false, "later": true} {
		delay, err := binding.IsDelayBindingMode(&v1.PersistentVolumeClaim{Spec: v1.PersistentVolumeClaimSpec{StorageClassName: &name}}, get)
		require.NoError(t, err)
		require.Equal(t, want, delay, name)
	}
	_, err := binding.IsDelayBindingMode(&v1.PersistentVolumeClaim{Spec: v1.PersistentVolumeClaimSpec{StorageClassName: new("open")}}, get)
	require.EqualError(t, err, `VolumeBindingMode not set for StorageClass "open"`)
}

func TestTheClaimOfAVolumeIsTheOneItNamesOrTheOneMadeForIt(t *testing.T) {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web"}, Spec: v1.PodSpec{Volumes: []v1.Volume{
		{Name: "a", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}},
		{Name: "b", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}},
		{Name: "c", VolumeSource: v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{}}},
	}}}
	var names []string
	for i := range pod.Spec.Volumes {
		names = append(names, binding.ClaimOfVolume(pod, &pod.Spec.Volumes[i]))
	}
	require.Equal(t, []string{"data", "", "web-c"}, names)
	require.Equal(t, []string{"team/data", "team/web-c"}, binding.ClaimKeysOfPod(pod))
}
