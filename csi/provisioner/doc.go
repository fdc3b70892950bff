// Package provisioner is the CSI sidecar that makes and deletes volumes: it turns claims
// into CreateVolume, and released volumes into DeleteVolume, of one CSI driver. It models
// kubernetes-csi/external-provisioner v6.3.
//
// It is a provisioner.Provisioner on the library of package provisioner, which decides when
// a claim gets a volume, keeps the finalizer, saves the PersistentVolume and retries;
// here is what csiProvisioner.Provision and Delete do.
//
// # Provision
//
// prepare.go checks the claim and its class, in this order: the data source, what the driver
// is capable of, the selector, the file system, the access modes (capability.go), the
// topology (topology.go), the secrets (secrets.go), the other parameters and the
// VolumeAttributesClass. provision.go calls CreateVolume, acts on its error (state.go) and
// makes the PersistentVolume of its answer (volume.go).
//
// An error before CreateVolume leaves the state as it was (NoChange) where an earlier call
// may still be at work. An error of CreateVolume is final, except for the codes that
// leave open whether a volume was made: Canceled, DeadlineExceeded, Unavailable, Aborted,
// and anything that is no gRPC error. Then CreateVolume is repeated under the same name
// until there is a final answer, also when the claim has been deleted. ResourceExhausted
// gives the claim back to the scheduler, if the driver has topology and the claim a
// selected node.
//
// A volume smaller than asked for is deleted again.
//
// # Topology
//
// A driver with VOLUME_ACCESSIBILITY_CONSTRAINTS is told where the volume must be
// reachable (requisite) and in which order it should try (preferred). The keys are those that
// the driver registered in CSINode; the values are labels of nodes. Without a selected
// node, preferred begins at a place that depends on the claim's name, so that the claims of a
// StatefulSet are spread. What was looked up for a claim is kept until the claim is done
// with, so that a repeated CreateVolume asks for the same.
//
// # Delete
//
// delete.go refuses while a VolumeAttachment names the volume, if the driver attaches
// volumes at all. The secret is that of the annotations of the PersistentVolume; if it
// is gone, DeleteVolume is called without.
//
// # Deviations from upstream
//
//   - Volumes from snapshots and from other claims are refused with an error that says so.
//   - In-tree volumes are not migrated to CSI. There is no node deployment and no storage
//     capacity.
//   - An answer to CreateVolume without a volume is an error. Upstream's process panics.
//   - The identity in the volume's attributes has a number that depends on the driver's name,
//     instead of a random one.
//   - The library looks at all claims again after 15 minutes, not after an hour.
//   - What packages provisioner and sidecar list.
package provisioner
