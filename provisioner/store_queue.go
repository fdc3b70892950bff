package provisioner

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/trace"
)

// queueStore saves volumes whatever it takes: what cannot be created at once is
// retried for ever. It never deletes an asset, and it saves a volume even if its
// claim is gone by then; the volume is then Released, and deleted as usual.
type queueStore struct {
	ctrl  *provisionController
	queue control.Queue
	// unsaved are the volumes in the queue, by name. A crash forgets them; then
	// the claim, which has no volume, is provisioned again.
	unsaved map[string]*v1.PersistentVolume
}

func newQueueStore(ctrl *provisionController) *queueStore {
	q := &queueStore{ctrl: ctrl, unsaved: map[string]*v1.PersistentVolume{}}
	q.queue = ctrl.env.Queue(control.QueueConfig{
		Name:      "unsavedpvs",
		About:     control.KeysOf("PersistentVolume"),
		Workers:   4,
		Reconcile: q.saveVolume,
		Limiter:   *ctrl.cfg.CreateProvisionedPVLimiter,
	})
	return q
}

// StoreVolume implements VolumeStore. It never fails.
//
// Upstream: controller/volume_store.go queueStore.StoreVolume, v13.
func (q *queueStore) StoreVolume(ctx context.Context, _ *v1.PersistentVolumeClaim, volume *v1.PersistentVolume) error {
	if err := q.doSaveVolume(ctx, volume); err != nil {
		q.ctrl.env.Trace(trace.Decision{About: trace.RefOf("PersistentVolume", volume), Text: "will be saved later: " + err.Error()})
		q.unsaved[volume.Name] = volume
		q.queue.Add(volume.Name)
	}
	return nil
}

// saveVolume tries once more to save a volume, if it is still to be saved.
//
// Upstream: controller/volume_store.go queueStore.processNextWorkItem, v13.
func (q *queueStore) saveVolume(ctx context.Context, name string) error {
	volume, ok := q.unsaved[name]
	if !ok {
		return nil
	}
	if err := q.doSaveVolume(ctx, volume); err != nil {
		return err
	}
	delete(q.unsaved, name)
	return nil
}

// doSaveVolume creates the PersistentVolume.
//
// Upstream: controller/volume_store.go queueStore.doSaveVolume, v13.
func (q *queueStore) doSaveVolume(ctx context.Context, volume *v1.PersistentVolume) error {
	_, err := q.ctrl.client.CoreV1().PersistentVolumes().Create(ctx, volume, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("saving volume %s: %w", volume.Name, err)
	}
	q.ctrl.rememberSaved(volume.Name)
	q.sendSuccessEvent(volume)
	return nil
}

// sendSuccessEvent tells the claim, unless it is gone.
//
// Upstream: controller/volume_store.go queueStore.sendSuccessEvent, v13.
func (q *queueStore) sendSuccessEvent(volume *v1.PersistentVolume) {
	for _, claim := range q.ctrl.claims.ByIndex(uidIndex, string(volume.Spec.ClaimRef.UID)) {
		q.ctrl.events.Eventf(claim, v1.EventTypeNormal, "ProvisioningSucceeded", "Successfully provisioned volume %s", volume.Name)
	}
}
