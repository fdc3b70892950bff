// Package garbagecollector is the controller that deletes objects whose owners are gone:
// the claims of a generic ephemeral volume with its pod, the pods of a StatefulSet with
// the set, and its claims if the set's retention policy says so.
//
// # Owners and dependents
//
// An object names its owners in metadata.ownerReferences, and is their dependent. It is
// deleted when none of them exists any more. If some do, the references to the others
// are taken away. Whether an owner exists is asked at the API server each time, and its
// UID counts: an object that was made anew under the same name is another one.
//
// How an owner is deleted decides what becomes of its dependents:
//
//   - Background, the default: the owner goes at once, its dependents follow.
//   - Foreground: the API server gives the owner the finalizer foregroundDeletion. It
//     stays until all dependents are gone that say blockOwnerDeletion.
//   - Orphan: the owner has the finalizer orphan. It stays until its dependents no longer
//     name it, and they are left.
//
// graph.go remembers who depends on whom, attempt.go decides, orphan.go lets dependents
// go, kinds.go follows the kinds that Config names, custom.go those of
// CustomResourceDefinitions.
//
// Upstream: pkg/controller/garbagecollector, v1.36.
//
// # Deviations from upstream
//
//   - Only the kinds of Config.Kinds and custom kinds are looked at. Of custom kinds the
//     CustomResourceDefinitions tell, not a look at discovery every 30 s. A custom kind that
//     is defined anew with another preferred version is followed in the old one. An object whose owner is of another kind
//     is tried again with backoff, as upstream does with kinds that it cannot find.
//   - An object whose owner is not in a cache is looked at itself; upstream makes a
//     virtual node for the owner and looks at that.
//   - What is known of absent owners is not remembered: each dependent asks again.
//   - No event is recorded on an object that names an owner in another namespace. It is
//     deleted, as upstream.
//   - One worker for each queue instead of 20.
package garbagecollector
