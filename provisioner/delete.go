package provisioner

import (
	"context"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/trace"
)

// deleteVolumeOperation deletes first the asset, then the object, then the
// finalizer that kept the object for the asset's sake. An error has all of it
// tried again.
//
// Upstream: controller.go deleteVolumeOperation, v13.1.
func (ctrl *provisionController) deleteVolumeOperation(ctx context.Context, volume *v1.PersistentVolume) error {
	if err := ctrl.callDelete(ctx, volume); err != nil {
		if ignored, ok := err.(*IgnoredError); ok { //nolint:errorlint // Upstream looks at the direct type only.
			ctrl.env.Trace(trace.Decision{About: trace.RefOf("PersistentVolume", volume), Text: "deleting is " + ignored.Error()})
			return nil
		}
		if _, ok := err.(*VolumeInUseError); ok { //nolint:errorlint // Upstream looks at the direct type only.
			ctrl.events.Event(volume, v1.EventTypeNormal, "VolumeDelete", err.Error())
			return err
		}
		ctrl.events.Event(volume, v1.EventTypeWarning, "VolumeFailedDelete", err.Error())
		return err
	}
	err := ctrl.client.CoreV1().PersistentVolumes().Delete(ctx, volume.Name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	if !ctrl.cfg.AddFinalizer {
		return nil
	}
	current, ok := ctrl.volumes.Get(volume.Name)
	if !ok {
		return nil
	}
	_, err = ctrl.removeFinalizer(ctx, current)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
