package pvcontroller_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/pvcontroller"
)

// Others work while the PV controller does: here they come between any two of its steps.

// requireOwned: every volume that says Bound is the claim's that says so too, and nothing
// is left half bound.
func (c *cluster) requireOwned() {
	c.Helper()
	c.requireQuiet()
	c.requireConsistent()
}

func TestBindComesToRestIfItsClaimIsDeletedMeanwhile(t *testing.T) {
	scenario{
		prepare: func(c *cluster) { c.offered("pv", "5Gi") },
		act:     func(c *cluster) { c.claimed("data") },
		check: func(c *cluster) {
			c.requireOwned()
			require.False(c, c.exists("data"))
		},
	}.atEveryStep(t, func(c *cluster) { c.deleteClaim("data") })
}

func TestBindComesToRestIfItsClaimIsReplacedMeanwhile(t *testing.T) {
	scenario{
		prepare: func(c *cluster) {
			c.offered("a", "5Gi")
			c.offered("b", "5Gi")
		},
		act: func(c *cluster) { c.claimed("data") },
		check: func(c *cluster) {
			c.requireOwned()
			claim := c.claim("data")
			require.Equal(c, v1.ClaimBound, claim.Status.Phase)
			require.Equal(c, claim.UID, c.volume(claim.Spec.VolumeName).Spec.ClaimRef.UID)
		},
	}.atEveryStep(t, func(c *cluster) {
		c.deleteClaim("data")
		c.patchClaim("data", `{"metadata":{"finalizers":null}}`) // so that it is gone at once
		c.claimed("data")
	})
}

func TestBindComesToRestIfItsVolumeIsRemovedMeanwhile(t *testing.T) {
	scenario{
		prepare: func(c *cluster) {
			c.offered("a", "5Gi")
			c.offered("b", "5Gi")
		},
		act: func(c *cluster) { c.claimed("data") },
		check: func(c *cluster) {
			c.requireQuiet()
			claim := c.claim("data")
			if claim.Status.Phase == v1.ClaimLost { // it had got so far that it names the volume
				require.Equal(c, "a", claim.Spec.VolumeName)
				require.Equal(c, []string{"Warning ClaimLost"}, c.events("data"))
				require.Equal(c, v1.VolumeAvailable, c.volume("b").Status.Phase)
				return
			}
			c.requireBound("data", "b")
		},
	}.atEveryStep(t, func(c *cluster) { c.removeVolume("a") })
}

func TestAskingForAVolumeComesToRestIfTheClassIsDeletedMeanwhile(t *testing.T) {
	scenario{
		prepare: func(c *cluster) { c.class("now", "example.com/ext", storagev1.VolumeBindingImmediate) },
		act:     func(c *cluster) { c.claimed("data", ofClass("now")) },
		check: func(c *cluster) {
			c.requireQuiet()
			require.Equal(c, v1.ClaimPending, c.claim("data").Status.Phase)
			require.Contains(c, c.events("data"), "Warning ProvisioningFailed")
		},
	}.atEveryStep(t, func(c *cluster) {
		require.NoError(c, c.user.StorageV1().StorageClasses().Delete(ctx, "now", metav1.DeleteOptions{}))
	})
}

// A claim of the old one's name appears while the old one's volume is reclaimed: it must
// not get what the old one has written there, nor hold up the reclaiming.
func TestReclaimingComesToRestIfTheClaimIsMadeAgainMeanwhile(t *testing.T) {
	for _, policyName := range []v1.PersistentVolumeReclaimPolicy{v1.PersistentVolumeReclaimRetain, v1.PersistentVolumeReclaimDelete,
		v1.PersistentVolumeReclaimRecycle} {
		t.Run(string(policyName), func(t *testing.T) {
			disk := map[string]bool{}
			scenario{
				cfg: pvcontroller.Config{Deleters: map[string]pvcontroller.Deleter{
					pvcontroller.HostPathPlugin: pvcontroller.NewHostPathDeleter(func(path string) error {
						delete(disk, path)
						return nil
					}),
				}},
				prepare: func(c *cluster) {
					disk["/tmp/pv"] = true
					bound(policyName)(c)
				},
				act: func(c *cluster) {
					c.deleteClaim("data")
					c.patchClaim("data", `{"metadata":{"finalizers":null}}`)
				},
				check: func(c *cluster) {
					c.requireQuiet()
					switch policyName {
					case v1.PersistentVolumeReclaimRetain:
						require.Equal(c, v1.VolumeReleased, c.volume("pv").Status.Phase)
						require.Equal(c, v1.ClaimPending, c.claim("data").Status.Phase)
					case v1.PersistentVolumeReclaimDelete:
						c.requireGone("pv")
						require.Empty(c, disk)
						require.Equal(c, v1.ClaimPending, c.claim("data").Status.Phase)
					case v1.PersistentVolumeReclaimRecycle:
						require.Contains(c, c.events("pv"), "Normal VolumeRecycled")
						c.requireBound("data", "pv") // which is empty now
					}
				},
			}.atEveryStep(t, func(c *cluster) { c.claimed("data") })
		})
	}
}
