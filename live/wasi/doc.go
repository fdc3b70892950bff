// Package wasi tries to have programs with goroutines of their own run the same way each time.
//
// A Go program that is built for wasip1 has one thread, on which Go's scheduler runs its
// goroutines. All that it learns of the world comes through its host: the time, randomness, and
// how long to sleep when none of its goroutines can go on. Here the host is wazero, the time is
// the cluster's virtual time, randomness comes from the run's seed, and while the program sleeps
// the cluster runs. Requests go to the cluster's API server in this process.
//
// The program (guest/main.go) knows nothing of it: it is an ordinary one with an informer of
// client-go and workers. Only its transport is another (guest/transport.go), since wasip1 has no
// network. Not part of the main module, since wazero is needed for nothing else.
package wasi
