package machine

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/storagesim/storagesim/internal/errno"
	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/machine/mount"
	"github.com/storagesim/storagesim/trace"
)

// Fault is a failure on purpose of the mounts and files of a machine: it
// strikes every actor that works there: a kubelet, a command in a container, a provisioner
// or a test. It is the machine's, so a kubelet that crashes meets it again. Empty
// fields match anything, but Err must be set.
type Fault struct {
	// Machine is "node/NAME" or "nfs/NAME".
	Machine string
	// Op is the operation that fails: "mount", "unmount", or "look", which is any question about a
	// mount point (an Err of syscall.ESTALE makes the mount a corrupted one); or with
	// files "mkdir", "write", "symlink", "remove", "rename", "chmod", "chown", "read"
	// (also of directories) or "stat"; or "create", the first three of these, which a
	// full disk refuses; or "change", all but the last two, which a read-only file
	// system refuses.
	Op string
	// Path is the path of the operation, or a directory above it: an absolute path on the
	// machine, in whose elements * stands for anything, as in path.Match. Of a mount
	// it is the source or the target; of a file behind a link, the name used
	// or the real path: files in a pod's mount are below the volume's directory.
	// With Config.RealMounts the kernel does not tell, and only the name used counts.
	// Removing a tree asks about its top only. The table of mounts (mount.TableDir) is
	// on no disk but in a kernel's memory, and never fails.
	Path string
	// Skip lets so many matching operations pass first. One on a mounted share is two,
	// the node's and that of the server's disk, and renaming is one for each name.
	Skip int
	// Times is the number of operations it strikes then: default 1, negative until Set.ClearFaults.
	Times int
	// Err is the error of the operation, for example syscall.ENOSPC. Nothing else
	// happens.
	Err error
}

// String says what the fault strikes.
func (f Fault) String() string {
	return fmt.Sprintf("fault of %s of %s on %s", cmp.Or(f.Op, "any operation"), cmp.Or(f.Path, "any path"), cmp.Or(f.Machine, "any machine"))
}

// ops returns the values of Op.
func ops() []string {
	return []string{
		"change", "chmod", "chown", "create", mount.VerbLook, "mkdir", mount.VerbMount, "read", "remove", "rename", "stat", "symlink",
		mount.VerbUnmount, "write",
	}
}

// standsFor reports whether an Op is an operation, or several of which that is one.
func standsFor(op, operation string) bool {
	switch operation {
	case "mkdir", "write", "symlink":
		return op == "" || op == operation || op == "create" || op == "change"
	case "remove", "rename", "chmod", "chown":
		return op == "" || op == operation || op == "change"
	}
	return op == "" || op == operation
}

// opOf returns the Op for an operation of package disk.
func opOf(op string) string {
	switch op {
	case "removeall":
		return "remove"
	case "lchown", "setproject", "setquota":
		return "chown"
	case "readdir", "readlink", "open":
		return "read"
	case "lstat", "statfs":
		return "stat"
	}
	return op
}

// Inject adds a fault. It says what is wrong with one that makes no sense. Of several
// that match, the one added first strikes.
func (s *Set) Inject(f Fault) error {
	if err := s.check(f); err != nil {
		return err
	}
	f.Err = errno.Linux(f.Err)
	s.faults.Add(f, f.Skip, f.Times)
	s.watchAll()
	return nil
}

func (s *Set) check(f Fault) error {
	if f.Machine != "" {
		m, err := s.Find(f.Machine)
		if err != nil {
			return fmt.Errorf("machine.Fault.Machine: %w", err)
		}
		if m.kind != Node && slices.Contains([]string{mount.VerbMount, mount.VerbUnmount, mount.VerbLook}, f.Op) {
			return fmt.Errorf("machine.Fault.Op: %q is done by nodes; %s is a server, of which files can fail", f.Op, f.Machine)
		}
	}
	if f.Op != "" && !slices.Contains(ops(), f.Op) {
		return fmt.Errorf("machine.Fault.Op: unknown operation %q%s", f.Op, prose.OneOf(f.Op, ops()))
	}
	if f.Path != "" {
		if err := disk.Check(f.Path); err != nil {
			return fmt.Errorf("machine.Fault.Path: %q: %w", f.Path, err)
		}
		for _, element := range elements(f.Path) {
			if _, err := path.Match(element, ""); err != nil {
				return fmt.Errorf("machine.Fault.Path: %q: %q: %w; path.Match says what is allowed", f.Path, element, err)
			}
		}
	}
	switch {
	case f.Skip < 0:
		return fmt.Errorf("machine.Fault.Skip: %d is negative; it must be 0 or more", f.Skip)
	case f.Err == nil:
		return errors.New("machine.Fault.Err is nil; it must be an error, such as syscall.ENOSPC")
	}
	return nil
}

// ClearFaults ends all faults.
func (s *Set) ClearFaults() {
	s.faults.Clear()
	s.watchAll()
}

// MissedFaults returns the injected faults that have struck nothing so far.
func (s *Set) MissedFaults() []Fault { return s.faults.Missed() }

// PauseFaults stops all faults from striking and counting, or ends that: it is for code that only
// looks.
func (s *Set) PauseFaults(paused bool) { s.paused.Store(paused) }

func (s *Set) mayStrike() bool { return !s.paused.Load() && s.faults.Any() }

// watchAll has all disks ask for faults if there are any.
func (s *Set) watchAll() {
	for _, m := range s.machines {
		s.watch(m)
	}
}

func (s *Set) watch(m *Machine) {
	if !s.faults.Any() {
		m.disk.Fail(nil)
		return
	}
	m.disk.Fail(func(op, name string) error {
		if !s.mayStrike() {
			return nil
		}
		return s.strike(m, opOf(op), name, names(m.disk, op, name))
	})
}

// strike returns the error of the fault that strikes an operation, if any. about names
// its object in words, paths are the paths of that object.
func (s *Set) strike(m *Machine, op, about string, paths []string) error {
	f, struck := s.faults.Strike(func(f Fault) bool {
		return cmp.Or(f.Machine, m.String()) == m.String() && standsFor(f.Op, op) &&
			slices.ContainsFunc(paths, func(name string) bool { return isAtOrBelow(name, f.Path) })
	})
	if !struck {
		return nil
	}
	if s.Struck != nil {
		s.Struck(trace.MachineStruck{Machine: m.String(), Op: op, Path: about, Err: f.Err})
	}
	return f.Err
}

// names returns the paths at which a fault may strike an operation on name: the path as it was given, and the one without
// links. The last element is followed if the operation follows it. Nothing strikes mkdir of a directory that exists, nor the
// mount table, which a real machine has in the kernel's memory and on no disk.
func names(on *disk.Disk, op, name string) []string {
	if isAtOrBelow(name, mount.TableDir) {
		return nil
	}
	real, info, err := on.Resolve(name)
	switch op {
	case "mkdir":
		if err == nil && info.IsDir() {
			return nil
		}
	case "stat", "read", "readdir", "open", "write", "chmod":
		if err == nil {
			return []string{name, real}
		}
	}
	// The nearest directory that exists.
	dir, rest := path.Dir(path.Clean(name)), path.Base(name)
	for dir != "/" {
		if real, _, err := on.Resolve(dir); err == nil {
			return []string{name, path.Join(real, rest)}
		}
		dir, rest = path.Dir(dir), path.Join(path.Base(dir), rest)
	}
	return []string{name}
}

// isAtOrBelow reports whether a path, or a directory above it, is one that pattern
// stands for. No pattern stands for all.
func isAtOrBelow(name, pattern string) bool {
	have, want := elements(name), elements(pattern)
	if len(have) < len(want) {
		return false
	}
	for i, w := range want {
		if matched, err := path.Match(w, have[i]); err != nil || !matched {
			return false
		}
	}
	return true
}

func elements(name string) []string {
	return slices.DeleteFunc(strings.Split(name, "/"), func(e string) bool { return e == "" || e == "." })
}
