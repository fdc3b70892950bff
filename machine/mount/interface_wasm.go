//go:build js || wasip1

package mount

import (
	"errors"
	"syscall"
)

// Interface mounts for a kubelet: the methods of k8s.io/mount-utils'
// mount.Interface, v0.37, which does not build for WebAssembly.
type Interface interface {
	Mount(source, target, fstype string, options []string) error
	MountSensitive(source, target, fstype string, options, sensitiveOptions []string) error
	MountSensitiveWithoutSystemd(source, target, fstype string, options, sensitiveOptions []string) error
	MountSensitiveWithoutSystemdWithMountFlags(source, target, fstype string, options, sensitiveOptions, mountFlags []string) error
	Unmount(target string) error
	List() ([]MountPoint, error)
	IsLikelyNotMountPoint(file string) (bool, error)
	CanSafelySkipMountPointCheck() bool
	IsMountPoint(file string) (bool, error)
	GetMountRefs(pathname string) ([]string, error)
}

// MountPoint is one line of a mount table. Device is the source.
type MountPoint struct {
	Device, Path, Type string
	Opts               []string
	Freq, Pass         int
}

// IsCorrupted reports whether an error about a mount point means that the mounted file
// system does not answer any more, so that it can only be unmounted.
//
// Upstream: k8s.io/mount-utils IsCorruptedMnt, v0.37.
func IsCorrupted(err error) bool {
	return errors.Is(err, syscall.ENOTCONN) || errors.Is(err, syscall.ESTALE) || errors.Is(err, syscall.EIO) ||
		errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.ENODEV)
}
