// Package local is the volume plugin "kubernetes.io/local-volume": a directory or a block device
// of the node, made known by a PersistentVolume with node affinity. A directory is bind mounted
// into the pods that use it; a device is formatted and mounted for the node before (device.go).
//
// SetUpAt is the heart of it; it reads as a list of named steps.
//
// Upstream: pkg/volume/local/local.go, v1.37.
//
// Deviations: what is formatted begins with a line that names its file system, whose files are not on the device. A node can
// format ext2, ext3, ext4, xfs and btrfs, and finds no errors in a file system. Of volumeMode Block there are the paths (block.go).
package local
