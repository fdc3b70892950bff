// Package nodelifecycle is the node lifecycle controller. It looks for signs of life of every node: a lease that is
// renewed, or a status that is reported. A node without any for 50 s becomes Unknown, and its pods not ready. Nodes
// get the NoSchedule taints of their conditions. Nodes that are not ready or not reachable get a NoExecute taint as
// well, one node after the other, for which the taint eviction controller deletes their pods. Begin with
// monitorNodeHealth in monitor.go.
//
// If many nodes of a zone are lost at once, they are tainted more slowly or not at all,
// and if all nodes of the cluster are lost, no node is tainted: it is more likely that this controller is cut off.
// The pods of a cluster's only node are thus never evicted.
//
// A cordon becomes a taint as well. When it ends, the taint is removed one write later, so the scheduler may still
// find it once: it tries the pod again when the taint is gone. Upstream does the same.
//
// Upstream: pkg/controller/nodelifecycle, v1.37.
//
// # Deviations from upstream
//
//   - Deprecated labels of nodes are not synchronised with the present ones.
//   - A NoSchedule taint that could not be written is tried again with backoff; upstream
//     waits for the node's next change.
//   - There is no cache of pods: the pods of a lost node are listed. A pod that comes to such a node later is not
//     marked as not ready; its kubelet has not reported it ready.
//   - Nodes are processed one after the other, and a conflict about taints is retried after 100 ms without a random
//     delay.
//   - The event RegisteredNode is not recorded.
//   - The lease of a lost node is read when its node is given up. Upstream reads it again in every round after that.
package nodelifecycle
