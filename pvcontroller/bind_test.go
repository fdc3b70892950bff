package pvcontroller

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A status as a claim may have it.
func statusOf(phase v1.PersistentVolumeClaimPhase, size, class string, modes ...v1.PersistentVolumeAccessMode) v1.PersistentVolumeClaimStatus {
	status := v1.PersistentVolumeClaimStatus{Phase: phase, AccessModes: modes}
	if size != "" {
		status.Capacity = v1.ResourceList{v1.ResourceStorage: resource.MustParse(size)}
	}
	if class != "" {
		status.CurrentVolumeAttributesClassName = &class
	}
	return status
}

func TestAClaimsStatusIsWhatItsVolumeGives(t *testing.T) { // semantics 1.4
	const rwo, rox = v1.ReadWriteOnce, v1.ReadOnlyMany
	volume := &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pv"},
		Spec: v1.PersistentVolumeSpec{
			AccessModes: []v1.PersistentVolumeAccessMode{rwo, rox}, Capacity: v1.ResourceList{v1.ResourceStorage: resource.MustParse("5Gi")},
			VolumeAttributesClassName: new("gold"),
		},
	}
	for name, test := range map[string]struct {
		has   v1.PersistentVolumeClaimStatus
		phase v1.PersistentVolumeClaimPhase
		from  *v1.PersistentVolume
		want  v1.PersistentVolumeClaimStatus
		dirty bool
	}{
		"newly bound":    {statusOf(v1.ClaimPending, "", ""), v1.ClaimBound, volume, statusOf(v1.ClaimBound, "5Gi", "gold", rwo, rox), true},
		"back from Lost": {statusOf(v1.ClaimLost, "", ""), v1.ClaimBound, volume, statusOf(v1.ClaimBound, "5Gi", "", rwo, rox), true},
		"bound already": {statusOf(v1.ClaimBound, "5Gi", "gold", rwo, rox), v1.ClaimBound, volume,
			statusOf(v1.ClaimBound, "5Gi", "gold", rwo, rox), false},
		"bound, size differs": {statusOf(v1.ClaimBound, "3Gi", "gold", rwo, rox), v1.ClaimBound, volume,
			statusOf(v1.ClaimBound, "3Gi", "gold", rwo, rox), false},
		"bound, class differs":     {statusOf(v1.ClaimBound, "5Gi", "tin", rwo, rox), v1.ClaimBound, volume, statusOf(v1.ClaimBound, "5Gi", "tin", rwo, rox), false},
		"bound, modes differ":      {statusOf(v1.ClaimBound, "3Gi", "tin", rwo), v1.ClaimBound, volume, statusOf(v1.ClaimBound, "3Gi", "tin", rwo, rox), true},
		"pending":                  {statusOf(v1.ClaimPending, "", ""), v1.ClaimPending, nil, statusOf(v1.ClaimPending, "", ""), false},
		"pending with a size":      {statusOf(v1.ClaimPending, "5Gi", ""), v1.ClaimPending, nil, statusOf(v1.ClaimPending, "", ""), true},
		"pending with modes":       {statusOf(v1.ClaimPending, "", "", rwo), v1.ClaimPending, nil, statusOf(v1.ClaimPending, "", ""), true},
		"pending with a class":     {statusOf(v1.ClaimPending, "", "gold"), v1.ClaimPending, nil, statusOf(v1.ClaimPending, "", ""), true},
		"lost":                     {statusOf(v1.ClaimBound, "5Gi", "gold", rwo), v1.ClaimLost, nil, statusOf(v1.ClaimLost, "", ""), true},
		"of no phase, now Pending": {statusOf("", "", ""), v1.ClaimPending, nil, statusOf(v1.ClaimPending, "", ""), true},
	} {
		claim := &v1.PersistentVolumeClaim{Status: *test.has.DeepCopy()}
		status, dirty, err := claimStatus(claim, test.phase, test.from)
		require.NoError(t, err, name)
		require.Equal(t, test.want, status, name)
		require.Equal(t, test.dirty, dirty, name)
		require.Equal(t, test.has, claim.Status, "the claim is shared and must not change")
	}
}

func TestAnAnnotationOfWhichOnlyThePresenceCountsKeepsItsValue(t *testing.T) { // semantics 0
	meta := metav1.ObjectMeta{Annotations: map[string]string{"a": "by hand"}}
	setIfMissing(&meta, "a")
	setIfMissing(&meta, "b")
	require.Equal(t, map[string]string{"a": "by hand", "b": "yes"}, meta.Annotations)
}
