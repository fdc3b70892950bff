package volume

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/machine/mount"
)

// CleanupMountPoint unmounts dir if something is mounted there and removes it.
// It removes an empty directory only: data below a mount point that should have
// been empty is never deleted. If dir is missing it does nothing. A mount that no longer
// answers is unmounted without a look at it.
//
// Upstream: k8s.io/mount-utils CleanupMountPoint, v0.37.
func CleanupMountPoint(dir string, mounter mount.Interface, node *disk.Disk) error {
	mounted, err := mounter.IsMountPoint(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	unseen := err
	if err != nil && !mount.IsCorrupted(err) {
		return err
	}
	if mounted || unseen != nil {
		if err := mounter.Unmount(dir); err != nil {
			return errors.Join(err, unseen)
		}
		if mounted, err = mounter.IsMountPoint(dir); err != nil {
			return err
		}
		if mounted {
			return fmt.Errorf("failed to cleanup mount point %s", dir)
		}
	}
	return node.At(path.Dir(dir), func(at *disk.At) error { return at.Remove(path.Base(dir)) })
}

// ValidatePathNoBacksteps refuses a path with an element "..".
//
// Upstream: pkg/volume/validation ValidatePathNoBacksteps, v1.37.
func ValidatePathNoBacksteps(name string) error {
	if slices.Contains(strings.Split(name, "/"), "..") {
		return errors.New("must not contain '..'")
	}
	return nil
}

// JoinMountOptions returns the union of two lists of options, sorted.
func JoinMountOptions(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// MakeAbsolutePath puts a slash in front of a path that has none.
func MakeAbsolutePath(name string) string {
	if strings.HasPrefix(name, "/") {
		return name
	}
	return path.Join("/", name)
}
