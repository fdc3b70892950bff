// Package provisioner is the external-provisioner library: the controller that
// turns claims into volumes by calling a Provisioner, and deletes the
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
//   - infeasible.go: a claim that cannot be satisfied rests for a while;
//   - store.go: StoreVolume creates the PersistentVolume, with retries, and has
//     the asset deleted if that never works; or, in store_queue.go, it retries for
//     ever and deletes nothing.
//
// and the PV controller binds the volume. On the way back it marks the volume
// Released when the claim is gone, and
//
//   - volume.go: syncVolume takes the volume, by name;
//   - finalizer.go: handleProtectionFinalizer keeps the finalizer as configured;
//   - should_delete.go: shouldDelete says yes, or why not;
//   - delete.go: deleteVolumeOperation calls Delete, then deletes the object.
//
// Around both: counters.go counts under upstream's metric names, guard.go and
// blocked.go call the Provisioner, and faulty.go gives wrong answers in its place.
//
// # For authors
//
// A type with the methods Provision and Delete is a provisioner; the example of
// this package is all of one, and its test. The signatures are upstream's, so
// that a program written for sig-storage-lib v13 fits once its import is changed.
// Qualifier, BlockProvisioner and DeletionGuard are upstream's too; Inventory is
// ours, and lets a test ask what the backend holds.
//
// Waiting takes virtual time: a provisioner that waits uses the control.Env that
// Config.New is given, which a test can crash at each of these calls.
//
// # What Provision's answer does
//
// An error comes with a ProvisioningState. Finished and NoChange mean what
// they say; Background keeps the claim in progress, so that Provision is called
// again even after the claim has been deleted, until a final answer: the only
// way to learn of a volume that was made after all. Reschedule removes
// selected-node, so that the scheduler chooses again. An *IgnoredError ends the
// matter in silence.
//
// A gRPC status with the code InvalidArgument says that the claim is infeasible:
// it rests for five minutes (Config.RetryIntervalMax), whatever happens to it,
// unless its class is replaced. Such an error is known by its method GRPCStatus,
// also when it is wrapped; see isInfeasibleError for why grpc is not imported.
//
// # Trust
//
// A Provisioner is third-party code. It gets copies of the claim, the class
// and the volume.
//
// If it panics, its process ends, as a real one does: there is no event, what the
// process knew is forgotten, and its other claims wait. The trace names the file and
// the line. The process is started again as a Deployment's pod is, at once and then
// after 10s, 20s, 40s, up to 5 minutes (CrashLoopBackOff), and has the same claim
// before it. The rest of the cluster goes on. Settling does not wait for a restart
// that is more than a minute away (engine.Config.Patience), so that a provisioner
// which always panics does not run for ever.
//
// If it returns neither a volume nor an error, or a volume of another name than
// asked for, that is an error and a ProvisioningFailed event like any other. A volume
// under a wrong name is not deleted: it may be someone else's.
//
// If it does not come back, there is an event too, ProvisioningBlocked on the
// claim or VolumeDeleteBlocked on the volume: at the next resync if it waits on
// its Env, or, if it holds up the machine itself (a lock, a channel), after
// engine.Config.Blocked of real time. Then its worker is lost and every other actor
// goes on. Config.ProvisionTimeout and DeletionTimeout end waiting on the Env.
//
// A state other than these four counts as NoChange, as upstream, and the trace
// says so. Config.VolumeName is an author's code, too: if it returns what cannot name
// a volume, that is an event before anything is made.
//
// # Deviations from upstream
//
//   - "Nothing to do" is no error: where upstream returns errStopProvision, the
//     functions here return Finished and nil, and the counters count nothing.
//   - The informer's store is not written to. A volume saved but not yet seen in
//     the cache is remembered apart and confirmed by a live read, without which
//     bug 4 of docs/bugs.md happens; so is a claim
//     whose selected-node has been removed, until its cached copy changes.
//   - A PersistentVolume that is gone already when it should be deleted counts as
//     deleted.
//   - RetryIntervalMax works. Upstream reads it before options are applied, so
//     that it is always 5 minutes.
//   - A panic in a queue's worker ends upstream's process, too; what it has recorded
//     just before may be lost with it there.
//   - Events are upstream's, word by word, except the two of blocked calls and
//     those of impossible answers, which upstream lacks.
//   - There is no leader election: a name has one instance. Its identity in
//     events is a host name and a UUID, as upstream's, but neither is new after a
//     restart.
//   - Counters are Go values, read by a test, not an HTTP endpoint.
//   - FailedProvisionThreshold and FailedDeleteThreshold are negative for "no
//     limit", since 0 is the default's.
//
// # Quirks of upstream that are kept
//
//   - A volume in phase Failed is never deleted.
//   - Giving a claim up also forgets that something may be in the making for it.
//   - The errors of a claim that rests count towards giving it up.
//   - InvalidArgument outranks the state that came with it.
//   - A finalizer patch carries no version, and taking off the last finalizer
//     known takes off those put on meanwhile.
//   - The queue store creates the volume of a claim that is gone.
//   - A claim annotated for provisioner A whose class names provisioner B is
//     served by any provisioner that knows both.
//   - StoreVolume deletes the asset after its last failed try even if an earlier
//     one created the volume and only its answer was lost, so that the volume
//     stands for nothing.
//   - Nothing is written down before Provision is called. If the process ends
//     between that and the creation of the object, and the claim is deleted
//     meanwhile, no object refers to the asset
//     (kubernetes-csi/external-provisioner 486).
package provisioner
