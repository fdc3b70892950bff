package driver

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// device returns the path of a volume's device on the node.
func (b *Backend) device(id string) string { return path.Join("/dev", b.cfg.Name, fileOf(id)) }

// connect makes a volume's device visible on the node. A device that is connected stays.
func (n *node) connect(id string) error {
	device := n.device(id)
	if _, err := n.disk.Lstat(device); err == nil {
		return nil
	}
	err := n.flush(id)
	if err != nil {
		return status.Error(codes.Internal, err.Error())
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

// flush writes to a volume what the nodes have written to its device, as storage has it at once. A node whose disk cannot be read has none.
func (b *Backend) flush(id string) error {
	original := path.Join(b.dir(id), "data", "device")
	for _, name := range slices.Sorted(maps.Keys(b.disks)) {
		data, err := b.disks[name].ReadFile(b.device(id))
		if err != nil {
			continue
		}
		has, err := b.disk.ReadFile(original)
		if err == nil && !bytes.Equal(has, data) {
			err = b.disk.WriteFile(original, data, 0o660)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// disconnect writes the device's content back to the volume, and removes the device. A device that is not connected
// is no error.
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

// disconnectUnused disconnects a device that NodePublishVolume has connected, when it is published nowhere any more.
func (n *node) disconnectUnused(id string) error {
	if !n.cfg.NoStage {
		return nil
	}
	refs, err := n.mounter.GetMountRefs(n.device(id))
	if err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	if len(refs) > 0 {
		return nil
	}
	return n.disconnect(id)
}

// mountDevice bind mounts a volume's device on a file, which it creates.
func (n *node) mountDevice(v *volume, target string, options []string) error {
	return n.publish(v, target, options, func() error { return n.disk.WriteFile(target, nil, 0o660) }, func() error {
		return n.mounter.Mount(n.device(v.ID), target, "", append([]string{"bind"}, options...))
	})
}
