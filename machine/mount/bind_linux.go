package mount

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/machine/internal/mountinfo"
)

// Bind makes real bind mounts. It is not safe for concurrent use.
type Bind struct {
	dir    *disk.Disk
	remote func(fstype, source string) (*disk.Disk, error)
	// root is this machine's path of the node's "/".
	root string
	types
}

var _ Interface = (*Bind)(nil)

// NewBind makes a mounter of real bind mounts in a node's directory, Config.Dir, which must
// have been opened in this mount namespace. It fails, saying why, where mounts
// would be seen outside of this process and its children; whether this process may
// mount at all shows with the first Mount.
func NewBind(cfg Config) (*Bind, error) {
	dir := cfg.Dir
	if dir == nil {
		return nil, errors.New("mount.Config.Dir is nil; it must be the node's directory")
	}
	root, err := machinePath(dir)
	if err != nil {
		return nil, fmt.Errorf("cannot find the node's directory on this machine: %w", err)
	}
	if err := checkPrivate(root); err != nil {
		return nil, fmt.Errorf("real bind mounts: %w", err)
	}
	return &Bind{dir: dir, remote: cfg.Remote, root: root, types: types{known: map[origin]remoteType{}}}, nil
}

// machinePath returns this machine's path of the node's "/".
func machinePath(dir *disk.Disk) (string, error) {
	f, err := dir.Handle("/")
	if err != nil {
		return "", err
	}
	defer f.Close()
	return os.Readlink(descriptor(f))
}

// descriptor returns a path that leads to the open file f.
func descriptor(f *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", f.Fd()) }

// checkPrivate refuses a namespace that others see, or may see.
func checkPrivate(root string) error {
	ns, err := readNamespace()
	if err == nil {
		err = ns.check()
	}
	if err != nil {
		return err
	}
	table, err := mountinfo.Read("self")
	if err != nil {
		return err
	}
	switch at := table.Containing(root); {
	case at == nil:
		return fmt.Errorf("the kernel's table of mounts does not say what %s is on, so whether mounts there would be seen in other mount namespaces is not known",
			root)
	case at.Shared:
		return fmt.Errorf("mounts below %s would be seen in other mount namespaces; make it private: mount --make-rprivate /", at.Path)
	}
	return nil
}

// Mount bind mounts source on target. options must have "bind"; see flags for the
// others. What the target has of its own is hidden until Unmount. With a fstype, source is
// whatever Config.Remote knows of that type.
func (b *Bind) Mount(source, target, fstype string, options []string) error {
	var err error
	if fstype != "" {
		err = b.mountRemote(source, target, fstype, options)
	} else {
		err = b.mountBind(source, target, options)
	}
	if err != nil {
		return fmt.Errorf("mounting %s on %s failed: %w", source, target, err)
	}
	return nil
}

func (b *Bind) mountBind(source, target string, options []string) error {
	if !slices.Contains(options, "bind") {
		return fmt.Errorf("options %q without a type: only bind mounts are made here", options)
	}
	set, err := b.flags(options)
	if err != nil {
		return err
	}
	from, err := b.dir.Handle(source)
	if err != nil {
		return fmt.Errorf("special device %s: %w", source, err)
	}
	defer from.Close()
	return b.bind(from, target, set)
}

// flags returns the kernel's flags for mount options.
func (b *Bind) flags(options []string) (set uintptr, err error) {
	if slices.Contains(options, "remount") {
		return 0, errors.New("remounting is not supported")
	}
	known := map[string]uintptr{
		"bind": 0, "rw": 0, "ro": syscall.MS_RDONLY, "nosuid": syscall.MS_NOSUID, "nodev": syscall.MS_NODEV,
		"noexec": syscall.MS_NOEXEC, "noatime": syscall.MS_NOATIME, "nodiratime": syscall.MS_NODIRATIME, "relatime": syscall.MS_RELATIME,
	}
	for _, option := range options {
		flag, ok := known[option]
		if !ok {
			return 0, fmt.Errorf("option %q is not an option of bind mounts", option)
		}
		set |= flag
	}
	return set, nil
}

// bind makes the mount, and then gives it its flags, which the kernel takes only
// of a mount that is there.
func (b *Bind) bind(from *os.File, target string, set uintptr) error {
	onto, err := b.mountPoint(target)
	if err != nil {
		return err
	}
	defer onto.Close()
	if err := sameKind(from, onto); err != nil {
		return err
	}
	if err := syscall.Mount(descriptor(from), descriptor(onto), "", syscall.MS_BIND, ""); err != nil {
		return explain(err)
	}
	if set == 0 {
		return nil
	}
	if err := b.remount(target, set); err != nil {
		return errors.Join(explain(err), b.unmount(target))
	}
	return nil
}

// mountPoint opens what is to be mounted on: the directory or file itself.
func (b *Bind) mountPoint(target string) (*os.File, error) {
	info, err := b.dir.Lstat(target)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		err = errors.New("the mount point is a symbolic link")
	}
	if err != nil {
		return nil, fmt.Errorf("mount point %s: %w", target, err)
	}
	return b.dir.Handle(target)
}

func sameKind(from, onto *os.File) error {
	source, err := from.Stat()
	if err != nil {
		return err
	}
	target, err := onto.Stat()
	if err != nil {
		return err
	}
	switch {
	case os.SameFile(source, target):
		return errors.New("source and target are the same")
	case source.IsDir() != target.IsDir():
		return errors.New("one of source and target is a directory, the other is not")
	}
	return nil
}

// remount gives the mount on target its flags, and keeps those it has from the
// mount that its source is in: without privilege the kernel does not allow dropping them.
func (b *Bind) remount(target string, set uintptr) error {
	f, err := b.dir.Handle(target) // again: what is on top now
	if err != nil {
		return err
	}
	defer f.Close()
	var st syscall.Statfs_t
	if err := syscall.Fstatfs(int(f.Fd()), &st); err != nil {
		return err
	}
	const kept = syscall.MS_RDONLY | syscall.MS_NOSUID | syscall.MS_NODEV | syscall.MS_NOEXEC | syscall.MS_NOATIME | syscall.MS_NODIRATIME
	set |= uintptr(st.Flags) & kept // the numbers of ST_ and MS_ are the same
	if uintptr(st.Flags)&stRelatime != 0 {
		set |= syscall.MS_RELATIME
	}
	return syscall.Mount("", descriptor(f), "", syscall.MS_REMOUNT|syscall.MS_BIND|set, "")
}

// stRelatime is ST_RELATIME, which is not MS_RELATIME.
const stRelatime = 4096

// Unmount takes the topmost mount on target away.
func (b *Bind) Unmount(target string) error {
	mounted, err := b.IsMountPoint(target)
	if err == nil && !mounted {
		err = errors.New("not mounted")
	}
	if err == nil || IsCorrupted(err) {
		err = b.unmount(target)
	}
	if err != nil {
		return fmt.Errorf("unmounting %s failed: %w", target, err)
	}
	return nil
}

// unmount names the mount by the directory that it is in: a process that held a descriptor
// of the mount itself would keep it busy.
func (b *Bind) unmount(target string) error {
	clean := path.Clean(target)
	if clean == "/" {
		return errors.New("the node's root directory is not a mount")
	}
	parent, err := b.dir.Handle(path.Dir(clean))
	if err != nil {
		return err
	}
	defer parent.Close()
	const noFollow = 8 // UMOUNT_NOFOLLOW
	return explain(syscall.Unmount(descriptor(parent)+"/"+path.Base(clean), noFollow))
}

// explain says what the kernel's answer means, as mount(8) does.
func explain(err error) error {
	switch {
	case errors.Is(err, syscall.EPERM):
		return fmt.Errorf("%w: mounting needs CAP_SYS_ADMIN in a mount namespace of its own", err)
	case errors.Is(err, syscall.EBUSY):
		return fmt.Errorf("target is busy: %w", err)
	}
	return err
}

// UnmountAll takes every mount below the node's directory away, also those that others have made
// there. A mount whose end would lose files, of a file system in memory that is mounted nowhere else,
// stays, and is a *MountedError.
func (b *Bind) UnmountAll() error {
	table, err := mountinfo.Read("self")
	if err != nil {
		return err
	}
	var errs []error
	var left []string
	kept := table.Keep(b.root, nil)
	for _, m := range table.In(b.root) {
		switch at, _ := mountinfo.Below(m.Path, b.root); {
		case at == "/":
		case kept.Has(m.ID):
			left = append(left, m.Path)
		default:
			errs = append(errs, b.Unmount(at))
		}
	}
	if len(left) > 0 {
		errs = append(errs, &MountedError{Dir: b.root, Mounts: left})
	}
	return errors.Join(errs...)
}

// MountSensitive calls Mount; there is no mount program that would log anything.
func (b *Bind) MountSensitive(source, target, fstype string, options, sensitiveOptions []string) error {
	return b.Mount(source, target, fstype, slices.Concat(options, sensitiveOptions))
}

// MountSensitiveWithoutSystemd calls Mount.
func (b *Bind) MountSensitiveWithoutSystemd(source, target, fstype string, options, sensitiveOptions []string) error {
	return b.MountSensitive(source, target, fstype, options, sensitiveOptions)
}

// MountSensitiveWithoutSystemdWithMountFlags calls Mount; flags of a mount program
// are refused.
func (b *Bind) MountSensitiveWithoutSystemdWithMountFlags(source, target, fstype string, options, sensitiveOptions, mountFlags []string) error {
	if len(mountFlags) > 0 {
		return fmt.Errorf("mounting %s on %s failed: flags %q are for a mount program, and there is none", source, target, strings.Join(mountFlags, " "))
	}
	return b.MountSensitive(source, target, fstype, options, sensitiveOptions)
}
