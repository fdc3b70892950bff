package disk_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/internal/seedtest"
	"github.com/storagesim/storagesim/machine/disk"
)

// A disk in memory does what a directory does: random programs of file operations have
// the same outcomes and leave the same files on both.
func TestMemoryDoesWhatADirectoryDoes(t *testing.T) {
	old := syscall.Umask(0o022)
	defer syscall.Umask(old)
	seedtest.Each(t, 400, func(t testing.TB, seed uint64) {
		directory, err := disk.Open(filepath.Join(t.TempDir(), "node"))
		require.NoError(t, err)
		memory := disk.InMemory(time.Now)
		defer func() { require.NoError(t, errors.Join(directory.Close(), memory.Close())) }()
		r := rand.New(rand.NewPCG(seed, 1))
		var done []string
		for range 80 {
			what, op := randomOperation(r)
			done = append(done, what)
			want, got := outcome(op(directory)), outcome(op(memory))
			if strings.Contains(want, syscall.ELOOP.Error()) {
				return // os.Root follows fewer links than a kernel, which is asked where it can be
			}
			require.Equal(t, want, got, "%s", strings.Join(done, "\n"))
		}
		require.Equal(t, allFiles(t, directory), allFiles(t, memory), "%s", strings.Join(done, "\n"))
		requireCounted(t, memory)
	})
}

// outcome returns what an operation gave, or the reason that it did not.
func outcome(result any, err error) string {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Error()
	}
	return fmt.Sprint(result, err)
}

// randomPath has few names, so that operations meet; some lead through what others
// made links and files.
func randomPath(r *rand.Rand) string {
	var b strings.Builder
	for range 1 + r.IntN(3) {
		b.WriteString("/" + string("abcd"[r.IntN(4)]))
	}
	return b.String()
}

func randomOperation(r *rand.Rand) (string, func(d *disk.Disk) (any, error)) {
	name, other := randomPath(r), randomPath(r)
	if r.IntN(40) == 0 {
		name = "/"
	}
	mode := []fs.FileMode{0o755, 0o700, 0o777, 0o640, 0o777 | fs.ModeSetgid, 0o755 | fs.ModeSticky, 0o755 | fs.ModeSetuid}[r.IntN(7)]
	text := []string{"a", "b/c", "../a", "../../b", "..", ".", "a/", "/a", "../../../../x", "c"}[r.IntN(10)]
	uid, gid := r.IntN(3)-1, r.IntN(3)-1
	nothing := func(f func(d *disk.Disk) error) func(d *disk.Disk) (any, error) {
		return func(d *disk.Disk) (any, error) { return nil, f(d) }
	}
	operations := []struct {
		what string
		do   func(d *disk.Disk) (any, error)
	}{
		{"mkdir " + name, nothing(func(d *disk.Disk) error { return d.Mkdir(name, mode) })},
		{"mkdirall " + name, nothing(func(d *disk.Disk) error { return d.MkdirAll(name, mode.Perm()) })},
		{"makedir " + name, nothing(func(d *disk.Disk) error { return d.MakeDir(name, mode) })},
		{"remove " + name, nothing(func(d *disk.Disk) error { return d.Remove(name) })},
		{"removeall " + name, nothing(func(d *disk.Disk) error { return d.RemoveAll(name) })},
		{"rename " + name + " " + other, nothing(func(d *disk.Disk) error { return d.Rename(name, other) })},
		{"link " + text + " " + name, nothing(func(d *disk.Disk) error { return disk.Plant(d, text, name) })},
		{"symlink " + other + " " + name, func(d *disk.Disk) (any, error) { return d.Symlink(other, name) }},
		{"readlink " + name, func(d *disk.Disk) (any, error) { return d.Readlink(name) }},
		{"write " + name, nothing(func(d *disk.Disk) error { return d.WriteFile(name, []byte(other), mode.Perm()) })},
		{"append " + name, nothing(func(d *disk.Disk) error { return d.AppendFile(name, []byte(other)) })},
		{"read " + name, func(d *disk.Disk) (any, error) { return d.ReadFile(name) }},
		{"list " + name, func(d *disk.Disk) (any, error) { return d.List(name) }},
		{"stat " + name, func(d *disk.Disk) (any, error) { return described(d.Stat(name)) }},
		{"lstat " + name, func(d *disk.Disk) (any, error) { return described(d.Lstat(name)) }},
		{"chmod " + name, nothing(func(d *disk.Disk) error { return d.Chmod(name, mode) })},
		{fmt.Sprintf("chown %d:%d %s", uid, gid, name), nothing(func(d *disk.Disk) error {
			if os.Getuid() != 0 {
				return nil // an ordinary user may not, on a directory
			}
			return d.Lchown(name, uid, gid)
		})},
		{"resolve " + name, func(d *disk.Disk) (any, error) { return d.EvalSymlinks(name) }},
		{"sub " + name + " " + other, func(d *disk.Disk) (any, error) {
			sub, err := d.Sub(name)
			if err != nil {
				return nil, err
			}
			defer sub.Close()
			_, _ = sub.Symlink("/a", other)
			return sub.List(other)
		}},
		{"same " + name + " " + other, func(d *disk.Disk) (any, error) {
			a, err := d.Stat(name)
			if err != nil {
				return nil, err
			}
			b, err := d.Stat(other)
			return err == nil && disk.SameFile(a, b), err
		}},
		{"at " + name, func(d *disk.Disk) (any, error) {
			var text string
			err := d.At(name, func(at *disk.At) error {
				_ = at.Remove("a")
				_ = at.Mkdir("b", 0o750)
				var err error
				text, err = at.Symlink(other, "c")
				return err
			})
			return text, err
		}},
	}
	o := operations[r.IntN(len(operations))]
	return fmt.Sprintf("%s (%v)", o.what, mode), o.do
}

func described(info fs.FileInfo, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	size := info.Size()
	if info.IsDir() {
		size = 0 // of which every file system has its own idea
	}
	uid, gid, _ := disk.Owner(info)
	if os.Getuid() != 0 {
		uid, gid = 0, 0
	}
	return fmt.Sprint(info.Name(), info.Mode(), size, uid, gid), nil
}

// requireCounted checks that a disk in memory has counted what is on it.
func requireCounted(t testing.TB, d *disk.Disk) {
	counted, err := d.Space("/")
	require.NoError(t, err)
	want := disk.Space{UsedInodes: -1} // "/" itself is not counted
	require.NoError(t, d.WalkUp("/", func(name string, info fs.FileInfo) error {
		want.UsedInodes++
		if info.Mode().IsRegular() {
			want.UsedBytes += (info.Size() + 4095) / 4096 * 4096
		}
		return nil
	}))
	require.Equal(t, want, counted)
}

func allFiles(t testing.TB, d *disk.Disk) string {
	var b strings.Builder
	require.NoError(t, d.WalkUp("/", func(name string, info fs.FileInfo) error {
		what, _ := described(info, nil)
		text, _ := d.Readlink(name)
		fmt.Fprintln(&b, name, what, text)
		return nil
	}))
	return b.String()
}
