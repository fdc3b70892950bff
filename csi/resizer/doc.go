// Package resizer is the CSI sidecar that has volumes grow: it notices claims that ask for more
// than they have, calls ControllerExpandVolume of one CSI driver, and writes to the
// PersistentVolume and to the claim how far that is. It models
// kubernetes-csi/external-resizer v2.2.
//
// # A volume grows
//
// For a bound claim that asks for more than its status.capacity (expand.go), the resizer
//
//  1. finds the size to expand to: what the claim asks for, or first what was begun,
//  2. writes that size to status.allocatedResources, with the status
//     ControllerResizeInProgress and the condition Resizing,
//  3. calls ControllerExpandVolume,
//  4. writes the new size to the PersistentVolume, and with it, if nodes have work to do, the
//     annotation volume.alpha.kubernetes.io/pre-resize-capacity with the old one, and
//  5. writes to the claim that the node's work is pending (NodeResizePending, condition
//     FileSystemResizePending), or if there is none that it has the new size.
//
// In the first case a kubelet does the rest: it calls NodeExpandVolume when the volume is
// mounted, or within a minute if it is, and writes the claim's status.capacity. The
// resizer then removes its annotation from the PersistentVolume.
//
// # When it fails
//
// Failures are tried again after 1 s, 2 s, 4 s and so on up to 5 minutes. After an error
// that is final, a user can lower the request, to no less than status.capacity, and the resizer
// tries the lower size. After one that leaves open what was done, the size that was begun
// comes first. An error that says that it can never be (InvalidArgument, OutOfRange, NotFound)
// makes the status ControllerResizeInfeasible, and is tried again every 5 minutes only. After
// FailedPrecondition, the volume cannot grow while it is in use: no call is made as long as a
// pod has the claim.
//
// # A volume gets another VolumeAttributesClass
//
// Where the driver has MODIFY_VOLUME, a second controller (modify.go) looks at bound claims whose
// spec.volumeAttributesClassName is not their status.currentVolumeAttributesClassName. It
//
//  1. writes status.modifyVolumeStatus with the target, InProgress, and the condition
//     ModifyingVolume; a class that does not exist leaves it Pending,
//  2. calls ControllerModifyVolume with the parameters of the class,
//  3. writes the class to the PersistentVolume, and then to the claim's status.
//
// After an error that leaves open what was done, the same target is tried again, whatever the
// claim asks for meanwhile. Any other error lets the claim choose another class, or the one before;
// InvalidArgument makes the status Infeasible, which is tried again every 5 minutes only.
//
// # Drivers
//
// A driver without EXPAND_VOLUME in its controller service, but with it in a node service at
// the same socket, needs no call: the PersistentVolume gets the new size at once, and nodes
// do the work. With neither, and without MODIFY_VOLUME, the resizer does nothing at all.
//
// # Deviations from upstream
//
//   - In-tree volumes are not migrated to CSI.
//   - A driver that cannot grow volumes does not end the program, which a Deployment would start
//     again and again.
//   - What package sidecar lists.
package resizer
