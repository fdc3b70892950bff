package driver

import (
	"errors"
	"io/fs"
	"path"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// isStaged says whether the node has a volume: its files at the staging path, or its device.
func (n *node) isStaged(v *volume, staging string) bool {
	if v.Block {
		_, err := n.disk.Lstat(n.device(v.ID))
		return err == nil
	}
	mounted, err := n.mounter.IsMountPoint(staging)
	return err == nil && mounted
}

// mount mounts a volume's files on a directory, which it makes. A bind mount of the staging
// path would do the same with a kernel; mount.TempDir cannot bind what is on another
// machine.
func (n *node) mount(id, target string, options []string) error {
	if err := n.disk.MkdirAll(target, 0o750); err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	return n.mountOn(n.cfg.Name+":"+id, target, fsTypeOf(n.cfg.Name), options)
}

// mountDevice bind mounts a volume's device on a file, which it makes.
func (n *node) mountDevice(id, target string, options []string) error {
	if _, err := n.disk.Lstat(target); errors.Is(err, fs.ErrNotExist) {
		if err := n.disk.WriteFile(target, nil, 0o660); err != nil {
			return status.Error(codes.Internal, err.Error())
		}
	}
	return n.mountOn(n.device(id), target, "", append([]string{"bind"}, options...))
}

func (n *node) mountOn(source, target, fstype string, options []string) error {
	mounted, err := n.mounter.IsMountPoint(target)
	if err == nil && !mounted {
		err = n.mounter.Mount(source, target, fstype, options)
	}
	if err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	return nil
}

// unmount unmounts what is mounted at target, if anything is.
func (n *node) unmount(target string) error {
	mounted, err := n.mounter.IsMountPoint(target)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && mounted {
		err = n.mounter.Unmount(target)
	}
	if err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	return nil
}

// device is the path of a volume's device on the node.
func (n *node) device(id string) string { return path.Join("/dev", n.cfg.Name, path.Base(id)) }

// connect has the node see a volume's device. What is connected already stays.
func (n *node) connect(id string) error {
	device := n.device(id)
	if _, err := n.disk.Lstat(device); err == nil {
		return nil
	}
	data, err := n.Backend.disk.ReadFile(path.Join(n.dir(id), "data", "device"))
	if err == nil {
		err = n.disk.MkdirAll(path.Dir(device), 0o755)
	}
	if err == nil {
		err = n.disk.WriteFile(device, data, 0o660)
	}
	if err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	return nil
}

// disconnect writes back what is in a volume's device, and takes the device away. What is not
// connected is disconnected already.
func (n *node) disconnect(id string) error {
	data, err := n.disk.ReadFile(n.device(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if _, gone := n.load(id); err == nil && gone == nil {
		err = n.Backend.disk.WriteFile(path.Join(n.dir(id), "data", "device"), data, 0o660)
	}
	if err == nil {
		err = n.disk.Remove(n.device(id))
	}
	if err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	return nil
}
