// Package tainteviction holds the taint eviction controller: it deletes pods from nodes
// that have a NoExecute taint which the pod does not tolerate, at once or when the time is
// over for which the pod tolerates it. Every pod tolerates that its node is not ready, or
// unreachable, for 300 s, unless it says something else: admission adds that.
//
// The controller only asks for the deletion. On a node whose kubelet is dead no process ends
// the pod: it stays Terminating until the kubelet is back, or the node object is gone, or
// the node has the taint node.kubernetes.io/out-of-service.
//
// The time that a pod has left is no work that a cluster at rest waits for: it passes with
// virtual time.
//
// Upstream: pkg/controller/tainteviction, v1.36.
//
// # Deviations from upstream
//
//   - Nodes and pods are handled by one worker each, and not by eight.
//   - It calls the API under its own name. Upstream uses the client of node-controller.
package tainteviction
