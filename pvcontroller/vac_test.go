package pvcontroller_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/rigs/enginetest"
	"github.com/storagesim/storagesim/pvcontroller/protection"
)

const vacFinalizer = "kubernetes.io/vac-protection"

// vacRig is the controller of VolumeAttributesClasses alone, with class gold.
type vacRig struct{ *enginetest.Rig }

func newVACRig(t *testing.T, cfg engine.Config) *vacRig {
	t.Helper()
	r := &vacRig{enginetest.New(t, cfg, protection.VACActorName, protection.NewVAC())}
	_, err := r.User.StorageV1().VolumeAttributesClasses().Create(ctx, &storage.VolumeAttributesClass{
		ObjectMeta: metav1.ObjectMeta{Name: "gold"}, DriverName: "csi.example.com", Parameters: map[string]string{"iops": "100"},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	r.Settle()
	return r
}

// class returns class gold, nil if it is gone.
func (r *vacRig) class() *storage.VolumeAttributesClass {
	r.Helper()
	class, err := r.User.StorageV1().VolumeAttributesClasses().Get(ctx, "gold", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(r, err)
	return class
}

func (r *vacRig) delete() {
	r.Helper()
	require.NoError(r, r.User.StorageV1().VolumeAttributesClasses().Delete(ctx, "gold", metav1.DeleteOptions{}))
	r.Settle()
}

func (r *vacRig) claim(class *string) *v1.PersistentVolumeClaim {
	r.Helper()
	claim, err := r.User.CoreV1().PersistentVolumeClaims("default").Create(ctx, &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "data"},
		Spec: v1.PersistentVolumeClaimSpec{
			AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, VolumeName: "pv-1", VolumeAttributesClassName: class,
			Resources: v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}, metav1.CreateOptions{})
	require.NoError(r, err)
	r.Settle()
	return claim
}

func (r *vacRig) status(change func(*v1.PersistentVolumeClaimStatus)) {
	r.Helper()
	claims := r.User.CoreV1().PersistentVolumeClaims("default")
	claim, err := claims.Get(ctx, "data", metav1.GetOptions{})
	require.NoError(r, err)
	change(&claim.Status)
	_, err = claims.UpdateStatus(ctx, claim, metav1.UpdateOptions{})
	require.NoError(r, err)
	r.Settle()
}

func TestAVolumeAttributesClassThatNothingHasIsDeletedAtOnce(t *testing.T) {
	r := newVACRig(t, engine.Config{})
	require.Equal(t, []string{vacFinalizer}, r.class().Finalizers)
	r.delete()
	require.Nil(t, r.class())
}

func TestAVolumeAttributesClassStaysAsLongAsAClaimAsksForItHasItOrIsBeingChangedToIt(t *testing.T) {
	gold := "gold"
	r := newVACRig(t, engine.Config{})
	r.claim(&gold)
	r.delete()
	require.NotNil(t, r.class(), "the claim asks for it")

	r.status(func(s *v1.PersistentVolumeClaimStatus) {
		s.Phase, s.CurrentVolumeAttributesClassName = v1.ClaimBound, &gold
	})
	other := "silver"
	claims := r.User.CoreV1().PersistentVolumeClaims("default")
	claim, err := claims.Get(ctx, "data", metav1.GetOptions{})
	require.NoError(t, err)
	claim.Spec.VolumeAttributesClassName = &other
	_, err = claims.Update(ctx, claim, metav1.UpdateOptions{})
	require.NoError(t, err)
	r.Settle()
	require.NotNil(t, r.class(), "the claim has it")

	r.status(func(s *v1.PersistentVolumeClaimStatus) {
		s.CurrentVolumeAttributesClassName = &other
		s.ModifyVolumeStatus = &v1.ModifyVolumeStatus{TargetVolumeAttributesClassName: gold, Status: v1.PersistentVolumeClaimModifyVolumeInProgress}
	})
	require.NotNil(t, r.class(), "the claim is being changed to it")
	r.status(func(s *v1.PersistentVolumeClaimStatus) { s.ModifyVolumeStatus = nil })
	require.Nil(t, r.class())
}

func TestAVolumeAttributesClassStaysAsLongAsAVolumeHasIt(t *testing.T) {
	gold := "gold"
	for crash := range 30 {
		r := newVACRig(t, engine.Config{})
		_, err := r.User.CoreV1().PersistentVolumes().Create(ctx, &v1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: "pv-1"},
			Spec: v1.PersistentVolumeSpec{
				Capacity: v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}, AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
				VolumeAttributesClassName: &gold,
				PersistentVolumeSource:    v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: "csi.example.com", VolumeHandle: "h"}},
			},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		require.NoError(t, r.User.StorageV1().VolumeAttributesClasses().Delete(ctx, "gold", metav1.DeleteOptions{}))
		for range crash {
			_, err := r.Engine.Step()
			require.NoError(t, err)
		}
		require.NoError(t, r.Engine.CrashFor(protection.VACActorName, time.Second))
		require.NoError(t, r.Engine.RunFor(time.Minute))
		words := fmt.Sprintf("with a crash at step %d", crash)
		require.NotNil(t, r.class(), words)
		pv, err := r.User.CoreV1().PersistentVolumes().Get(ctx, "pv-1", metav1.GetOptions{})
		require.NoError(t, err)
		pv.Finalizers = nil
		_, err = r.User.CoreV1().PersistentVolumes().Update(ctx, pv, metav1.UpdateOptions{})
		require.NoError(t, err)
		require.NoError(t, r.User.CoreV1().PersistentVolumes().Delete(ctx, "pv-1", metav1.DeleteOptions{}))
		r.Settle()
		require.Nil(t, r.class(), words)
	}
}
