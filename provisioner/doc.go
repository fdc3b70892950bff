// Package provisioner is the external-provisioner library: the controller that
// turns claims into volumes by calling somebody's Provisioner, and deletes the
// volumes again when their claims are gone. Upstream it is
// sigs.k8s.io/sig-storage-lib-external-provisioner, v13; the interfaces here
// have its names and shapes, so that an author's type fits with a few lines.
//
// # A claim's way
//
// The PV controller writes the provisioner's name on a claim that it cannot
// bind to anything that exists; for WaitForFirstConsumer only once the scheduler
// has written volume.kubernetes.io/selected-node. From there on
//
//   - claim.go: syncClaim takes the claim, by UID, and keeps claimsInProgress;
//   - should_provision.go: shouldProvision says yes, or why not;
//   - provision.go: provisionClaimOperation calls Provision and acts on its answer;
//   - reschedule.go: rescheduleProvisioning gives the node back to the scheduler;
//   - store.go: StoreVolume creates the PersistentVolume, with retries, and has
//     the asset deleted if that never works.
//
// and the PV controller binds the volume. On the way back it marks the volume
// Released when the claim is gone, and
//
//   - volume.go: syncVolume takes the volume, by name;
//   - finalizer.go: handleProtectionFinalizer keeps the finalizer as configured;
//   - should_delete.go: shouldDelete says yes, or why not;
//   - delete.go: deleteVolumeOperation calls Delete, then deletes the object.
//
// # What Provision's answer does
//
// Next to an error stands a ProvisioningState. Finished and NoChange mean what
// they say; Background keeps the claim in progress, so that Provision is called
// again even after the claim has been deleted, until a final answer: the only
// way to learn of a volume that was made after all. Reschedule removes
// selected-node, so that the scheduler chooses again. An *IgnoredError ends the
// matter in silence.
//
// # Trust
//
// A Provisioner is somebody else's code. It gets copies of the claim, the class
// and the volume. If it panics, returns neither a volume nor an error, or a
// volume of another name than asked for, that is an error and a
// ProvisioningFailed event like any other, and the cluster goes on. After a
// panic nobody knows what was made, so the state is Background. A volume under
// a wrong name is not deleted: it may be someone else's.
//
// # Deviations from upstream
//
//   - "Nothing to do" is no error: where upstream returns errStopProvision, the
//     functions here return Finished and nil.
//   - The informer's store is not written to. A volume saved but not yet seen in
//     the cache is remembered apart and confirmed by a live read; so is a claim
//     whose selected-node has been removed, until its cached copy changes.
//   - A PersistentVolume that is gone already when it should be deleted counts as
//     deleted.
//   - There is no leader election: a name has one instance. Its identity in
//     events is Config.Identity, not a host name and a random UUID.
//   - Not here yet: the queue store, infeasible claims (gRPC InvalidArgument)
//     and their slow retry, metrics.
//
// Kept, although they look unintended: finalizer patches carry no version; a
// volume in phase Failed is never deleted; a claim annotated for provisioner A
// whose class names provisioner B is asked of whoever knows both; and
// StoreVolume deletes the asset after its last failed try even if an earlier one
// created the volume and only its answer was lost, so that the volume stands for
// nothing.
package provisioner
