package provisioner

import (
	"context"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/storagesim/storagesim/control"
)

// Provisioner makes and deletes storage assets: what an author writes.
//
// Calls for different claims and volumes may be in flight at once, for one
// never. Both may be repeated, after an error or a crash, and must be
// idempotent. The objects passed are copies.
//
// Upstream: controller/volume.go Provisioner, v13.
type Provisioner interface {
	// Provision makes the asset and returns the PersistentVolume that stands
	// for it, named options.PVName. The library fills in the claim reference,
	// the class name and the provisioned-by annotation and creates the object.
	//
	// With a nil error the state does not matter. An *IgnoredError, not
	// wrapped, means: not mine, no event, no retry. Any other error is retried
	// and shown as a ProvisioningFailed event.
	Provision(ctx context.Context, options ProvisionOptions) (*v1.PersistentVolume, ProvisioningState, error)
	// Delete removes the asset, not the object; an asset that is gone already
	// is a success. An *IgnoredError, not wrapped, leaves the volume alone; a
	// *VolumeInUseError, not wrapped, is retried and shown as an event VolumeDelete of
	// type Normal; any other error is retried and shown as a VolumeFailedDelete event.
	Delete(ctx context.Context, volume *v1.PersistentVolume) error
}

// ProvisionOptions describes the volume that Provision must make.
//
// Upstream: controller/volume.go ProvisionOptions, v13.
type ProvisionOptions struct {
	// StorageClass of the claim, with its parameters, reclaim policy, mount
	// options and topologies.
	StorageClass *storagev1.StorageClass
	// PVName is the name the volume must have: "pvc-<uid of the claim>".
	PVName string
	// PVC is the claim. The volume must satisfy it.
	PVC *v1.PersistentVolumeClaim
	// SelectedNodeName is the node the scheduler chose; empty when the claim
	// does not wait for its first consumer. Whether that node still exists is
	// for the provisioner to find out.
	SelectedNodeName string
}

// ProvisioningState says, next to an error, whether an asset may be in the
// making.
type ProvisioningState string

// The states. Their values are upstream's.
const (
	// ProvisioningFinished: the answer is final, nothing goes on.
	ProvisioningFinished ProvisioningState = "Finished"
	// ProvisioningInBackground: the asset may be made even now, or later.
	// Provision is called again until a final answer, also after the claim has
	// been deleted.
	ProvisioningInBackground ProvisioningState = "Background"
	// ProvisioningNoChange says that the call did not reach the backend: the state is as before.
	ProvisioningNoChange ProvisioningState = "NoChange"
	// ProvisioningReschedule: not on this node; the scheduler should choose
	// again. Nothing goes on.
	ProvisioningReschedule ProvisioningState = "Reschedule"
)

// Qualifier is optional: it refuses claims early.
type Qualifier interface {
	// ShouldProvision says whether to provision for the claim at all. It must
	// not change it.
	ShouldProvision(ctx context.Context, claim *v1.PersistentVolumeClaim) bool
}

// DeletionGuard is optional: it keeps volumes from being deleted.
type DeletionGuard interface {
	// ShouldDelete says whether the volume may be deleted. It must not change it.
	ShouldDelete(ctx context.Context, volume *v1.PersistentVolume) bool
}

// BlockProvisioner is optional: without it, claims of volumeMode Block are
// refused.
type BlockProvisioner interface {
	Provisioner
	// SupportsBlock says whether block volumes can be made.
	SupportsBlock(ctx context.Context) bool
}

// Starter is optional and not upstream's: it does what a provisioner's program does before
// it runs the controller, for example wait for its backend.
type Starter interface {
	// Start is called once, before any other method, and may call the API. Until it returns,
	// nothing is worked on.
	Start(ctx context.Context)
}

// ClaimFollower is optional and not upstream's: it is given the controller's cache of claims, as the
// sidecar's program shares its informer of claims with its other controllers.
type ClaimFollower interface {
	// FollowClaims is called once, before any other method. It must not call the API.
	FollowClaims(claims *control.Cache[*v1.PersistentVolumeClaim])
}

// Inventory is optional and not upstream's: a provisioner that runs inside the
// simulation can say what its backend holds, and a check for leaks compares
// that with the API's volumes.
type Inventory interface {
	// Volumes are the names of all volumes the backend holds, in any order:
	// those PVNames that Provision made and Delete has not removed.
	Volumes(ctx context.Context) ([]string, error)
}

// IgnoredError is the error of Provision or Delete for a claim or volume that
// they leave to another provisioner. It must be returned as such, not wrapped.
type IgnoredError struct {
	// Reason completes the sentence "ignored because ...".
	Reason string
}

// Error implements error.
func (e *IgnoredError) Error() string { return "ignored because " + e.Reason }

// VolumeInUseError is the error of Delete for a volume that cannot be deleted yet, because it is
// still attached to a node, say. Delete is called again after the usual backoff. It must be returned
// as such, not wrapped.
//
// Upstream: controller/volume.go VolumeInUseError, v13.1.
type VolumeInUseError struct {
	// Reason is the message of the event VolumeDelete.
	Reason string
}

// Error implements error.
func (e *VolumeInUseError) Error() string { return e.Reason }
