// Package pvcontroller is the PV controller: it binds claims to volumes,
// asks provisioners for volumes that do not exist, and reclaims volumes whose
// claims are gone.
//
// # The two pointers
//
// A binding is a pair of pointers: spec.claimRef in the volume and spec.volumeName in
// the claim. They live in two objects, so they cannot be written at once. The
// volume's is written first, and it decides: a volume whose claimRef has a UID belongs
// to that claim, even if the claim says otherwise. bind writes four times, and leaves out a write that
// would change nothing; so bind can be interrupted anywhere and called again:
//
//  1. bindVolumeToClaim: the volume's claimRef,
//  2. updateVolumePhase: the volume's phase Bound,
//  3. bindClaimToVolume: the claim's volumeName,
//  4. updateClaimStatus: the claim's phase Bound, its capacity and access modes.
//
// # Reading order
//
// Start with claim.go, the life of a claim
// (syncUnboundClaim, syncBoundClaim), and volume.go, the life of a volume (syncVolume). bind.go
// has the four writes and their undoing, provision.go asks a provisioner, class.go gives
// a claim the default class, reclaim.go ends a volume (delete.go with hostpath.go,
// recycle.go with recyclerpod.go), cache.go holds the controller's private caches, and
// controller.go puts the parts together. Functions have upstream's names (pkg/controller/volume/persistentvolume, v1.37). The packages
// protection, ephemeral and expand hold the small controllers beside this one.
//
// There are two queues, for claims and for volumes, with one worker each.
// Every 15 s all keys are added again: this resync lets a claim find a volume
// that was created after it.
//
// # Deviations from upstream
//
//   - The private caches take a change when it is delivered, not when a worker reaches
//     its key, and the controller's own write does not bring a deleted object back (the fix of
//     kubernetes/kubernetes 140691).
//   - A deleted object leaves the private caches when its deletion is delivered, and its
//     partner's key is added then. Upstream's worker does both when it reaches the key.
//   - External provisioning is done in the claim's worker. It makes at most one write.
//   - A deleting volume gets no finalizer: the API server would refuse it, and upstream
//     fails at it, too.
//   - In-tree provisioning (the long-gone plugins) does not exist, and that of hostPath
//     is disabled, as it is upstream unless a flag is set; in-tree deletion and recycling
//     exist as Config.Deleters and Config.Recyclers.
//   - Upstream deletes hostPath volumes from the disk of the machine that it runs on. The
//     controller here has no disk; its caller passes one to NewHostPathDeleter.
//   - A recycler pod cannot be configured. It is polled every second, with its events,
//     instead of watched. As upstream, nothing sends it to the node that holds a hostPath's
//     data, and the recyclings of a plugin share one template: what they do to each other is
//     upstream's.
package pvcontroller
