package resizer

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/csi/internal/sidecar"
)

// Reasons of events.
//
// Upstream: pkg/util/events.go, v2.3.
const (
	volumeModify          = "VolumeModify"
	volumeModifyFailed    = "VolumeModifyFailed"
	volumeModifySuccess   = "VolumeModifySuccessful"
	volumeModifyCancelled = "VolumeModifyCanceled"
)

// Annotations of PersistentVolumes for the secret of ControllerModifyVolume.
//
// Upstream: pkg/modifier/csi_modifier.go, v2.3.
const (
	modifySecretNameAnn      = "volume.kubernetes.io/controller-modify-secret-name"
	modifySecretNamespaceAnn = "volume.kubernetes.io/controller-modify-secret-namespace"
)

// modifyController changes volumes of one driver to other VolumeAttributesClasses. It shares the
// caches of claims and volumes with the resizeController.
//
// Upstream: pkg/modifycontroller/controller.go modifyController, v2.3.
type modifyController struct {
	*resizeController

	classes *control.Cache[*storage.VolumeAttributesClass]
	queue   control.Queue
	// uncertain holds claims, by key, whose last call has no final answer. Until then the target stays the same.
	uncertain map[string]bool
	slow      slowSet
}

// modify changes a claim's volume to the class that the claim requests, or continues a change.
//
// Upstream: modify_volume.go modify, v2.3.
func (c *modifyController) modify(ctx context.Context, claim *v1.PersistentVolumeClaim, pv *v1.PersistentVolume) error {
	key := control.Key(claim)
	if err := c.delayModificationIfRecentlyInfeasible(claim, key); err != nil {
		return err
	}
	asked, last := deref(claim.Spec.VolumeAttributesClassName), claim.Status.ModifyVolumeStatus
	inProgress := last != nil && last.Status == v1.PersistentVolumeClaimModifyVolumeInProgress
	switch {
	case c.cfg.Settled(claim):
		return nil
	case asked == "" && !inProgress:
		return c.rolledBack(ctx, claim)
	case asked == "" || inProgress && c.uncertain[key]:
		class, err := c.getTargetVAC(claim, last.TargetVolumeAttributesClassName)
		if err != nil {
			return err
		}
		return c.controllerModifyVolumeWithTarget(ctx, claim, pv, class)
	}
	return c.validateVACAndModifyVolumeWithTarget(ctx, claim, pv)
}

func deref(name *string) string {
	if name == nil {
		return ""
	}
	return *name
}

// getTargetVAC returns the class with a name.
//
// Upstream: modify_volume.go getTargetVAC, v2.3.
func (c *modifyController) getTargetVAC(claim *v1.PersistentVolumeClaim, name string) (*storage.VolumeAttributesClass, error) {
	class, ok := c.classes.Get(name)
	if !ok {
		c.recorder.Eventf(claim, v1.EventTypeWarning, volumeModifyFailed, "VAC %q does not exist.", name)
		return nil, fmt.Errorf("get VAC with vac name %s in VACInformer cache failed: volumeattributesclass.storage.k8s.io %q not found", name, name)
	}
	return class, nil
}

// validateVACAndModifyVolumeWithTarget begins a change. If the class does not exist, the change stays pending.
//
// Upstream: modify_volume.go validateVACAndModifyVolumeWithTarget, v2.3.
func (c *modifyController) validateVACAndModifyVolumeWithTarget(ctx context.Context, claim *v1.PersistentVolumeClaim, pv *v1.PersistentVolume) error {
	class, err := c.getTargetVAC(claim, *claim.Spec.VolumeAttributesClassName)
	if err != nil {
		_, err = c.markModifyStatus(ctx, claim, v1.PersistentVolumeClaimModifyVolumePending, nil)
		return err
	}
	claim, err = c.markModifyStatus(ctx, claim, v1.PersistentVolumeClaimModifyVolumeInProgress, nil)
	if err != nil {
		return err
	}
	c.recorder.Eventf(claim, v1.EventTypeNormal, volumeModify, "external resizer is modifying volume %s with vac %s", claim.Name, class.Name)
	return c.controllerModifyVolumeWithTarget(ctx, claim, pv, class)
}

// controllerModifyVolumeWithTarget calls the driver, and writes the result.
//
// Upstream: modify_volume.go controllerModifyVolumeWithTarget and callModifyVolumeOnPlugin, v2.3.
func (c *modifyController) controllerModifyVolumeWithTarget(ctx context.Context, claim *v1.PersistentVolumeClaim, pv *v1.PersistentVolume,
	class *storage.VolumeAttributesClass) error {
	failure := c.callModify(ctx, claim, pv, class)
	if failure == nil {
		if err := c.markModifyCompleted(ctx, claim, pv); err != nil {
			return fmt.Errorf("cannot get error status from modify volume err: modify volume failed to mark pvc %s modify volume completed: %w ", claim.Name, err)
		}
		c.recorder.Eventf(claim, v1.EventTypeNormal, volumeModifySuccess, "external resizer modified volume %s with vac %s successfully", claim.Name, class.Name)
		return nil
	}
	answer, ok := status.FromError(failure)
	if !ok {
		return fmt.Errorf("cannot get error status from modify volume err: %w", failure)
	}
	key, words, mark := control.Key(claim), failure.Error(), v1.PersistentVolumeClaimModifyVolumeInProgress
	if isFinalError(failure) {
		delete(c.uncertain, key)
		if answer.Code() == codes.InvalidArgument {
			mark = v1.PersistentVolumeClaimModifyVolumeInfeasible
		}
	} else {
		c.uncertain[key] = true
		words += ". Still modifying to VAC " + class.Name
	}
	claim, err := c.markModifyStatus(ctx, claim, mark, failure)
	if err != nil {
		return err
	}
	c.markForSlowRetry(claim, key)
	c.recorder.Event(claim, v1.EventTypeWarning, volumeModifyFailed, words)
	return failure
}

// callModify calls ControllerModifyVolume.
//
// Upstream: modify_volume.go callModifyVolumeOnPlugin and csi_modifier.go Modify, v2.3.
func (c *modifyController) callModify(ctx context.Context, claim *v1.PersistentVolumeClaim, pv *v1.PersistentVolume,
	class *storage.VolumeAttributesClass) error {
	if pv.Spec.CSI.VolumeHandle == "" {
		return errors.New("empty volume handle")
	}
	parameters := class.Parameters
	if c.cfg.ExtraModifyMetadata {
		if parameters = maps.Clone(parameters); parameters == nil {
			parameters = map[string]string{}
		}
		parameters["csi.storage.k8s.io/pvc/name"] = claim.Name
		parameters["csi.storage.k8s.io/pvc/namespace"] = claim.Namespace
		parameters["csi.storage.k8s.io/pv/name"] = pv.Name
	}
	ref := modifySecret(pv)
	secrets, err := sidecar.Credentials(ctx, c.client, ref)
	if err != nil {
		return fmt.Errorf("error getting secret %s in namespace %s: %w", ref.Name, ref.Namespace, err)
	}
	_, err = csi.NewControllerClient(c.conn).ControllerModifyVolume(control.WithTimeout(ctx, c.env, c.cfg.Timeout), &csi.ControllerModifyVolumeRequest{
		VolumeId: pv.Spec.CSI.VolumeHandle, Secrets: secrets, MutableParameters: parameters,
	})
	return err
}

// modifySecret returns the reference to the secret in the volume's annotations, or to that of expansions.
//
// Upstream: csi_modifier.go getModifyCredentials, v2.3.
func modifySecret(pv *v1.PersistentVolume) *v1.SecretReference {
	ref := &v1.SecretReference{Name: pv.Annotations[modifySecretNameAnn], Namespace: pv.Annotations[modifySecretNamespaceAnn]}
	if ref.Name == "" || ref.Namespace == "" {
		return pv.Spec.CSI.ControllerExpandSecretRef
	}
	return ref
}

// delayModificationIfRecentlyInfeasible returns an error as long as a claim waits for a slow retry. A claim that
// requests another class does not wait.
//
// Upstream: modify_volume.go delayModificationIfRecentlyInfeasible, v2.3.
func (c *modifyController) delayModificationIfRecentlyInfeasible(claim *v1.PersistentVolumeClaim, key string) error {
	last := claim.Status.ModifyVolumeStatus
	if last == nil || claim.Spec.VolumeAttributesClassName == nil || last.TargetVolumeAttributesClassName != *claim.Spec.VolumeAttributesClassName {
		delete(c.slow, key)
		return nil
	}
	waits := c.slow.contains(c.env, key, c.cfg.RetryIntervalMax)
	c.markForSlowRetry(claim, key)
	if waits {
		return fmt.Errorf("skipping volume modification for pvc %s, because modification previously failed with infeasible error", key)
	}
	return nil
}

// Upstream: modify_volume.go markForSlowRetry, v2.3.
func (c *modifyController) markForSlowRetry(claim *v1.PersistentVolumeClaim, key string) {
	if last := claim.Status.ModifyVolumeStatus; last != nil && last.Status == v1.PersistentVolumeClaimModifyVolumeInfeasible {
		c.slow.add(c.env, key, c.cfg.RetryIntervalMax)
	}
}
