package removal

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// remove removes what an absolute path names.
func remove(name string) error {
	dir, base := filepath.Split(name)
	parent, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer parent.Close()
	err = RemoveAt(int(parent.Fd()), base)
	if mounted := (*MountedError)(nil); errors.As(err, &mounted) {
		return err
	}
	return failed(name, err)
}

// RemoveAt removes what Remove would, by its name in the directory with this descriptor. An error has no path, unless it
// is a *MountedError.
func RemoveAt(dir int, base string) error {
	at, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", dir))
	if err != nil { // there is no /proc, and no table of mounts
		return removeIn(dir, base)
	}
	at = filepath.Join(at, base)
	if err := check(at); err != nil {
		return err
	}
	if err := removeIn(dir, base); err != nil {
		return cmp.Or(check(at), err) // something may have been mounted since
	}
	return nil
}

// removeIn removes a name in a directory. A name that something is mounted on is an error, EBUSY.
func removeIn(dir int, base string) error {
	err := retry(func() error { return unix.Unlinkat(dir, base, 0) })
	switch {
	case err == nil, errors.Is(err, unix.ENOENT):
		return nil
	case !errors.Is(err, unix.EISDIR) && !errors.Is(err, unix.EPERM):
		return err
	}
	if removed, notDir := removeEmpty(dir, base); removed {
		return nil
	} else if notDir {
		return err
	}
	fd, err := enter(dir, base)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	err = empty(os.NewFile(uintptr(fd), base))
	if removed, _ := removeEmpty(dir, base); removed {
		return nil
	}
	return cmp.Or(err, retry(func() error { return unix.Unlinkat(dir, base, unix.AT_REMOVEDIR) }))
}

// removeEmpty removes an empty directory, and reports whether it is gone, and whether it is none.
func removeEmpty(dir int, base string) (removed, notDir bool) {
	err := retry(func() error { return unix.Unlinkat(dir, base, unix.AT_REMOVEDIR) })
	return err == nil || errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR)
}

// empty removes all that is in a directory, and closes it. The error is the first one; it goes on
// after errors.
func empty(dir *os.File) error {
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	for _, name := range names {
		err = cmp.Or(err, removeIn(int(dir.Fd()), name))
	}
	return err
}

// enter opens a directory in another one, and refuses a link, and a directory that something is mounted on: the
// kernel compares the mounts, so that a bind mount of the same file system is one, too.
func enter(dir int, base string) (fd int, err error) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	how := &unix.OpenHow{Flags: flags, Resolve: unix.RESOLVE_NO_XDEV | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_BENEATH}
	err = retry(func() error {
		fd, err = unix.Openat2(dir, base, how)
		return err
	})
	switch {
	case errors.Is(err, unix.EXDEV):
		return -1, unix.EBUSY
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM): // before Linux 5.6, and in some sandboxes
		return enterByID(dir, base, flags)
	}
	return fd, err
}

// enterByID does the same on a kernel without openat2: it compares the numbers of the two mounts.
func enterByID(dir int, base string, flags int) (fd int, err error) {
	err = retry(func() error {
		fd, err = unix.Openat(dir, base, flags, 0)
		return err
	})
	if err != nil {
		return -1, err
	}
	outer, err := mountOf(dir)
	inner, innerErr := mountOf(fd)
	if err = cmp.Or(err, innerErr); err == nil && outer != inner {
		err = unix.EBUSY
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// mountOf returns the number of the mount that an open directory is in.
func mountOf(fd int) (string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", fd))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if id, ok := strings.CutPrefix(line, "mnt_id:"); ok {
			return strings.TrimSpace(id), nil
		}
	}
	return "", errors.New("the kernel does not say which mount a directory is in")
}

// retry repeats a system call that a signal interrupts.
func retry(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.EAGAIN) {
			return err
		}
	}
}
