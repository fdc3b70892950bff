package provisioner

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/storagesim/storagesim/control"
)

// semantics 3 must 8 and 9.
func TestStoreVolumeRetriesThenDeletesTheAsset(t *testing.T) {
	down := errors.New("the API is down")
	exists := apierrors.NewAlreadyExists(schema.GroupResource{Resource: "persistentvolumes"}, "pvc-uid-1")
	tests := map[string]struct {
		err         error
		refusals    int
		deleteFails int
		creates     int
		deletes     int
		took        time.Duration
		events      []string
	}{
		"at once":                  {down, 0, 0, 1, 0, 0, []string{"Normal ProvisioningSucceeded: Successfully provisioned volume pvc-uid-1"}},
		"AlreadyExists is success": {exists, 1, 0, 1, 0, 0, []string{"Normal ProvisioningSucceeded: Successfully provisioned volume pvc-uid-1"}},
		"at the fifth try":         {down, 4, 0, 5, 0, 40 * time.Second, []string{"Normal ProvisioningSucceeded: Successfully provisioned volume pvc-uid-1"}},
		"never": {down, -1, 0, 5, 1, 40 * time.Second,
			[]string{"Warning ProvisioningFailed: Error creating provisioned PV object for claim default/data: the API is down. Deleting the volume."}},
		"never, cleanup at the 3rd": {down, -1, 2, 5, 3, 60 * time.Second,
			[]string{"Warning ProvisioningFailed: Error creating provisioned PV object for claim default/data: the API is down. Deleting the volume."}},
		"never, nor cleanup": {down, -1, 9, 5, 5, 80 * time.Second, []string{
			"Warning ProvisioningFailed: Error creating provisioned PV object for claim default/data: the API is down. Deleting the volume.",
			"Warning ProvisioningCleanupFailed: Error cleaning provisioned volume for claim default/data: stuck. Please delete manually.",
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := &scripted{delete: func(*v1.PersistentVolume) error {
				if tt.deleteFails > 0 {
					tt.deleteFails--
					return errors.New("stuck")
				}
				return nil
			}}
			ctrl, env := newTest(t, p)
			refuse(env, "create", "persistentvolumes", tt.refusals, tt.err)
			begin := env.now
			err := ctrl.volumeStore.StoreVolume(context.Background(), claimOf("fast"), volumeNamed("pvc-uid-1"))
			assert.Equal(t, tt.deletes > 0, errors.Is(err, tt.err), "error %v", err)
			assert.Len(t, writes(env), tt.creates)
			assert.Len(t, p.calls, tt.deletes)
			assert.Equal(t, tt.took, env.now.Sub(begin))
			assert.Equal(t, tt.events, env.recorded)
		})
	}
}

func TestTheQueueStoreForgetsWhatItHasSaved(t *testing.T) {
	ctrl, env := newTest(t, &scripted{}, func(c *Config) { c.CreateProvisionedPVLimiter = &control.RateLimiter{} })
	refuse(env, "create", "persistentvolumes", 2, errors.New("the API is down"))
	volume := volumeNamed("pvc-uid-1")
	volume.Spec.ClaimRef = &v1.ObjectReference{UID: "uid-1"}
	store := ctrl.volumeStore.(*queueStore)
	assert.NoError(t, store.StoreVolume(t.Context(), claimOf("fast"), volume))
	assert.Equal(t, []string{"pvc-uid-1"}, env.queues["unsavedpvs"].keys)
	assert.Error(t, store.saveVolume(t.Context(), "pvc-uid-1"))
	assert.Len(t, store.unsaved, 1)
	assert.NoError(t, store.saveVolume(t.Context(), "pvc-uid-1"))
	assert.Empty(t, store.unsaved)
}
