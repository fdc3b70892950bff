// Package scheduling asks upstream's own scheduler plugins about the random worlds of internal/schedworld, and keeps the answers in
// scheduler/testdata, with which the tests of package scheduler compare ours. It is a module of its own, since k8s.io/kubernetes takes minutes to build:
// `bash .ci/nightly scheduling` asks again and compares; `go test . -update` in this folder writes the answers anew.
package scheduling
