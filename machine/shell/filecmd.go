package shell

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/storagesim/storagesim/machine/disk"
)

// mkdir makes directories. -p makes parents and takes those that exist; -m sets
// the mode of the last element.
func mkdir(p *Process) error {
	flags, paths, err := options(p.Argv, "pv", "m")
	if err != nil {
		return err
	}
	mode := fs.FileMode(0)
	text, hasMode := flags["m"]
	if hasMode {
		if mode, err = parseMode(text, p.umask); err != nil {
			return err
		}
	}
	parents := has(flags, "p")
	if parents && len(paths) > 0 {
		if paths = p.toMake(paths); len(paths) == 0 {
			return nil
		}
	}
	return each(p, paths, "cannot create directory", func(dir *disk.Disk, name, given string) error {
		_, missing := dir.Stat(name)
		make := func() error {
			return makes(dir, name, 0o777&^p.umask, func() error { return dir.Mkdir(name, 0o755) })
		}
		if parents {
			make = func() error { return p.makeAll(dir, name) }
		}
		if err := make(); err != nil || missing == nil { // mkdir -p leaves an old directory's mode
			return err
		}
		p.made(given)
		if !hasMode {
			return nil
		}
		return dir.Chmod(name, mode)
	})
}

// toMake returns the paths without directories of the root file system that exist: it may be read-only.
func (p *Process) toMake(paths []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(name string) bool {
		m, _, ok := FindMount(p.program.files.mounts, p.Path(name))
		return name != "" && ok && m.root != nil && p.isDir(name)
	})
}

// rm removes files; -r directories too; -f takes what does not exist.
func rm(p *Process) error {
	flags, paths, err := options(p.Argv, "rRfvd", "")
	if err != nil {
		return err
	}
	force, recursive := has(flags, "f"), has(flags, "r", "R")
	if len(paths) == 0 && force {
		return nil
	}
	var errs []error
	if len(paths) == 0 {
		return fmt.Errorf("%s: missing operand", p.Argv[0])
	}
	for _, name := range paths {
		if err := p.remove(name, recursive, force); err != nil {
			errs = append(errs, cannot(p.Argv[0], "cannot remove", name, err))
		}
	}
	return errors.Join(errs...)
}

func (p *Process) remove(name string, recursive, force bool) error {
	return p.doLink(name, true, func(dir *disk.Disk, inside string) error {
		info, err := dir.Lstat(inside)
		switch {
		case errors.Is(err, fs.ErrNotExist) && force:
			return nil
		case err != nil:
			return err
		case info.IsDir() && !recursive:
			return errIsDirectory
		case path.Base(name) == "." || path.Base(name) == "..":
			return errors.New("invalid argument")
		}
		if err := p.program.files.removeAll(p.Path(name)); err != nil || !info.IsDir() {
			return err
		}
		p.removed(name)
		return nil
	})
}

// rmdir removes empty directories; -p their parents too.
func rmdir(p *Process) error {
	flags, paths, err := options(p.Argv, "p", "")
	if err != nil {
		return err
	}
	if has(flags, "p") {
		var all []string
		for _, name := range paths {
			for ; name != "." && name != "/"; name = path.Dir(name) {
				all = append(all, name)
			}
		}
		paths = all
	}
	return eachBy(p, p.doLink, paths, "failed to remove", func(dir *disk.Disk, name, given string) error {
		info, err := dir.Lstat(name)
		switch {
		case err != nil:
			return err
		case !info.IsDir():
			return errNotDirectory
		case name == "/":
			return errBusy
		}
		if err := dir.Remove(name); err != nil {
			return err
		}
		p.removed(given)
		return nil
	})
}

// touch makes files that are not there. What is there keeps its time, which only its owner and who may write it could change.
func touch(p *Process) error {
	flags, paths, err := options(p.Argv, "acm", "")
	if err != nil {
		return err
	}
	return each(p, paths, "cannot touch", func(dir *disk.Disk, name, _ string) error {
		_, err := dir.Stat(name)
		switch missing := errors.Is(err, fs.ErrNotExist); {
		case missing && has(flags, "c"), err == nil && dir.Owns(name) == nil:
			return nil
		case missing:
			return makes(dir, name, 0o666&^p.umask, func() error { return dir.WriteFile(name, nil, 0o666) })
		case err == nil:
			return dir.Access(name, disk.Write)
		}
		return err
	})
}

// ln makes symbolic links.
func ln(p *Process) error {
	flags, args, err := options(p.Argv, "sfnT", "")
	switch {
	case err != nil:
		return err
	case !has(flags, "s"):
		return errors.New("ln: this simulation makes symbolic links only (-s)")
	case len(args) == 0:
		return errors.New("ln: missing file operand")
	case len(args) == 1:
		args = append(args, ".")
	}
	to := args[len(args)-1]
	into := p.isDir(to) && !has(flags, "T") && (!has(flags, "n") || !p.isLink(to))
	if len(args) > 2 && !into {
		return fmt.Errorf("ln: target '%s' is not a directory", to)
	}
	var errs []error
	for _, target := range args[:len(args)-1] {
		name := to
		if into {
			name = path.Join(to, path.Base(target))
		}
		if err := p.link(target, name, has(flags, "f")); err != nil {
			errs = append(errs, cannot("ln", "failed to create symbolic link", name, err))
		}
	}
	return errors.Join(errs...)
}

// link makes a symbolic link. One in a volume must lead to the same volume, which other containers and the node see as well; one in the root file system may
// lead anywhere.
func (p *Process) link(target, name string, force bool) error {
	name = p.program.files.follow(p.Path(name), false)
	full := target
	if !path.IsAbs(target) {
		full = path.Join(path.Dir(name), target)
	}
	from, rest, ok := FindMount(p.program.files.mounts, full)
	in, _, _ := FindMount(p.program.files.mounts, name)
	switch {
	case in.root != nil && in.ContainerPath == "/":
		in.root.crossed = in.root.crossed || from != in
		rest = path.Clean(full)
	case !ok || from != in:
		return errors.New("it would lead out of its volume, which this simulation does not follow")
	}
	return p.doLink(name, true, func(dir *disk.Disk, name string) error {
		if _, err := dir.Lstat(name); err == nil && force {
			if err := dir.Remove(name); err != nil {
				return err
			}
		}
		_, err := dir.Symlink(rest, name)
		return err
	})
}

func (p *Process) isDir(name string) bool {
	info, err := p.program.files.stat(p.Path(name))
	return err == nil && info.IsDir()
}

func (p *Process) isLink(name string) bool {
	info, err := p.program.files.lstat(p.Path(name))
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// readlink prints the text of a link; with -f or -e the path to which name leads, as realpath does.
func readlink(p *Process) error {
	flags, args, err := options(p.Argv, "femn", "")
	switch {
	case err != nil:
		return err
	case len(args) != 1:
		return errors.New("readlink: one file is wanted")
	}
	var text string
	if whole := has(flags, "f", "e", "m"); whole {
		text, err = p.realPath(args[0], flags)
	} else {
		text, err = p.linkText(args[0])
	}
	switch {
	case err != nil:
		return &ExitError{Code: 1} // and in silence
	case !has(flags, "n"):
		text += "\n"
	}
	return p.printf("%s", text)
}

// realpath prints paths without links, "." and "..".
func realpath(p *Process) error {
	flags, args, err := options(p.Argv, "em", "")
	if err != nil {
		return err
	}
	errs := make([]error, len(args))
	for i, name := range args {
		full, err := p.realPath(name, flags)
		if err == nil {
			errs[i] = p.printf("%s\n", full)
		} else {
			errs[i] = fmt.Errorf("realpath: %s: %w", name, reason(err))
		}
	}
	return errors.Join(errs...)
}

// linkText returns the text of a link.
func (p *Process) linkText(name string) (text string, err error) {
	err = p.doLink(name, false, func(dir *disk.Disk, name string) error {
		text, err = dir.Readlink(name)
		return err
	})
	return text, err
}

// realPath returns the path to which name leads. All of it must exist with -e, nothing with -m, and otherwise all but its end.
func (p *Process) realPath(name string, flags map[string]string) (string, error) {
	if name == "" {
		return "", errNoFile
	}
	done, todo := "/", strings.Split(p.Path(name), "/")
	for links := 0; len(todo) > 0; {
		here := path.Join(done, todo[0])
		todo = todo[1:]
		info, err := p.lookAt(here, true)
		switch {
		case err != nil && !has(flags, "m") && (has(flags, "e") || len(todo) > 0 || !errors.Is(err, fs.ErrNotExist)):
			return "", err
		case err != nil || info.Mode()&fs.ModeSymlink == 0:
			done = here
			continue
		}
		text, err := p.linkText(here)
		if links++; err != nil || links > maxLinks {
			return "", errors.Join(err, errors.New("too many levels of symbolic links"))
		}
		if path.IsAbs(text) {
			done = "/"
		}
		todo = append(strings.Split(text, "/"), todo...)
	}
	return done, nil
}
