// Package statefulset is a minimal StatefulSet controller: it gives each replica a pod with a lasting name and
// claims that outlive the pod. The documents' pods come from StatefulSets, so many claims are created by this
// controller and not by a user.
//
// Begin with updateStatefulSet in control.go, which decides in the order of upstream's functions. claimpods.go finds
// the set's pods, podcontrol.go creates and deletes pods, retention.go sets the claims' owners, pod.go builds a pod
// and its claims, revisions.go keeps the templates, status.go counts.
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
// With podManagementPolicy OrderedReady one thing happens at a time: a pod is created when all before it run and are
// ready, and a surplus one is deleted when all pods that should stay run and are ready. With Parallel all are
// created and deleted at once, in batches of 1, 2, 4 and so on, of which one that fails is the last.
//
// Each template that the set has had is kept as a ControllerRevision, of which kubectl rollout history and undo read. Below the partition of a
// rolling update a pod is made again from the template before the update.
//
// A pod without a controller that has a replica's name and labels that the selector matches is adopted: a set that
// was deleted with its pods orphaned can be created again.
//
// Upstream: pkg/controller/statefulset, v1.37.
//
// # Deviations from upstream
//
//   - A set that is being deleted gets no new ControllerRevision, and the update of a template that differs only by defaults is a new one.
//   - After a conflict in writing a claim's owners the set is queued again; upstream retries on the spot.
//   - Labels that are removed from a pod are not put back.
//   - There is one worker instead of five.
package statefulset
