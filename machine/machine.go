package machine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/machine/mount"
)

// Kind is the purpose of a machine.
type Kind string

// The kinds of machines.
const (
	// Node runs pods.
	Node Kind = "node"
	// NFSServer has directories that nodes mount.
	NFSServer Kind = "nfs"
	// Host runs the controller of a CSI driver, and has its storage.
	Host Kind = "host"
)

func (k Kind) String() string {
	if k == NFSServer {
		return "NFS server"
	}
	return string(k)
}

// kinds returns all, in the order in which machines are listed.
func kinds() []Kind { return []Kind{Node, NFSServer, Host} }

// Config says what a machine is like.
type Config struct {
	// Kind and Name are required: together they name the machine, "node/node-1".
	Kind Kind
	Name string
	// Dir is the directory, on the machine that runs the simulation, that has this
	// machine's files. It is made if there is none. Default: the files are in memory.
	Dir string
	// Size is the number of bytes that files in memory may take; default DefaultSize, negative for
	// no limit. There may be one file, directory or link for each 4 KiB of it. What goes past it
	// fails with ENOSPC.
	Size int64
	// Now is the time at which files in memory change; it is required for them.
	Now func() time.Time
	// Remote finds what is mounted with a file system type, except file systems of block devices of the machine; see mount.Config.
	Remote func(fstype, source string) (*disk.Disk, error)
	// Filesystems is the directory, on the machine that runs the simulation, that has the file systems of block devices, each in a directory of its
	// own; default: they are in memory, each as large as Size says.
	Filesystems string
	// RealMounts makes the machine's mounts those of the kernel; see mount.Bind. It needs Dir.
	RealMounts bool
}

// DefaultSize is the number of bytes that a machine's files in memory may take: enough for manifests,
// volumes and programs of a test, and little enough for several full disks in one process.
const DefaultSize = 256 << 20

// inMemory makes a disk in memory of the configured size.
func inMemory(cfg Config) (*disk.Disk, error) {
	d := disk.InMemory(cfg.Now)
	if cfg.Size < 0 {
		return d, nil
	}
	size := cmp.Or(cfg.Size, DefaultSize)
	return d, d.Limit(disk.Limits{Bytes: size, Inodes: max(1, size/bytesPerFile)})
}

// bytesPerFile is the size of a disk for each file that it may have, as mkfs(8) chooses it.
const bytesPerFile = 4 << 10

// Machine is a computer of the cluster. Set.Add makes it.
type Machine struct {
	kind    Kind
	name    string
	dir     string
	disk    *disk.Disk
	mounter mount.Interface
	kernel  mount.Interface // mounter without faults
	bind    *mount.Bind     // if mounts are real
	devices filesystems
}

// newMachine makes a machine; its mounter fails as fail says.
func newMachine(cfg Config, fail func(m *Machine, op mount.Op) error) (m *Machine, err error) {
	m = &Machine{kind: cfg.Kind, name: cfg.Name, dir: cfg.Dir, devices: filesystems{cfg: cfg, open: map[string]*disk.Disk{}}}
	if cfg.Dir == "" {
		m.disk, err = inMemory(cfg)
	} else {
		m.disk, err = disk.Open(cfg.Dir)
	}
	if err != nil {
		return nil, err
	}
	var mounter mount.Interface
	if cfg.RealMounts {
		mounter, err = m.realMounts(m.find)
	} else {
		mounter, err = mount.NewTempDir(mount.Config{Dir: m.disk, Remote: m.find})
	}
	if err != nil {
		return nil, errors.Join(err, m.close())
	}
	m.kernel = mounter
	m.mounter = mount.Failing(mounter, func(op mount.Op) error { return fail(m, op) })
	return m, nil
}

// Kind returns the purpose of the machine.
func (m *Machine) Kind() Kind { return m.kind }

// Name returns the machine's name, unique in its kind.
func (m *Machine) Name() string { return m.name }

// String returns the name with its kind, "node/node-1".
func (m *Machine) String() string { return string(m.kind) + "/" + m.name }

// Dir returns the directory, on the computer that runs the simulation, that has the machine's
// files; "" if they are in memory.
func (m *Machine) Dir() string { return m.dir }

// Disk returns the machine's files.
func (m *Machine) Disk() *disk.Disk { return m.disk }

// Mounter mounts on the machine. Like a kernel, it outlives what uses it.
func (m *Machine) Mounter() mount.Interface { return m.mounter }

// close frees the machine's files.
func (m *Machine) close() error { return errors.Join(m.disk.Close(), m.devices.close()) }

// SwitchOff takes all mounts away, as a machine that loses its power does. What is on the
// disk stays.
func (m *Machine) SwitchOff() error {
	mounts, err := m.kernel.List()
	if err != nil {
		return err
	}
	var errs []error
	for _, at := range slices.Backward(mounts) { // the last is on top
		errs = append(errs, m.kernel.Unmount(at.Path))
	}
	return errors.Join(errs...)
}

// ErrRealMounts is in the error about real mounts that this process cannot make.
var ErrRealMounts = errors.New("Config.RealMounts")

// realMounts makes a mounter of real bind mounts, and tries it.
func (m *Machine) realMounts(remote func(fstype, source string) (*disk.Disk, error)) (mount.Interface, error) {
	bind, err := mount.NewBind(mount.Config{Dir: m.disk, Remote: remote})
	if err == nil {
		err = tryMount(bind, m.disk)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRealMounts, err)
	}
	m.bind = bind
	return bind, nil
}

// tryMount finds out whether this process may mount at all.
func tryMount(bind *mount.Bind, root *disk.Disk) error {
	const dir, source, target = "/run/storagesim", "/run/storagesim/source", "/run/storagesim/target"
	err := errors.Join(root.MkdirAll(source, 0o755), root.MkdirAll(target, 0o755))
	if err == nil {
		err = bind.Mount(source, target, "", []string{"bind"})
	}
	if err == nil {
		err = bind.Unmount(target)
	}
	// Not RemoveAll: should the mount be there still, it goes no further.
	for _, made := range []string{target, source, dir} {
		err = errors.Join(err, root.Remove(made))
	}
	return err
}

// unmountAll takes real mounts away. Links that look like mounts are on the disk and stay there.
func (m *Machine) unmountAll() error {
	if m.bind == nil {
		return nil
	}
	if err := m.bind.UnmountAll(); err != nil {
		return fmt.Errorf("%w; what is mounted stays, and so does %s", err, m.dir)
	}
	return nil
}

// split takes a machine's whole name apart.
func split(name string) (Kind, string) {
	kind, name, _ := strings.Cut(name, "/")
	return Kind(kind), name
}
