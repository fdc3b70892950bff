// Package garbagecollector is the controller that deletes objects whose owners are gone: the claims of a generic
// ephemeral volume with its pod, the pods of a StatefulSet with the set, and its claims if the set's retention
// policy says so.
//
// Begin with attemptToDeleteItem in attempt.go, which decides. graph.go records which objects depend on which,
// orphan.go releases dependents, kinds.go follows the kinds that Config names, custom.go those of
// CustomResourceDefinitions.
//
// # Owners and dependents
//
// An object names its owners in metadata.ownerReferences, and is their dependent. It is deleted when none of them
// exists any more. If some exist, the references to the others are removed. The controller asks the API server each
// time whether an owner exists, and compares UIDs: an object that was created again under the same name is another
// one.
//
// How an owner is deleted decides what becomes of its dependents:
//
//   - Background, the default: the owner goes at once, its dependents follow.
//   - Foreground: the API server gives the owner the finalizer foregroundDeletion. The owner stays until all
//     dependents with blockOwnerDeletion are gone.
//   - Orphan: the owner has the finalizer orphan. It stays until no dependent names it any more; the dependents
//     stay.
//
// Upstream: pkg/controller/garbagecollector, v1.37.
//
// # Deviations from upstream
//
//   - Only the kinds of Config.Kinds and custom kinds are followed. Custom kinds are known from their
//     CustomResourceDefinitions, not by asking discovery every 30 s. A custom kind that is defined again with
//     another preferred version is followed in the old one. An object whose owner is of another kind is tried again
//     with backoff, as upstream does with kinds that it cannot find.
//   - If an owner is not in a cache, the dependent itself is examined. Upstream creates a virtual node for the owner
//     and examines that.
//   - Absent owners are not remembered: each dependent asks again.
//   - No event is emitted for an object that names an owner in another namespace. It is deleted, as upstream.
//   - One worker for each queue instead of 20.
package garbagecollector
