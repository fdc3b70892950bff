package disk

import (
	"errors"
	"io/fs"
	"path"
)

// maxFile is the largest size of a file that is read or appended to, since all of it is held in memory.
const maxFile = 64 << 20

// ErrTooLarge is returned if a file to be read, or to be appended to, would have more than 64 MiB.
var ErrTooLarge = errors.New("file too large; the limit is 64 MiB")

// ReadFile reads a regular file of at most 64 MiB.
func (d *Disk) ReadFile(name string) (data []byte, err error) {
	err = d.do("read", name, func(d *Disk, rel string) error {
		data, err = d.store.readFile(rel)
		return err
	})
	return data, err
}

// WriteFile writes a regular file, made with perm (before umask, at most 0777)
// if there is none, replaced if there is. The directory must exist.
func (d *Disk) WriteFile(name string, data []byte, perm fs.FileMode) error {
	return d.do("write", name, func(d *Disk, rel string) error {
		return d.store.writeFile(rel, data, perm)
	})
}

func checkLinks(info fs.FileInfo) error {
	if info.Mode().IsRegular() && links(info) > 1 {
		return ErrLinked
	}
	return nil
}

// Chmod sets the permission, setuid, setgid and sticky bits. It follows links.
func (d *Disk) Chmod(name string, mode fs.FileMode) error {
	return d.do("chmod", name, func(d *Disk, rel string) error {
		info, err := d.store.Stat(rel)
		if err == nil {
			err = checkLinks(info)
		}
		if err == nil {
			err = d.store.Chmod(rel, fileBits(info, mode))
		}
		return err
	})
}

// Lchown sets the owner and group of name itself, also if it is a link; -1 keeps
// what is. Without privilege it usually fails with fs.ErrPermission.
func (d *Disk) Lchown(name string, uid, gid int) error {
	if d.user != nil {
		if err := d.permitChown(name, uid, gid); err != nil {
			return err
		}
	}
	return d.do("lchown", name, func(d *Disk, rel string) error {
		info, err := d.store.Lstat(rel)
		if err == nil {
			err = checkLinks(info)
		}
		if err == nil {
			err = d.store.Lchown(rel, uid, gid)
		}
		return err
	})
}

// Owner returns the numeric owner and group that info shows; ok is false where the
// operating system has none.
func Owner(info fs.FileInfo) (uid, gid int, ok bool) {
	info = raw(info)
	if info, ok := info.(*memoryInfo); ok {
		return info.uid, info.gid, true
	}
	return owner(info)
}

// SameFile reports whether two answers of Stat and Lstat describe one file.
func SameFile(a, b fs.FileInfo) bool {
	a, b = raw(a), raw(b)
	x, inMemory := a.(*memoryInfo)
	y, both := b.(*memoryInfo)
	if inMemory || both {
		return inMemory && both && x.inode == y.inode
	}
	return sameFile(a, b)
}

// WalkUp calls f for all below name, and then for name itself: children before
// their directory. It does not follow links below name, nor go into what is
// attached there. f's error ends the walk and is returned.
func (d *Disk) WalkUp(name string, f func(name string, info fs.FileInfo) error) error {
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

func (d *Disk) walkEntry(name string, f func(name string, info fs.FileInfo) error) error {
	if !d.Attached(name) {
		return d.WalkUp(name, f)
	}
	info, err := d.Lstat(name)
	if err != nil {
		return err
	}
	return f(name, info)
}
