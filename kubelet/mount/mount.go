package mount

import (
	mountutils "k8s.io/mount-utils"
)

// Interface is what a kubelet mounts with: exactly k8s.io/mount-utils'
// mount.Interface, so that code written for that works with TempDir, and any
// mounter of that with this kubelet.
type Interface = mountutils.Interface

// MountPoint is one line of a mount table. Device is the source.
type MountPoint = mountutils.MountPoint
