package disk

import (
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// maxName is Linux's NAME_MAX.
const maxName = 255

// place is the end of a path: a file, and the directory that it is in.
type place struct {
	dir   *inode   // the directory that the file is in; nil for the store's own directory
	base  string   // its name there
	file  *inode   // nil if there is nothing of that name
	above []*inode // the directories on the way, from the store's own
}

// find goes to rel as a kernel does, through the links on the way, and with follow
// through one at the end. The tree is locked.
func (m *memory) find(rel string, follow bool) (place, error) { return m.findOrMake(rel, follow, nil) }

// findOrMake works as find. Unless missing is nil, it calls missing to make directories on
// the way that do not exist.
func (m *memory) findOrMake(rel string, follow bool, missing func(p place) error) (place, error) {
	p := place{file: m.top, above: make([]*inode, 0, 16)}
	rel = filepath.ToSlash(rel)
	for links, more := 0, true; more; {
		var element string
		element, rel, more = strings.Cut(rel, "/")
		if p.file == nil && missing != nil {
			if err := missing(p); err != nil {
				return place{}, err
			}
			p.file = p.dir.entries[p.base]
		}
		if err := p.enter(element); err != nil {
			return place{}, err
		}
		if p.file == nil || !p.file.isLink() || !more && !follow {
			continue
		}
		if links++; links > maxLinks {
			return place{}, syscall.ELOOP
		}
		text := filepath.ToSlash(p.file.text)
		if strings.HasPrefix(text, "/") {
			return place{}, ErrOutside
		}
		p.file, p.above = p.dir, p.above[:len(p.above)-1]
		if more {
			text += "/" + rel
		}
		rel, more = text, true
	}
	return p, nil
}

// enter goes from the directory that is found so far to a name in it.
func (p *place) enter(element string) error {
	switch {
	case p.file == nil:
		return syscall.ENOENT
	case !p.file.mode.IsDir():
		return syscall.ENOTDIR
	case element == "" || element == ".": // "" also after a link's trailing slash
		return nil
	case len(element) > maxName:
		return syscall.ENAMETOOLONG
	}
	if element != ".." {
		p.above = append(p.above, p.file)
		p.dir, p.base, p.file = p.file, element, p.file.entries[element]
		return nil
	}
	last := len(p.above) - 1
	if last < 0 {
		return ErrOutside
	}
	p.file, p.above = p.above[last], p.above[:last]
	p.dir = nil // it has no name
	return nil
}

func (m *memory) Stat(rel string) (info fs.FileInfo, err error)  { return m.look(rel, true) }
func (m *memory) Lstat(rel string) (info fs.FileInfo, err error) { return m.look(rel, false) }

func (m *memory) look(rel string, follow bool) (info fs.FileInfo, err error) {
	err = m.existing(rel, follow, func(p place) error {
		info = p.file.info(filepath.Base(rel))
		return nil
	})
	return info, err
}

// lookupNoFollow returns the file at rel; nil if it does not exist or the path crosses a link.
func (m *memory) lookupNoFollow(rel string) (*inode, bool) {
	n := m.top
	for element := range strings.SplitSeq(filepath.ToSlash(rel), "/") {
		if element != "." {
			n = n.entries[element]
		}
		if n == nil || n.isLink() {
			return nil, false
		}
	}
	return n, true
}

func (m *memory) lookPlain(rel string) (fs.FileInfo, bool) {
	unlock, err := m.lock()
	if err != nil {
		return nil, false
	}
	defer unlock()
	n, ok := m.lookupNoFollow(rel)
	if !ok {
		return nil, false
	}
	return n.info(filepath.Base(rel)), true
}

func (m *memory) enter(rel string) names {
	unlock, err := m.lock()
	if err != nil {
		return nil
	}
	defer unlock()
	dir, ok := m.lookupNoFollow(rel)
	if !ok || !dir.mode.IsDir() {
		return nil
	}
	return &entered{m, dir}
}

// entered is a directory that is open for several operations.
type entered struct {
	memory *memory
	dir    *inode
}

func (in *entered) at(base string, f func(p place) error) error {
	if len(base) > maxName {
		return syscall.ENAMETOOLONG
	}
	unlock, err := in.memory.lock()
	if err != nil {
		return err
	}
	defer unlock()
	return f(place{dir: in.dir, base: base, file: in.dir.entries[base]})
}

func (in *entered) existing(base string, f func(p place) error) error {
	return in.at(base, func(p place) error {
		if p.file == nil {
			return syscall.ENOENT
		}
		return f(p)
	})
}

func (in *entered) mkdir(base string, perm fs.FileMode) error {
	return in.at(base, func(p place) error { return in.memory.mkdir(p, perm) })
}

func (in *entered) remove(base string) error { return in.existing(base, in.memory.remove) }

func (in *entered) symlink(text, base string) error {
	return in.at(base, func(p place) error { return in.memory.symlink(text, p) })
}

func (in *entered) readlink(base string) (text string, err error) {
	err = in.existing(base, func(p place) error { text, err = p.readlink(); return err })
	return text, err
}

func (in *entered) lstat(base string) (info fs.FileInfo, err error) {
	err = in.existing(base, func(p place) error { info = p.file.info(base); return nil })
	return info, err
}

func (in *entered) close() error { return nil }

// memoryInfo describes a file in memory.
type memoryInfo struct {
	name     string
	inode    *inode // which file it is; its contents may be others by now
	size     int64
	mode     fs.FileMode
	uid, gid int
	changed  time.Time
}

// info describes an inode. A directory has the size that most file systems give it.
func (n *inode) info(name string) fs.FileInfo {
	size := int64(len(n.data) + len(n.text))
	if n.mode.IsDir() {
		size = 4096
	}
	return &memoryInfo{name: name, inode: n, size: size, mode: n.mode, uid: n.uid, gid: n.gid, changed: n.changed}
}

func (i *memoryInfo) Name() string       { return i.name }
func (i *memoryInfo) Size() int64        { return i.size }
func (i *memoryInfo) Mode() fs.FileMode  { return i.mode }
func (i *memoryInfo) ModTime() time.Time { return i.changed }
func (i *memoryInfo) IsDir() bool        { return i.mode.IsDir() }
func (i *memoryInfo) Sys() any           { return nil }
