// Package interop holds programs of others against this repository's API server: upstream's
// end-to-end tests of the API and of storage, and kubectl. It is a module of its own, since
// k8s.io/kubernetes takes many minutes to build: `bash .ci/nightly interop` does it, and no other
// check. docs/e2e.md says which tests pass.
package interop
