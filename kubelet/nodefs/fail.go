package nodefs

import "io/fs"

// Fail has fail asked before every operation from now on: op is what the error's
// Op would be ("mkdir", "remove", "write", "symlink", "stat", ...), name the node
// path. An error from it, such as syscall.ENOSPC or syscall.EACCES, is the outcome,
// and nothing happens. What is attached is not asked about under its own names; a
// Sub made from now on is, under the node's. nil ends it. It is for tests.
func (d *Dir) Fail(fail func(op, name string) error) { d.fail = fail }

func (d *Dir) failing(op, name string) error {
	if d.fail == nil {
		return nil
	}
	if err := d.fail(op, name); err != nil {
		return &fs.PathError{Op: op, Path: shorten(name), Err: err}
	}
	return nil
}
