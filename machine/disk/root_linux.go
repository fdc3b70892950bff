package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/storagesim/storagesim/machine/internal/removal"
)

// root is an os.Root that goes a path in one step where the kernel can (openat2,
// Linux 5.6), which keeps it inside of the directory as os.Root does element by
// element. Whenever that step fails, for any reason but that nothing is there,
// os.Root is asked, whose answer counts.
type root struct {
	*os.Root
	top  *os.File // the directory
	conn syscall.RawConn
}

func openRoot(path string) (*root, error) {
	r, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return newRoot(r)
}

func newRoot(r *os.Root) (*root, error) {
	top, err := r.OpenFile(".", os.O_RDONLY|directory, 0)
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return rootOf(r, top)
}

// rootOf returns the root of a directory that is open as top, too.
func rootOf(r *os.Root, top *os.File) (*root, error) {
	conn, err := top.SyscallConn()
	if err != nil {
		return nil, errors.Join(err, top.Close(), r.Close())
	}
	return &root{r, top, conn}, nil
}

func (r *root) Close() error { return errors.Join(r.top.Close(), r.Root.Close()) }

// OpenRoot opens a directory below. os.Root's OpenRoot would open whatever is there
// before it looks whether that is a directory, and wait for ever for the other end of a
// named pipe. So the directory is opened as such, and os.Root gets it from /proc.
func (r *root) OpenRoot(rel string) (*root, error) {
	top, err := r.OpenFile(rel, os.O_RDONLY|directory, 0)
	if err != nil {
		return nil, err
	}
	sub, err := os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", top.Fd()))
	if errors.Is(err, fs.ErrNotExist) { // there is no /proc
		sub, err = r.Root.OpenRoot(rel)
	}
	if err != nil {
		return nil, errors.Join(err, top.Close())
	}
	return rootOf(sub, top)
}

// noLinks is the flag of beneath, beside those of open, that allows no symbolic link
// in rel, not even in its end.
const noLinks = 1 << 30

// opening is one call of openat2.
type opening struct {
	rel string
	how unix.OpenHow
	fd  int
	err error
}

func (o *opening) open(top uintptr) {
	for {
		if o.fd, o.err = unix.Openat2(int(top), o.rel, &o.how); !errors.Is(o.err, unix.EINTR) {
			return
		}
	}
}

// beneath opens rel without leaving the directory.
func (r *root) beneath(rel string, flags int, perm fs.FileMode) (fd int, err error) {
	o := &opening{rel: rel, how: unix.OpenHow{
		Flags: uint64(flags&^noLinks) | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS,
	}}
	if flags&noLinks != 0 {
		o.how.Resolve |= unix.RESOLVE_NO_SYMLINKS
	}
	if flags&unix.O_CREAT != 0 {
		o.how.Mode = uint64(perm.Perm())
	}
	if err := r.conn.Control(o.open); err != nil {
		return -1, err
	}
	return o.fd, o.err
}

// parent opens the directory that rel is in; base is rel's name there. ok is false if rel
// has no such directory.
func (r *root) parent(rel string) (in opened, base string, ok bool) {
	dir, base := filepath.Split(rel)
	if base == "." || base == ".." || base == "" {
		return -1, "", false
	}
	if dir == "" {
		dir = "."
	}
	fd, err := r.beneath(dir, unix.O_PATH|unix.O_DIRECTORY, 0)
	return opened(fd), base, err == nil
}

// enter opens the directory rel, if there is no symbolic link in it.
func (r *root) enter(rel string) names {
	fd, err := r.beneath(rel, unix.O_PATH|unix.O_DIRECTORY|noLinks, 0)
	if err != nil {
		return nil
	}
	return opened(fd)
}

// failed returns the error as os would.
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
	in, base, ok := r.parent(rel)
	if !ok {
		return r.Root.Mkdir(rel, perm)
	}
	defer in.close()
	return failed("mkdir", rel, in.mkdir(base, perm))
}

// MkdirAll begins at the end: mostly only the last directories are missing, or none.
func (r *root) MkdirAll(rel string, perm fs.FileMode) error {
	err := r.Mkdir(rel, perm)
	if parent := filepath.Dir(rel); errors.Is(err, unix.ENOENT) && parent != "." && r.MkdirAll(parent, perm) == nil {
		err = r.Mkdir(rel, perm)
	}
	if err == nil {
		return nil
	}
	return r.Root.MkdirAll(rel, perm)
}

func (r *root) Remove(rel string) error {
	in, base, ok := r.parent(rel)
	if !ok {
		return r.Root.Remove(rel)
	}
	defer in.close()
	return failed("remove", rel, in.remove(base))
}

// RemoveAll removes rel and all below it, and never goes through a mount. os.Root's would.
func (r *root) RemoveAll(rel string) error {
	in, base, ok := r.parent(rel)
	if ok {
		defer in.close()
		return failed("removeall", rel, removal.RemoveAt(int(in), base))
	}
	dir, err := r.OpenFile(filepath.Dir(rel), os.O_RDONLY|directory, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	return failed("removeall", rel, removal.RemoveAt(int(dir.Fd()), filepath.Base(rel)))
}

func (r *root) Symlink(text, rel string) error {
	in, base, ok := r.parent(rel)
	if !ok {
		return r.Root.Symlink(text, rel)
	}
	defer in.close()
	return failed("symlink", rel, in.symlink(text, base))
}

func (r *root) Readlink(rel string) (string, error) {
	in, base, ok := r.parent(rel)
	if !ok {
		return r.Root.Readlink(rel)
	}
	defer in.close()
	text, err := in.readlink(base)
	return text, failed("readlink", rel, err)
}

func (r *root) Stat(rel string) (fs.FileInfo, error) {
	info, err := r.look(rel, 0)
	if err == nil || errors.Is(err, unix.ENOENT) {
		return info, failed("stat", rel, err)
	}
	return r.Root.Stat(rel)
}

func (r *root) Lstat(rel string) (fs.FileInfo, error) {
	info, err := r.look(rel, unix.O_NOFOLLOW)
	if err == nil || errors.Is(err, unix.ENOENT) {
		return info, failed("lstat", rel, err)
	}
	return r.Root.Lstat(rel)
}

// lookPlain returns Lstat of rel if its path certainly has no symbolic link.
func (r *root) lookPlain(rel string) (fs.FileInfo, bool) {
	info, err := r.look(rel, noLinks)
	return info, err == nil
}

func (r *root) look(rel string, flags int) (fs.FileInfo, error) {
	fd, err := r.beneath(rel, unix.O_PATH|flags, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	info := &fileInfo{name: filepath.Base(rel)}
	return info, unix.Fstat(fd, &info.stat)
}

func (r *root) OpenFile(rel string, flag int, perm fs.FileMode) (*os.File, error) {
	fd, err := r.beneath(rel, flag|unix.O_LARGEFILE, perm)
	if err != nil {
		return r.Root.OpenFile(rel, flag, perm)
	}
	return os.NewFile(uintptr(fd), filepath.Join(r.top.Name(), rel)), nil
}

// read reads a regular file that has no other name. ok is false for any other file, and
// after an error.
func (r *root) read(rel string) (data []byte, ok bool) {
	fd, err := r.beneath(rel, unix.O_RDONLY|unix.O_LARGEFILE|nonblock, 0)
	if err != nil {
		return nil, false
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if unix.Fstat(fd, &stat) != nil || stat.Mode&unix.S_IFMT != unix.S_IFREG || stat.Nlink > 1 {
		return nil, false
	}
	if stat.Size > maxFile {
		return nil, false
	}
	data = make([]byte, 0, stat.Size+1) // one more, to see the end
	for {
		n, err := unix.Read(fd, data[len(data):cap(data)])
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return nil, false
		case n == 0:
			return data, true
		}
		data = data[:len(data)+max(n, 0)]
		if len(data) > maxFile {
			return nil, false
		}
		if len(data) == cap(data) {
			data = slices.Grow(data, len(data))
		}
	}
}

// create writes a file that was not there before. made is false if it could not be
// made, and nothing has happened.
func (r *root) create(rel string, data []byte, perm fs.FileMode) (made bool, err error) {
	if perm&^fs.ModePerm != 0 {
		return false, nil
	}
	fd, err := r.beneath(rel, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_LARGEFILE, perm)
	if err != nil {
		return false, err
	}
	for err == nil && len(data) > 0 {
		var n int
		if n, err = unix.Write(fd, data); errors.Is(err, unix.EINTR) {
			err = nil
		}
		data = data[max(n, 0):]
	}
	return true, failed("write", rel, firstError(err, unix.Close(fd)))
}
