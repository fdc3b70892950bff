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
// # Group snapshots
//
// Once the definitions of groupsnapshot.storage.k8s.io are there (groups.go), a VolumeGroupSnapshot (groupsync.go) is
// taken of all claims of its namespace that its selector chooses, at one moment. They must be bound to volumes of the class's
// driver. The controller creates the content groupsnapcontent-UID (groupcontent.go). When the sidecar has written to
// the content's status what the driver took, the controller creates for each volume a snapshot and a content that
// are bound to each other: the members (groupmembers.go). A member can be restored as any snapshot. It has no class, is
// owned by its group snapshot, and is deleted only with that (groupdelete.go), by the finalizer volumesnapshot-in-group-protection.
//
// # Deviations from upstream
//
//   - There are no snapshots by nodes (--enable-distributed-snapshotting).
//   - Definitions of group snapshots are noticed also when they come later. Upstream looks once, when the program starts.
//   - There is no leader election.
package snapshotcontroller
