package provisioner_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/provisioner"
)

func queueing(c *provisioner.Config) {
	c.CreateProvisionedPVLimiter = &control.RateLimiter{Base: time.Second, Max: time.Minute}
}

// refusing has the API refuse to create volumes so often, negative for ever.
func (w *world) refusing(times int) {
	w.t.Helper()
	require.NoError(w.t, w.Inject(engine.Fault{
		Actor: name, Verb: "create", Resource: "persistentvolumes", Times: times, Err: apierrors.NewInternalError(errors.New("etcd is down")),
	}))
}

// semantics 3 must 8.
func TestTheQueueStoreRetriesForEverAndNeverDeletesTheAsset(t *testing.T) {
	w := newWorld(t, nil, queueing, func(c *provisioner.Config) { c.ResyncPeriod = 1000 * time.Hour })
	w.refusing(-1)
	volume := "pvc-" + string(w.claim().UID)
	require.NoError(t, w.RunFor(24*time.Hour))
	assert.Empty(t, w.volumes())
	assert.Equal(t, map[string]bool{volume: true}, w.backend.volumes)
	assert.Zero(t, w.backend.deletes)
	assert.Len(t, w.backend.asked, 1, "StoreVolume never fails, so the claim is not tried again")
	assert.NotContains(t, w.events("data"), "ProvisioningSucceeded")

	w.ClearFaults()
	require.NoError(t, w.RunFor(2*time.Minute))
	assert.Len(t, w.volumes(), 1)
	assert.Equal(t, "Successfully provisioned volume "+volume, w.events("data")["ProvisioningSucceeded"])
	assert.Zero(t, w.backend.deletes)
}

func TestTheQueueStoreSavesTheVolumeOfAClaimThatIsGone(t *testing.T) {
	w := newWorld(t, nil, queueing)
	w.refusing(8)
	w.claim()
	require.NoError(t, w.RunFor(time.Second))
	claims := w.user.CoreV1().PersistentVolumeClaims("default")
	claim, err := claims.Get(context.Background(), "data", metav1.GetOptions{})
	require.NoError(t, err)
	claim.Finalizers = nil
	_, err = claims.Update(context.Background(), claim, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.NoError(t, claims.Delete(context.Background(), "data", metav1.DeleteOptions{}))
	require.NoError(t, w.RunFor(10*time.Minute))
	assert.Len(t, w.volumes(), 1)
	assert.NotContains(t, w.events("data"), "ProvisioningSucceeded")
}

// semantics 3 must 9.
func TestTheQueueStoreTakesAlreadyExistsForSuccess(t *testing.T) {
	w := newWorld(t, nil, queueing)
	exists := apierrors.NewAlreadyExists(schema.GroupResource{Resource: "persistentvolumes"}, "x")
	require.NoError(t, w.Inject(engine.Fault{Actor: name, Verb: "create", Resource: "persistentvolumes", Err: exists}))
	w.claim()
	require.NoError(t, w.Settle())
	assert.Contains(t, w.events("data"), "ProvisioningSucceeded")
}

// A crash forgets what was to be saved; the claim's next turn makes up for it.
func TestAClaimIsProvisionedAgainAfterACrashOfTheQueueStore(t *testing.T) {
	w := newWorld(t, nil, queueing)
	w.refusing(3)
	w.claim()
	require.NoError(t, w.RunFor(2*time.Second))
	require.Empty(t, w.volumes())
	require.NoError(t, w.Crash(name))
	require.NoError(t, w.Settle())
	assert.Len(t, w.volumes(), 1)
	assert.Len(t, w.backend.asked, 2)
	assert.Len(t, w.backend.volumes, 1)
}
