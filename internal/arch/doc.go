// Package arch holds the rules of the house that a compiler does not enforce,
// and the test that enforces them.
//
// There are ten kinds. Imports run one way (layers.go): the pure rules and the
// contract of a controller at the bottom, controllers above them, the cluster
// above those, and scripts, commands and examples on top; controllers never
// import each other or a driver, so that they meet only through API objects and
// run under any driver. Driven code is pure (driven.go): it starts no
// goroutine, reads no clock, draws no random number, logs nothing and keeps no
// global state, because one of these in one controller is enough to lose "same
// seed, same trace". Some packages from outside of the module are kept for a few of
// ours (kept.go): client-go's fakes, and package testing. A program without CSI drivers does not link gRPC (linked.go). What is
// public is public on purpose: a table names each such package (public.go). The rooms of the API server are small (rooms.go): no
// type with many methods, no wide interface, no kinds in the store; and Cluster has few methods. Few rooms name each other both
// ways, and none in a circle (arrows.go). Lines of code have 160 columns at most (lines.go). Directories are removed only by what
// stops at mounts (removals.go). And no file names a place on one machine only (text.go).
//
// The checks read source files, whatever system they are for, and need neither
// a build nor the network. Each takes an fs.FS, so that its own tests can hand
// it small trees that break one rule each.
package arch
