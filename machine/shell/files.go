package shell

import (
	"cmp"
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

// files are a container's files: its volumes, and its root file system. Names are absolute paths of the container.
type files struct {
	node   *disk.Disk
	user   *disk.User // who does all this; nil is root
	root   *Root
	mounts []Mount // root.over()
	// wait lets time pass before an operation is tried again that got no answer, which is said if it is the first time. false: the program cannot wait.
	wait func(name string, first bool, d time.Duration) bool
}

// device describes a device.
type device struct{ fs.FileInfo }

func (device) Mode() fs.FileMode { return fs.ModeDevice | fs.ModeCharDevice | 0o666 }

// blockDevice describes a raw block volume, for which there is a file on the node.
type blockDevice struct{ fs.FileInfo }

func (d blockDevice) Mode() fs.FileMode { return fs.ModeDevice | d.FileInfo.Mode().Perm() }

// isBlock reports whether a path without links is a raw block volume.
func (f *files) isBlock(name string) bool {
	m, rest, ok := FindMount(f.mounts, name)
	return ok && m.Block && rest == "/"
}

// children returns the names in a directory at which something is mounted, or below which something is.
func (f *files) children(name string) []string {
	var names []string
	for _, m := range f.mounts {
		if below, ok := cutDir(m.ContainerPath, path.Clean(name)); ok && strings.Trim(below, "/") != "" {
			child, _, _ := strings.Cut(strings.Trim(below, "/"), "/")
			names = append(names, child)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// isFresh reports whether name is in the root file system, to which nothing was written yet.
func (f *files) isFresh(name string) bool {
	m, _, ok := FindMount(f.mounts, name)
	return ok && m.root != nil && m.root.disk == nil
}

// in calls do with the mount that name leads to, and the path in that.
func (f *files) in(name string, write bool, do func(dir *disk.Disk, name string) error) error {
	return f.answered(f.follow(name, true), write, do)
}

// at works as in, but name itself is not followed if it is a link: do is to describe, read, make or remove the link.
func (f *files) at(name string, write bool, do func(dir *disk.Disk, name string) error) error {
	return f.answered(f.follow(name, false), write, do)
}

// The first and the longest time after which an operation is tried again that gets no answer.
const (
	firstSilence   = time.Second
	longestSilence = time.Minute
)

// answered calls do until it gets an answer: a program that uses a share whose server is silent hangs, and goes on when the server answers.
func (f *files) answered(name string, write bool, do func(dir *disk.Disk, name string) error) error {
	if err := f.reach(name); err != nil {
		return err
	}
	err := InVolume(f.node, f.user, f.mounts, name, write, do)
	for wait := firstSilence; errors.Is(err, disk.ErrSilent) && f.wait(name, wait == firstSilence, wait); wait = min(2*wait, longestSilence) {
		err = InVolume(f.node, f.user, f.mounts, name, write, do)
	}
	return err
}

// reach returns an error if the user may not search a directory on the way to the mount that name is in.
func (f *files) reach(name string) error {
	if f.user == nil {
		return nil
	}
	m, _, ok := FindMount(f.mounts, name)
	if !ok || m.ContainerPath == "/" {
		return nil
	}
	way := path.Dir(path.Clean(m.ContainerPath))
	err := f.reach(way)
	if err == nil {
		err = InVolume(f.node, f.user, f.mounts, way, false, func(dir *disk.Disk, name string) error { return dir.Access(name, disk.Search) })
	}
	if errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil // where the mount is there is a directory, also if the simulation made none
}

// may reports whether the program's user may do this with what name leads to, which info describes.
func (f *files) may(name string, info fs.FileInfo, want disk.Access) bool {
	if f.user == nil || isDevice(f.follow(name, true)) {
		return want&disk.Execute == 0 || info.IsDir() || info.Mode().Perm()&0o111 != 0
	}
	return f.in(name, false, func(dir *disk.Disk, name string) error { return dir.Access(name, want) }) == nil
}

// stat describes what name leads to.
func (f *files) stat(name string) (info fs.FileInfo, err error) {
	name = f.follow(name, true)
	return f.describe(name, f.in, (*disk.Disk).Stat)
}

// lstat describes name itself, even if it is a link.
func (f *files) lstat(name string) (info fs.FileInfo, err error) {
	return f.describe(name, f.at, (*disk.Disk).Lstat)
}

func (f *files) describe(name string, in func(string, bool, func(*disk.Disk, string) error) error,
	how func(dir *disk.Disk, name string) (fs.FileInfo, error)) (info fs.FileInfo, err error) {
	err = in(name, false, func(dir *disk.Disk, name string) error {
		info, err = how(dir, name)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case isDevice(name):
		info = device{info}
	case f.isBlock(name):
		info = blockDevice{info}
	}
	return info, nil
}

// list returns the names in a directory, sorted.
func (f *files) list(name string) (names []string, err error) {
	names = f.children(f.follow(name, true))
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
	name = p.files.follow(name, true)
	if isDevice(name) {
		return nil, readDevice(name)
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

// readDevice returns an error for a device without an end. The others are empty.
func readDevice(name string) error {
	switch name {
	case "/dev/full", "/dev/random", "/dev/urandom", "/dev/zero":
		return errEndless
	}
	return nil
}

// create makes an empty file, or empties an existing one.
func (f *files) create(name string, umask fs.FileMode) error {
	name = f.follow(name, true)
	if isDevice(name) {
		return nil
	}
	return f.in(name, true, func(dir *disk.Disk, name string) error {
		if info, err := dir.Stat(name); err == nil && info.IsDir() {
			return errIsDirectory
		}
		return makes(dir, name, 0o666&^umask, func() error { return dir.WriteFile(name, nil, 0o666) })
	})
}

// appendTo opens a file to append to it, and makes it unless it exists.
func (f *files) appendTo(name string, umask fs.FileMode) error {
	name = f.follow(name, true)
	if isDevice(name) {
		return nil
	}
	return f.in(name, true, func(dir *disk.Disk, name string) error {
		switch info, err := dir.Stat(name); {
		case err != nil:
			return makes(dir, name, 0o666&^umask, func() error { return dir.WriteFile(name, nil, 0o666) })
		case info.IsDir():
			return errIsDirectory
		}
		return dir.Access(name, disk.Write)
	})
}

// write appends to an open file, also if it could not be opened anew. Data for a file that was removed meanwhile is lost.
func (f *files) write(name string, data []byte) error {
	name = f.follow(name, true)
	if name == "/dev/full" {
		return errFull
	}
	if isDevice(name) {
		return nil
	}
	return f.in(name, true, func(dir *disk.Disk, name string) error {
		dir.As(nil, false)
		if _, err := dir.Stat(name); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return dir.AppendFile(name, data)
	})
}

// removeAll removes a file or a tree. What is mounted in it is emptied and stays.
func (f *files) removeAll(name string) error {
	name = f.follow(name, false)
	if _, rest, _ := FindMount(f.mounts, name); rest != "/" && len(f.children(name)) == 0 {
		return f.at(name, true, removeTree)
	}
	info, err := f.lstat(name)
	if err != nil || !info.IsDir() { // a file that is mounted
		return cmp.Or(err, errBusy)
	}
	names, err := f.list(name)
	errs := []error{err}
	for _, child := range names {
		if err := f.removeAll(path.Join(name, child)); !errors.Is(err, errBusy) {
			errs = append(errs, err)
		}
	}
	return cmp.Or(errors.Join(errs...), errBusy)
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
	errDenied        = errors.New("permission denied")
	errFull          = errors.New("no space left on device")
	errEndless       = errors.New("it has no end: head -c N reads N bytes of it")
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
