package nodefs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// root is an os.Root that goes a path in one step where the kernel can (openat2,
// Linux 5.6), which keeps it inside of the directory as os.Root does element by
// element. Whenever that step fails, for any reason but that nothing is there,
// os.Root is asked, whose answer counts.
type root struct {
	*os.Root
	top *os.File // the directory
}

func openRoot(path string) (*root, error) {
	r, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return newRoot(r)
}

func newRoot(r *os.Root) (*root, error) {
	top, err := r.Open(".")
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return &root{r, top}, nil
}

func (r *root) Close() error { return errors.Join(r.top.Close(), r.Root.Close()) }

// OpenRoot opens a directory below.
func (r *root) OpenRoot(rel string) (*root, error) {
	sub, err := r.Root.OpenRoot(rel)
	if err != nil {
		return nil, err
	}
	return newRoot(sub)
}

// beneath opens rel without leaving the directory.
func (r *root) beneath(rel string, flags int, perm fs.FileMode) (fd int, err error) {
	conn, err := r.top.SyscallConn()
	if err != nil {
		return -1, err
	}
	how := &unix.OpenHow{Flags: uint64(flags) | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS}
	if flags&unix.O_CREAT != 0 {
		how.Mode = uint64(perm.Perm())
	}
	bad := conn.Control(func(top uintptr) {
		for {
			if fd, err = unix.Openat2(int(top), rel, how); !errors.Is(err, unix.EINTR) {
				return
			}
		}
	})
	return fd, errors.Join(bad, err)
}

// inParent calls f with the directory that rel is in and its name there. ok is
// false if it could not be opened; the error is f's.
func (r *root) inParent(rel string, f func(dir int, base string) error) (ok bool, err error) {
	parent, base := filepath.Split(rel)
	if base == "." || base == ".." || base == "" {
		return false, nil
	}
	if parent == "" {
		parent = "."
	}
	fd, err := r.beneath(parent, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return false, nil
	}
	defer unix.Close(fd)
	return true, f(fd, base)
}

// failed is how os would say it.
func failed(op, rel string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: rel, Err: err}
}

func (r *root) Mkdir(rel string, perm fs.FileMode) error {
	if perm&^fs.ModePerm != 0 {
		return r.Root.Mkdir(rel, perm)
	}
	ok, err := r.inParent(rel, func(dir int, base string) error { return unix.Mkdirat(dir, base, uint32(perm)) })
	if !ok {
		return r.Root.Mkdir(rel, perm)
	}
	return failed("mkdir", rel, err)
}

// MkdirAll tries what mostly holds: only the last directory is missing, or none.
func (r *root) MkdirAll(rel string, perm fs.FileMode) error {
	if r.Mkdir(rel, perm) == nil {
		return nil
	}
	return r.Root.MkdirAll(rel, perm)
}

// Remove tries what is no directory first, as os does.
func (r *root) Remove(rel string) error {
	ok, err := r.inParent(rel, func(dir int, base string) error {
		err := unix.Unlinkat(dir, base, 0)
		if err == nil || errors.Is(err, unix.ENOENT) {
			return err
		}
		if dirErr := unix.Unlinkat(dir, base, unix.AT_REMOVEDIR); !errors.Is(dirErr, unix.ENOTDIR) {
			return dirErr
		}
		return err
	})
	if !ok {
		return r.Root.Remove(rel)
	}
	return failed("remove", rel, err)
}

func (r *root) Symlink(text, rel string) error {
	ok, err := r.inParent(rel, func(dir int, base string) error { return unix.Symlinkat(text, dir, base) })
	if !ok {
		return r.Root.Symlink(text, rel)
	}
	return failed("symlink", rel, err)
}

func (r *root) Readlink(rel string) (text string, err error) {
	var buf [1024]byte
	n := len(buf)
	ok, err := r.inParent(rel, func(dir int, base string) error {
		n, err = unix.Readlinkat(dir, base, buf[:])
		return err
	})
	if !ok || n == len(buf) {
		return r.Root.Readlink(rel)
	}
	if err != nil {
		return "", failed("readlink", rel, err)
	}
	return string(buf[:n]), nil
}

func (r *root) Stat(rel string) (fs.FileInfo, error) {
	info, err := r.look(rel, unix.O_PATH)
	if err == nil || errors.Is(err, unix.ENOENT) {
		return info, failed("stat", rel, err)
	}
	return r.Root.Stat(rel)
}

func (r *root) Lstat(rel string) (fs.FileInfo, error) {
	info, err := r.look(rel, unix.O_PATH|unix.O_NOFOLLOW)
	if err == nil || errors.Is(err, unix.ENOENT) {
		return info, failed("lstat", rel, err)
	}
	return r.Root.Lstat(rel)
}

func (r *root) look(rel string, flags int) (fs.FileInfo, error) {
	fd, err := r.beneath(rel, flags, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	info := &fileInfo{name: filepath.Base(rel)}
	return info, syscall.Fstat(fd, &info.stat)
}

func (r *root) OpenFile(rel string, flag int, perm fs.FileMode) (*os.File, error) {
	fd, err := r.beneath(rel, flag|unix.O_LARGEFILE, perm)
	if err != nil {
		return r.Root.OpenFile(rel, flag, perm)
	}
	return os.NewFile(uintptr(fd), filepath.Join(r.top.Name(), rel)), nil
}

// hasNoLinks says whether there is certainly no symbolic link in rel, and rel
// exists.
func (r *root) hasNoLinks(rel string) bool {
	conn, err := r.top.SyscallConn()
	if err != nil {
		return false
	}
	fd := -1
	err = conn.Control(func(top uintptr) {
		how := &unix.OpenHow{Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS}
		fd, _ = unix.Openat2(int(top), rel, how)
	})
	if err != nil || fd < 0 {
		return false
	}
	defer unix.Close(fd)
	var st syscall.Stat_t // a link itself can be opened so
	return syscall.Fstat(fd, &st) == nil && st.Mode&syscall.S_IFMT != syscall.S_IFLNK
}
