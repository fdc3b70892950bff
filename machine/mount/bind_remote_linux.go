package mount

import (
	"errors"
	"fmt"
	"path"
	"sync"

	"github.com/storagesim/storagesim/machine/internal/mountinfo"
)

// types remembers the mounts that have a type. They exist as long as this process does.
type types struct {
	mu    sync.Mutex
	known map[origin]remoteType
}

// origin identifies a mounted directory to the kernel.
type origin struct{ device, root string }

// remoteType is the type and source that a directory was mounted with.
type remoteType struct{ fstype, source string }

// mountRemote bind mounts what a type and a source stand for, and notes it.
func (b *Bind) mountRemote(source, target, fstype string, options []string) error {
	if b.remote == nil {
		return fmt.Errorf("unknown filesystem type '%s': only bind mounts are made here", fstype)
	}
	set, err := b.flags(options)
	if err != nil {
		return err
	}
	dir, err := b.remote(fstype, source)
	if err != nil {
		return err
	}
	defer dir.Close()
	from, err := dir.Handle("/")
	if err != nil {
		return err
	}
	defer from.Close()
	if err := b.bind(from, target, set); err != nil {
		return err
	}
	if err := b.noteType(target, remoteType{fstype, source}); err != nil {
		return errors.Join(err, b.unmount(target))
	}
	return nil
}

// noteType remembers the type of the mount on target.
func (b *Bind) noteType(target string, as remoteType) error {
	at, err := b.dir.EvalSymlinks(target)
	if err != nil {
		return err
	}
	table, err := mountinfo.Read("self")
	if err != nil {
		return err
	}
	if m := table.Containing(b.machine(at)); m != nil {
		b.types.mu.Lock()
		defer b.types.mu.Unlock()
		b.known[origin{m.Device, m.Root}] = as
	}
	return nil
}

// typeOf returns the file system with a type that a mount shows, or shows a part of.
func (b *Bind) typeOf(m *mountinfo.Mount) (remoteType, bool) {
	b.types.mu.Lock()
	defer b.types.mu.Unlock()
	for at := m.Root; ; at = path.Dir(at) {
		if as, ok := b.known[origin{m.Device, at}]; ok || at == "/" {
			return as, ok
		}
	}
}
