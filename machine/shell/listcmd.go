package shell

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/storagesim/storagesim/machine/disk"
)

// ls lists directories, one name a line.
func ls(p *Process) error {
	flags, names, err := options(p.Argv, "aA1ldFphnR", "")
	if err != nil {
		return &ExitError{2, err.Error()}
	}
	if len(names) == 0 {
		names = []string{"."}
	}
	var errs []error
	var files, dirs []string
	slices.Sort(names)
	for _, name := range names {
		info, err := p.lookAt(name, has(flags, "l", "d"))
		switch {
		case err != nil:
			errs = append(errs, &ExitError{2, cannot("ls", "cannot access", name, err).Error()})
		case info.IsDir() && !has(flags, "d"):
			dirs = append(dirs, name)
		default:
			files = append(files, name)
		}
	}
	for _, name := range files {
		errs = append(errs, p.lsLine(name, p.Path(name), flags))
	}
	titled := len(names) > 1 || has(flags, "R")
	for i, name := range dirs {
		if titled {
			title := name + ":\n"
			if i > 0 || len(files) > 0 {
				title = "\n" + title
			}
			errs = append(errs, p.write([]byte(title)))
		}
		errs = append(errs, p.lsDir(name, flags))
	}
	return errors.Join(errs...)
}

func (p *Process) lsDir(name string, flags map[string]string) error {
	full := p.Path(name)
	entries, err := p.program.files.list(full)
	if err != nil {
		return &ExitError{2, cannot("ls", "cannot open directory", name, err).Error()}
	}
	if has(flags, "l") {
		err = p.printf("total %d\n", 0)
	}
	if has(flags, "a") {
		entries = append([]string{".", ".."}, entries...)
	}
	errs := []error{err}
	for _, entry := range entries {
		p.program.step(1)
		if strings.HasPrefix(entry, ".") && !has(flags, "a", "A") {
			continue
		}
		errs = append(errs, p.lsLine(entry, path.Join(full, entry), flags))
	}
	if !has(flags, "R") {
		return errors.Join(errs...)
	}
	for _, entry := range entries {
		below := strings.TrimSuffix(name, "/") + "/" + entry
		if info, err := p.lookAt(below, true); err == nil && info.IsDir() && entry != "." && entry != ".." {
			errs = append(errs, p.printf("\n%s:\n", below), p.lsDir(below, flags))
		}
	}
	return errors.Join(errs...)
}

// lsLine prints one file.
func (p *Process) lsLine(name, full string, flags map[string]string) error {
	info, err := p.program.files.lstat(full)
	if err != nil {
		return &ExitError{2, cannot("ls", "cannot access", name, err).Error()}
	}
	if info.IsDir() && has(flags, "F", "p") {
		name += "/"
	}
	if !has(flags, "l") {
		return p.printf("%s\n", name)
	}
	uid, gid := ownerOf(info)
	user, group := userName(uid), userName(gid)
	if has(flags, "n") {
		user, group = strconv.Itoa(uid), strconv.Itoa(gid)
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		text, _ := p.linkText(full) // what cannot be read is empty
		name += " -> " + text
	}
	return p.printf("%s 1 %s %s %d %s %s\n", modeText(info.Mode()), user, group, sizeOf(info), p.Now().Format("Jan _2 15:04"), name)
}

// sizeOf returns a file's size. Directories all have the same, since it differs between
// disks.
func sizeOf(info fs.FileInfo) int64 {
	if info.IsDir() {
		return 4096
	}
	return info.Size()
}

func ownerOf(info fs.FileInfo) (uid, gid int) {
	if d, ok := info.(device); ok {
		info = d.FileInfo
	}
	uid, gid, _ = disk.Owner(info)
	return uid, gid
}

func userName(id int) string {
	if id == 0 {
		return "root"
	}
	return strconv.Itoa(id)
}

// modeText formats a mode as "drwxr-xr-x".
func modeText(mode fs.FileMode) string {
	kind := "-"
	switch {
	case mode.IsDir():
		kind = "d"
	case mode&fs.ModeSymlink != 0:
		kind = "l"
	case mode&fs.ModeCharDevice != 0:
		kind = "c"
	case isBlockMode(mode):
		kind = "b"
	}
	text := []byte(kind + mode.Perm().String()[1:])
	for _, special := range []struct {
		bit fs.FileMode
		at  int
		set byte
	}{{fs.ModeSetuid, 3, 's'}, {fs.ModeSetgid, 6, 's'}, {fs.ModeSticky, 9, 't'}} {
		if mode&special.bit == 0 {
			continue
		}
		if text[special.at] == '-' {
			text[special.at] = special.set - 'a' + 'A'
		} else {
			text[special.at] = special.set
		}
	}
	return string(text)
}

// modeNumber formats a mode in octal.
func modeNumber(mode fs.FileMode) string {
	bits := uint64(mode.Perm())
	for bit, special := range specialBits() {
		if mode&special != 0 {
			bits |= bit
		}
	}
	return strconv.FormatUint(bits, 8)
}

// stat describes files, by a format if there is one.
func stat(p *Process) error {
	flags, names, err := options(p.Argv, "Lf", "c")
	if err != nil {
		return err
	}
	if has(flags, "f") {
		return statSpace(p, flags, names)
	}
	format, given := flags["c"]
	if !given {
		format = "  File: %n\n  Size: %s\t%F\nAccess: (%a/%A)  Uid: (%u/%U)   Gid: (%g/%G)"
	}
	var errs []error
	if len(names) == 0 {
		return errors.New("stat: missing operand")
	}
	for _, name := range names {
		info, err := p.lookAt(name, !has(flags, "L"))
		if err != nil {
			errs = append(errs, cannot("stat", "cannot statx", name, err))
			continue
		}
		text, err := statText(format, name, info)
		errs = append(errs, err, p.printf("%s\n", text))
	}
	return errors.Join(errs...)
}

func statText(format, name string, info fs.FileInfo) (string, error) {
	uid, gid := ownerOf(info)
	values := map[string]string{"n": name, "s": fmt.Sprint(sizeOf(info)), "a": modeNumber(info.Mode()), "A": modeText(info.Mode()), "F": kindText(info),
		"u": fmt.Sprint(uid), "g": fmt.Sprint(gid), "U": userName(uid), "G": userName(gid)}
	return expandFormat(format, func(directive string) (string, error) {
		if value, ok := values[directive]; ok {
			return value, nil
		}
		return "", fmt.Errorf("stat: format %%%s is not supported; the formats are %%n %%s %%a %%A %%F %%u %%g %%U %%G", directive)
	})
}

func isBlockMode(mode fs.FileMode) bool {
	return mode&fs.ModeDevice != 0 && mode&fs.ModeCharDevice == 0
}

func kindText(info fs.FileInfo) string {
	switch mode := info.Mode(); {
	case mode.IsDir():
		return "directory"
	case mode&fs.ModeSymlink != 0:
		return "symbolic link"
	case mode&fs.ModeCharDevice != 0:
		return "character special file"
	case isBlockMode(mode):
		return "block special file"
	case info.Size() == 0:
		return "regular empty file"
	}
	return "regular file"
}
