package mount

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/storagesim/storagesim/machine/internal/mountinfo"
	"github.com/storagesim/storagesim/machine/internal/removal"
)

// MountedError is the error about a directory that stays because something is mounted in it. It names each mount and the
// command that ends it.
type MountedError = removal.MountedError

// RemoveAll removes a file or a directory of this computer with all that is in it. It never goes through a mount, also
// not one of the same file system, or a symbolic link: if something is mounted in the directory, all of it stays, and
// the error is a *MountedError. What does not exist is removed already.
//
// disk.Disk.RemoveAll does the same on a node's disk.
func RemoveAll(name string) error {
	err := removal.Remove(name)
	if mounted := (*MountedError)(nil); errors.As(err, &mounted) {
		return whole(mounted)
	}
	return err
}

// whole completes the error about a directory that is to be removed with the command that does it.
func whole(err *MountedError) error { return fmt.Errorf("%w && rm -r %s", err, removal.Quote(err.Dir)) }

// Known reports whether this system tells what is mounted, as Linux does. Elsewhere RemoveAll goes through mounts: do not
// call it for a directory in which something may be mounted.
func Known() bool {
	_, err := mountinfo.Read("self")
	return err == nil
}

// Mounted returns the kernel's numbers of the mounts in a directory of this computer; none where this system does not
// tell.
func Mounted(dir string) []string {
	if table, real, known := mountsOf(dir); known {
		return table.In(real).IDs()
	}
	return nil
}

// Check returns the error of RemoveAll for a directory in which something is mounted, and does nothing.
func Check(dir string) error {
	if table, real, known := mountsOf(dir); known && len(table.In(real)) > 0 {
		return whole(&MountedError{Dir: dir, Mounts: table.In(real).Paths()})
	}
	return nil
}

// mountsOf returns the table of mounts, and dir without links. known is false if dir does not exist, or this system
// does not tell.
func mountsOf(dir string) (table mountinfo.Table, real string, known bool) {
	real, err := filepath.Abs(dir)
	if err == nil {
		real, err = filepath.EvalSymlinks(real)
	}
	if err == nil {
		table, err = mountinfo.Read("self")
	}
	return table, real, err == nil
}

// Detach ends the mounts in a directory of this computer. Those in use are gone from their paths at once, and end with
// their last user, as by umount --lazy. Mounts stay that have one of the numbers in but, and those whose end would lose
// files: of a file system in memory that is mounted nowhere else. These are a *MountedError.
func Detach(dir string, but []string) error {
	table, real, known := mountsOf(dir)
	if !known {
		return nil
	}
	kept := table.Keep(real, but)
	var errs []error
	var left []string
	for _, m := range table.In(real) {
		switch {
		case !kept.Has(m.ID):
			errs = append(errs, detach(m.Path))
		case !slices.Contains(but, m.ID):
			left = append(left, m.Path)
		}
	}
	if len(left) > 0 {
		errs = append(errs, &MountedError{Dir: dir, Mounts: left})
	}
	return errors.Join(errs...)
}

// Quote returns a path or another argument as a shell reads it.
func Quote(text string) string { return removal.Quote(text) }
