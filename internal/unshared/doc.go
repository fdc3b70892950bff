// Package unshared runs a test in a process that has a mount namespace of its own,
// where it may make real bind mounts that no other process sees.
package unshared
