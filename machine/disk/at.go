package disk

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

// At is one directory of a node; it is valid until the function that Disk.At calls returns. Names in it are single elements.
type At struct {
	dir  *Disk
	name string // its real path on the node
	in   names  // nil where names have to be looked up one by one
}

// names changes and reads names in an open directory.
type names interface {
	mkdir(base string, perm fs.FileMode) error
	remove(base string) error
	symlink(text, base string) error
	readlink(base string) (string, error)
	lstat(base string) (fs.FileInfo, error)
	close() error
}

// At looks up the directory at name once and calls f with it. This is faster than a look-up for
// each operation of f, and f works in the same directory even if it is renamed meanwhile. Links
// in name are followed. f must not keep its argument.
func (d *Disk) At(name string, f func(at *At) error) error {
	rel, err := local("evalsymlinks", name)
	if err != nil {
		return err
	}
	at := &At{dir: d}
	if a, _ := d.attached.of(rel); d.user == nil && a == nil && !d.attached.anyBelow(rel) { // else each name may be in another disk, or not allowed
		at.in = d.store.enter(rel)
	}
	if at.in == nil {
		if at.name, err = d.EvalSymlinks(name); err != nil {
			return err
		}
		return f(at)
	}
	defer at.in.close()
	at.name = absolute(rel) // no link was on the way
	return f(at)
}

// Path returns the real path of base on the node; base itself is not followed.
func (at *At) Path(base string) string {
	if at.name == "/" {
		return "/" + base
	}
	return at.name + "/" + base
}

// do calls fast in the open directory, or slow where there is none. An empty base is
// the directory itself, for "/", which is in no other.
func (at *At) do(op, base string, fast func() error, slow func(name string) error) error {
	switch {
	case base == "." || base == ".." || strings.ContainsAny(base, "/\x00"):
		return explain(op, at.Path(base), fmt.Errorf("%q is not the name of one file: %w", base, fs.ErrInvalid))
	case at.in == nil || base == "":
		return slow(at.Path(base))
	case at.dir.mayFail():
		if err := at.dir.failing(op, at.Path(base)); err != nil {
			return err
		}
	}
	if err := fast(); err != nil {
		return explain(op, at.Path(base), err)
	}
	return nil
}

// Mkdir works as Disk.Mkdir.
func (at *At) Mkdir(base string, perm fs.FileMode) error {
	return at.do("mkdir", base,
		func() error { return at.in.mkdir(base, perm) },
		func(name string) error { return at.dir.Mkdir(name, perm) })
}

// Remove works as Disk.Remove.
func (at *At) Remove(base string) error {
	return at.do("remove", base,
		func() error { return at.in.remove(base) },
		func(name string) error { return at.dir.Remove(name) })
}

// Symlink works as Disk.Symlink.
func (at *At) Symlink(target, base string) (text string, err error) {
	if text, err = at.textOf(target); err != nil {
		return "", err
	}
	return text, at.do("symlink", base,
		func() error { return at.in.symlink(text, base) },
		func(name string) error { return at.dir.symlink(text, name) })
}

// textOf returns the text of a link in this directory that leads to target.
func (at *At) textOf(target string) (string, error) {
	to, err := local("symlink", target)
	if err != nil {
		return "", err
	}
	from, err := local("symlink", at.name)
	if err != nil {
		return "", err
	}
	text, err := filepath.Rel(from, to)
	return text, explain("symlink", target, err)
}

// Readlink works as Disk.Readlink.
func (at *At) Readlink(base string) (text string, err error) {
	err = at.do("readlink", base,
		func() error { text, err = at.in.readlink(base); return err },
		func(name string) error { text, err = at.dir.Readlink(name); return err })
	return text, err
}

// Lstat works as Disk.Lstat.
func (at *At) Lstat(base string) (info fs.FileInfo, err error) {
	err = at.do("lstat", base,
		func() error { info, err = at.in.lstat(base); return err },
		func(name string) error { info, err = at.dir.Lstat(name); return err })
	return info, err
}
