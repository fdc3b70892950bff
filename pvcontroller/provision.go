package pvcontroller

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/internal/migration"
)

// provisionClaim asks a provisioner to make a volume for the claim. If no provisioner serves the
// class, it emits an event and returns nil; the next resync tries again.
// Upstream: pv_controller.go provisionClaim, v1.37.
func (c *controller) provisionClaim(ctx context.Context, claim *v1.PersistentVolumeClaim) error {
	class, err := c.findProvisionerOf(claim)
	if err != nil {
		c.recorder.Event(claim, v1.EventTypeWarning, provisioningFailed, err.Error())
		return nil
	}
	if class.Provisioner == HostPathPlugin {
		return c.provisionHostPath(ctx, claim, class)
	}
	return c.provisionClaimOperationExternal(ctx, claim, class)
}

// provisionHostPath: of the plugins that are left, hostPath's alone could make volumes,
// which is for tests of Kubernetes itself and disabled, but only found to be so when
// the claim has been marked as its, and when nothing else of the claim or its class is beyond a plugin.
// Upstream: pv_controller.go provisionClaimOperation and pkg/volume/hostpath
// NewProvisioner, v1.37.
func (c *controller) provisionHostPath(ctx context.Context, claim *v1.PersistentVolumeClaim, class *storagev1.StorageClass) error {
	failed := func(format string, args ...any) error {
		c.recorder.Eventf(claim, v1.EventTypeWarning, provisioningFailed, format, args...)
		return nil
	}
	if claim.Spec.DataSource != nil {
		return failed("plugin %q is not a CSI plugin. Only CSI plugin can provision a claim with a datasource", HostPathPlugin)
	}
	claim, err := c.setClaimProvisioner(ctx, claim, HostPathPlugin)
	if err != nil {
		return err
	}
	if len(class.MountOptions) > 0 {
		return failed("Mount options are not supported by the provisioner but StorageClass %q has mount options %v", class.Name, class.MountOptions)
	}
	return failed("Failed to create provisioner: provisioning in volume plugin %q is disabled", HostPathPlugin)
}

// findProvisionerOf returns the claim's class, if an external provisioner or hostPath's
// plugin serves it. A provisioner called kubernetes.io/ would be a plugin compiled into
// this controller, which has no other; no plugin has the name kubernetes.io/no-provisioner.
// Upstream: pv_controller.go findProvisionablePlugin, v1.37.
func (c *controller) findProvisionerOf(claim *v1.PersistentVolumeClaim) (*storagev1.StorageClass, error) {
	name := binding.GetPersistentVolumeClaimClass(claim)
	class, found := c.classes.Get(name)
	if !found {
		return nil, apierrors.NewNotFound(storagev1.Resource("storageclass"), name)
	}
	migrated := migration.Driver(class.Provisioner) != ""
	if strings.HasPrefix(class.Provisioner, inTreePrefix) && class.Provisioner != HostPathPlugin && !migrated {
		return nil, fmt.Errorf("no volume plugin matched name: %s", class.Provisioner)
	}
	return class, nil
}

// provisionClaimOperationExternal hands the claim to its provisioner and says, at
// every sync, that it waits.
// Upstream: pv_controller.go provisionClaimOperationExternal, v1.37.
func (c *controller) provisionClaimOperationExternal(ctx context.Context, claim *v1.PersistentVolumeClaim, class *storagev1.StorageClass) error {
	provisioner := cmp.Or(migration.Driver(class.Provisioner), class.Provisioner)
	annotated, err := c.setClaimProvisioner(ctx, claim, provisioner)
	if err != nil {
		c.recorder.Eventf(claim, v1.EventTypeWarning, provisioningFailed, "Error saving claim: %v", err)
		return err
	}
	c.recorder.Eventf(annotated, v1.EventTypeNormal, externalProvisioning,
		"Waiting for a volume to be created either by the external provisioner '%s' or manually by the system administrator."+
			" If volume creation is delayed, please verify that the provisioner is running and correctly registered.", provisioner)
	return nil
}

// setClaimProvisioner writes on the claim who shall make its volume, under the old and
// the new annotation.
// Upstream: pv_controller_base.go setClaimProvisioner, v1.37.
func (c *controller) setClaimProvisioner(ctx context.Context, claim *v1.PersistentVolumeClaim, provisioner string) (*v1.PersistentVolumeClaim, error) {
	if name, found := claim.Annotations[binding.AnnStorageProvisioner]; found && name == provisioner {
		return claim, nil
	}
	clone := claim.DeepCopy()
	metav1.SetMetaDataAnnotation(&clone.ObjectMeta, binding.AnnBetaStorageProvisioner, provisioner)
	metav1.SetMetaDataAnnotation(&clone.ObjectMeta, binding.AnnStorageProvisioner, provisioner)
	updateMigrationAnnotations(&clone.ObjectMeta, binding.AnnStorageProvisioner)
	return c.updateClaim(ctx, clone)
}
