// Package ephemeral holds the small controller that makes the claims of generic
// ephemeral volumes: for a pod "web" with an ephemeral volume "scratch" the claim
// "web-scratch", made from the volume's template and owned by the pod. From there it
// is a claim like any other. The garbage collector deletes it when the pod is gone.
//
// A claim of that name that is not the pod's own is left alone: using it would give
// the pod the data of another. The pod is told so in an event and waits until the
// claim is gone.
//
// Upstream: pkg/controller/volume/ephemeral, v1.37.
//
// # Deviations from upstream
//
//   - One worker instead of five.
package ephemeral
