// Package snapshotcontroller has snapshots be taken: it makes a VolumeSnapshotContent for each
// VolumeSnapshot of a claim, binds the two to each other, tells the snapshot's status from the
// content's, and deletes the content with the snapshot. The CSI sidecar of package
// csi/snapshotter calls the driver. It models the snapshot-controller of
// kubernetes-csi/external-snapshotter v8.7.
//
// # A snapshot of a claim
//
// For a VolumeSnapshot that names a claim (snapshot.go, create.go), the controller
//
//  1. finds its class: the one that it names, or the only default class of the driver,
//  2. adds its finalizer volumesnapshot-as-source-protection,
//  3. adds the finalizer pvc-as-source-protection to the claim, which must be bound to a volume of a
//     CSI driver,
//  4. creates the content snapcontent-UID, and
//  5. writes the content's name to the snapshot's status.
//
// When the sidecar has written the handle to the content's status, the snapshot gets size, time and
// readiness (status.go), and the claim loses the finalizer when no snapshot of it is unready.
//
// # A snapshot that is there already
//
// A VolumeSnapshot that names a content is bound to it if the content names the snapshot. The
// content gets the snapshot's UID.
//
// # Deletion
//
// A snapshot that is being deleted (delete.go) waits while a pending claim is restored from it.
// Then its content gets the annotation volumesnapshot-being-deleted and, with the policy Delete, is
// deleted; the snapshot goes when the content has gone. With Retain the content stays. That a snapshot
// is missing never deletes a content.
//
// # Deviations from upstream
//
//   - There are no group snapshots, and no snapshots by nodes (--enable-distributed-snapshotting).
//   - There is no leader election.
package snapshotcontroller
