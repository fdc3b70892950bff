package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
)

// Disk is a node's file system. It is safe for concurrent use, as os.Root is.
// Errors are *fs.PathError with the node's path; fs.ErrNotExist and the others
// work with errors.Is.
type Disk struct {
	store    store
	attached attachments
	fail     atomic.Pointer[func(op, name string) error]
	parts    []part // of which others, if it is a Sub
	plain    atomic.Pointer[plain]
	user     *User // nil for this process
	file     bool  // see As
	owners   bool  // files have the owners that are set
}

// Open opens the node directory at path, a path on this machine, and makes it
// (mode 0755, with parents) if there is none. Close it when done.
func Open(path string) (*Disk, error) {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, err
	}
	root, err := openRoot(path)
	if err != nil {
		return nil, err
	}
	return &Disk{store: root, owners: mayChown()}, nil
}

// Close frees the directory and what is attached. Every call after it fails.
func (d *Disk) Close() error { return errors.Join(d.attached.close(), d.store.Close()) }

// do calls f with the directory that name is in, d or one attached to it, and the
// path that its os.Root takes for name, if the user of d may do op.
func (d *Disk) do(op, name string, f func(d *Disk, rel string) error) error {
	if d.user != nil {
		return d.doAs(op, name, f)
	}
	return d.perform(op, name, f)
}

// perform works as do, for any user.
func (d *Disk) perform(op, name string, f func(d *Disk, rel string) error) error {
	rel, err := local(op, name)
	if err != nil {
		return err
	}
	if err := d.failing(op, name); err != nil {
		return err
	}
	if err := d.checkPlain(op, rel); err != nil {
		return explain(op, name, err)
	}
	in, rel, err := d.attached.find(op, rel)
	if err != nil {
		return explain(op, name, err)
	}
	if in == nil {
		in = d
	} else if err := in.failing(op, "/"+filepath.ToSlash(rel)); err != nil {
		return explain(op, name, err)
	}
	return explain(op, name, f(in, rel))
}

// Mkdir makes a directory; its parent must exist. perm is before umask, at most
// 0777.
func (d *Disk) Mkdir(name string, perm fs.FileMode) error {
	return d.do("mkdir", name, func(d *Disk, rel string) error { return d.store.Mkdir(rel, perm) })
}

// MkdirAll makes a directory and its parents. One that exists is left as it is.
func (d *Disk) MkdirAll(name string, perm fs.FileMode) error {
	if d.user != nil {
		return d.makeAll(name, perm)
	}
	return d.do("mkdir", name, func(d *Disk, rel string) error { return d.store.MkdirAll(rel, perm) })
}

// MakeDir makes a directory and its parents, as MkdirAll does, but with exactly this mode
// (permission, setuid, setgid and sticky bits), without regard to the umask. Parents that
// it makes are 0755 less the umask. An existing directory keeps its mode.
func (d *Disk) MakeDir(name string, mode fs.FileMode) error {
	const allowed = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky
	if mode&^allowed != 0 {
		return explain("mkdir", name, fmt.Errorf("mode %v has more than permission, setuid, setgid and sticky bits", mode))
	}
	_, missing := d.Stat(name)
	if err := d.MkdirAll(name, 0o755); err != nil || missing == nil {
		return err
	}
	return d.Chmod(name, mode)
}

// Remove removes a file, a link or an empty directory.
func (d *Disk) Remove(name string) error {
	return d.do("remove", name, func(d *Disk, rel string) error {
		if rel == "." {
			return errors.New("the node's root directory cannot be removed")
		}
		return d.store.Remove(rel)
	})
}

// RemoveAll removes name and all below it without following links. What does
// not exist is removed already. "/" is refused. If anything is mounted on name or below it,
// nothing is removed, and the error is EBUSY and names what is mounted, with this machine's paths.
func (d *Disk) RemoveAll(name string) error {
	if d.user != nil && path.Clean(name) != "/" {
		return d.removeTree(name)
	}
	return d.do("removeall", name, func(d *Disk, rel string) error {
		if rel == "." {
			return errors.New("the node's root directory cannot be removed")
		}
		return d.store.RemoveAll(rel)
	})
}

// Stat describes what name leads to, following links.
func (d *Disk) Stat(name string) (info fs.FileInfo, err error) {
	err = d.do("stat", name, func(d *Disk, rel string) error {
		info, err = described(d.store.Stat(rel))
		return err
	})
	return info, err
}

// Lstat describes name itself, also if it is a link.
func (d *Disk) Lstat(name string) (info fs.FileInfo, err error) {
	err = d.do("lstat", name, func(d *Disk, rel string) error {
		info, err = described(d.store.Lstat(rel))
		return err
	})
	return info, err
}

// Exists reports whether there is a file, directory or link at name. Below a plain file there is
// nothing.
func (d *Disk) Exists(name string) (bool, error) {
	_, err := d.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return false, nil
	}
	return err == nil, err
}

// ReadDir lists a directory in order of name.
func (d *Disk) ReadDir(name string) (entries []fs.DirEntry, err error) {
	err = d.do("readdir", name, func(d *Disk, rel string) error {
		entries, err = d.store.readDir(rel)
		return err
	})
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

// List returns the names in a directory, sorted; those of directories end in a slash.
func (d *Disk) List(name string) ([]string, error) {
	entries, err := d.ReadDir(name)
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name()+"/")
		} else {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// Rename moves a file or directory over newname, which may be a file that
// exists but no directory.
func (d *Disk) Rename(oldname, newname string) error {
	if d.user != nil {
		if err := d.permitMove(oldname, newname); err != nil {
			return err
		}
	}
	return d.perform("rename", oldname, func(from *Disk, rel string) error {
		return d.perform("rename", newname, func(to *Disk, newrel string) error {
			if from != to {
				return syscall.EXDEV
			}
			return from.store.Rename(rel, newrel)
		})
	})
}

// Readlink returns the text of a symbolic link, unchanged.
func (d *Disk) Readlink(name string) (text string, err error) {
	err = d.do("readlink", name, func(d *Disk, rel string) error {
		text, err = d.store.Readlink(rel)
		return err
	})
	return text, err
}

// Symlink makes link a symbolic link to target, both node paths. The link's text
// is relative, so that it leads to the same place for everyone who respects the
// node's directory and for people who look at it from outside. target need not
// exist. It returns the text.
func (d *Disk) Symlink(target, link string) (text string, err error) {
	if _, err := local("symlink", link); err != nil {
		return "", err
	}
	dir, base := path.Split(path.Clean(link))
	err = d.At(dir, func(at *At) error {
		text, err = at.Symlink(target, base)
		return err
	})
	return text, err
}

func (d *Disk) symlink(text, link string) error {
	return d.do("symlink", link, func(d *Disk, rel string) error { return d.store.Symlink(text, rel) })
}

// EvalSymlinks returns name without symbolic links: the real path on the node.
// All of it must exist. The answer informs, it protects nothing: whatever is done
// with it is confined again.
func (d *Disk) EvalSymlinks(name string) (string, error) {
	real, _, err := d.Resolve(name)
	return real, err
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Sub opens the directory at name as a file system of its own: its "/" is that
// directory, and links that lead out of it are refused. name may be a link
// itself. It sees what is attached below name now, not what is later. Close it
// when done.
func (d *Disk) Sub(name string) (sub *Disk, err error) {
	err = d.do("open", name, func(in *Disk, rel string) error {
		below, err := in.store.sub(rel)
		if err != nil {
			return err
		}
		sub = &Disk{store: below, parts: []part{{d, name}}, owners: in.owners}
		if in != d {
			sub.parts = append(sub.parts, part{in, "/" + filepath.ToSlash(rel)})
		}
		return nil
	})
	if rel, bad := local("open", name); err == nil && bad == nil {
		sub.attached.list = d.attached.below(rel)
	}
	return sub, err
}
