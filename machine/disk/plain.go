package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

// ErrThroughLink is returned for what would go through a symbolic link where Plain
// allows none.
var ErrThroughLink = errors.New("is a symbolic link, and none is followed there")

// plain says where no link is followed: in the first depth elements below dir.
type plain struct {
	dir   string // what os.Root takes for it
	depth int
}

// Plain makes each operation fail with ErrThroughLink from now on that would follow a symbolic
// link in one of the first depth elements below dir, on the way or at its end. What is
// done to such a link itself, such as removing it, is no following. With dir "/a" and
// depth 2 nothing goes through a link /a/b or /a/b/c; /a itself and /a/b/c/d may be
// links. It is not inherited by a Sub, nor by what is attached.
func (d *Disk) Plain(dir string, depth int) error {
	rel, err := local("plain", dir)
	if err != nil {
		return err
	}
	d.plain.Store(&plain{rel, depth})
	return nil
}

// checkPlain refuses an operation on rel that Plain does not allow. What cannot be
// looked at is no link that could be followed.
func (d *Disk) checkPlain(op, rel string) error {
	p := d.plain.Load()
	if p == nil || rel == p.dir || !isBelow(rel, p.dir) {
		return nil
	}
	below := strings.TrimPrefix(rel, p.dir+string(filepath.Separator))
	elements := strings.Split(below, string(filepath.Separator))
	if !follows(op) {
		elements = elements[:len(elements)-1]
	}
	elements = elements[:min(p.depth, len(elements))]
	if len(elements) == 0 {
		return nil
	}
	if in := d.store.enter(filepath.Join(p.dir, filepath.Join(elements...))); in != nil {
		return in.close()
	}
	at := p.dir
	for _, element := range elements {
		at = filepath.Join(at, element)
		info, err := d.store.Lstat(at)
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return fmt.Errorf("/%s %w", filepath.ToSlash(at), ErrThroughLink)
		}
	}
	return nil
}

// follows reports whether an operation follows a link that is the end of the path.
func follows(op string) bool {
	switch op {
	case "mkdir", "remove", "removeall", "rename", "symlink", "readlink", "lstat", "lchown":
		return false
	}
	return true
}
