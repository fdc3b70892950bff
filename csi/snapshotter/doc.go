// Package snapshotter is the CSI sidecar that takes and deletes snapshots: it turns
// VolumeSnapshotContents into CreateSnapshot and DeleteSnapshot of one CSI driver, and writes to their
// status what the driver answers. It models the csi-snapshotter of
// kubernetes-csi/external-snapshotter v8.7. Package snapshotcontroller makes the contents.
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
// If the snapshot is not ready, that is repeated after 1 s, 2 s, 4 s and so on up to 5 minutes.
// After an error that leaves open what was done the annotation stays, and the content is not deleted
// before there is a final answer.
//
// A content with a snapshot's handle is only looked at, by ListSnapshots if the driver has that.
//
// # A snapshot is deleted
//
// A content that is being deleted, with the policy Delete and the annotation volumesnapshot-being-deleted,
// has DeleteSnapshot be called; then its handle is removed, and then its finalizer. With Retain
// the driver is not called.
//
// # Group snapshots
//
// Once the definitions of groupsnapshot.storage.k8s.io are there, the same is done for VolumeGroupSnapshotContents
// (groups.go, groupdelete.go), by CreateVolumeGroupSnapshot, GetVolumeGroupSnapshot and DeleteVolumeGroupSnapshot of the driver's
// group controller service. For the contents of the members, the driver is called neither to take nor to delete them.
//
// # Deviations from upstream
//
//   - There are no sidecars on nodes (--node-deployment).
//   - A driver without snapshots does not end the program, which a Deployment would start again and
//     again.
//   - What package sidecar lists.
package snapshotter
