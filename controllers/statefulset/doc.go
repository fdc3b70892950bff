// Package statefulset is a minimal StatefulSet controller: it gives each replica a pod
// with a name that lasts and claims that outlive the pod. The documents' pods come from
// StatefulSets, so many claims are created by this controller and not by a user.
//
// # How it works
//
// Replica i of the set db is the pod db-i, and for each of the set's claim templates,
// say data, it has the claim data-db-i. The claims are created before the pod and
// stay when the pod is deleted, so the next db-i finds the data of the last one. Scaling
// down deletes pods, highest ordinal first, and keeps the claims for when the set grows
// again. persistentVolumeClaimRetentionPolicy changes that: the controller then makes the
// set, or the pod that scaling down deletes, the owner of the claims, and the garbage
// collector deletes them when their owner is gone.
//
// With podManagementPolicy OrderedReady one thing happens at a time: a pod is made when
// all before it run and are ready, and one that is too much is deleted when all that
// shall stay do. With Parallel all are made and deleted at once.
//
// A pod that has no controller, but a replica's name and labels that the selector matches,
// is adopted: so a set that was deleted with its pods orphaned can be made again.
//
// claimpods.go says which pods are the set's, control.go decides, in the order of upstream's functions, podcontrol.go makes and
// deletes, retention.go keeps the claims' owners, pod.go says what a pod and its claims
// are, status.go counts.
//
// Upstream: pkg/controller/statefulset, v1.36.
//
// # Deviations from upstream
//
//   - There are no ControllerRevisions. A pod's label controller-revision-hash and the
//     revisions in the status name a hash of the template, which is not upstream's. An
//     older template is not kept: a pod made anew below a rolling update's partition gets
//     the newest one.
//   - A conflict when a claim's owners are written brings the set back into the queue;
//     upstream tries some times on the spot.
//   - Labels that are removed from a pod are not put back.
//   - maxUnavailable counts as 1, and there is one worker instead of five.
package statefulset
