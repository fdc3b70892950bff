package driver

import (
	"errors"
	"io/fs"
	"path"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/storagesim/storagesim/machine/disk"
)

// checkPath refuses a path that no node has.
func checkPath(field, at string) error {
	if err := disk.Check(at); err != nil {
		return status.Errorf(codes.InvalidArgument, "%s: %v", field, err)
	}
	return nil
}

// failed returns the answer after an error at a path.
func failed(field, at string, err error) error {
	code := codes.Internal
	switch {
	case errors.Is(err, disk.ErrOutside):
		code = codes.InvalidArgument
	case errors.Is(err, fs.ErrNotExist):
		code = codes.FailedPrecondition
	}
	return status.Errorf(code, "%s %s: %v", field, at, err)
}

// source returns the source of the mounts of a volume's directory.
func (n *node) source(v *volume) string { return n.cfg.Name + ":" + v.ID }

// isVolume reports whether the volume is at a path: its directory, or its device.
func (n *node) isVolume(v *volume, at string) (bool, error) {
	in, original := n.Backend.disk, path.Join(n.dir(v.ID), "data")
	if v.Block {
		in, original = n.disk, n.device(v.ID)
	}
	want, err := in.Stat(original)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	var has fs.FileInfo
	if err == nil {
		has, err = n.disk.Stat(at)
	}
	return err == nil && disk.SameFile(has, want), err
}

// isStaged reports whether the node has a volume: its files at the staging path, or its device.
func (n *node) isStaged(v *volume, staging string) (bool, error) {
	if v.Block {
		_, err := n.disk.Lstat(n.device(v.ID))
		return err == nil, nil
	}
	mounted, err := n.mounter.IsMountPoint(staging)
	if err == nil && mounted {
		mounted, err = n.isVolume(v, staging)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, failed("staging_target_path", staging, err)
	}
	return mounted, nil
}

// mountVolume mounts a volume's files on a directory.
func (n *node) mountVolume(v *volume, field, at string, options []string) error {
	done, err := n.isMounted(v, field, at)
	if err != nil || done {
		return err
	}
	if err := n.mounter.Mount(n.source(v), at, fsTypeOf(n.cfg.Name), options); err != nil {
		return failed(field, at, err)
	}
	return nil
}

// isMounted reports whether the volume is mounted at a path. It returns an error if something else is mounted there,
// or the path does not exist.
func (n *node) isMounted(v *volume, field, at string) (bool, error) {
	mounted, err := n.mounter.IsMountPoint(at)
	if err != nil || !mounted {
		return false, failedUnlessNil(field, at, err)
	}
	same, err := n.isVolume(v, at)
	if err == nil && !same {
		return false, status.Errorf(codes.AlreadyExists, "%s %s: something else than volume %s is mounted there", field, at, v.ID)
	}
	return same, failedUnlessNil(field, at, err)
}

func failedUnlessNil(field, at string, err error) error {
	if err == nil {
		return nil
	}
	return failed(field, at, err)
}

// makeAndMount creates a directory for a pod, and mounts a source there. If that fails, it removes what it has
// created.
func (n *node) makeAndMount(v *volume, target, source, fstype string, options []string) error {
	return n.publish(v, target, options, func() error { return n.disk.Mkdir(target, 0o750) }, func() error {
		return n.mounter.Mount(source, target, fstype, options)
	})
}

// publish creates a target, if it does not exist, and mounts on it.
func (n *node) publish(v *volume, target string, options []string, mk, mount func() error) error {
	_, err := n.disk.Lstat(target)
	missing := errors.Is(err, fs.ErrNotExist)
	if missing {
		err = mk()
	}
	if err != nil {
		return failed("target_path", target, err)
	}
	done, err := n.isMounted(v, "target_path", target)
	if err != nil {
		return err
	}
	if done {
		return n.checkReadOnly(v, target, slices.Contains(options, "ro"))
	}
	if err := mount(); err != nil {
		if missing {
			err = errors.Join(err, n.disk.Remove(target))
		}
		return failed("target_path", target, err)
	}
	return nil
}

// checkReadOnly refuses to publish a volume at a target where it is published read-only instead of writable, or the
// reverse.
func (n *node) checkReadOnly(v *volume, target string, readOnly bool) error {
	list, err := n.mounter.List()
	if err != nil {
		return failed("target_path", target, err)
	}
	for _, m := range list {
		if m.Path == target && slices.Contains(m.Opts, "ro") != readOnly {
			return status.Errorf(codes.AlreadyExists, "volume %s is published at %s with another readonly", v.ID, target)
		}
	}
	return nil
}

// unmount unmounts a volume from a path, if it is mounted there. v is nil if the volume does not exist any more:
// then any mount counts.
func (n *node) unmount(v *volume, field, at string) error {
	mounted, err := n.mounter.IsMountPoint(at)
	if err != nil || !mounted {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return failedUnlessNil(field, at, err)
	}
	if v != nil {
		if same, err := n.isVolume(v, at); err != nil {
			return failed(field, at, err)
		} else if !same {
			return status.Errorf(codes.FailedPrecondition, "%s %s: something else than volume %s is mounted there", field, at, v.ID)
		}
	}
	if err := n.mounter.Unmount(at); err != nil {
		return failed(field, at, err)
	}
	return nil
}

// removeTarget removes an empty directory or file that was created as a mount point.
func (n *node) removeTarget(target string) error {
	info, err := n.disk.Lstat(target)
	if err == nil && !info.IsDir() && (!info.Mode().IsRegular() || info.Size() > 0) {
		return status.Errorf(codes.FailedPrecondition, "target_path %s: it is no empty directory or file, so it was not made for a volume", target)
	}
	if err == nil {
		err = n.disk.Remove(target)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return failed("target_path", target, err)
	}
	return nil
}
