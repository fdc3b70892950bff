// Package replicaset is the controller of ReplicaSets and, as a second actor, that of ReplicationControllers: it keeps as many pods as spec.replicas says.
// Begin with sync in controller.go, which counts the pods and then creates or deletes those that are missing or too many (manage.go), and writes the
// status (status.go). rank.go says which pods go first.
//
// replication.go shows ReplicationControllers to the same code as ReplicaSets.
//
// Upstream: pkg/controller/replicaset and pkg/controller/replication, v1.37.
//
// # Deviations from upstream
//
//   - Caches and queues begin with the first ReplicaSet of the cluster, so that a cluster without any is as if there were no such controller.
//   - There is one worker instead of five, and pods are created and deleted one after the other.
//   - After a conflict in writing the status the ReplicaSet is queued again; upstream reads it and tries once more on the spot.
package replicaset
