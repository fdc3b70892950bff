// Package managers plays the scenarios of conformance/internal/managers with upstream's own kube-controller-manager and
// kube-scheduler, against a served cluster whose controllers and scheduler are off, and compares what they do with what is kept
// there. It is a module of its own, since the two programs take many minutes to build: `bash .ci/nightly managers` does it. `go
// test . -update` in this folder writes what is kept anew. docs/managers.md says what was compared.
package managers
