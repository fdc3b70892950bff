package shell

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/storagesim/storagesim/machine/disk"
)

// cp copies files; -r and -a directories too, and with them links as such, unless -L follows them.
func cp(p *Process) error {
	flags, args, err := options(p.Argv, "rRafpdvTnLu", "")
	if err != nil {
		return err
	}
	recursive := has(flags, "r", "R", "a")
	c := copying{links: recursive && !has(flags, "L"), update: has(flags, "u"), keep: has(flags, "n"), preserve: has(flags, "p", "a")}
	return p.toEach(args, has(flags, "T"), func(from, to string) error {
		info, err := p.lookAt(from, c.links)
		switch {
		case err != nil:
			return fmt.Errorf("cp: cannot stat '%s': %w", from, reason(err))
		case info.IsDir() && !recursive:
			return fmt.Errorf("cp: -r not specified; omitting directory '%s'", from)
		case within(p.Path(to), p.Path(from)) && (info.IsDir() || p.Path(to) == p.Path(from)):
			return fmt.Errorf("cp: cannot copy '%s' into itself, '%s'", from, to)
		}
		return p.copy(p.Path(from), p.Path(to), c)
	})
}

// copying says how files are copied.
type copying struct {
	links  bool // links as such, not what they lead to
	update bool // only files that are missing or older where they go
	keep   bool // only files that are missing where they go
	// preserve keeps the mode, and the owner where the disk has owners and the user may give files away
	preserve bool
}

// within reports whether name is dir, or below it.
func within(name, dir string) bool {
	return strings.HasPrefix(strings.TrimSuffix(name, "/")+"/", strings.TrimSuffix(dir, "/")+"/")
}

// lookAt describes a file; with links, a link itself.
func (p *Process) lookAt(name string, links bool) (fs.FileInfo, error) {
	p.program.step(1)
	if name == "" {
		return nil, errNoFile
	}
	if links {
		return p.program.files.lstat(p.Path(name))
	}
	return p.program.files.stat(p.Path(name))
}

// toEach calls f with each source and where it goes.
func (p *Process) toEach(args []string, noDirectory bool, f func(from, to string) error) error {
	switch len(args) {
	case 0:
		return fmt.Errorf("%s: missing file operand", p.Argv[0])
	case 1:
		return fmt.Errorf("%s: missing destination file operand after '%s'", p.Argv[0], args[0])
	}
	to := args[len(args)-1]
	into := p.isDir(to) && !noDirectory
	if len(args) > 2 && !into {
		return fmt.Errorf("%s: target '%s' is not a directory", p.Argv[0], to)
	}
	var errs []error
	for _, from := range args[:len(args)-1] {
		name := to
		if into {
			base := path.Base(from)
			if base == ".." || base == "." {
				base = ""
			}
			name = path.Join(to, base)
		}
		errs = append(errs, f(from, name))
	}
	return errors.Join(errs...)
}

// copy copies a file or a tree. Names are absolute.
func (p *Process) copy(from, to string, c copying) error {
	info, err := p.lookAt(from, c.links)
	if err != nil {
		return fmt.Errorf("%s: cannot stat '%s': %w", p.Argv[0], from, reason(err))
	}
	switch {
	case info.IsDir():
		return p.copyTree(from, to, info, c)
	case c.update && p.isUpToDate(to, info), c.keep && p.exists(to):
		return nil
	case info.Mode()&fs.ModeSymlink != 0:
		var text string
		if text, err = p.linkText(from); err == nil {
			err = p.link(text, to, true)
		}
	case !p.program.files.may(from, info, disk.Read):
		return fmt.Errorf("%s: cannot open '%s' for reading: %w", p.Argv[0], from, errDenied)
	default:
		if err = p.copyFile(from, to, info); err == nil && c.preserve {
			err = p.preserve(to, info)
		}
	}
	if err != nil {
		return cannot(p.Argv[0], "cannot create regular file", to, err)
	}
	return nil
}

// exists reports whether there is a file, or a link, of that name.
func (p *Process) exists(name string) bool {
	_, err := p.lookAt(name, true)
	return err == nil
}

// isUpToDate reports whether a file is there and not older than another.
func (p *Process) isUpToDate(name string, than fs.FileInfo) bool {
	info, err := p.lookAt(name, false)
	return err == nil && !info.ModTime().Before(than.ModTime())
}

func (p *Process) copyFile(from, to string, info fs.FileInfo) error {
	data, err := p.program.read(from)
	if err != nil || isDevice(p.program.files.follow(to, true)) {
		return err
	}
	p.program.step(1 + len(data)/10_000)
	return p.Do(to, true, func(dir *disk.Disk, name string) error {
		old, err := dir.Stat(name)
		if err == nil && old.IsDir() {
			return errIsDirectory
		}
		return makes(dir, name, info.Mode().Perm()&^p.umask, func() error { return dir.WriteFile(name, data, 0o666&info.Mode().Perm()) })
	})
}

func (p *Process) copyTree(from, to string, info fs.FileInfo, c copying) error {
	defer p.program.enter()()
	err := p.Do(to, true, func(dir *disk.Disk, name string) error {
		if old, err := dir.Stat(name); err == nil {
			if old.IsDir() {
				return nil
			}
			return errors.New("file exists")
		}
		err := makes(dir, name, info.Mode().Perm()&^p.umask|0o700, func() error { return dir.Mkdir(name, info.Mode().Perm()|0o700) })
		if err == nil {
			p.made(to)
		}
		return err
	})
	if err != nil {
		return cannot(p.Argv[0], "cannot create directory", to, err)
	}
	names, err := p.program.files.list(from)
	errs := []error{err}
	for _, name := range names {
		errs = append(errs, p.copy(path.Join(from, name), path.Join(to, name), c))
	}
	if c.preserve {
		errs = append(errs, p.preserve(to, info))
	}
	return errors.Join(errs...)
}

// preserve gives a file the mode and the owner of the one that it is a copy of. Its times are its own.
func (p *Process) preserve(name string, of fs.FileInfo) error {
	return p.Do(name, true, func(dir *disk.Disk, name string) error {
		if dir.KeepsOwners() {
			uid, gid := ownerOf(of)
			if err := dir.Lchown(name, uid, gid); err != nil && !errors.Is(err, fs.ErrPermission) {
				return err
			}
		}
		return dir.Chmod(name, of.Mode().Perm())
	})
}

// mv moves files and directories.
func mv(p *Process) error {
	flags, args, err := options(p.Argv, "fvTn", "")
	if err != nil {
		return err
	}
	return p.toEach(args, has(flags, "T"), func(from, to string) error {
		_, err := p.lookAt(from, true)
		switch {
		case err != nil:
			return fmt.Errorf("mv: cannot stat '%s': %w", from, reason(err))
		case p.Path(from) == p.Path(to):
			return fmt.Errorf("mv: '%s' and '%s' are the same file", from, to)
		case within(p.Path(to), p.Path(from)):
			return fmt.Errorf("mv: cannot move '%s' to a subdirectory of itself, '%s'", from, to)
		case has(flags, "n") && p.exists(to):
			return nil
		}
		if err := p.move(p.Path(from), p.Path(to)); err != nil {
			return fmt.Errorf("mv: cannot move '%s' to '%s': %w", from, to, reason(err))
		}
		return nil
	})
}

// move renames in a volume, and copies from one to another.
func (p *Process) move(from, to string) error {
	from, to = p.program.files.follow(from, false), p.program.files.follow(to, false)
	source, inside, ok := FindMount(p.program.files.mounts, from)
	target, _, _ := FindMount(p.program.files.mounts, to)
	if ok && inside == "/" || len(p.program.files.children(from)) > 0 {
		return errBusy
	}
	if !ok || source != target {
		if err := p.copy(from, to, copying{links: true}); err != nil {
			return err
		}
		return p.remove(from, true, true)
	}
	p.worksOn(from)
	return p.doLink(to, true, func(dir *disk.Disk, name string) error {
		was, err := dir.Lstat(inside)
		if err != nil {
			return err
		}
		is, err := dir.Lstat(name)
		switch {
		case err == nil && is.IsDir() && !was.IsDir():
			return errIsDirectory
		case err == nil && !is.IsDir() && was.IsDir():
			return errNotDirectory
		case err == nil && is.IsDir():
			if err := dir.Remove(name); err != nil { // an empty one gives way
				return err
			}
		}
		if err := dir.Rename(inside, name); err != nil || !was.IsDir() {
			return err
		}
		p.removed(from)
		p.made(to)
		return nil
	})
}
