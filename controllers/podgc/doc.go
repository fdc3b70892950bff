// Package podgc is the pod garbage collector. Begin with gc in controller.go. Every 20 s it deletes, with no grace
// period, pods that no other component would end:
//
//   - those that are Terminating on a node that is not ready and has the taint
//     node.kubernetes.io/out-of-service;
//   - those of a node that does not exist, after 40 s in which it might appear;
//   - those that are Terminating and on no node;
//   - the oldest of those that have ended, when there are too many.
//
// A pod that has not ended becomes Failed first.
//
// Upstream: pkg/controller/podgc, v1.37.
//
// # Deviations from upstream
//
//   - Pods are deleted one after the other.
package podgc
