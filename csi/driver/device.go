package driver

import (
	"crypto/sha256"
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
	n.devices[onNode{n.name, id}] = sha256.Sum256(data)
	return nil
}

// onNode is a volume on a node.
type onNode struct{ node, volume string }

// flush writes to a volume what the nodes have written to its device, as storage has it at once. A node whose disk cannot be read has none.
func (b *Backend) flush(id string) error {
	for _, name := range slices.Sorted(maps.Keys(b.disks)) {
		if data, err := b.disks[name].ReadFile(b.device(id)); err == nil {
			if err := b.written(onNode{name, id}, data); err != nil {
				return err
			}
		}
	}
	return nil
}

// written writes to a volume what its device on a node holds, unless the node has written nothing there since the volume and the device were the same: what
// another node has written since then must not be lost.
func (b *Backend) written(on onNode, data []byte) error {
	sum := sha256.Sum256(data)
	if was, known := b.devices[on]; known && was == sum {
		return nil
	}
	if err := b.disk.WriteFile(path.Join(b.dir(on.volume), "data", "device"), data, 0o660); err != nil {
		return err
	}
	b.devices[on] = sum
	return nil
}

// disconnect writes what the node has written to the device to the volume, and removes the device. A device that is not connected
// is no error.
func (n *node) disconnect(id string) error {
	data, err := n.disk.ReadFile(n.device(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if _, gone := n.load(id); err == nil && gone == nil {
		err = n.written(onNode{n.name, id}, data)
	}
	if err == nil {
		err = n.disk.Remove(n.device(id))
	}
	if err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	delete(n.devices, onNode{n.name, id})
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
