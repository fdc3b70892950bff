package siglib_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/storagesim/storagesim/internal/seedtest"
	"github.com/storagesim/storagesim/storagesimtest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/live/siglib"
	"github.com/storagesim/storagesim/provisioner"
)

// The same type that the library runs live, under our controller: one seed, one
// story.
func TestAnAdaptedProvisionerIsDeterministic(t *testing.T) {
	story := func(t testing.TB, seed uint64) string {
		c := storagesimtest.New(t, storagesim.Config{Seed: seed})
		c.AddProvisioner(provisionerName, siglib.Adapt(&nfsProvisioner{}))
		c.Apply(manifests)
		c.RunUntil(func() bool { return c.Claim("my-nfs-pvc").Status.Phase == v1.ClaimBound })
		c.Delete("pvc/my-nfs-pvc")
		c.Settle()
		c.RequireNoLeaks()
		return c.Story()
	}
	seedtest.Each(t, 20, func(t testing.TB, seed uint64) {
		assert.Equal(t, story(t, seed), story(t, seed))
	})
}

func TestStatesAndErrorsAreCarriedOver(t *testing.T) {
	for _, state := range []controller.ProvisioningState{
		controller.ProvisioningFinished, controller.ProvisioningInBackground, controller.ProvisioningNoChange, controller.ProvisioningReschedule,
	} {
		p := siglib.Adapt(&nfsProvisioner{provision: func() (controller.ProvisioningState, error) { return state, errors.New("no") }})
		_, got, err := p.Provision(t.Context(), provisioner.ProvisionOptions{PVC: &v1.PersistentVolumeClaim{}})
		assert.EqualValues(t, state, got)
		assert.EqualError(t, err, "no")
	}
	ignore := func(err error) error {
		p := siglib.Adapt(&nfsProvisioner{provision: func() (controller.ProvisioningState, error) { return controller.ProvisioningFinished, err }})
		_, _, got := p.Provision(t.Context(), provisioner.ProvisionOptions{PVC: &v1.PersistentVolumeClaim{}})
		return got
	}
	assert.Equal(t, &provisioner.IgnoredError{Reason: "not mine"}, ignore(&controller.IgnoredError{Reason: "not mine"}))
	wrapped := fmt.Errorf("wrapped: %w", &controller.IgnoredError{Reason: "not mine"})
	assert.Equal(t, wrapped, ignore(wrapped), "the library does not unwrap either")
}

// choosy has all that is optional.
type choosy struct{ nfsProvisioner }

func (*choosy) ShouldProvision(context.Context, *v1.PersistentVolumeClaim) bool { return false }
func (*choosy) ShouldDelete(context.Context, *v1.PersistentVolume) bool         { return false }
func (*choosy) SupportsBlock(context.Context) bool                              { return true }
func (*choosy) Volumes(context.Context) ([]string, error)                       { return []string{"pv"}, nil }

func TestWhatIsOptionalCountsAsInTheLibrary(t *testing.T) {
	ask := func(p provisioner.Provisioner) [3]bool {
		return [3]bool{
			p.(provisioner.Qualifier).ShouldProvision(t.Context(), nil), p.(provisioner.DeletionGuard).ShouldDelete(t.Context(), nil),
			p.(provisioner.BlockProvisioner).SupportsBlock(t.Context()),
		}
	}
	plain, rich := siglib.Adapt(&nfsProvisioner{}), siglib.Adapt(&choosy{})
	assert.Equal(t, [3]bool{true, true, false}, ask(plain))
	assert.Equal(t, [3]bool{false, false, true}, ask(rich))
	_, ok := provisioner.InventoryOf(plain)
	assert.False(t, ok)
	inventory, ok := provisioner.InventoryOf(rich)
	require.True(t, ok)
	volumes, err := inventory.Volumes(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"pv"}, volumes)
}

func TestAnAdaptedProvisionersFailuresAreRetriedOnTheVirtualClock(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Patience: time.Hour})
	failures := 0
	c.AddProvisioner(provisionerName, siglib.Adapt(&nfsProvisioner{provision: func() (controller.ProvisioningState, error) {
		if failures++; failures <= 4 {
			return controller.ProvisioningFinished, errors.New("the array is busy")
		}
		return controller.ProvisioningFinished, nil
	}}))
	c.Apply(manifests)
	began := c.Now()
	c.Settle()
	require.Equal(t, v1.ClaimBound, c.Claim("my-nfs-pvc").Status.Phase)
	assert.Equal(t, (15+30+60+120)*time.Second, c.Now().Sub(began))
}
