// Package namespace is the controller that empties a namespace which is being deleted, and then lets it go. Begin
// with syncNamespaceFromKey in controller.go; content.go deletes what is in a namespace, conditions.go reports the
// progress.
//
// The API server marks the namespace as Terminating and refuses new objects in it. Five
// seconds later the controller deletes the namespace's pods, and when they are gone the
// objects of every other kind that has namespaces, custom kinds too. Objects with finalizers stay until others have
// removed those. The conditions of the namespace say what is left, and what failed. When nothing is left, the
// controller removes the finalizer "kubernetes" from spec.finalizers, and the API server removes the namespace.
//
// Upstream: pkg/controller/namespace, v1.37.
//
// # Deviations from upstream
//
//   - While content remains the controller tries again as upstream does, but as a poll: a namespace that waits for a
//     finalizer which nothing removes leaves the cluster at rest.
//   - Objects are listed and deleted in the preferred version of their kind, as upstream. In this library's API
//     server each version of a built-in kind has a store of its own; under its engine objects that were written in
//     other versions are deleted, too.
//   - One worker instead of ten.
package namespace
