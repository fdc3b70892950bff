package disk_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/internal/seedtest"
	"github.com/storagesim/storagesim/machine/disk"
)

// machine is a directory that stands for the real machine: the node's directory
// is in it, and beside it canaries that must not be touched.
type machine struct {
	t      testing.TB
	dir    string // of the machine
	node   *disk.Disk
	before string
}

func newMachine(t testing.TB) *machine {
	dir := t.TempDir()
	for _, d := range []string{"etc", "secret/deep"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, d), 0o755))
	}
	for _, f := range []string{"canary", "etc/passwd", "secret/canary", "secret/deep/canary"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, f), []byte("alive"), 0o640))
	}
	node, err := disk.Open(filepath.Join(dir, "node"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = node.Close() })
	m := &machine{t: t, dir: dir, node: node}
	m.furnish()
	m.before = m.outside()
	return m
}

// link makes a symbolic link with any text, as something hostile would.
func (m *machine) link(text, name string) { require.NoError(m.t, disk.Plant(m.node, text, "/"+name)) }

// open makes another file system of the node's kind.
func (m *machine) open(t testing.TB, name string) *disk.Disk {
	d := disk.InMemory(time.Now)
	if m.dir != "" {
		var err error
		d, err = disk.Open(filepath.Join(m.dir, name))
		require.NoError(t, err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// eachKind runs a test with a node whose disk is a directory, and with one whose disk
// is in memory.
func eachKind(t *testing.T, test func(t *testing.T, m *machine)) {
	t.Run("directory", func(t *testing.T) { test(t, newMachine(t)) })
	t.Run("memory", func(t *testing.T) {
		m := &machine{t: t}
		m.node = m.open(t, "node")
		m.furnish()
		test(t, m)
	})
}

// furnish puts into the node what the tests expect.
func (m *machine) furnish() {
	require.NoError(m.t, m.node.MkdirAll("/var/data", 0o755))
	require.NoError(m.t, m.node.WriteFile("/var/data/file", []byte("inside"), 0o644))
}

// outside describes everything on the machine that is not the node's: names,
// modes and contents.
func (m *machine) outside() string {
	if m.dir == "" {
		return ""
	}
	var b strings.Builder
	err := filepath.WalkDir(m.dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name == filepath.Join(m.dir, "node") {
			return filepath.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		b.WriteString(name + " " + info.Mode().String())
		if uid, gid, ok := disk.Owner(info); ok {
			b.WriteString(string(rune('0'+uid%10)) + string(rune('0'+gid%10)))
		}
		if d.Type().IsRegular() {
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			b.Write(data)
		}
		b.WriteByte('\n')
		return nil
	})
	require.NoError(m.t, err)
	return b.String()
}

// attack does to a path everything that a Disk can do, and returns what it could
// read.
func attack(d *disk.Disk, name string) (read string) {
	note := func(data []byte, err error) {
		if err == nil {
			read += string(data)
		}
	}
	note(d.ReadFile(name))
	if names, err := d.List(name); err == nil {
		read += strings.Join(names, " ")
	}
	if sub, err := d.Sub(name); err == nil {
		for _, inner := range []string{"/canary", "/passwd", "/etc/passwd", "/deep/canary"} {
			note(sub.ReadFile(inner))
			_ = sub.WriteFile(inner, []byte("dead"), 0o600)
		}
		_ = sub.Close()
	}
	_, _ = d.Stat(name)
	_, _ = d.Lstat(name)
	_, _ = d.Readlink(name)
	_, _ = d.EvalSymlinks(name)
	for dir, base := range map[string]string{name: "canary", path.Dir(name): path.Base(name), "/var/data": name} {
		_ = d.At(dir, func(at *disk.At) error {
			_, _ = at.Lstat(base)
			_, _ = at.Readlink(base)
			_ = at.Mkdir(base, 0o777)
			_ = at.Mkdir("../"+base, 0o777)
			_, _ = at.Symlink(name, base)
			_ = at.Remove(base)
			return at.Remove("..")
		})
	}
	_ = d.WalkUp(name, func(inner string, _ fs.FileInfo) error {
		note(d.ReadFile(inner))
		return nil
	})
	_ = d.Chmod(name, 0o777)
	_ = d.Lchown(name, 12345, 12345)
	_ = d.WriteFile(name, []byte("dead"), 0o600)
	_ = d.WriteFile(name+"/canary", []byte("dead"), 0o600)
	_ = d.Mkdir(name+"/made", 0o755)
	_ = d.MkdirAll(name+"/made/deep", 0o755)
	_ = d.MakeDir(name, 0o777)
	_ = d.MakeDir(name+"/made/deeper", 0o777)
	_ = d.WriteFile("/var/bait", []byte("dead"), 0o600)
	_ = d.Rename("/var/bait", name+"/canary")
	_ = d.Rename("/var/bait", name)
	_ = d.Rename(name+"/canary", "/var/stolen")
	note(d.ReadFile("/var/stolen"))
	_, _ = d.Symlink(name, "/var/planted")
	note(d.ReadFile("/var/planted"))
	note(d.ReadFile("/var/planted/canary"))
	_, _ = d.Symlink("/var/data", name+"/link")
	_ = d.Remove(name + "/canary")
	_ = d.RemoveAll(name + "/deep")
	_ = d.Remove(name)
	_ = d.RemoveAll(name)
	_ = d.RemoveAll(name + "/.")
	return read
}

// escapes are the ways out that are tried. prepare lays out the node's directory
// as something hostile might.
var escapes = []struct {
	name, path string
	prepare    func(m *machine)
}{
	{"dot dot", "/..", nil},
	{"dot dot and a name", "/../canary", nil},
	{"dot dot in the middle", "/var/../../canary", nil},
	{"dot dot that stays inside by counting", "/var/data/../../../secret", nil},
	{"many dot dots", strings.Repeat("/..", 50) + "/etc/passwd", nil},
	{"dot dot at the end", "/var/..", nil},
	{"dot dot without a slash in front", "../canary", nil},
	{"a relative path", "canary", nil},
	{"nothing", "", nil},
	{"a dot", ".", nil},
	{"the root", "/", nil},
	{"the root, twice", "//", nil},
	{"a double slash", "//etc/passwd", nil},
	{"three slashes", "///etc/passwd", nil},
	{"slash dot slash", "/./etc/passwd", nil},
	{"the machine's own path", "MACHINE/canary", nil},
	{"proc self root", "/proc/self/root/etc/passwd", nil},
	{"proc self cwd", "/proc/self/cwd", nil},
	{"proc file descriptors", "/proc/self/fd/3", nil},
	{"dev", "/dev/sda", nil},
	{"a NUL byte", "/var/data\x00/../../canary", nil},
	{"a newline", "/var/data\n/../../canary", nil},
	{"a newline and nothing else", "/\n", nil},
	{"backslashes", `/var\..\..\canary`, nil},
	{"a drive", `/C:\canary`, nil},
	{"a colon", "/var/data:stream", nil},
	{"percent signs", "/%2e%2e/canary", nil},
	{"a lookalike of dot dot", "/․․/canary", nil},
	{"dots and spaces", "/.. /canary", nil},
	{"a tilde", "/~root/canary", nil},
	{"a variable", "/$HOME/canary", nil},
	{"a very long name", "/" + strings.Repeat("a", 5000), nil},
	{"a very deep path", strings.Repeat("/a", 2000), nil},
	{"the deepest path", strings.Repeat("/a", 250), nil},
	{"a long way down and up", strings.Repeat("/var/..", 500) + "/../canary", nil},
	{"an absolute link to a file", "/var/out", func(m *machine) { m.link(m.dir+"/canary", "var/out") }},
	{"an absolute link to a directory", "/var/out", func(m *machine) { m.link(m.dir+"/secret", "var/out") }},
	{"below an absolute link", "/var/out/deep", func(m *machine) { m.link(m.dir+"/secret", "var/out") }},
	{"an absolute link to /", "/var/out/etc/passwd", func(m *machine) { m.link("/", "var/out") }},
	{"a link to proc self root", "/var/out/etc/passwd", func(m *machine) { m.link("/proc/self/root", "var/out") }},
	{"a relative link to a file", "/var/out", func(m *machine) { m.link("../../canary", "var/out") }},
	{"a relative link to a directory", "/var/out", func(m *machine) { m.link("../../secret", "var/out") }},
	{"below a relative link", "/var/out/deep", func(m *machine) { m.link("../../secret", "var/out") }},
	{"a link to dot dot", "/out/secret", func(m *machine) { m.link("..", "out") }},
	{"a link through a directory that exists", "/out", func(m *machine) { m.link("var/data/../../../secret", "out") }},
	{"a link with a trailing slash", "/out/", func(m *machine) { m.link("../secret/", "out") }},
	{"a chain of links", "/a", func(m *machine) {
		m.link("b", "a")
		m.link("var/c", "b")
		m.link("../../secret", "var/c")
	}},
	{"a chain that ends absolute", "/a/deep", func(m *machine) {
		m.link("b", "a")
		m.link(m.dir+"/secret", "b")
	}},
	{"a parent replaced by a link", "/var/data/deep", func(m *machine) {
		require.NoError(m.t, os.RemoveAll(m.dir+"/node/var/data"))
		m.link("../../secret", "var/data")
	}},
	{"the grandparent replaced by a link", "/var/deep", func(m *machine) {
		require.NoError(m.t, os.RemoveAll(m.dir+"/node/var"))
		m.link(m.dir+"/secret", "var")
	}},
	{"a loop", "/loop", func(m *machine) { m.link("loop", "loop") }},
	{"two links in a circle", "/one/x", func(m *machine) {
		m.link("two", "one")
		m.link("one", "two")
	}},
	{"a dangling link outwards", "/var/out", func(m *machine) { m.link("../../new", "var/out") }},
	{"a dangling absolute link", "/var/out", func(m *machine) { m.link(m.dir+"/new", "var/out") }},
	{"a directory full of links", "/var/data", func(m *machine) {
		m.link("../../../secret", "var/data/a")
		m.link(m.dir, "var/data/b")
		m.link("/", "var/data/c")
	}},
	{"a hard link to a file outside", "/var/hard", func(m *machine) {
		if runtime.GOOS == "windows" {
			m.t.Skip("the number of links is not known")
		}
		require.NoError(m.t, os.Link(m.dir+"/canary", m.dir+"/node/var/hard"))
	}},
	{"a hard link in a directory", "/var/data", func(m *machine) {
		if runtime.GOOS == "windows" {
			m.t.Skip("the number of links is not known")
		}
		require.NoError(m.t, os.Link(m.dir+"/canary", m.dir+"/node/var/data/canary"))
	}},
	{"the name of a sibling directory that begins alike", "/../node-2", func(m *machine) {
		require.NoError(m.t, os.Mkdir(m.dir+"/node-2", 0o755))
		require.NoError(m.t, os.WriteFile(m.dir+"/node-2/canary", []byte("alive"), 0o640))
		m.before = m.outside()
	}},
}

func TestNothingLeadsOutOfTheNode(t *testing.T) {
	require.GreaterOrEqual(t, len(escapes), 30)
	for _, e := range escapes {
		t.Run(e.name, func(t *testing.T) {
			m := newMachine(t)
			if e.prepare != nil {
				e.prepare(m)
			}
			read := attack(m.node, strings.ReplaceAll(e.path, "MACHINE", m.dir))
			require.NotContains(t, read, "alive", "it read a file outside")
			require.NotContains(t, read, "root:", "it read the real /etc/passwd")
			require.Equal(t, m.before, m.outside(), "it changed something outside")
		})
	}
}

func TestALinkSwappedInWhileWorkingDoesNotLeadOut(t *testing.T) {
	m := newMachine(t)
	victim, aside := filepath.Join(m.dir, "node/var/data"), filepath.Join(m.dir, "node/var/aside")
	out := filepath.Join(m.dir, "node/var/out")
	require.NoError(t, os.Symlink(filepath.Join(m.dir, "secret"), out))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 500 { // a directory and a link take turns under one name
			_ = os.Rename(victim, aside)
			_ = os.Rename(out, victim)
			_ = os.Rename(victim, out)
			_ = os.Rename(aside, victim)
		}
	}()
	for working := true; working; {
		select {
		case <-done:
			working = false
		default:
		}
		_ = m.node.WriteFile("/var/data/canary", []byte("dead"), 0o600)
		_ = m.node.MkdirAll("/var/data/made/deep", 0o755)
		_ = m.node.MakeDir("/var/data/made/deeper", 0o777)
		_ = m.node.Chmod("/var/data/deep", 0o777)
		_ = m.node.RemoveAll("/var/data/deep")
		data, _ := m.node.ReadFile("/var/data/canary")
		require.NotContains(t, string(data), "alive")
	}
	require.Equal(t, m.before, m.outside())
}

func TestTheRootItselfIsNeverRemoved(t *testing.T) { eachKind(t, theRootItselfIsNeverRemoved) }

func theRootItselfIsNeverRemoved(t *testing.T, m *machine) {
	for _, name := range []string{"/", "//", "/.", "/./"} {
		require.ErrorContains(t, m.node.RemoveAll(name), "cannot be removed", name)
		require.ErrorContains(t, m.node.Remove(name), "cannot be removed", name)
	}
	data, err := m.node.ReadFile("/var/data/file")
	require.NoError(t, err)
	require.Equal(t, "inside", string(data))
}

func TestRemovingALinkedDirectoryRemovesTheLinkOnly(t *testing.T) {
	eachKind(t, removingALinkedDirectoryRemovesTheLinkOnly)
}

func removingALinkedDirectoryRemovesTheLinkOnly(t *testing.T, m *machine) {
	_, err := m.node.Symlink("/var/data", "/mnt")
	require.NoError(t, err)
	require.NoError(t, m.node.RemoveAll("/mnt/"))
	data, err := m.node.ReadFile("/var/data/file")
	require.NoError(t, err)
	require.Equal(t, "inside", string(data))
}

func TestADirectoryHasTheModeItWasMadeWith(t *testing.T) {
	eachKind(t, aDirectoryHasTheModeItWasMadeWith)
}

func aDirectoryHasTheModeItWasMadeWith(t *testing.T, m *machine) {
	mode := func(name string) fs.FileMode {
		info, err := m.node.Stat(name)
		require.NoError(t, err)
		require.True(t, info.IsDir())
		return info.Mode() &^ fs.ModeDir
	}
	for _, wanted := range []fs.FileMode{0o777 | fs.ModeSticky, 0o700} { // the second time it is there already
		require.NoError(t, m.node.MakeDir("/srv/shared", wanted))
		if runtime.GOOS != "windows" { // where directories have no such modes
			require.Equal(t, 0o777|fs.ModeSticky, mode("/srv/shared"), "no umask takes anything away")
			require.Zero(t, mode("/srv")&0o022, "parents are for their owner to write")
		}
	}

	require.ErrorContains(t, m.node.MakeDir("/var/data/file", 0o755), "mkdir /var/data/file: ")
	err := m.node.MakeDir("/srv/device", fs.ModeDevice|0o644)
	require.EqualError(t, err, "mkdir /srv/device: mode Drw-r--r-- has more than permission, setuid, setgid and sticky bits")
	_, err = m.node.Stat("/srv/device")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestErrorsNameTheNodesPathAndTheReason(t *testing.T) {
	eachKind(t, errorsNameTheNodesPathAndTheReason)
}

func errorsNameTheNodesPathAndTheReason(t *testing.T, m *machine) {
	m.link(filepath.Join("/", m.dir, "secret"), "out")
	_, err := m.node.ReadFile("/out/canary")
	require.ErrorIs(t, err, disk.ErrOutside)
	require.EqualError(t, err, "read /out/canary: leads out of the node's directory")
	require.ErrorIs(t, disk.Check("/a/../b"), disk.ErrOutside)
	_, err = m.node.ReadFile("/no/such")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.EqualError(t, err, "read /no/such: "+syscall.ENOENT.Error(), "the machine's path is not shown")
	_, err = m.node.ReadFile("/var")
	require.ErrorIs(t, err, disk.ErrNotRegular)
}

func TestLinksMadeHereAreRelativeAndWork(t *testing.T) { eachKind(t, linksMadeHereAreRelativeAndWork) }

func linksMadeHereAreRelativeAndWork(t *testing.T, m *machine) {
	require.NoError(t, m.node.MkdirAll("/a/b", 0o755))
	_, err := m.node.Symlink("/a/b", "/short")
	require.NoError(t, err)
	// The link's directory is itself behind a link: the text counts from where it really is.
	text, err := m.node.Symlink("/var/data", "/short/link")
	require.NoError(t, err)
	require.Equal(t, filepath.FromSlash("../../var/data"), text)
	data, err := m.node.ReadFile("/short/link/file")
	require.NoError(t, err)
	require.Equal(t, "inside", string(data))
	real, err := m.node.EvalSymlinks("/short/link/file")
	require.NoError(t, err)
	require.Equal(t, "/var/data/file", real)
	if m.dir == "" {
		return
	}
	fromOutside, err := os.ReadFile(filepath.Join(m.dir, "node/a/b/link/file"))
	require.NoError(t, err)
	require.Equal(t, "inside", string(fromOutside))
}

func TestASubDirectoryIsItsOwnWorld(t *testing.T) { eachKind(t, aSubDirectoryIsItsOwnWorld) }

func aSubDirectoryIsItsOwnWorld(t *testing.T, m *machine) {
	require.NoError(t, m.node.WriteFile("/var/secret", []byte("of the node"), 0o644))
	m.link("../secret", "var/data/out")
	sub, err := m.node.Sub("/var/data")
	require.NoError(t, err)
	defer sub.Close()
	_, err = sub.ReadFile("/out")
	require.ErrorIs(t, err, disk.ErrOutside)
	_, err = sub.ReadFile("/file")
	require.NoError(t, err)
}

// FuzzPaths runs a program of file operations, in which every path and link text
// is the fuzzer's, and looks at the canaries.
func FuzzPaths(f *testing.F) {
	seeds := [][]any{{"/var/x/deep", "/proc/self/root", "/var/x"}}
	for _, e := range escapes {
		seeds = append(seeds, []any{e.path, "../../secret", "/var/x"})
	}
	seedtest.Corpus(f, 100, seeds...)
	f.Fuzz(func(t *testing.T, name, text, link string) {
		if len(name)+len(link) > 300 {
			t.Skip("depth makes this slow and nothing else")
		}
		m := newMachine(t)
		if at, ok := strings.CutPrefix(link, "/"); ok && filepath.IsLocal(at) {
			_ = os.Symlink(text, filepath.Join(m.dir, "node", at))
		}
		read := attack(m.node, name) + attack(m.node, link) + attack(m.node, link+name)
		require.NotContains(t, read, "alive")
		require.Equal(t, m.before, m.outside())
	})
}
