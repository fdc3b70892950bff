package nodefs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
)

// maxFile is the size of the largest file that is read: what a node's files say of
// their size need not be true, and all of it would be in memory.
const maxFile = 64 << 20

// ErrTooLarge is returned for a file of more than 64 MiB.
var ErrTooLarge = errors.New("is larger than the 64 MiB that are read")

// ReadFile reads a regular file of at most 64 MiB.
func (d *Dir) ReadFile(name string) (data []byte, err error) {
	err = d.do("read", name, func(d *Dir, rel string) error {
		var ok bool
		if data, ok = d.root.read(rel); ok {
			return nil
		}
		f, err := d.open(rel, os.O_RDONLY, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		if info, err := f.Stat(); err == nil && info.Size() > maxFile {
			return ErrTooLarge
		}
		data, err = io.ReadAll(io.LimitReader(f, maxFile+1))
		if len(data) > maxFile {
			data, err = nil, ErrTooLarge
		}
		return err
	})
	return data, err
}

// WriteFile writes a regular file, made with perm (before umask, at most 0777)
// if there is none, replaced if there is. The directory must exist.
func (d *Dir) WriteFile(name string, data []byte, perm fs.FileMode) error {
	return d.do("write", name, func(d *Dir, rel string) error {
		if made, err := d.root.create(rel, data, perm); made {
			return err
		}
		// Not O_TRUNC: the file is looked at before anything is lost.
		f, err := d.open(rel, os.O_WRONLY|os.O_CREATE, perm)
		if err != nil {
			return err
		}
		err = f.Truncate(0)
		if err == nil {
			_, err = f.Write(data)
		}
		return firstError(err, f.Close())
	})
}

// open opens a file and makes sure that it is a regular one with no other name.
func (d *Dir) open(rel string, flag int, perm fs.FileMode) (*os.File, error) {
	if err := d.root.mayOpen(rel); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	f, err := d.root.OpenFile(rel, flag|nonblock, perm)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = ErrNotRegular
	}
	if err == nil {
		err = checkLinks(info)
	}
	if err != nil {
		return nil, firstError(err, f.Close())
	}
	return f, nil
}

func checkLinks(info fs.FileInfo) error {
	if info.Mode().IsRegular() && links(info) > 1 {
		return ErrLinked
	}
	return nil
}

// Chmod sets the permission, setuid, setgid and sticky bits. It follows links.
func (d *Dir) Chmod(name string, mode fs.FileMode) error {
	return d.do("chmod", name, func(d *Dir, rel string) error {
		info, err := d.root.Stat(rel)
		if err == nil {
			err = checkLinks(info)
		}
		if err == nil {
			err = d.root.Chmod(rel, mode)
		}
		return err
	})
}

// Lchown sets the owner and group of name itself, also if it is a link; -1 keeps
// what is. Without privilege it usually fails with fs.ErrPermission.
func (d *Dir) Lchown(name string, uid, gid int) error {
	return d.do("lchown", name, func(d *Dir, rel string) error {
		info, err := d.root.Lstat(rel)
		if err == nil {
			err = checkLinks(info)
		}
		if err == nil {
			err = d.root.Lchown(rel, uid, gid)
		}
		return err
	})
}

// Owner is the numeric owner and group that info shows; ok is false where the
// operating system has none.
func Owner(info fs.FileInfo) (uid, gid int, ok bool) { return owner(info) }

// WalkUp calls f for all below name, and then for name itself: children before
// their directory. It does not follow links below name, nor go into what is
// attached there. f's error ends the walk and is returned.
func (d *Dir) WalkUp(name string, f func(name string, info fs.FileInfo) error) error {
	info, err := d.Lstat(name)
	if err != nil {
		return err
	}
	if info.IsDir() {
		entries, err := d.ReadDir(name)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err := d.walkEntry(path.Join(name, e.Name()), f); err != nil {
				return err
			}
		}
	}
	return f(name, info)
}

func (d *Dir) walkEntry(name string, f func(name string, info fs.FileInfo) error) error {
	if !d.Attached(name) {
		return d.WalkUp(name, f)
	}
	info, err := d.Lstat(name)
	if err != nil {
		return err
	}
	return f(name, info)
}
