package disk

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
)

// ErrInMemory is returned by Handle for what is not on the machine that runs the
// simulation.
var ErrInMemory = errors.New("is in memory and cannot be opened by the machine's kernel")

// errMode is the error of os for a mode with more than permission bits.
var errMode = errors.New("unsupported file mode")

// umask is taken from the mode of what is made in memory.
const umask = 0o022

// InMemory returns an empty file system in memory. All files in
// it belong to root, for any user who runs the simulation, and their owner can be changed;
// permissions are not checked. The umask is 022. There are no devices, named pipes and
// hard links. now tells when a file was changed.
func InMemory(now func() time.Time) *Disk {
	t := &tree{now: now, accounts: accounts{projects: map[uint32]*account{}}}
	return &Disk{store: &memory{tree: t, top: t.make(nil, fs.ModeDir|0o755)}, owners: true}
}

// InMemory reports whether the disk's own files are in memory, without those of what is attached.
func (d *Disk) InMemory() bool {
	_, ok := d.store.(*memory)
	return ok
}

// tree holds the files that all stores of one memory disk share.
type tree struct {
	mu     sync.Mutex // for all inodes
	now    func() time.Time
	inodes uint64
	accounts
}

// inode is a file, a directory or a symbolic link.
type inode struct {
	number   uint64
	mode     fs.FileMode
	uid, gid int
	project  uint32 // 0 for none
	changed  time.Time
	data     []byte            // of a file
	text     string            // of a link
	entries  map[string]*inode // of a directory
	gone     bool              // a directory that has been removed: nothing can be made in it
}

// make makes an inode for the directory in; nil for the root.
func (t *tree) make(in *inode, mode fs.FileMode) *inode {
	t.inodes++
	n := &inode{number: t.inodes, mode: mode, changed: t.now()}
	if in != nil {
		n.project = in.project
	}
	if mode.IsDir() {
		n.entries = map[string]*inode{}
	}
	if in != nil && in.mode&fs.ModeSetgid != 0 { // Linux: inode_init_owner
		n.gid = in.gid
		if mode.IsDir() {
			n.mode |= fs.ModeSetgid
		}
	}
	return n
}

func (n *inode) isLink() bool { return n.mode&fs.ModeSymlink != 0 }

// memory is a store: one directory of a tree.
type memory struct {
	tree   *tree
	top    *inode
	closed bool
}

// lock keeps others out until the function that it returns is called.
func (m *memory) lock() (unlock func(), err error) {
	m.tree.mu.Lock()
	if m.closed {
		m.tree.mu.Unlock()
		return nil, fs.ErrClosed
	}
	return m.tree.mu.Unlock, nil
}

// Close ends the store. The files of a Sub stay, since they belong to its Disk.
func (m *memory) Close() error {
	unlock, err := m.lock()
	if err != nil {
		return nil
	}
	defer unlock()
	m.closed = true
	return nil
}

// at calls f with what rel leads to, through a link at its end if follow is true.
func (m *memory) at(rel string, follow bool, f func(p place) error) error {
	unlock, err := m.lock()
	if err != nil {
		return err
	}
	defer unlock()
	p, err := m.find(rel, follow)
	if err != nil {
		return err
	}
	return f(p)
}

// existing works as at, for a file that must exist.
func (m *memory) existing(rel string, follow bool, f func(p place) error) error {
	return m.at(rel, follow, func(p place) error {
		if p.file == nil {
			return syscall.ENOENT
		}
		return f(p)
	})
}

func (m *memory) Mkdir(rel string, perm fs.FileMode) error {
	if perm&^fs.ModePerm != 0 {
		return errMode
	}
	return m.at(rel, false, func(p place) error { return m.mkdir(p, perm) })
}

func (m *memory) mkdir(p place, perm fs.FileMode) error {
	return m.add(p, fs.ModeDir|perm&^umask, func(*inode) error { return nil })
}

// add makes a new file at a place and fills it.
func (m *memory) add(p place, mode fs.FileMode, fill func(n *inode) error) error {
	switch {
	case p.file != nil:
		return syscall.EEXIST
	case p.dir.gone:
		return syscall.ENOENT
	}
	if err := m.tree.mayMake(p.dir.project); err != nil {
		return err
	}
	n := m.tree.make(p.dir, mode)
	m.tree.charge(n.project, 0, 1)
	m.put(p, n)
	return fill(n)
}

// put stores n at a place; nil removes the file there.
func (m *memory) put(p place, n *inode) {
	if n == nil {
		delete(p.dir.entries, p.base)
	} else {
		p.dir.entries[p.base] = n
	}
	p.dir.changed = m.tree.now()
}

// MkdirAll works as that of os.Root: it makes what a link on the way leads to, but not what one at
// the end does.
func (m *memory) MkdirAll(rel string, perm fs.FileMode) error {
	if perm&^fs.ModePerm != 0 {
		return errMode
	}
	unlock, err := m.lock()
	if err != nil {
		return err
	}
	defer unlock()
	p, err := m.findOrMake(rel, false, func(p place) error { return m.mkdir(p, perm) })
	if err == nil && p.file != nil && p.file.isLink() {
		return m.leadsToDir(rel)
	}
	switch {
	case err != nil:
		return err
	case p.file == nil:
		return m.mkdir(p, perm)
	case !p.file.mode.IsDir():
		return syscall.EEXIST
	}
	return nil
}

// leadsToDir returns an error if a link does not lead to a directory.
func (m *memory) leadsToDir(rel string) error {
	p, err := m.find(rel, true)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && p.file == nil:
		return syscall.EEXIST
	case err == nil && !p.file.mode.IsDir():
		return syscall.ENOTDIR
	}
	return err
}

func (m *memory) Remove(rel string) error { return m.existing(rel, false, m.remove) }

func (m *memory) remove(p place) error {
	if len(p.file.entries) > 0 {
		return syscall.ENOTEMPTY
	}
	m.tree.drop(p.file)
	p.file.gone = true
	m.put(p, nil)
	return nil
}

func (m *memory) RemoveAll(rel string) error {
	err := m.existing(rel, false, func(p place) error {
		m.tree.drop(p.file)
		p.file.empty()
		m.put(p, nil)
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// empty takes all away from a directory that is removed. The order does not matter.
func (n *inode) empty() {
	for _, below := range n.entries {
		below.empty()
	}
	n.gone = true
	clear(n.entries)
}

// Rename works as that of os.Root: a directory is not replaced, not even an empty one.
func (m *memory) Rename(rel, newrel string) error {
	return m.at(rel, false, func(from place) error {
		to, err := m.find(newrel, false)
		switch {
		case err != nil:
			return err
		case from.file == nil:
			return syscall.ENOENT
		case to.file != nil && to.file.mode.IsDir():
			return syscall.EEXIST
		case from.file == to.file:
			return nil
		case from.dir == nil: // the disk's own directory
			return syscall.EBUSY
		case from.file.mode.IsDir() && slices.Contains(to.above, from.file):
			return syscall.EINVAL
		case to.dir.gone:
			return syscall.ENOENT
		case from.file.mode.IsDir() && to.file != nil:
			return syscall.ENOTDIR
		case to.dir.project != 0 && to.dir.project != from.file.project: // Linux: fs/xfs/xfs_inode.c xfs_rename
			return syscall.EXDEV
		}
		if to.file != nil {
			m.tree.drop(to.file)
		}
		m.put(from, nil)
		m.put(to, from.file)
		return nil
	})
}

func (m *memory) Symlink(text, rel string) error {
	return m.at(rel, false, func(p place) error { return m.symlink(text, p) })
}

func (m *memory) symlink(text string, p place) error {
	if text == "" {
		return syscall.ENOENT
	}
	return m.add(p, fs.ModeSymlink|fs.ModePerm, func(n *inode) error { n.text = text; return nil })
}

func (m *memory) Readlink(rel string) (text string, err error) {
	err = m.existing(rel, false, func(p place) error { text, err = p.readlink(); return err })
	return text, err
}

func (p place) readlink() (string, error) {
	if !p.file.isLink() {
		return "", syscall.EINVAL
	}
	return p.file.text, nil
}

func (m *memory) Chmod(rel string, mode fs.FileMode) error {
	const bits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky
	return m.existing(rel, true, func(p place) error {
		p.file.mode = p.file.mode&^bits | mode&bits
		return nil
	})
}

// Lchown follows chown(2): a program loses its setuid and setgid bits.
func (m *memory) Lchown(rel string, uid, gid int) error {
	return m.existing(rel, false, func(p place) error {
		n := p.file
		if uid != -1 {
			n.uid = uid
		}
		if gid != -1 {
			n.gid = gid
		}
		if n.mode.IsRegular() {
			n.mode &^= fs.ModeSetuid
			if n.mode&0o010 != 0 {
				n.mode &^= fs.ModeSetgid
			}
		}
		return nil
	})
}

func (m *memory) readDir(rel string) (list []fs.DirEntry, err error) {
	err = m.existing(rel, true, func(p place) error {
		if !p.file.mode.IsDir() {
			return syscall.ENOTDIR
		}
		list = make([]fs.DirEntry, 0, len(p.file.entries))
		for name, n := range p.file.entries { // Disk sorts them
			list = append(list, fs.FileInfoToDirEntry(n.info(name)))
		}
		return nil
	})
	return list, err
}

func (m *memory) readFile(rel string) (data []byte, err error) {
	err = m.existing(rel, true, func(p place) error {
		if !p.file.mode.IsRegular() {
			return ErrNotRegular
		}
		data = append([]byte{}, p.file.data...)
		return nil
	})
	return data, err
}

func (m *memory) writeFile(rel string, data []byte, perm fs.FileMode) error {
	return m.at(rel, true, func(p place) error {
		switch {
		case p.file == nil:
			return m.add(p, perm.Perm()&^umask, func(n *inode) error { return m.write(n, data) })
		case p.file.mode.IsDir():
			return syscall.EISDIR
		case !p.file.mode.IsRegular():
			return ErrNotRegular
		}
		m.tree.charge(p.file.project, -blocksOf(len(p.file.data)), 0)
		p.file.data, p.file.changed = nil, m.tree.now()
		return m.write(p.file, data)
	})
}

// write adds to what is in a file, as far as there is space.
func (m *memory) write(n *inode, data []byte) error {
	fits, err := m.tree.grow(n, len(n.data)+len(data))
	n.data = append(n.data, data[:fits-len(n.data)]...)
	return err
}

// appendFile takes the time that the new data takes, not that of the whole file: what
// follows data in the slice's array was never returned to a caller.
func (m *memory) appendFile(rel string, data []byte) error {
	return m.existing(rel, true, func(p place) error {
		switch {
		case p.file.mode.IsDir():
			return syscall.EISDIR
		case !p.file.mode.IsRegular():
			return ErrNotRegular
		case len(p.file.data)+len(data) > maxFile:
			return ErrTooLarge
		}
		p.file.changed = m.tree.now()
		return m.write(p.file, data)
	})
}

func (m *memory) handle(rel string) (*os.File, error) {
	return nil, m.existing(rel, true, func(place) error { return ErrInMemory })
}

func (m *memory) sub(rel string) (below store, err error) {
	err = m.existing(rel, true, func(p place) error {
		if !p.file.mode.IsDir() {
			return syscall.ENOTDIR
		}
		below = &memory{tree: m.tree, top: p.file}
		return nil
	})
	return below, err
}
