package provisioner

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/control"
)

// VolumeStore saves a volume whose asset exists.
//
// Upstream: controller/volume_store.go VolumeStore, v13.
type VolumeStore interface {
	// StoreVolume creates the PersistentVolume, now or later. After an error it
	// will not, and the asset is gone, or there is an event that says it is not.
	StoreVolume(ctx context.Context, claim *v1.PersistentVolumeClaim, volume *v1.PersistentVolume) error
}

// backoffStore tries a number of times to create the volume and then, so that
// no asset is left without an object, a number of times to delete the asset.
type backoffStore struct {
	client kubernetes.Interface
	clock  control.Clock
	events control.Recorder
	delete func(ctx context.Context, volume *v1.PersistentVolume) error
	saved  func(name string)

	backoff wait.Backoff
}

func newBackoffStore(ctrl *provisionController) *backoffStore {
	return &backoffStore{
		client:  ctrl.client,
		clock:   ctrl.env,
		events:  ctrl.events,
		delete:  ctrl.deleteUnsaved,
		saved:   ctrl.rememberSaved,
		backoff: ctrl.cfg.CreateProvisionedPVBackoff,
	}
}

// deleteUnsaved deletes the asset of a volume whose object could not be saved. With Config.KeepSaved it asks first whether the object is
// there all the same.
func (ctrl *provisionController) deleteUnsaved(ctx context.Context, volume *v1.PersistentVolume) error {
	if ctrl.cfg.KeepSaved {
		_, err := ctrl.client.CoreV1().PersistentVolumes().Get(ctx, volume.Name, metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return err // nil: it was saved, and its asset stays
		}
	}
	return ctrl.callDelete(ctx, volume)
}

// StoreVolume implements VolumeStore.
//
// Upstream: controller/volume_store.go backoffStore.StoreVolume, v13.
func (b *backoffStore) StoreVolume(ctx context.Context, claim *v1.PersistentVolumeClaim, volume *v1.PersistentVolume) error {
	lastSaveError := b.retry(ctx, func() error {
		_, err := b.client.CoreV1().PersistentVolumes().Create(ctx, volume, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			return nil // an earlier try succeeded and its answer was lost
		}
		return err
	})
	if lastSaveError == nil {
		b.saved(volume.Name)
		b.events.Eventf(claim, v1.EventTypeNormal, "ProvisioningSucceeded", "Successfully provisioned volume %s", volume.Name)
		return nil
	}

	// There is an asset without an object that stands for it.
	b.events.Eventf(claim, v1.EventTypeWarning, "ProvisioningFailed",
		"Error creating provisioned PV object for claim %s: %v. Deleting the volume.", claimToClaimKey(claim), lastSaveError)
	lastDeleteError := b.retry(ctx, func() error { return b.delete(ctx, volume) })
	if lastDeleteError != nil {
		// Nothing more can be done about it.
		b.events.Eventf(claim, v1.EventTypeWarning, "ProvisioningCleanupFailed",
			"Error cleaning provisioned volume for claim %s: %v. Please delete manually.", claimToClaimKey(claim), lastDeleteError)
	}
	return fmt.Errorf("creating volume %s for claim %s: %w", volume.Name, claimToClaimKey(claim), lastSaveError)
}

// retry calls f until it succeeds, as often and as far apart as the backoff says,
// and returns its last error.
//
// Upstream: apimachinery util/wait ExponentialBackoff, v1.37, on the Env's clock.
func (b *backoffStore) retry(ctx context.Context, f func() error) error {
	backoff := b.backoff
	for {
		last := f()
		if last == nil || backoff.Steps <= 1 {
			return last
		}
		if err := b.clock.Sleep(ctx, backoff.Step()); err != nil {
			return fmt.Errorf("%w; the last error was: %w", err, last)
		}
	}
}
