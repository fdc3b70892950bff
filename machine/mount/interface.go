//go:build !js && !wasip1

package mount

import (
	mountutils "k8s.io/mount-utils"
)

// Interface mounts for a kubelet: exactly k8s.io/mount-utils'
// mount.Interface, so that code written for that works with TempDir, and any
// mounter of that with this kubelet.
type Interface = mountutils.Interface

// MountPoint is one line of a mount table. Device is the source.
type MountPoint = mountutils.MountPoint

// IsCorrupted reports whether an error about a mount point means that the mounted file
// system does not answer any more, so that it can only be unmounted.
//
// Upstream: k8s.io/mount-utils IsCorruptedMnt, v0.37.
func IsCorrupted(err error) bool { return mountutils.IsCorruptedMnt(err) }
