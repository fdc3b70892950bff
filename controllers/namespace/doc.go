// Package namespace is the controller that empties a namespace which is being deleted, and
// then lets it go.
//
// The API server marks the namespace as Terminating and refuses new objects in it. Five
// seconds later the controller deletes the namespace's pods, and when they are gone the
// objects of every other kind that has namespaces, custom kinds too. Objects with finalizers
// stay until others have taken those away. What is left, and what went wrong, is in the
// conditions of the namespace. When nothing is left, the controller takes the finalizer
// "kubernetes" out of spec.finalizers, and the API server removes the namespace.
//
// The files: controller.go follows namespaces, content.go deletes what is in one,
// conditions.go says how far that is.
//
// Upstream: pkg/controller/namespace, v1.36.
//
// # Deviations from upstream
//
//   - While content remains the controller looks again as upstream does, but as a poll: a
//     namespace that waits for a finalizer which nothing takes away leaves the cluster at rest.
//   - Objects are listed and deleted in the preferred version of their kind, as upstream. In
//     this library's API server each version of a built-in kind has a store of its own; under
//     its engine objects that were written in other versions go, too.
//   - One worker instead of ten.
package namespace
