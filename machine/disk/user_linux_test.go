package disk_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/storagesim/storagesim/internal/seedtest"
	"github.com/storagesim/storagesim/machine/disk"
)

// TestAUserMayDoWhatTheKernelLetsHimDo does the same as users on a disk in memory and, if this process may act as others, on a directory of this
// machine, and compares: what is refused, with which error, and who owns what in the end.
func TestAUserMayDoWhatTheKernelLetsHimDo(t *testing.T) {

	seedtest.Each(t, 200, func(t testing.TB, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		real := t.TempDir()
		if !actsAsOthers(t, real) {
			t.Logf("only the disk in memory is tried: this process is user %d", os.Geteuid())
			real = ""
		}
		memory := disk.InMemory(time.Now)
		for _, name := range []string{"/a", "/b", "/a/c", "/a/c/d", "/b/e"} {
			makeBoth(t, rnd, memory, real, name, true)
		}
		for _, name := range []string{"/a/f", "/b/f", "/a/c/f", "/b/e/f", "/f"} {
			makeBoth(t, rnd, memory, real, name, false)
		}
		users := []*disk.User{{UID: 1000, GID: 1000}, {UID: 1000, Groups: []int{2000}}, {UID: 2000, GID: 2000}, {GID: 2000}}
		for range 60 {
			user, op := users[rnd.IntN(len(users))], operation(rnd)
			memory.As(user, false)
			got := op.onDisk(memory)
			memory.As(nil, false)
			if real != "" {
				require.Equal(t, errnoOf(as(t, user, func() error { return op.onMachine(real) })), errnoOf(got), "%s as %+v", op.what, *user)
			}
		}
		if real != "" {
			require.Equal(t, tree(t, real), treeOf(t, memory))
		}
	})
}

// actsAsOthers reports whether this process may make files of others.
func actsAsOthers(t testing.TB, dir string) bool {
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755))
	require.NoError(t, os.Chmod(filepath.Dir(filepath.Dir(dir)), 0o755))
	require.NoError(t, os.Chmod(dir, 0o755))
	return os.Geteuid() == 0 && os.Lchown(dir, 1000, 1000) == nil && os.Lchown(dir, 0, 0) == nil
}

// makeBoth makes a file of a random owner and mode.
func makeBoth(t testing.TB, rnd *rand.Rand, memory *disk.Disk, real, name string, dir bool) {
	mode := fs.FileMode(rnd.IntN(0o1000))
	if dir {
		mode |= 0o111 & fs.FileMode(rnd.IntN(0o1000)|rnd.IntN(0o1000))
		if rnd.IntN(3) == 0 {
			mode |= fs.ModeSticky
		}
		if rnd.IntN(3) == 0 {
			mode |= fs.ModeSetgid
		}
		require.NoError(t, memory.Mkdir(name, 0o700))
	} else {
		require.NoError(t, memory.WriteFile(name, []byte("x"), 0o600))
	}
	uid, gid := []int{0, 1000, 2000}[rnd.IntN(3)], []int{0, 1000, 2000}[rnd.IntN(3)]
	require.NoError(t, memory.Lchown(name, uid, gid))
	require.NoError(t, memory.Chmod(name, mode))
	if real == "" {
		return
	}
	at := filepath.Join(real, name)
	if dir {
		require.NoError(t, os.Mkdir(at, 0o700))
	} else {
		require.NoError(t, os.WriteFile(at, []byte("x"), 0o600))
	}
	require.NoError(t, os.Lchown(at, uid, gid))
	require.NoError(t, os.Chmod(at, mode))
}

// userStep is an operation, on both.
type userStep struct {
	what      string
	onDisk    func(d *disk.Disk) error
	onMachine func(dir string) error
}

func operation(rnd *rand.Rand) userStep {
	names := []string{"/a", "/b", "/a/c", "/a/c/d", "/b/e", "/a/f", "/b/f", "/a/c/f", "/b/e/f", "/f", "/a/new", "/b/new", "/a/c/new", "/b/e/new"}
	name, other := names[rnd.IntN(len(names))], names[rnd.IntN(len(names))]
	mode := fs.FileMode(rnd.IntN(0o1000))
	ids := []int{-1, 0, 1000, 2000}
	uid, gid := ids[rnd.IntN(4)], ids[rnd.IntN(4)]
	at := func(dir string) string { return filepath.Join(dir, name) }
	switch rnd.IntN(11) {
	case 0:
		return userStep{"mkdir " + name, func(d *disk.Disk) error { return d.Mkdir(name, 0o755) }, func(dir string) error { return os.Mkdir(at(dir), 0o755) }}
	case 1:
		return userStep{"write " + name, func(d *disk.Disk) error { return d.WriteFile(name, []byte("y"), 0o666) }, func(dir string) error {
			f, err := os.OpenFile(at(dir), os.O_WRONLY|os.O_TRUNC, 0)
			if errors.Is(err, fs.ErrNotExist) {
				f, err = os.OpenFile(at(dir), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
			}
			if err != nil {
				return err
			}
			return f.Close()
		}}
	case 2:
		return userStep{"read " + name, func(d *disk.Disk) error {
			if info, err := d.Stat(name); err == nil && info.IsDir() {
				_, err = d.ReadDir(name)
				return err
			}
			_, err := d.ReadFile(name)
			return err
		}, func(dir string) error {
			f, err := os.Open(at(dir))
			if err == nil {
				err = f.Close()
			}
			return err
		}}
	case 3:
		return userStep{"remove " + name, func(d *disk.Disk) error { return d.Remove(name) }, func(dir string) error { return os.Remove(at(dir)) }}
	case 4:
		return userStep{"stat " + name, func(d *disk.Disk) error { _, err := d.Stat(name); return err },
			func(dir string) error { _, err := os.Stat(at(dir)); return err }}
	case 5:
		return userStep{"chmod " + name, func(d *disk.Disk) error { return d.Chmod(name, mode) }, func(dir string) error { return os.Chmod(at(dir), mode) }}
	case 6:
		return userStep{fmt.Sprint("chown ", name, uid, gid), func(d *disk.Disk) error { return d.Lchown(name, uid, gid) },
			func(dir string) error { return os.Lchown(at(dir), uid, gid) }}
	case 7:
		return userStep{"access " + name, func(d *disk.Disk) error { return d.Access(name, disk.Write) },
			func(dir string) error { return unix.Faccessat(unix.AT_FDCWD, at(dir), unix.W_OK, unix.AT_EACCESS) }}
	case 8:
		to := filepath.Join(filepath.Dir(other), "moved")
		if strings.HasPrefix(to, name+"/") { // a directory does not move into itself
			to = "/moved"
		}
		return userStep{"rename " + name + " to " + to, func(d *disk.Disk) error {
			if _, err := d.Stat(to); err == nil {
				return nil // to replace a file is compared elsewhere
			}
			return d.Rename(name, to)
		}, func(dir string) error {
			if _, err := os.Stat(filepath.Join(dir, to)); err == nil {
				return nil
			}
			return os.Rename(at(dir), filepath.Join(dir, to))
		}}
	case 9:
		return userStep{"search " + name, func(d *disk.Disk) error { return d.Access(name, disk.Search) },
			func(dir string) error { return unix.Faccessat(unix.AT_FDCWD, at(dir), unix.X_OK, unix.AT_EACCESS) }}
	}
	return userStep{"symlink " + name + " to " + other, func(d *disk.Disk) error { _, err := d.Symlink(other, name+"-link"); return err },
		func(dir string) error {
			text, err := filepath.Rel(filepath.Dir(name), other)
			if err != nil {
				return err
			}
			return os.Symlink(text, at(dir)+"-link")
		}}
}

// as calls f as a user.
func as(t testing.TB, user *disk.User, f func() error) (err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and the thread ends with the goroutine
		groups := make([]uint32, len(user.Groups)+1)
		for i, gid := range user.Groups {
			groups[i] = uint32(gid)
		}
		groups[len(user.Groups)] = uint32(user.GID)
		_, _, failed := syscall.RawSyscall(syscall.SYS_SETGROUPS, uintptr(len(groups)), uintptr(unsafe.Pointer(&groups[0])), 0)
		if failed == 0 {
			_, _, failed = syscall.RawSyscall(syscall.SYS_SETRESGID, ^uintptr(0), uintptr(user.GID), ^uintptr(0))
		}
		if failed == 0 {
			_, _, failed = syscall.RawSyscall(syscall.SYS_SETRESUID, ^uintptr(0), uintptr(user.UID), ^uintptr(0))
		}
		if failed != 0 {
			t.Errorf("this thread cannot act as %+v: %v", *user, failed)
			return
		}
		err = f()
	}()
	<-done
	return err
}

func errnoOf(err error) error {
	for _, known := range []error{syscall.EACCES, syscall.EPERM, fs.ErrNotExist, fs.ErrExist, syscall.ENOTDIR, syscall.EISDIR, syscall.ENOTEMPTY} {
		if err != nil && errors.Is(err, known) {
			return known
		}
	}
	return err
}

// tree describes all files below dir.
func tree(t testing.TB, dir string) (list []string) {
	require.NoError(t, filepath.Walk(dir, func(name string, info fs.FileInfo, err error) error {
		if name != dir {
			st := info.Sys().(*syscall.Stat_t)
			list = append(list, fmt.Sprint(name[len(dir):], " ", info.Mode(), " ", st.Uid, " ", st.Gid))
		}
		return err
	}))
	return list
}

func treeOf(t testing.TB, d *disk.Disk) (list []string) {
	var walk func(name string)
	walk = func(name string) {
		entries, err := d.ReadDir(name)
		require.NoError(t, err)
		for _, e := range entries {
			at := filepath.Join(name, e.Name())
			info, err := d.Lstat(at)
			require.NoError(t, err)
			uid, gid, _ := disk.Owner(info)
			list = append(list, fmt.Sprint(at, " ", info.Mode(), " ", uid, " ", gid))
			if info.IsDir() {
				walk(at)
			}
		}
	}
	walk("/")
	return list
}
