package mount

import (
	"errors"
	"fmt"

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
		return fmt.Errorf("%w && rm -r %s", err, removal.Quote(mounted.Dir))
	}
	return err
}

// Known reports whether this system tells what is mounted, as Linux does. Elsewhere RemoveAll goes through mounts: do not
// call it for a directory in which something may be mounted.
func Known() bool {
	_, err := mountinfo.Read("self")
	return err == nil
}
