package disk

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"
)

// opened is the descriptor of an open directory. Names in it are single elements,
// and are not followed.
type opened int

func (in opened) close() error { return unix.Close(int(in)) }

func (in opened) mkdir(base string, perm fs.FileMode) error {
	return unix.Mkdirat(int(in), base, uint32(perm.Perm()))
}

// remove tries what is no directory first, as os does.
func (in opened) remove(base string) error {
	err := unix.Unlinkat(int(in), base, 0)
	if err == nil || errors.Is(err, unix.ENOENT) {
		return err
	}
	if dirErr := unix.Unlinkat(int(in), base, unix.AT_REMOVEDIR); !errors.Is(dirErr, unix.ENOTDIR) {
		return dirErr
	}
	return err
}

func (in opened) symlink(text, base string) error { return unix.Symlinkat(text, int(in), base) }

func (in opened) readlink(base string) (string, error) {
	for size := 256; ; size *= 2 {
		buf := make([]byte, size)
		n, err := unix.Readlinkat(int(in), base, buf)
		if err != nil {
			return "", err
		}
		if n < size {
			return string(buf[:n]), nil
		}
	}
}

func (in opened) lstat(base string) (fs.FileInfo, error) {
	info := &fileInfo{name: base}
	err := unix.Fstatat(int(in), base, &info.stat, unix.AT_SYMLINK_NOFOLLOW)
	return info, err
}
