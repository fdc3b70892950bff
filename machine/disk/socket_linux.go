package disk

import (
	"errors"

	"golang.org/x/sys/unix"
)

func (r *root) socket(rel string) error {
	in, base, ok := r.parent(rel)
	if !ok {
		return r.plainSocket(rel)
	}
	err := unix.Mknodat(int(in), base, unix.S_IFSOCK|0o755, 0)
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) {
		err = r.plainSocket(rel)
	}
	return errors.Join(err, in.close())
}
