package shell

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/storagesim/storagesim/machine/disk"
	mounter "github.com/storagesim/storagesim/machine/mount"
)

// files are a container's files: its volumes, and the directories above them, which do not
// exist on the node. Names are absolute paths of the container.
type files struct {
	node   *disk.Disk
	mounts []Mount
}

// above describes a directory above a volume.
type above struct{ name string }

func (d above) Name() string     { return d.name }
func (above) Size() int64        { return 4096 }
func (above) Mode() fs.FileMode  { return fs.ModeDir | 0o755 }
func (above) ModTime() time.Time { return time.Time{} }
func (above) IsDir() bool        { return true }
func (above) Sys() any           { return nil }

// children returns the names in a directory above volumes; none in any other.
func (f *files) children(name string) []string {
	var names []string
	prefix := strings.TrimSuffix(path.Clean(name), "/") + "/"
	for _, m := range f.mounts {
		if below, ok := strings.CutPrefix(m.ContainerPath, prefix); ok && below != "" {
			child, _, _ := strings.Cut(below, "/")
			names = append(names, child)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// isAbove reports whether name is a directory above volumes, and not in one.
func (f *files) isAbove(name string) bool {
	if _, _, in := FindMount(f.mounts, name); in {
		return false
	}
	return path.Clean(name) == "/" || len(f.children(name)) > 0
}

// in calls do with the volume that name is in, and the path in that volume.
func (f *files) in(name string, write bool, do func(dir *disk.Disk, name string) error) error {
	if f.isAbove(name) && write {
		return ErrReadOnly
	}
	return InVolume(f.node, f.mounts, name, write, do)
}

// stat describes what name leads to.
func (f *files) stat(name string) (info fs.FileInfo, err error) {
	return f.describe(name, (*disk.Disk).Stat)
}

// lstat describes name itself, even if it is a link.
func (f *files) lstat(name string) (info fs.FileInfo, err error) {
	return f.describe(name, (*disk.Disk).Lstat)
}

func (f *files) describe(name string, how func(dir *disk.Disk, name string) (fs.FileInfo, error)) (info fs.FileInfo, err error) {
	if f.isAbove(name) {
		return above{path.Base(name)}, nil
	}
	err = f.in(name, false, func(dir *disk.Disk, name string) error {
		info, err = how(dir, name)
		return err
	})
	return info, err
}

// list returns the names in a directory, sorted.
func (f *files) list(name string) (names []string, err error) {
	names = f.children(name)
	if f.isAbove(name) {
		return names, nil
	}
	err = f.in(name, false, func(dir *disk.Disk, name string) error {
		entries, err := dir.ReadDir(name)
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return err
	})
	slices.Sort(names)
	return slices.Compact(names), err
}

// read reads a file, and charges the program for it.
func (p *Program) read(name string) (data []byte, err error) {
	p.step(1)
	if p.files.isAbove(name) {
		return nil, errIsDirectory
	}
	err = p.files.in(name, false, func(dir *disk.Disk, name string) error {
		if info, err := dir.Stat(name); err == nil && info.IsDir() {
			return errIsDirectory
		}
		data, err = dir.ReadFile(name)
		return err
	})
	p.step(len(data) / 10_000)
	return data, err
}

// create makes an empty file, or empties an existing one.
func (f *files) create(name string) error {
	return f.in(name, true, func(dir *disk.Disk, name string) error {
		if info, err := dir.Stat(name); err == nil && info.IsDir() {
			return errIsDirectory
		}
		return dir.WriteFile(name, nil, 0o666)
	})
}

// appendTo makes a file unless it exists.
func (f *files) appendTo(name string) error {
	return f.in(name, true, func(dir *disk.Disk, name string) error {
		switch info, err := dir.Stat(name); {
		case err != nil:
			return dir.WriteFile(name, nil, 0o666)
		case info.IsDir():
			return errIsDirectory
		}
		return nil
	})
}

// write appends to an open file. Data for a file that was removed meanwhile is lost.
func (f *files) write(name string, data []byte) error {
	return f.in(name, true, func(dir *disk.Disk, name string) error {
		if _, err := dir.Stat(name); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return dir.AppendFile(name, data)
	})
}

// removeAll removes a file or a tree. A volume itself is emptied and stays.
func (f *files) removeAll(name string) error {
	return f.in(name, true, func(dir *disk.Disk, name string) error {
		if name != "/" {
			return removeTree(dir, name)
		}
		entries, err := dir.ReadDir(name)
		errs := []error{err}
		for _, e := range entries {
			errs = append(errs, removeTree(dir, "/"+e.Name()))
		}
		return errors.Join(append(errs, errBusy)...)
	})
}

// removeTree removes a file or a tree of a volume. A mount of the node's stays; which one it is, a container does not
// know.
func removeTree(dir *disk.Disk, name string) error {
	err := dir.RemoveAll(name)
	if errors.As(err, new(*mounter.MountedError)) {
		return errBusy
	}
	return err
}

// Errors with a kernel's texts.
var (
	errIsDirectory   = errors.New("is a directory")
	errBusy          = errors.New("device or resource busy")
	errBadDescriptor = errors.New("bad file descriptor")
	errNoFile        = errors.New("no such file or directory")
)

// reason returns the error without the node's path, which a container does not know.
func reason(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

// cannot returns a program's error about a path.
func cannot(program, what, name string, err error) error {
	return fmt.Errorf("%s: %s '%s': %w", program, what, name, reason(err))
}
