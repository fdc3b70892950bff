package storagesim

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/errno"
	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/machine/mount"
	"github.com/storagesim/storagesim/trace"
)

// MachineFault is trouble on purpose with the mounts and files of a machine: it
// strikes every actor that works there: a kubelet, a command in a container, a provisioner
// or a test. It is the machine's, so a kubelet that crashes meets it again. Empty
// fields match anything, but Err must be set.
type MachineFault struct {
	// Machine is "node/NAME" or "nfs/NAME", as in Cluster.ReadFile.
	Machine string
	// Op is what fails: "mount", "unmount", or "look", which is any question about a
	// mount point (an Err of syscall.ESTALE makes the mount a corrupted one); or with
	// files "mkdir", "write", "symlink", "remove", "rename", "chmod", "chown", "read"
	// (also of directories) or "stat"; or "create", the first three of these, which a
	// full disk refuses; or "change", all but the last two, which a read-only file
	// system refuses.
	Op string
	// Path is what it happens to, or a directory above that: an absolute path on the
	// machine, in whose elements * stands for anything, as in path.Match. Of a mount
	// it is the source or the target; of a file that a link leads to, the name used
	// or where it really is: what pods have mounted is below the volume's directory.
	// With Config.RealMounts the kernel does not tell, and only the name used counts.
	// Removing a tree asks about its top only. The table of mounts (mount.TableDir) is
	// on no disk but in a kernel's memory, and never fails.
	Path string
	// Skip lets so many matching operations pass first. One on a mounted share is two,
	// the node's and that of the server's disk, and renaming is one for each name.
	Skip int
	// Times is how many it then strikes: default 1, negative until ClearFaults.
	Times int
	// Err is what the operation fails with, for example syscall.ENOSPC. Nothing else
	// happens.
	Err error

	struck int
}

// machineOps are what an Op stands for: itself, or several.
var machineOps = map[string][]string{
	mount.VerbMount: {mount.VerbMount}, mount.VerbUnmount: {mount.VerbUnmount}, mount.VerbLook: {mount.VerbLook},
	"mkdir": {"mkdir"}, "write": {"write"}, "symlink": {"symlink"}, "remove": {"remove"}, "rename": {"rename"},
	"chmod": {"chmod"}, "chown": {"chown"}, "read": {"read"}, "stat": {"stat"},
	"create": {"mkdir", "write", "symlink"},
	"change": {"mkdir", "write", "symlink", "remove", "rename", "chmod", "chown"},
}

// fileOps are the Ops of operations that package disk calls otherwise.
var fileOps = map[string]string{
	"removeall": "remove", "lchown": "chown", "readdir": "read", "readlink": "read", "open": "read", "lstat": "stat",
}

// InjectMachine adds a fault of a machine. It says what is wrong with one that makes
// no sense. Of several that match, the one added first strikes.
func (c *Cluster) InjectMachine(f MachineFault) error {
	if err := c.checkMachineFault(f); err != nil {
		return err
	}
	if f.Times == 0 {
		f.Times = 1
	}
	f.Err = errno.Linux(f.Err)
	c.trouble.mu.Lock()
	c.trouble.faults = append(c.trouble.faults, &f)
	c.trouble.mu.Unlock()
	c.watchDisks()
	return nil
}

func (c *Cluster) checkMachineFault(f MachineFault) error {
	if c.roots == nil {
		return engine.ErrClosed
	}
	if f.Machine != "" {
		kind, _, _ := strings.Cut(f.Machine, "/")
		if kind != "node" && kind != "nfs" {
			return fmt.Errorf("MachineFault.Machine: %q is not a machine%s; expected node/NAME or nfs/NAME", f.Machine, prose.DidYouMean(f.Machine, c.Machines()))
		}
		if _, _, err := c.locate(f.Machine); err != nil {
			return fmt.Errorf("MachineFault.Machine: %w", err)
		}
		if kind == "nfs" && slices.Contains([]string{"mount", "unmount", "look"}, f.Op) {
			return fmt.Errorf("MachineFault.Op: %q is done by nodes; %s is a server, of which files can fail", f.Op, f.Machine)
		}
	}
	if f.Op != "" && machineOps[f.Op] == nil {
		return fmt.Errorf("MachineFault.Op: unknown operation %q%s", f.Op, prose.OneOf(f.Op, slices.Sorted(maps.Keys(machineOps))))
	}
	if f.Path != "" {
		if err := disk.Check(f.Path); err != nil {
			return fmt.Errorf("MachineFault.Path: %q: %w", f.Path, err)
		}
		for _, element := range elements(f.Path) {
			if _, err := path.Match(element, ""); err != nil {
				return fmt.Errorf("MachineFault.Path: %q: %q: %w; path.Match says what is allowed", f.Path, element, err)
			}
		}
	}
	switch {
	case f.Skip < 0:
		return fmt.Errorf("MachineFault.Skip: %d is negative", f.Skip)
	case f.Err == nil:
		return errors.New("MachineFault.Err is nil; it must be an error, such as syscall.ENOSPC")
	}
	return nil
}

// ClearFaults ends all trouble, that of Inject and that of InjectMachine.
func (c *Cluster) ClearFaults() {
	c.engine.ClearFaults()
	c.clearMachineFaults()
}

func (c *Cluster) clearMachineFaults() {
	c.trouble.mu.Lock()
	c.trouble.faults = nil
	c.trouble.mu.Unlock()
	c.watchDisks()
}

// watchDisks has all disks ask for faults if there are any.
func (c *Cluster) watchDisks() {
	disks := map[string]*disk.Disk{}
	for name, root := range c.roots {
		disks["node/"+name] = root
	}
	for _, server := range c.nfs.Servers() {
		disks["nfs/"+server.Name()] = server.Disk()
	}
	for machine, disk := range disks {
		if !c.trouble.any() {
			disk.Fail(nil)
			continue
		}
		disk.Fail(func(op, name string) error {
			if !c.trouble.any() {
				return nil
			}
			return c.strike(machine, op, name, names(disk, op, name)...)
		})
	}
}

// names are those of what an operation is about: the one used, and the one without
// links. The last element is followed if the operation follows it. There is none of a
// directory to be made that is there already, nor of the mount table, which is on no
// disk but in the kernel's memory.
func names(disk *disk.Disk, op, name string) []string {
	if isAtOrBelow(name, mount.TableDir) {
		return nil
	}
	real, info, err := disk.Resolve(name)
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
		if real, _, err := disk.Resolve(dir); err == nil {
			return []string{name, path.Join(real, rest)}
		}
		dir, rest = path.Dir(dir), path.Join(path.Base(dir), rest)
	}
	return []string{name}
}

// failing is a mounter that fails as the node's faults say.
func (c *Cluster) failing(node string, mounter mount.Interface) mount.Interface {
	return mount.Failing(mounter, func(op mount.Op) error {
		if !c.trouble.any() {
			return nil
		}
		about, paths := op.Target, []string{op.Target}
		if op.Source != "" {
			about, paths = op.Source+" on "+op.Target, append(paths, op.Source)
		}
		return c.strike("node/"+node, op.Verb, about, paths...)
	})
}

// strike is the error of the fault that hits an operation, if any.
func (c *Cluster) strike(machine, op, about string, paths ...string) error {
	op = cmp.Or(fileOps[op], op)
	f := c.trouble.find(machine, op, paths)
	if f == nil {
		return nil
	}
	c.engine.Record(User, trace.MachineStruck{Machine: machine, Op: op, Path: about, Err: f.Err})
	return f.Err
}
