package provisioner_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/provisioner"
)

func TestFaultyGivesItsAnswersAndThenTheProvisionersOwn(t *testing.T) {
	b := &backend{volumes: map[string]bool{}}
	f := &provisioner.Faulty{Provisioner: b}
	full := errors.New("full")
	f.OnProvision(
		provisioner.Answer{Claim: "default/other", Err: full},
		provisioner.Answer{Err: full, State: provisioner.ProvisioningReschedule, Times: 2},
		provisioner.Answer{AnswerLost: true},
	)
	f.OnDelete(provisioner.Answer{Times: -1})
	options := provisioner.ProvisionOptions{PVName: "pvc-1", PVC: &v1.PersistentVolumeClaim{}}
	options.PVC.Namespace, options.PVC.Name = "default", "data"
	b.clock = fixedClock{}
	b.inFlight = map[string]int{}

	for range 2 {
		volume, state, err := f.Provision(context.Background(), options)
		assert.Nil(t, volume)
		assert.Equal(t, provisioner.ProvisioningReschedule, state)
		assert.Equal(t, full, err)
		assert.Empty(t, b.volumes)
	}
	_, state, err := f.Provision(context.Background(), options)
	assert.Equal(t, provisioner.ProvisioningInBackground, state)
	assert.Equal(t, provisioner.ErrAnswerLost, err)
	assert.True(t, b.volumes["pvc-1"], "it was made, and nobody heard of it")

	volume, _, err := f.Provision(context.Background(), options)
	require.NoError(t, err)
	assert.Equal(t, "pvc-1", volume.Name)

	options.PVC.Name = "other"
	_, state, err = f.Provision(context.Background(), options)
	assert.Equal(t, full, err)
	assert.Equal(t, provisioner.ProvisioningFinished, state)

	require.Error(t, f.Delete(context.Background(), volume))
	require.Error(t, f.Delete(context.Background(), volume))
	f.Clear()
	require.NoError(t, f.Delete(context.Background(), volume))
	assert.Empty(t, b.volumes)
}

// semantics: section 3 must 4. Finished says that the backend has no volume for the claim.
func TestFaultyDoesNotSayFinallyThatThereIsNoVolumeWhereThereIsOne(t *testing.T) {
	b := &backend{volumes: map[string]bool{}, clock: fixedClock{}, inFlight: map[string]int{}}
	f := &provisioner.Faulty{Provisioner: b}
	boom, ctx := errors.New("boom"), context.Background()
	options := provisioner.ProvisionOptions{PVName: "pvc-1", PVC: &v1.PersistentVolumeClaim{}}
	options.PVC.Namespace, options.PVC.Name, options.PVC.UID = "default", "data", "1"
	provision := func() provisioner.ProvisioningState {
		t.Helper()
		_, state, err := f.Provision(ctx, options)
		require.Error(t, err)
		return state
	}

	f.OnProvision(provisioner.Answer{Err: boom}, provisioner.Answer{AnswerLost: true}, provisioner.Answer{Err: boom, Times: 2})
	assert.Equal(t, provisioner.ProvisioningFinished, provision(), "nothing was made yet")
	assert.Equal(t, provisioner.ProvisioningInBackground, provision(), "the answer was lost")
	assert.Equal(t, provisioner.ProvisioningInBackground, provision(), "there is a volume")
	options.PVC.UID = "2"
	assert.Equal(t, provisioner.ProvisioningFinished, provision(), "of another claim")

	options.PVC.UID = "1"
	f.OnProvision(provisioner.Answer{Err: boom, State: provisioner.ProvisioningFinished})
	assert.Equal(t, provisioner.ProvisioningFinished, provision(), "the script says so")
	require.NoError(t, f.Delete(ctx, &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pvc-1"}}))
	f.OnProvision(provisioner.Answer{Err: boom})
	assert.Equal(t, provisioner.ProvisioningFinished, provision(), "it was deleted")
}

func TestFaultyLetsCallsPassFirst(t *testing.T) {
	f := &provisioner.Faulty{Provisioner: &backend{volumes: map[string]bool{}, clock: fixedClock{}, inFlight: map[string]int{}}}
	full := errors.New("full")
	f.OnProvision(provisioner.Answer{Claim: "default/data", Skip: 1, Err: full})
	for _, call := range []struct {
		claim string
		want  error
	}{{"data", nil}, {"other", nil}, {"data", full}, {"data", nil}} {
		options := provisioner.ProvisionOptions{PVName: "pvc-1", PVC: &v1.PersistentVolumeClaim{}}
		options.PVC.Namespace, options.PVC.Name = "default", call.claim
		_, _, err := f.Provision(context.Background(), options)
		require.Equal(t, call.want, err)
	}
}

func TestFaultyAnswersForItsProvisionersOptionalInterfaces(t *testing.T) {
	plain := &provisioner.Faulty{Provisioner: &backend{}}
	ctx := context.Background()
	assert.True(t, plain.ShouldProvision(ctx, nil))
	assert.True(t, plain.ShouldDelete(ctx, nil))
	assert.False(t, plain.SupportsBlock(ctx))
	_, err := plain.Volumes(ctx)
	assert.ErrorContains(t, err, "has no inventory")
	_, ok := provisioner.InventoryOf(plain)
	assert.False(t, ok)

	rich := &provisioner.Faulty{Provisioner: &everything{}}
	assert.False(t, rich.ShouldProvision(ctx, nil))
	assert.False(t, rich.ShouldDelete(ctx, nil))
	assert.True(t, rich.SupportsBlock(ctx))
	inventory, ok := provisioner.InventoryOf(rich)
	require.True(t, ok)
	names, err := inventory.Volumes(ctx)
	require.NoError(t, err)
	assert.Equal(t, []string{"pvc-1"}, names)
}

// everything has all optional interfaces, and says no where it can.
type everything struct{ backend }

func (*everything) ShouldProvision(context.Context, *v1.PersistentVolumeClaim) bool { return false }
func (*everything) ShouldDelete(context.Context, *v1.PersistentVolume) bool         { return false }
func (*everything) SupportsBlock(context.Context) bool                              { return true }
func (*everything) Volumes(context.Context) ([]string, error)                       { return []string{"pvc-1"}, nil }

type fixedClock struct{ control.Clock }

func (fixedClock) Now() time.Time { return metav1.Now().Time }
