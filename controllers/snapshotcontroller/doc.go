// Package snapshotcontroller takes snapshots: it creates a VolumeSnapshotContent for each VolumeSnapshot of a claim, binds
// the two to each other, copies the content's status to the snapshot, and deletes the content with the snapshot. The CSI
// sidecar of package csi/snapshotter calls the driver. It models the snapshot-controller of
// kubernetes-csi/external-snapshotter v8.7.
//
// Begin with syncSnapshot in singles.go. What snapshots and group snapshots have in common is there once for both:
// binder.go, bind.go, class.go, create.go and status.go.
//
// # A snapshot of a claim
//
// For a VolumeSnapshot that names a claim (singles.go, create.go), the controller
//
//  1. finds its class: the one that it names, or the only default class of the driver (class.go),
//  2. adds its finalizer volumesnapshot-as-source-protection,
//  3. adds the finalizer pvc-as-source-protection to the claim, which must be bound to a volume of a
//     CSI driver,
//  4. creates the content snapcontent-UID, and
//  5. writes the content's name to the snapshot's status.
//
// When the sidecar has written the handle to the content's status, the snapshot gets size, time and
// readiness (status.go), and the claim loses the finalizer when no snapshot of it is unready.
//
// # A snapshot that exists already
//
// A VolumeSnapshot that names a content is bound to it if the content names the snapshot. The
// content gets the snapshot's UID.
//
// # Deletion
//
// A snapshot that is being deleted (delete.go) waits while a pending claim is restored from it.
// Then its content gets the annotation volumesnapshot-being-deleted and, with the policy Delete, is
// deleted; the snapshot goes when the content has gone. With Retain the content stays. A missing
// snapshot never deletes a content.
//
// # Group snapshots
//
// Once the definitions of groupsnapshot.storage.k8s.io exist, a VolumeGroupSnapshot (groups.go) is taken of all claims of
// its namespace that its selector chooses, at one moment. They must be bound to volumes of the class's driver. The
// controller creates the content groupsnapcontent-UID. When the sidecar has written to the content's status what the
// driver took, the controller creates for each volume a snapshot and a content that are bound to each other: the members
// (groupmembers.go). A member can be restored like any snapshot. It has no class, is owned by its group snapshot, and is
// deleted only with the group snapshot (groupdelete.go): the finalizer volumesnapshot-in-group-protection keeps it.
//
// # Deviations from upstream
//
//   - Nodes take no snapshots (--enable-distributed-snapshotting).
//   - Definitions of group snapshots are noticed also when they come later. Upstream looks once, when the program starts.
//   - A content with handles of both volumes and snapshots is treated as one of an existing snapshot. The API server's rules
//     do not allow such a content.
//   - There is no leader election.
package snapshotcontroller
