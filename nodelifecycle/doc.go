// Package nodelifecycle holds the part of the node lifecycle controller that gives
// nodes the NoSchedule taints of their conditions: a node that is not ready, or short
// of memory, disk, processes or network, or cordoned, is tainted, and the taint is
// removed when the condition ends.
//
// Upstream: pkg/controller/nodelifecycle, v1.36.
//
// # Deviations from upstream
//
//   - The leases of nodes are not watched: a node whose kubelet has died stays Ready. So
//     there are no NoExecute taints, and no pod is evicted.
//   - Deprecated labels of nodes are not kept in step with the present ones.
//   - A taint that could not be written is tried again with backoff; upstream tries
//     conflicts five times and then waits for the node's next change.
package nodelifecycle
