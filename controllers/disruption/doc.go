// Package disruption is the controller of PodDisruptionBudgets. Begin with trySync in controller.go: it counts the healthy pods that a
// budget selects and the pods that there should be, and writes how many pods may be evicted now. The API server takes one from
// that number at each eviction, and refuses evictions when it is 0.
//
// scale.go finds the number of pods that there should be, stale.go takes back the condition DisruptionTarget of pods that were
// not deleted after all.
//
// Upstream: pkg/controller/disruption, v1.37.
//
// # Deviations from upstream
//
//   - Caches and queues begin with the first budget of the cluster, so that a cluster without any is as if there were no such controller.
//   - Of the scale subresource only those of ReplicationControllers, ReplicaSets, Deployments and StatefulSets are read, from the caches. A pod that
//     another kind controls makes a budget with a percentage, or with maxUnavailable, fail as one whose controller is gone.
//   - An equal status is not written again when a budget fails for the same reason.
package disruption
