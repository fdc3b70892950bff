package mount

import (
	"os"

	"golang.org/x/sys/unix"
)

// detach ends the topmost mount on a path, lazily.
func detach(at string) error {
	if err := unix.Unmount(at, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil {
		return &os.PathError{Op: "umount", Path: at, Err: err}
	}
	return nil
}
