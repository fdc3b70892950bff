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
)

// Files are a container's files: what is in its volumes, and the directories above
// them, which are not on the node. Names are absolute paths of the container.
type Files struct {
	Node   *disk.Disk
	Mounts []Mount
}

// above is a directory above a volume.
type above struct{ name string }

func (d above) Name() string     { return d.name }
func (above) Size() int64        { return 4096 }
func (above) Mode() fs.FileMode  { return fs.ModeDir | 0o755 }
func (above) ModTime() time.Time { return time.Time{} }
func (above) IsDir() bool        { return true }
func (above) Sys() any           { return nil }

// children are the names in a directory that is above volumes; none if it is not.
func (f *Files) children(name string) []string {
	var names []string
	prefix := strings.TrimSuffix(path.Clean(name), "/") + "/"
	for _, m := range f.Mounts {
		if below, ok := strings.CutPrefix(m.ContainerPath, prefix); ok && below != "" {
			child, _, _ := strings.Cut(below, "/")
			names = append(names, child)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// isAbove says whether name is a directory above volumes and in none.
func (f *Files) isAbove(name string) bool {
	if _, _, in := FindMount(f.Mounts, name); in {
		return false
	}
	return path.Clean(name) == "/" || len(f.children(name)) > 0
}

func (f *Files) in(name string, write bool, do func(dir *disk.Disk, name string) error) error {
	if f.isAbove(name) && write {
		return ErrReadOnly
	}
	return InVolume(f.Node, f.Mounts, name, write, do)
}

// stat describes what name leads to.
func (f *Files) stat(name string) (info fs.FileInfo, err error) {
	if f.isAbove(name) {
		return above{path.Base(name)}, nil
	}
	err = f.in(name, false, func(dir *disk.Disk, name string) error {
		info, err = dir.Stat(name)
		return err
	})
	return info, err
}

// lstat describes name itself, also if it is a link.
func (f *Files) lstat(name string) (info fs.FileInfo, err error) {
	if f.isAbove(name) {
		return above{path.Base(name)}, nil
	}
	err = f.in(name, false, func(dir *disk.Disk, name string) error {
		info, err = dir.Lstat(name)
		return err
	})
	return info, err
}

// list is the names in a directory, sorted.
func (f *Files) list(name string) (names []string, err error) {
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

func (f *Files) read(name string) (data []byte, err error) {
	if f.isAbove(name) {
		return nil, errIsDirectory
	}
	err = f.in(name, false, func(dir *disk.Disk, name string) error {
		if info, err := dir.Stat(name); err == nil && info.IsDir() {
			return errIsDirectory
		}
		data, err = dir.ReadFile(name)
		return err
	})
	return data, err
}

// create makes an empty file, or empties one.
func (f *Files) create(name string) error {
	return f.in(name, true, func(dir *disk.Disk, name string) error {
		if info, err := dir.Stat(name); err == nil && info.IsDir() {
			return errIsDirectory
		}
		return dir.WriteFile(name, nil, 0o666)
	})
}

// appendTo makes a file if there is none.
func (f *Files) appendTo(name string) error {
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

// write appends to a file that was opened. What was removed since takes it too, and
// nobody sees it.
func (f *Files) write(name string, data []byte) error {
	return f.in(name, true, func(dir *disk.Disk, name string) error {
		if _, err := dir.Stat(name); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return dir.AppendFile(name, data)
	})
}

// removeAll removes a file or a tree. A volume itself is emptied and stays.
func (f *Files) removeAll(name string) error {
	return f.in(name, true, func(dir *disk.Disk, name string) error {
		if name != "/" {
			return dir.RemoveAll(name)
		}
		entries, err := dir.ReadDir(name)
		errs := []error{err}
		for _, e := range entries {
			errs = append(errs, dir.RemoveAll("/"+e.Name()))
		}
		return errors.Join(append(errs, errBusy)...)
	})
}

// walk calls f for name and all below it, a directory before what is in it or, with
// up, after. It follows no links below name.
func (f *Files) walk(name string, depth int, up bool, do func(name string, depth int, info fs.FileInfo) error) error {
	info, err := f.lstat(name)
	if err != nil {
		return &fs.PathError{Op: "walk", Path: name, Err: reason(err)}
	}
	if !up {
		if err := do(name, depth, info); err != nil {
			return err
		}
	}
	var errs []error
	if info.IsDir() {
		names, err := f.list(name)
		errs = append(errs, err)
		for _, child := range names {
			errs = append(errs, f.walk(strings.TrimSuffix(name, "/")+"/"+child, depth+1, up, do))
		}
	}
	if up {
		errs = append(errs, do(name, depth, info))
	}
	return errors.Join(errs...)
}

// Errors as a kernel says them.
var (
	errIsDirectory   = errors.New("is a directory")
	errBusy          = errors.New("device or resource busy")
	errBadDescriptor = errors.New("bad file descriptor")
	errNoFile        = errors.New("no such file or directory")
)

// reason leaves out the node's path, which a container does not know.
func reason(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

// cannot is the error of a program about a path.
func cannot(program, what, name string, err error) error {
	return fmt.Errorf("%s: %s '%s': %w", program, what, name, reason(err))
}
