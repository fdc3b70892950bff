// Package siglib brings the real provisioner library, that is
// sigs.k8s.io/sig-storage-lib-external-provisioner/v13, to a simulated cluster, in
// two ways:
//
//   - Adapt makes of a Provisioner written for it one for Cluster.AddProvisioner:
//     the author's code under our controller, deterministic, with every crash and
//     interleaving to be had;
//   - Run runs the library's own ProvisionController, unmodified, against
//     Cluster.Client, beside package live.
//
// It is a module of its own, so that the main one does not depend on the library.
package siglib

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"

	"github.com/storagesim/storagesim/provisioner"
)

// Adapt returns p as a provisioner for Cluster.AddProvisioner. Options and states are passed on
// unchanged, and so is an IgnoredError. Its optional interfaces (Qualifier, DeletionGuard,
// BlockProvisioner) count as in the library. If p lists the volumes of its backend
// (provisioner.Inventory, which the library does not know), RequireNoLeaks uses it.
func Adapt(p controller.Provisioner) provisioner.Provisioner {
	if inventory, ok := p.(provisioner.Inventory); ok {
		return struct {
			adapter
			provisioner.Inventory
		}{adapter{p}, inventory}
	}
	return adapter{p}
}

// adapter has all optional methods. A method that the real provisioner lacks answers as the
// library's controller would decide without it.
type adapter struct{ real controller.Provisioner }

var (
	_ provisioner.Qualifier        = adapter{}
	_ provisioner.DeletionGuard    = adapter{}
	_ provisioner.BlockProvisioner = adapter{}
)

func (a adapter) Provision(ctx context.Context, options provisioner.ProvisionOptions) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	volume, state, err := a.real.Provision(ctx, controller.ProvisionOptions{
		StorageClass: options.StorageClass, PVName: options.PVName, PVC: options.PVC, SelectedNodeName: options.SelectedNodeName,
	})
	return volume, provisioner.ProvisioningState(state), ignored(err)
}

func (a adapter) Delete(ctx context.Context, volume *v1.PersistentVolume) error {
	return ignored(a.real.Delete(ctx, volume))
}

func (a adapter) ShouldProvision(ctx context.Context, claim *v1.PersistentVolumeClaim) bool {
	q, ok := a.real.(controller.Qualifier)
	return !ok || q.ShouldProvision(ctx, claim)
}

func (a adapter) ShouldDelete(ctx context.Context, volume *v1.PersistentVolume) bool {
	g, ok := a.real.(controller.DeletionGuard)
	return !ok || g.ShouldDelete(ctx, volume)
}

func (a adapter) SupportsBlock(ctx context.Context) bool {
	b, ok := a.real.(controller.BlockProvisioner)
	return ok && b.SupportsBlock(ctx)
}

// ignored carries an IgnoredError over. Like the library it does not look into
// wrapped errors.
func ignored(err error) error {
	if is, ok := err.(*controller.IgnoredError); ok { //nolint:errorlint // the library's rule: not wrapped
		return &provisioner.IgnoredError{Reason: is.Reason}
	}
	return err
}
