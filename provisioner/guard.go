package provisioner

import (
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/trace"
)

// The calls of third-party code, all in one place. Objects handed over are
// copies. A panic ends the process (control.Foreign).

// callProvision calls Provision and refuses impossible answers.
func (ctrl *provisionController) callProvision(ctx context.Context, options ProvisionOptions) (volume *v1.PersistentVolume,
	state ProvisioningState, err error) {
	began := ctrl.env.Now()
	ctrl.foreign("Provision", options.PVC, func() {
		volume, state, err = ctrl.provisioner.Provision(ctx, options)
	})
	switch {
	case err != nil:
		volume = nil
	case volume == nil:
		state, err = ProvisioningFinished, fmt.Errorf("provisioner %s returned neither a volume nor an error", ctrl.cfg.Name)
	case volume.Name != options.PVName:
		state, err = ProvisioningFinished, fmt.Errorf("provisioner %s returned a volume named %q; it must be named %q", ctrl.cfg.Name, volume.Name, options.PVName)
		volume = nil
	default:
		volume = volume.DeepCopy()
	}
	class := state
	if !slices.Contains(knownStates(), state) {
		class = ProvisioningNoChange // as which it counts
	}
	ctrl.traceCall("Provision", options.PVC, options.PVName, began, string(class), err)
	return volume, state, err
}

// traceCall notes what came of a call. class is the kind of the error, if there is one that
// does not say itself that the call is another provisioner's.
func (ctrl *provisionController) traceCall(method string, about control.Object, volume string, began time.Time, class string, err error) {
	call := trace.Call{Method: method, About: refOf(about), Volume: volume, Took: ctrl.env.Now().Sub(began)}
	if err != nil {
		call.Class, call.Err = class, err.Error()
		if _, ignored := err.(*IgnoredError); ignored { //nolint:errorlint // Upstream looks at the direct type only.
			call.Class = "Ignored"
		}
	}
	ctrl.env.Trace(call)
}

// callVolumeName calls Config.VolumeName, and refuses what cannot name a volume
// before anything is made under that name.
func (ctrl *provisionController) callVolumeName(claim *v1.PersistentVolumeClaim) (name string, err error) {
	if ctrl.cfg.ownVolumeName {
		ctrl.foreign("VolumeName", claim, func() { name = ctrl.cfg.VolumeName(claim.DeepCopy()) })
	} else {
		name = ctrl.cfg.VolumeName(claim)
	}
	if wrong := validation.IsDNS1123Subdomain(name); len(wrong) > 0 {
		return "", fmt.Errorf("Config.VolumeName of provisioner %s returned %q: %s", ctrl.cfg.Name, name, wrong[0])
	}
	return name, nil
}

// callDelete calls Delete.
func (ctrl *provisionController) callDelete(ctx context.Context, volume *v1.PersistentVolume) (err error) {
	began := ctrl.env.Now()
	ctrl.foreign("Delete", volume, func() { err = ctrl.provisioner.Delete(ctx, volume.DeepCopy()) })
	ctrl.traceCall("Delete", volume, volume.Name, began, "Error", err)
	return err
}

// qualifierDeclines asks the Qualifier, if the provisioner is one.
func (ctrl *provisionController) qualifierDeclines(ctx context.Context, claim *v1.PersistentVolumeClaim) (declines bool) {
	if qualifier, ok := ctrl.provisioner.(Qualifier); ok {
		ctrl.foreign("ShouldProvision", claim, func() { declines = !qualifier.ShouldProvision(ctx, claim.DeepCopy()) })
	}
	return declines
}

// guardRefuses asks the DeletionGuard, if the provisioner is one.
func (ctrl *provisionController) guardRefuses(ctx context.Context, volume *v1.PersistentVolume) (refuses bool) {
	if guard, ok := ctrl.provisioner.(DeletionGuard); ok {
		ctrl.foreign("ShouldDelete", volume, func() { refuses = !guard.ShouldDelete(ctx, volume.DeepCopy()) })
	}
	return refuses
}

// supportsBlock asks the BlockProvisioner, if the provisioner is one.
func (ctrl *provisionController) supportsBlock(ctx context.Context, claim *v1.PersistentVolumeClaim) (supports bool) {
	if block, ok := ctrl.provisioner.(BlockProvisioner); ok {
		ctrl.foreign("SupportsBlock", claim, func() { supports = block.SupportsBlock(ctx) })
	}
	return supports
}
