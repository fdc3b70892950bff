package shell

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/storagesim/storagesim/machine/disk"
)

// mktemp makes a file, or a directory (-d), with a name that is not taken: that of the template, in which the last X stand for random characters.
func mktemp(p *Process) error {
	flags, args, err := options(p.Argv, "dqtu", "p")
	if err != nil {
		return err
	}
	if len(args) > 1 {
		return errors.New("mktemp: too many templates")
	}
	dir, in := flags["p"]
	dir = cmp.Or(dir, p.Env["TMPDIR"], "/tmp")
	name := dir + "/tmp.XXXXXXXXXX"
	if len(args) == 1 {
		name = args[0]
		if in || has(flags, "t") {
			if strings.HasPrefix(name, "/") || has(flags, "t") && strings.Contains(name, "/") {
				return fmt.Errorf("mktemp: invalid template, '%s': it is looked for in a directory", name)
			}
			name = dir + "/" + name
		}
	}
	end := strings.LastIndexByte(name, 'X') + 1
	start := len(strings.TrimRight(name[:end], "X"))
	if end-start < 3 || strings.Contains(name[end:], "/") {
		return fmt.Errorf("mktemp: too few X's in template '%s'", name)
	}
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	for range 100 {
		random := make([]byte, end-start)
		for i := range random {
			random[i] = letters[p.program.nextRandom()%len(letters)]
		}
		full := name[:start] + string(random) + name[end:]
		err = p.makeTemporary(full, has(flags, "d"), has(flags, "u"))
		if err == nil {
			return p.printf("%s\n", full)
		}
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	if has(flags, "q") {
		return &ExitError{Code: 1}
	}
	return cannot("mktemp", "failed to create file via template", name, err)
}

// makeTemporary makes a file or a directory that only its owner may use; dry only says whether the name is free.
func (p *Process) makeTemporary(name string, isDir, dry bool) error {
	return p.doLink(name, !dry, func(dir *disk.Disk, inside string) error {
		switch _, err := dir.Lstat(inside); {
		case err == nil:
			return fs.ErrExist
		case dry:
			return nil
		case !isDir:
			return dir.WriteFile(inside, nil, 0o600)
		}
		err := dir.Mkdir(inside, 0o700)
		if err == nil {
			p.made(name)
		}
		return err
	})
}
