// Package attacher is the CSI sidecar that attaches volumes: it turns VolumeAttachment
// objects, which the attach/detach controller makes and deletes, into the calls
// ControllerPublishVolume and ControllerUnpublishVolume of one CSI driver. It models
// kubernetes-csi/external-attacher v4.13.
//
// # Attach
//
// For a VolumeAttachment of its driver that is not attached (attach.go), the attacher
//
//  1. refuses a volume that is marked for deletion, and puts its finalizer
//     external-attacher/DRIVER on the PersistentVolume,
//  2. finds the access mode, the secret and the node's ID, which is in CSINode,
//  3. writes the finalizer and the annotation csi.alpha.kubernetes.io/node-id on the
//     VolumeAttachment, in one patch,
//  4. calls ControllerPublishVolume, and
//  5. writes status.attached and the driver's publish context.
//
// A failure of any of these is written to status.attachError and tried again after 1 s, 2 s,
// 4 s and so on up to 5 minutes. Since step 3 comes before step 4, a volume that may be
// attached always has an object that says so.
//
// # Detach
//
// For a VolumeAttachment that is being deleted and has the finalizer (detach.go), the
// attacher calls ControllerUnpublishVolume, also if nothing is known to be attached, then
// takes the finalizer off, then clears the status. If the object is gone by then, that is
// fine. The node's ID comes from CSINode or, if the driver is not there any more, from
// the annotation. A failure is written to status.detachError.
//
// The attacher's finalizer on a PersistentVolume goes (volume.go) once the volume is being
// deleted and no VolumeAttachment names it.
//
// # Drivers
//
// A driver without PUBLISH_UNPUBLISH_VOLUME has nothing to attach: trivial.go writes
// status.attached and nothing else. One with LIST_VOLUMES and LIST_VOLUMES_PUBLISHED_NODES
// is asked each minute what is attached where (reconcile.go), and what differs from the
// status is attached or detached again.
//
// # Deviations from upstream
//
//   - In-tree volumes are not migrated to CSI.
//   - The first reconciliation with ListVolumes comes a minute after the start.
//   - What package sidecar lists.
package attacher
