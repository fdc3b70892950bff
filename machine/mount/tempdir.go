package mount

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"sync"

	"github.com/storagesim/storagesim/machine/disk"
)

// Config configures a TempDir. Dir is required.
type Config struct {
	// Dir is the node's file system.
	Dir *disk.Disk
	// Remote finds what is mounted with a file system type, as for
	// "nfs" the directory that a server exports as source. TempDir closes it.
	// Its error is the message of the mount program. Default: no type is known.
	Remote func(fstype, source string) (*disk.Disk, error)
}

// TempDir mounts without privilege; the package comment says how, and what it
// cannot do. It is safe for concurrent use: CSI drivers mount in goroutines of their own. Only
// one TempDir may change a node's mounts: another, opened later, sees what is on disk then.
type TempDir struct {
	cfg   Config
	mu    sync.Mutex        // for table and what is done by it
	table map[string]record // by target
}

var _ Interface = (*TempDir)(nil)

// NewTempDir makes a mounter that knows what is mounted on the node already.
func NewTempDir(cfg Config) (*TempDir, error) {
	if cfg.Dir == nil {
		return nil, errors.New("mount.Config.Dir is nil; it must be the node's directory")
	}
	t := &TempDir{cfg: cfg}
	if err := t.load(); err != nil {
		return nil, fmt.Errorf("cannot read the mount table: %w", err)
	}
	return t, nil
}

// Mount bind mounts source on target. options must have "bind"; "ro" and others
// are kept for List. With a fstype, source is whatever Config.Remote knows of that
// type.
func (t *TempDir) Mount(source, target, fstype string, options []string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	op := Op{Verb: VerbMount, Source: source, Target: target, Options: options}
	if fstype != "" {
		return t.mountRemote(op, fstype)
	}
	if err := t.mountBind(op); err != nil {
		return fmt.Errorf("mounting %s on %s failed: %w", source, target, err)
	}
	return nil
}

// mountBind checks what mount(8) and the kernel check, and puts the link in place of
// the target.
func (t *TempDir) mountBind(op Op) error {
	if !slices.Contains(op.Options, "bind") {
		return fmt.Errorf("options %q without a type: only bind mounts are possible without privilege", op.Options)
	}
	if slices.Contains(op.Options, "remount") {
		return errors.New("remounting is not possible without privilege")
	}
	source, info, err := t.cfg.Dir.Resolve(op.Source)
	if err != nil {
		return fmt.Errorf("special device %s: %w", op.Source, err)
	}
	// A file can only be linked, also one of a remote file system: the link leads to it (disk.Resolve) as long as that is mounted, where a kernel's
	// mount would stay.
	if part, remote := t.partOf(source); remote && info.IsDir() {
		return t.mountPart(op, source, part)
	}
	return t.at(op.Target, func(at *disk.At, base string) error {
		r := record{Source: source, Target: at.Path(base), Options: slices.Clone(op.Options)}
		if err := t.prepare(at, base, &r, info); err != nil {
			return err
		}
		return t.bind(at, base, r)
	})
}

// at calls f with the directory that target is in and its name there: a mount's
// target is itself a link.
func (t *TempDir) at(target string, f func(at *disk.At, base string) error) error {
	if err := disk.Check(target); err != nil {
		return err
	}
	dir, base := path.Split(path.Clean(target))
	found := false
	err := t.cfg.Dir.At(dir, func(at *disk.At) error {
		found = true
		return f(at, base)
	})
	if !found {
		return fmt.Errorf("mount point %s: %w", target, err)
	}
	return err
}

// prepare checks that nothing is mounted on the target yet, that source and target
// are both directories or both not, and that the target hides nothing.
func (t *TempDir) prepare(at *disk.At, base string, r *record, source fs.FileInfo) error {
	if _, mounted, err := t.mounted(at, base); err != nil {
		return err
	} else if mounted {
		return alreadyMounted(r.Target)
	}
	if r.Source == r.Target {
		return errors.New("source and target are the same")
	}
	target, err := at.Lstat(base)
	if err != nil {
		return err
	}
	r.File, r.Mode = !target.IsDir(), target.Mode().Perm()
	switch {
	case target.Mode()&fs.ModeSymlink != 0:
		return errors.New("the mount point is a symbolic link")
	case source.IsDir() != target.IsDir():
		return errors.New("one of source and target is a directory, the other is not")
	case r.File && (!target.Mode().IsRegular() || target.Size() > 0):
		return errors.New("the mount point is not an empty file, and without privilege nothing can be hidden")
	}
	return nil
}

func alreadyMounted(target string) error {
	return fmt.Errorf("%s is a mount point already; mounts cannot be stacked without privilege", target)
}

func (t *TempDir) isEmpty(dir string) error {
	entries, err := t.cfg.Dir.ReadDir(dir)
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("the mount point is not empty (%q), and without privilege nothing can be hidden", entries[0].Name())
	}
	return err
}

// bind puts the link in place of the target.
func (t *TempDir) bind(at *disk.At, base string, r record) error {
	if err := t.save(r); err != nil {
		return err
	}
	if err := at.Remove(base); err != nil {
		if full := t.isEmpty(r.Target); full != nil && !r.File {
			err = full
		}
		return errors.Join(err, t.forget(r))
	}
	text, err := at.Symlink(r.Source, base)
	if err != nil {
		return errors.Join(err, t.restore(at, base, r), t.forget(r))
	}
	r.Link = text
	t.table[r.Target] = r
	return nil
}

// Unmount takes the link away and puts the empty directory or file back.
func (t *TempDir) Unmount(target string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	err := t.at(target, func(at *disk.At, base string) error {
		r, mounted, err := t.mounted(at, base)
		if err != nil {
			return err
		}
		if !mounted {
			return errors.New("not mounted")
		}
		if r.Type != "" {
			return errors.Join(t.cfg.Dir.Detach(r.Target), t.forget(r))
		}
		if err := at.Remove(base); err != nil {
			return err
		}
		return errors.Join(t.restore(at, base, r), t.forget(r))
	})
	if err != nil {
		return fmt.Errorf("unmounting %s failed: %w", target, err)
	}
	return nil
}

func (t *TempDir) restore(at *disk.At, base string, r record) error {
	if r.File {
		return t.cfg.Dir.WriteFile(r.Target, nil, r.Mode)
	}
	return at.Mkdir(base, r.Mode)
}

// MountSensitive calls Mount; without a mount program there is nothing to log.
func (t *TempDir) MountSensitive(source, target, fstype string, options, sensitiveOptions []string) error {
	return t.Mount(source, target, fstype, options)
}

// MountSensitiveWithoutSystemd calls Mount.
func (t *TempDir) MountSensitiveWithoutSystemd(source, target, fstype string, options, sensitiveOptions []string) error {
	return t.Mount(source, target, fstype, options)
}

// MountSensitiveWithoutSystemdWithMountFlags calls Mount; there are no mount flags
// without a mount program.
func (t *TempDir) MountSensitiveWithoutSystemdWithMountFlags(source, target, fstype string, options, sensitiveOptions, mountFlags []string) error {
	return t.Mount(source, target, fstype, options)
}
