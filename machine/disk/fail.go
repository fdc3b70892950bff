package disk

import (
	"io/fs"
	"path"

	"github.com/storagesim/storagesim/internal/errno"
)

// Fail makes the disk call fail before every operation: op is the Op of the operation's
// error ("mkdir", "remove", "write", "symlink", "stat", ...), name the node path. If fail
// returns an error, such as syscall.ENOSPC or syscall.EACCES, the operation fails with it
// and changes nothing. For an attached Disk both are called, this one with the node's path
// and that of the attached Disk with its own; for a Sub also that of the Disk that it is a
// part of. fail may be called concurrently, and may itself use Resolve and Fail. nil ends
// it.
func (d *Disk) Fail(fail func(op, name string) error) {
	if fail == nil {
		d.fail.Store(nil)
		return
	}
	d.fail.Store(&fail)
}

// part is the place of a Sub in another Disk.
type part struct {
	of *Disk
	at string
}

// mayFail reports whether faults can be injected here.
func (d *Disk) mayFail() bool {
	if d.fail.Load() != nil {
		return true
	}
	for _, p := range d.parts {
		if p.of.mayFail() {
			return true
		}
	}
	return false
}

func (d *Disk) failing(op, name string) error {
	if !d.mayFail() {
		return nil
	}
	if err := d.ask(op, name); err != nil {
		return &fs.PathError{Op: op, Path: shorten(name), Err: errno.Linux(err)}
	}
	return nil
}

func (d *Disk) ask(op, name string) error {
	if fail := d.fail.Load(); fail != nil {
		if err := (*fail)(op, name); err != nil {
			return err
		}
	}
	for _, p := range d.parts {
		if err := p.of.ask(op, path.Join(p.at, name)); err != nil {
			return err
		}
	}
	return nil
}
