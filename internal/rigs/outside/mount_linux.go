package outside

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// mount mounts on a target path as Config.Mount says.
func (d *driver) mount(target string) error {
	if err := os.MkdirAll(target, 0o755); err != nil {
		return err
	}
	inMemory := func(at string) error {
		if err := syscall.Mount("none", at, "tmpfs", 0, ""); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(at, "kept"), []byte("kept"), 0o644)
	}
	switch d.cfg.Mount {
	case "none":
		return nil
	case "tmpfs":
		return inMemory(target)
	}
	if err := syscall.Mount(d.cfg.Dir, target, "", syscall.MS_BIND, ""); err != nil {
		return err
	}
	switch d.cfg.Mount {
	case "ro":
		return syscall.Mount("", target, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, "")
	case "nested":
		return inMemory(filepath.Join(target, "nested"))
	case "busy":
		_, err := os.Open(filepath.Join(target, "older")) // stays open as long as the process lives
		return err
	}
	return nil
}

// unmount undoes mount.
func (d *driver) unmount(target string) error {
	for _, at := range []string{filepath.Join(target, "nested"), target} {
		if err := syscall.Unmount(at, 0); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOENT) {
			return err
		}
	}
	if err := os.Remove(target); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
