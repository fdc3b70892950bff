package disk

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// attachment is another directory in place of one of a Disk's.
type attachment struct {
	at       string // what os.Root takes for the place
	dir      *Disk
	readOnly bool
	borrowed bool // another Disk closes it
}

func (a *attachment) name() string { return "/" + filepath.ToSlash(a.at) }

// attachments are the directories attached to one Disk: few, and mostly none.
type attachments struct {
	mu   sync.RWMutex
	list []*attachment
}

// Attach shows other at name, an existing directory, as a mount of a network share does:
// the directory's own files are hidden until Detach. A path is looked up in other by its
// text alone, so there must be no symbolic link on the way to name. With readOnly, changes
// of other fail with EROFS. To remove or move name, or a directory above it, fails with
// EBUSY; a link that leads out of other is refused as everywhere. d owns other from now on,
// and closes it.
func (d *Disk) Attach(name string, other *Disk, readOnly bool) error {
	rel, err := local("attach", name)
	if err != nil {
		return err
	}
	real, err := d.EvalSymlinks(name)
	if err != nil {
		return err
	}
	info, err := d.Lstat(name)
	switch {
	case err != nil:
		return err
	case rel == ".":
		err = errors.New("the node's root directory cannot be hidden")
	case real != "/"+filepath.ToSlash(rel):
		err = fmt.Errorf("there is a symbolic link on the way: it is really %s", real)
	case !info.IsDir():
		err = syscall.ENOTDIR
	default:
		err = d.attached.add(&attachment{at: rel, dir: other, readOnly: readOnly})
	}
	return explain("attach", name, err)
}

// Detach undoes Attach and closes what was attached.
func (d *Disk) Detach(name string) error {
	rel, err := local("detach", name)
	if err != nil {
		return err
	}
	return explain("detach", name, d.attached.remove(rel))
}

// Attached reports whether another directory is attached at this very name.
func (d *Disk) Attached(name string) bool {
	rel, err := local("attached", name)
	if err != nil {
		return false
	}
	a, below := d.attached.of(rel)
	return a != nil && below == "."
}

func (as *attachments) add(a *attachment) error {
	as.mu.Lock()
	defer as.mu.Unlock()
	for _, other := range as.list {
		if isBelow(a.at, other.at) || isBelow(other.at, a.at) {
			return fmt.Errorf("%s is attached already: %w", other.name(), syscall.EBUSY)
		}
	}
	as.list = append(as.list, a)
	return nil
}

func (as *attachments) remove(at string) error {
	as.mu.Lock()
	defer as.mu.Unlock()
	i := slices.IndexFunc(as.list, func(a *attachment) bool { return a.at == at })
	if i < 0 {
		return fmt.Errorf("nothing is attached at %s", at)
	}
	a := as.list[i]
	as.list = slices.Delete(as.list, i, i+1)
	return a.dir.Close()
}

func (as *attachments) close() (err error) {
	as.mu.Lock()
	defer as.mu.Unlock()
	for _, a := range as.list {
		if !a.borrowed {
			err = errors.Join(err, a.dir.Close())
		}
	}
	as.list = nil
	return err
}

// below returns the attachments below rel, with paths from there. Their owner keeps them.
func (as *attachments) below(rel string) (list []*attachment) {
	as.mu.RLock()
	defer as.mu.RUnlock()
	for _, a := range as.list {
		if inside, err := filepath.Rel(rel, a.at); err == nil && inside != "." && isBelow(a.at, rel) {
			list = append(list, &attachment{at: inside, dir: a.dir, readOnly: a.readOnly, borrowed: true})
		}
	}
	return list
}

// of returns the attachment that rel is in, and the path in there; nil if rel is in no
// attachment.
func (as *attachments) of(rel string) (*attachment, string) {
	as.mu.RLock()
	defer as.mu.RUnlock()
	for _, a := range as.list {
		if rel == a.at {
			return a, "."
		}
		if isBelow(rel, a.at) {
			return a, rel[len(a.at)+1:]
		}
	}
	return nil, ""
}

// find returns the attached directory that an operation on rel happens in (nil if it is in
// none), and the path in there. It fails if an attachment prevents the operation.
func (as *attachments) find(op, rel string) (*Disk, string, error) {
	moves := op == "remove" || op == "removeall" || op == "rename"
	a, below := as.of(rel)
	switch {
	case a == nil && moves && as.anyBelow(rel), a != nil && moves && below == ".":
		return nil, rel, syscall.EBUSY
	case a == nil:
		return nil, rel, nil
	case a.readOnly && changes(op):
		if _, err := a.dir.store.Stat(below); op != "mkdir" || err != nil {
			return nil, rel, syscall.EROFS
		}
	}
	return a.dir, below, nil
}

func (as *attachments) any() bool {
	as.mu.RLock()
	defer as.mu.RUnlock()
	return len(as.list) > 0
}

func (as *attachments) anyBelow(rel string) bool {
	as.mu.RLock()
	defer as.mu.RUnlock()
	return slices.ContainsFunc(as.list, func(a *attachment) bool { return isBelow(a.at, rel) })
}

// isBelow reports whether a is the path b or below it.
func isBelow(a, b string) bool {
	return a == b || b == "." || strings.HasPrefix(a, b+string(filepath.Separator))
}

// changes reports whether an operation changes files.
func changes(op string) bool {
	switch op {
	case "mkdir", "remove", "removeall", "rename", "symlink", "write", "chmod", "lchown", "setproject", "setquota":
		return true
	}
	return false
}
