// Package tainteviction is the taint eviction controller: it deletes pods from nodes with a NoExecute taint that the
// pod does not tolerate, at once or when the tolerated time is over. Admission lets every pod tolerate for 300 s
// that its node is not ready or unreachable, unless the pod says something else. Begin with processPodOnNode in
// controller.go.
//
// The controller only asks for the deletion. On a node whose kubelet is dead nothing ends the pod: it stays
// Terminating until the kubelet is back, or the Node is gone, or the node has the taint
// node.kubernetes.io/out-of-service.
//
// A cluster at rest does not wait for the rest of the tolerated time: it passes with virtual time.
//
// Upstream: pkg/controller/tainteviction, v1.37.
//
// # Deviations from upstream
//
//   - One worker each processes nodes and pods, instead of eight.
//   - It calls the API under its own name. Upstream uses the client of node-controller.
package tainteviction
