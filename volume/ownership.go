package volume

import (
	"errors"
	"fmt"
	"io/fs"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/machine/disk"
)

const (
	rwMask   fs.FileMode = 0o660
	roMask   fs.FileMode = 0o440
	execMask fs.FileMode = 0o110
)

// SetVolumeOwnership makes everything in a volume belong to fsGroup and readable
// (and writable, unless readOnly) by it, children before directories; directories
// also get the setgid bit. With policy OnRootMismatch nothing is done, not even a
// walk, if the volume's root fits already.
//
// Errors about single files, above all fs.ErrPermission when this process is not
// privileged, do not fail it; note gets one line about them. Symbolic links are
// chowned themselves and not chmodded.
//
// Upstream: pkg/volume/volume_linux.go VolumeOwnership.ChangePermissions, v1.37.
func SetVolumeOwnership(node *disk.Disk, dir string, readOnly bool, fsGroup *int64, policy *v1.PodFSGroupChangePolicy, note func(string)) error {
	if fsGroup == nil {
		return nil
	}
	root, err := node.EvalSymlinks(dir) // dir is a mount point, and here that is a link
	if err != nil {
		return err
	}
	if skip, err := skipPermissionChange(node, root, readOnly, *fsGroup, policy); err != nil || skip {
		return err
	}
	failed, first := 0, error(nil)
	err = node.WalkUp(root, func(name string, info fs.FileInfo) error {
		if err := changeFilePermission(node, name, info, readOnly, *fsGroup); err != nil {
			if failed++; first == nil {
				first = err
			}
		}
		return nil
	})
	if failed > 0 {
		note(fmt.Sprintf("fsGroup %d could not be applied to %d files of %s, first: %v", *fsGroup, failed, root, first))
	}
	return err
}

// changeFilePermission applies the group to one file.
func changeFilePermission(node *disk.Disk, name string, info fs.FileInfo, readOnly bool, fsGroup int64) error {
	err := node.Lchown(name, -1, int(fsGroup))
	if info.Mode()&fs.ModeSymlink != 0 {
		return err
	}
	return errors.Join(err, node.Chmod(name, wantedMode(info, readOnly)))
}

// wantedMode returns a file's mode with the group's bits.
func wantedMode(info fs.FileInfo, readOnly bool) fs.FileMode {
	mask := rwMask
	if readOnly {
		mask = roMask
	}
	if info.IsDir() {
		mask |= fs.ModeSetgid | execMask
	}
	return info.Mode() | mask
}

// skipPermissionChange reports whether the volume's root shows that the tree fits.
func skipPermissionChange(node *disk.Disk, root string, readOnly bool, fsGroup int64, policy *v1.PodFSGroupChangePolicy) (bool, error) {
	if policy == nil || *policy != v1.FSGroupChangeOnRootMismatch {
		return false, nil
	}
	info, err := node.Stat(root)
	if err != nil {
		return false, err
	}
	_, gid, ok := disk.Owner(info)
	return ok && int64(gid) == fsGroup && info.Mode() == wantedMode(info, readOnly), nil
}
