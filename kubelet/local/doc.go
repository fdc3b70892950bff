// Package local is the volume plugin "kubernetes.io/local-volume": a directory
// of the node, made known by a PersistentVolume with node affinity, bind mounted
// into the pods that use it.
//
// SetUpAt is the heart of it; it reads as a list of named steps.
//
// Upstream: pkg/volume/local/local.go, v1.37.
//
// Deviations: a block device as the path of a volume with volumeMode Filesystem is
// refused, since formatting and mounting it needs privilege. Of volumeMode Block
// there are the paths (block.go).
package local
