package storagesim

import (
	"errors"
	"fmt"

	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/machine/mount"
)

// mounter makes what a node mounts with. Like a kernel it outlives the kubelet.
func (c *Cluster) mounter(node string, root *disk.Disk) (mount.Interface, error) {
	if !c.cfg.RealMounts {
		return mount.NewTempDir(mount.Config{Dir: root, Remote: c.nfs.Mount})
	}
	bind, err := mount.NewBind(root)
	if err == nil {
		err = tryMount(bind, root)
	}
	if err != nil {
		return nil, fmt.Errorf("Config.RealMounts: %w", err)
	}
	c.binds = append(c.binds, bind)
	return bind, nil
}

// tryMount finds out whether this process may mount at all.
func tryMount(bind *mount.Bind, root *disk.Disk) error {
	const dir, source, target = "/run/storagesim", "/run/storagesim/source", "/run/storagesim/target"
	err := errors.Join(root.MkdirAll(source, 0o755), root.MkdirAll(target, 0o755))
	if err == nil {
		err = bind.Mount(source, target, "", []string{"bind"})
	}
	if err == nil {
		err = bind.Unmount(target)
	}
	// Not RemoveAll: should the mount be there still, it goes no further.
	for _, made := range []string{target, source, dir} {
		err = errors.Join(err, root.Remove(made))
	}
	return err
}

// unmountAll takes the nodes' real mounts away.
func (c *Cluster) unmountAll() error {
	var errs []error
	for _, bind := range c.binds {
		if err := bind.UnmountAll(); err != nil {
			errs = append(errs, fmt.Errorf("%w; what is mounted stays, and so does %s", err, c.dir))
		}
	}
	return errors.Join(errs...)
}
