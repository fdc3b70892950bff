// Package snapshotter is the CSI sidecar that takes and deletes snapshots: for VolumeSnapshotContents, which the controller
// of package snapshotcontroller creates, it calls CreateSnapshot and DeleteSnapshot of one CSI driver and writes the
// answers to their status. It models the csi-snapshotter of kubernetes-csi/external-snapshotter v8.7.
//
// Begin with syncContent in worker.go. The calls for snapshots are in singles.go, those for group snapshots in groups.go.
//
// # A snapshot is taken
//
// For a content with a volume's handle and without a status (create.go), the sidecar
//
//  1. writes the annotation volumesnapshot-being-created,
//  2. calls CreateSnapshot, with the name snapshot-UID,
//  3. writes handle, size, time and readiness to the status, and
//  4. removes the annotation.
//
// If the snapshot is not ready, the sidecar repeats this after 1 s, 2 s, 4 s and so on up to 5 minutes.
// After an error that does not tell what was done the annotation stays, and the content is not deleted
// before there is a final answer.
//
// For a content with a snapshot's handle it only asks whether the snapshot is ready, by ListSnapshots if the driver has it.
//
// # A snapshot is deleted
//
// For a content that is being deleted, with the policy Delete and the annotation volumesnapshot-being-deleted,
// the sidecar (delete.go) calls DeleteSnapshot, removes the handle and then the finalizer. With Retain it does not call
// the driver.
//
// # Group snapshots
//
// Once the definitions of groupsnapshot.storage.k8s.io exist, the sidecar does the same for VolumeGroupSnapshotContents,
// by CreateVolumeGroupSnapshot, GetVolumeGroupSnapshot and DeleteVolumeGroupSnapshot of the driver's group controller
// service. For the contents of the members, it calls the driver neither to take nor to delete them.
//
// # Deviations from upstream
//
//   - No sidecar runs on nodes (--node-deployment).
//   - Those that package sidecar lists.
package snapshotter
