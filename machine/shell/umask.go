package shell

import (
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/storagesim/storagesim/machine/disk"
)

// defaultUmask is the umask of a container.
const defaultUmask fs.FileMode = 0o022

// setUmask implements "umask": it prints or sets the bits that files and directories do not get.
func (s *shell) setUmask(argv []string) {
	symbolic := len(argv) > 1 && argv[1] == "-S"
	if symbolic {
		argv = argv[1:]
	}
	switch {
	case len(argv) == 1 && symbolic:
		var words []string
		for i, class := range []string{"u", "g", "o"} {
			word := class + "="
			for j, c := range "rwx" {
				if s.umask>>(8-3*i-j)&1 == 0 {
					word += string(c)
				}
			}
			words = append(words, word)
		}
		s.print(strings.Join(words, ",") + "\n")
	case len(argv) == 1:
		s.print(fmt.Sprintf("%04o\n", s.umask))
	case argv[1] != "" && argv[1][0] >= '0' && argv[1][0] <= '9':
		mask, err := strconv.ParseUint(argv[1], 8, 16)
		if err != nil {
			s.fail(2, "umask: Illegal number: %s", argv[1])
			return
		}
		s.umask = fs.FileMode(mask & 0o777)
	default:
		mode, ok := symbolicMode(uint64(0o777&^s.umask), argv[1], 0)
		if !ok {
			s.fail(2, "umask: Illegal mode: %s", argv[1])
			return
		}
		s.umask = 0o777 &^ fs.FileMode(mode&0o777)
	}
}

// makes calls make, which makes a file or a directory unless there is one, and gives a new one its mode, whatever the umask of this process is.
func makes(dir *disk.Disk, name string, mode fs.FileMode, make func() error) error {
	_, missing := dir.Stat(name)
	if err := make(); err != nil || missing == nil {
		return err
	}
	info, err := dir.Stat(name)
	if err != nil || info.Mode().Perm() == mode {
		return err
	}
	return dir.Chmod(name, mode|info.Mode()&(fs.ModeSetgid|fs.ModeSetuid|fs.ModeSticky))
}

// makeAll makes a directory and its parents, in which their owner may make the next one whatever the umask is.
func (p *Process) makeAll(dir *disk.Disk, name string) error {
	var parents []string
	for at := path.Dir(name); at != "/" && at != "."; at = path.Dir(at) {
		p.program.step(1)
		if _, err := dir.Stat(at); err == nil {
			break
		}
		parents = append(parents, at)
	}
	err := makes(dir, name, 0o777&^p.umask, func() error { return dir.MkdirAll(name, 0o755) })
	for _, at := range parents {
		if info, known := dir.Stat(at); err == nil && known == nil && info.Mode().Perm() != 0o777&^p.umask|0o300 {
			err = dir.Chmod(at, 0o777&^p.umask|0o300|info.Mode()&fs.ModeSetgid)
		}
	}
	return err
}
