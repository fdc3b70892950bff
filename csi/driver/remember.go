package driver

import (
	"errors"
	"io/fs"
	"path"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/storagesim/storagesim/csi"
	"github.com/storagesim/storagesim/machine/mount"
)

// stagedAt returns the file with the path at which a volume is staged. A mount does not tell staging from
// publishing, and a device is not mounted at the staging path.
func (n *node) stagedAt(id string) string {
	return path.Join("/run", n.cfg.Name, "staged", fileOf(id))
}

// noteStaging writes the file stagedAt.
func (n *node) noteStaging(id, staging string) error {
	file := n.stagedAt(id)
	err := n.disk.MkdirAll(path.Dir(file), 0o755)
	if err == nil {
		err = n.disk.WriteFile(file, []byte(staging), 0o644)
	}
	if err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	return nil
}

// remember finds, for a server that starts, the volumes that an earlier one has staged and published on the node. It
// replaces the records of the earlier one.
func (n *node) remember() error {
	mounts, err := n.mounter.List()
	if err != nil {
		return err
	}
	devices, err := n.disk.List(n.device(""))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, set := range []map[csi.Place]bool{n.staged, n.published} {
		for p := range set {
			if p.Node == n.name {
				delete(set, p)
			}
		}
	}
	for _, m := range mounts {
		if id := n.volumeOf(m); id != "" {
			set := n.published
			if at, err := n.disk.ReadFile(n.stagedAt(id)); err == nil && string(at) == m.Path {
				set = n.staged
			}
			set[csi.Place{Volume: id, Node: n.name, Path: m.Path}] = true
		}
	}
	for _, name := range devices {
		id := idOfFile(name)
		if at, err := n.disk.ReadFile(n.stagedAt(id)); err == nil {
			n.staged[csi.Place{Volume: id, Node: n.name, Path: string(at)}] = true
		}
	}
	return nil
}

// volumeOf returns the ID of the volume that is mounted: its files, or its device; "" for a mount of something else.
func (n *node) volumeOf(m mount.MountPoint) string {
	if m.Type == fsTypeOf(n.cfg.Name) {
		return strings.TrimPrefix(m.Device, n.cfg.Name+":")
	}
	if id, ok := strings.CutPrefix(m.Device, n.device("")+"/"); ok {
		return idOfFile(id)
	}
	return ""
}
