package provisioner

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/storagesim/storagesim/control"
)

// The calls of somebody else's code, all in one place. Objects handed over are
// copies; a panic becomes an error, unless it is the driver's own.

// callProvision calls Provision and refuses impossible answers.
func (ctrl *ProvisionController) callProvision(ctx context.Context, options ProvisionOptions) (volume *v1.PersistentVolume, state ProvisioningState, err error) {
	defer func() {
		if p := notCrash(recover()); p != nil {
			// Nobody knows what it had made by then.
			volume, state, err = nil, ProvisioningInBackground, &panicError{ctrl.cfg.Name, "Provision", p}
		}
	}()
	ctrl.foreign("Provision", options.PVC, func() {
		volume, state, err = ctrl.provisioner.Provision(ctx, options)
	})
	switch {
	case err != nil:
		return nil, state, err
	case volume == nil:
		return nil, ProvisioningFinished, fmt.Errorf("provisioner %s returned neither a volume nor an error", ctrl.cfg.Name)
	case volume.Name != options.PVName:
		return nil, ProvisioningFinished, fmt.Errorf("provisioner %s returned a volume named %q; it must be named %q", ctrl.cfg.Name, volume.Name, options.PVName)
	}
	return volume.DeepCopy(), state, nil
}

// callVolumeName calls Config.VolumeName, and refuses what cannot name a volume
// before anything is made under that name.
func (ctrl *ProvisionController) callVolumeName(claim *v1.PersistentVolumeClaim) (name string, err error) {
	defer ctrl.panicsAsError("VolumeName", &err)
	name = ctrl.cfg.VolumeName(claim.DeepCopy())
	if wrong := validation.IsDNS1123Subdomain(name); len(wrong) > 0 {
		return "", fmt.Errorf("Config.VolumeName of provisioner %s returned %q: %s", ctrl.cfg.Name, name, wrong[0])
	}
	return name, nil
}

// callDelete calls Delete.
func (ctrl *ProvisionController) callDelete(ctx context.Context, volume *v1.PersistentVolume) (err error) {
	defer ctrl.panicsAsError("Delete", &err)
	ctrl.foreign("Delete", volume, func() { err = ctrl.provisioner.Delete(ctx, volume.DeepCopy()) })
	return err
}

// qualifierDeclines asks the Qualifier, if the provisioner is one.
func (ctrl *ProvisionController) qualifierDeclines(ctx context.Context, claim *v1.PersistentVolumeClaim) (declines bool, err error) {
	qualifier, ok := ctrl.provisioner.(Qualifier)
	if !ok {
		return false, nil
	}
	defer ctrl.panicsAsError("ShouldProvision", &err)
	ctrl.foreign("ShouldProvision", claim, func() { declines = !qualifier.ShouldProvision(ctx, claim.DeepCopy()) })
	return declines, nil
}

// guardRefuses asks the DeletionGuard, if the provisioner is one.
func (ctrl *ProvisionController) guardRefuses(ctx context.Context, volume *v1.PersistentVolume) (refuses bool, err error) {
	guard, ok := ctrl.provisioner.(DeletionGuard)
	if !ok {
		return false, nil
	}
	defer ctrl.panicsAsError("ShouldDelete", &err)
	ctrl.foreign("ShouldDelete", volume, func() { refuses = !guard.ShouldDelete(ctx, volume.DeepCopy()) })
	return refuses, nil
}

// supportsBlock asks the BlockProvisioner, if the provisioner is one.
func (ctrl *ProvisionController) supportsBlock(ctx context.Context, claim *v1.PersistentVolumeClaim) (supports bool, err error) {
	block, ok := ctrl.provisioner.(BlockProvisioner)
	if !ok {
		return false, nil
	}
	defer ctrl.panicsAsError("SupportsBlock", &err)
	ctrl.foreign("SupportsBlock", claim, func() { supports = block.SupportsBlock(ctx) })
	return supports, nil
}

// panicsAsError is deferred around a call of the provisioner.
func (ctrl *ProvisionController) panicsAsError(method string, err *error) {
	if p := notCrash(recover()); p != nil {
		*err = &panicError{ctrl.cfg.Name, method, p}
	}
}

// panicError is a panic in the provisioner's code.
type panicError struct {
	provisioner, method string
	value               any
}

func (e *panicError) Error() string {
	return fmt.Sprintf("provisioner %s panicked in %s: %v", e.provisioner, e.method, e.value)
}

// notCrash passes on what the driver unwinds a crashed actor with; everything
// else is the provisioner's own fault.
func notCrash(p any) any {
	if crash, ok := p.(control.Crash); ok {
		panic(crash)
	}
	return p
}
