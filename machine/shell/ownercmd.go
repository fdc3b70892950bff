package shell

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/storagesim/storagesim/machine/disk"
)

// chmod changes the mode of files.
func chmod(p *Process) error {
	return change(p, "cannot change permissions of", func(text string) (changer, error) {
		if _, ok := changeMode(0, text, p.umask); !ok {
			return nil, fmt.Errorf("chmod: invalid mode '%s': it must be octal, up to 7777, or symbolic, like u=rwx,g+s", text)
		}
		return func(dir *disk.Disk, name string, info fs.FileInfo) error {
			if info.Mode()&fs.ModeSymlink != 0 {
				return nil // met on the way; as the real one
			}
			mode, _ := changeMode(info.Mode(), text, p.umask)
			return dir.Chmod(name, mode)
		}, nil
	})
}

// chown sets the owner and the group of files. A helper pod is root on its node and
// may do that. Where this process may not, although the program's user may, a note says so and that is no failure.
func chown(p *Process) error {
	return change(p, "cannot change ownership of", func(text string) (changer, error) { return changeOwner(p, text) })
}

// chgrp sets the group of files, as chown does.
func chgrp(p *Process) error {
	return change(p, "cannot change group of", func(text string) (changer, error) {
		if strings.Contains(text, ":") {
			return nil, fmt.Errorf("chgrp: invalid group '%s': it must be GID, in numbers or root", text)
		}
		return changeOwner(p, ":"+text)
	})
}

func changeOwner(p *Process, text string) (changer, error) {
	uid, gid, err := parseOwner(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Argv[0], err)
	}
	return func(dir *disk.Disk, name string, _ fs.FileInfo) error {
		err := dir.Lchown(name, uid, gid)
		if errors.Is(err, fs.ErrPermission) && !dir.KeepsOwners() && p.program.cfg.User.UID == 0 {
			p.Note("the owner of %s does not become %s here: that takes privilege", path.Base(name), text)
			return nil
		}
		return err
	}, nil
}

// changer changes one file.
type changer func(dir *disk.Disk, name string, info fs.FileInfo) error

// change runs "COMMAND [-R] WHAT PATH...": to makes a changer of WHAT.
func change(p *Process, cannotDo string, to func(what string) (changer, error)) error {
	flags, args, err := options(p.Argv, "Rfvh", "")
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return fmt.Errorf("%s: missing operand", p.Argv[0])
	}
	f, err := to(args[0])
	if err != nil {
		return err
	}
	return each(p, args[1:], cannotDo, func(dir *disk.Disk, name, _ string) error {
		if has(flags, "R") {
			return dir.WalkUp(name, func(name string, info fs.FileInfo) error {
				p.program.step(1)
				return f(dir, name, info)
			})
		}
		info, err := dir.Stat(name)
		if err != nil {
			return err
		}
		return f(dir, name, info)
	})
}

// parseOwner reads "1000", "1000:2000" and ":2000"; -1 keeps what there is.
func parseOwner(text string) (uid, gid int, err error) {
	user, group, hasGroup := strings.Cut(text, ":")
	ids := [2]int{-1, -1}
	for i, id := range []string{user, group} {
		if id == "" {
			continue
		}
		if id == "root" {
			id = "0"
		}
		n, err := strconv.ParseUint(id, 10, 31)
		if err != nil {
			return 0, 0, fmt.Errorf("invalid owner '%s': it must be UID, UID:GID or :GID, in numbers or root", text)
		}
		ids[i] = int(n)
	}
	if user == "" && (!hasGroup || group == "") {
		return 0, 0, fmt.Errorf("invalid owner '%s': it must be UID, UID:GID or :GID, in numbers or root", text)
	}
	return ids[0], ids[1], nil
}
