// Package attacher is the CSI sidecar that attaches volumes: for VolumeAttachment objects, which the attach/detach
// controller creates and deletes, it calls ControllerPublishVolume and ControllerUnpublishVolume of one CSI driver.
// It models kubernetes-csi/external-attacher v4.13. Begin with syncVA in controller.go.
//
// # Attach
//
// For a VolumeAttachment of its driver that is not attached (attach.go), the attacher
//
//  1. refuses a volume that is marked for deletion, and adds its finalizer external-attacher/DRIVER to the
//     PersistentVolume,
//  2. finds the access mode, the secret and the node's ID, which is in CSINode,
//  3. writes the finalizer and the annotation csi.alpha.kubernetes.io/node-id to the VolumeAttachment, in one patch,
//  4. calls ControllerPublishVolume, and
//  5. writes status.attached and the driver's publish context.
//
// A failure of any step is written to status.attachError, and the step is tried again after 1 s, 2 s, 4 s and so on
// up to 5 minutes. Since step 3 comes before step 4, a volume that may be attached always has an object that says
// so.
//
// # Detach
//
// For a VolumeAttachment that is being deleted and has the finalizer (detach.go), the attacher calls
// ControllerUnpublishVolume, also if the volume is not known to be attached. Then it removes the finalizer, and then
// clears the status, if the object still exists. The node's ID comes from CSINode or, if the driver is not there any
// more, from the annotation. A failure is written to status.detachError.
//
// The attacher removes its finalizer from a PersistentVolume (volume.go) once the volume is being deleted and no
// VolumeAttachment names it.
//
// # Drivers
//
// For a driver without PUBLISH_UNPUBLISH_VOLUME there is nothing to attach: trivial.go only writes status.attached.
// A driver with LIST_VOLUMES and LIST_VOLUMES_PUBLISHED_NODES is asked each minute where its volumes are published
// (reconcile.go); where the answer differs from a status, the volume is attached or detached again.
//
// # Deviations from upstream
//
//   - In-tree volumes are not migrated to CSI.
//   - The first reconciliation with ListVolumes comes a minute after the start.
//   - Those that package sidecar lists.
package attacher
