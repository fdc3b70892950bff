// Package resizer is the CSI sidecar that makes volumes larger: it finds claims that request more than they have,
// calls ControllerExpandVolume of one CSI driver, and writes the progress to the PersistentVolume and to the claim.
// It models kubernetes-csi/external-resizer v2.3. Begin with syncPVC in controller.go.
//
// # A volume grows
//
// For a bound claim that requests more than its status.capacity (expand.go), the resizer
//
//  1. finds the size to expand to: that of the request or, first, the one already begun,
//  2. writes that size to status.allocatedResources, with the status ControllerResizeInProgress and the condition
//     Resizing,
//  3. calls ControllerExpandVolume,
//  4. writes the new size to the PersistentVolume and, if nodes have work to do, the old size to its annotation
//     volume.alpha.kubernetes.io/pre-resize-capacity, and
//  5. writes to the claim that the node's work is pending (NodeResizePending, condition FileSystemResizePending) or,
//     if nodes have none, the new size.
//
// If nodes have work to do, a kubelet does the rest: it calls NodeExpandVolume when the volume is mounted, or within
// a minute if it is, and writes the claim's status.capacity. The resizer then removes its annotation from the
// PersistentVolume.
//
// # After a failure
//
// The resizer tries again after 1 s, 2 s, 4 s and so on up to 5 minutes. After a final error, a user can lower the
// request, to no less than status.capacity, and the resizer tries the lower size. After an error that does not tell
// what was done, the size already begun comes first. An error for what can never succeed (InvalidArgument,
// OutOfRange, NotFound) makes the status ControllerResizeInfeasible, and is retried twice every 5 minutes only.
// FailedPrecondition means that the volume cannot grow while it is in use: the driver is not called as long as a pod
// uses the claim.
//
// # A volume gets another VolumeAttributesClass
//
// Where the driver has MODIFY_VOLUME, a second controller (modify.go) works on bound claims whose
// spec.volumeAttributesClassName differs from their status.currentVolumeAttributesClassName. It
//
//  1. writes status.modifyVolumeStatus with the target, InProgress, and the condition
//     ModifyingVolume; a class that does not exist leaves it Pending,
//  2. calls ControllerModifyVolume with the parameters of the class,
//  3. writes the class to the PersistentVolume, and then to the claim's status.
//
// After an error that does not tell what was done, it tries the same target again, whatever the claim requests
// meanwhile. After any other error the claim can name another class, or the previous one; InvalidArgument makes the
// status Infeasible, which is retried every 5 minutes only.
//
// # Drivers
//
// A driver without EXPAND_VOLUME in its controller service, but with it in a node service at the same socket, is not
// called: the PersistentVolume gets the new size at once, and nodes do the work. With neither, the resizer's process
// ends, and is started again and again: a Deployment for such a driver has no resizer.
//
// # Deviations from upstream
//
//   - In-tree volumes are not migrated to CSI.
//   - Those that package sidecar lists.
package resizer
