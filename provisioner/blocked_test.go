package provisioner_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/provisioner"
)

// jammed waits for ever: for a lock that is never released.
type jammed struct{ lock sync.Mutex }

func (j *jammed) Provision(context.Context, provisioner.ProvisionOptions) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	j.lock.Lock()
	return nil, provisioner.ProvisioningFinished, nil
}

func (j *jammed) Delete(context.Context, *v1.PersistentVolume) error {
	j.lock.Lock()
	return nil
}

func TestAProvisionerThatBlocksForEverDoesNotStopItsNeighbours(t *testing.T) {
	const bad = "example.com/jammed"
	w := newWorldOn(t, engine.Config{Blocked: 100 * time.Millisecond})
	p := &jammed{}
	p.lock.Lock()
	require.NoError(t, w.Add(bad, provisioner.New(provisioner.Config{Name: bad, Provisioner: p})))
	w.class("jammed", bad)
	w.claimOf("jammed", "other", bad)
	w.claim()
	require.NoError(t, w.Settle())
	assert.Len(t, w.volumes(), 1)
	assert.Equal(t, "provisioner example.com/jammed does not return from Provision: it has blocked for 100ms of real time, "+
		"on a lock or a channel perhaps; one worker of 4 is lost",
		w.events("other")["ProvisioningBlocked"])

	require.NoError(t, w.Crash(bad))
	require.NoError(t, w.Settle())
	w.Close() // nor does it keep the engine from closing
	p.lock.Unlock()
}

func TestADeleteThatBlocksForEverIsAnEventOnTheVolume(t *testing.T) {
	w := newWorldOn(t, engine.Config{Blocked: 100 * time.Millisecond}, func(c *provisioner.Config) {
		p := &jammed{}
		p.lock.Lock()
		c.New, c.Provisioner = nil, p
	})
	_, err := w.user.CoreV1().PersistentVolumes().Create(context.Background(), &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "old", Annotations: map[string]string{"pv.kubernetes.io/provisioned-by": name}},
		Spec: v1.PersistentVolumeSpec{
			AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, Capacity: oneGi(),
			PersistentVolumeReclaimPolicy: v1.PersistentVolumeReclaimDelete,
			PersistentVolumeSource:        v1.PersistentVolumeSource{NFS: &v1.NFSVolumeSource{Server: "nas", Path: "/old"}},
		},
		Status: v1.PersistentVolumeStatus{Phase: v1.VolumeReleased},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	volume := w.volumes()[0]
	volume.Status.Phase = v1.VolumeReleased
	_, err = w.user.CoreV1().PersistentVolumes().UpdateStatus(context.Background(), &volume, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.NoError(t, w.Settle())
	assert.Contains(t, w.events("old")["VolumeDeleteBlocked"], "provisioner example.com/test does not return from Delete")
}

// sleeper waits on the Env, so that nothing is blocked but its own claim.
type sleeper struct {
	clock control.Clock
	wait  func(context.Context, control.Clock) error
}

func (s *sleeper) Provision(ctx context.Context, _ provisioner.ProvisionOptions) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	return nil, provisioner.ProvisioningInBackground, s.wait(ctx, s.clock)
}

func (s *sleeper) Delete(context.Context, *v1.PersistentVolume) error { return nil }

func (s *sleeper) New(env control.Env) (provisioner.Provisioner, error) {
	s.clock = env
	return s, nil
}

func sleepsForAMonth(ctx context.Context, clock control.Clock) error {
	return clock.Sleep(ctx, 30*24*time.Hour)
}

func pollsForEver(ctx context.Context, clock control.Clock) error {
	return clock.Poll(ctx, time.Second, 0, func(context.Context) (bool, error) { return false, nil })
}

func TestAProvisionThatTakesLongerThanAResyncIsAnEvent(t *testing.T) {
	w := newWorld(t, nil, func(c *provisioner.Config) { c.New = (&sleeper{wait: sleepsForAMonth}).New })
	w.claim()
	require.NoError(t, w.RunFor(20*time.Minute))
	assert.Equal(t, "provisioner example.com/test does not return from Provision: it has been under way for 15m0s", w.events("data")["ProvisioningBlocked"])
}

func TestATimeoutEndsWaitingOnTheEnv(t *testing.T) {
	for what, wait := range map[string]func(context.Context, control.Clock) error{"Sleep": sleepsForAMonth, "Poll": pollsForEver} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t, nil, func(c *provisioner.Config) {
				c.New = (&sleeper{wait: wait}).New
				c.ProvisionTimeout = 2500 * time.Millisecond
			})
			begin := w.Now()
			w.claim()
			require.NoError(t, w.RunUntil(time.Minute, func() bool { return w.events("data")["ProvisioningFailed"] != "" }))
			assert.Equal(t, `context deadline exceeded`, w.events("data")["ProvisioningFailed"])
			assert.Equal(t, 2500*time.Millisecond, w.Now().Sub(begin))
		})
	}
}

// lingering takes its time to delete, and heeds its context.
type lingering struct{ *backend }

func (l lingering) Delete(ctx context.Context, volume *v1.PersistentVolume) error {
	if err := l.clock.Sleep(ctx, 30*time.Second); err != nil {
		return err
	}
	return l.backend.Delete(ctx, volume)
}

// Upstream: controller/volume_store.go StoreVolume has a context of its own, v13.
func TestATimeoutDoesNotEndTheCareForWhatWasMade(t *testing.T) {
	w := newWorld(t, nil)
	const slow = "example.com/slow"
	require.NoError(t, w.Add(slow,
		provisioner.New(provisioner.Config{Name: slow, ProvisionTimeout: 15 * time.Second, New: func(env control.Env) (provisioner.Provisioner, error) {
			_, err := w.backend.New(env)
			return lingering{w.backend}, err
		}})))
	w.class("slow", slow)
	require.NoError(t, w.Inject(engine.Fault{Actor: slow, Verb: "create", Resource: "persistentvolumes", Times: 5, Err: errors.New("etcd is down")}))
	w.claimOf("slow", "other", slow)
	require.NoError(t, w.RunFor(75*time.Second))
	assert.Equal(t, "Error creating provisioned PV object for claim default/other: etcd is down. Deleting the volume.", w.events("other")["ProvisioningFailed"])
	assert.NotContains(t, w.events("other"), "ProvisioningCleanupFailed")
	assert.Equal(t, 1, w.backend.deletes)
	assert.Empty(t, w.backend.volumes)
}
