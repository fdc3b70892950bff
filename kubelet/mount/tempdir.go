package mount

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/storagesim/storagesim/kubelet/nodefs"
)

// Config configures a TempDir. Dir is required.
type Config struct {
	// Dir is the node's file system.
	Dir *nodefs.Dir
	// Remote finds what is mounted with a file system type, as for
	// "nfs" the directory that a server exports as source. TempDir closes it.
	// Its error is what the mount program prints. Default: no type is known.
	Remote func(fstype, source string) (*nodefs.Dir, error)
}

// TempDir mounts without privilege; the package comment says how, and what it
// cannot do. It is not safe for concurrent use, and only one may change a node's
// mounts at a time: another, opened later, sees what is on disk then.
type TempDir struct {
	cfg   Config
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
	op := Op{Verb: VerbMount, Source: source, Target: target, Options: options}
	if fstype != "" {
		return t.mountRemote(op, fstype)
	}
	r, err := t.prepare(op)
	if err == nil {
		err = t.bind(r)
	}
	if err != nil {
		return fmt.Errorf("mounting %s on %s failed: %w", source, target, err)
	}
	return nil
}

// prepare checks what mount(8) and the kernel check, and says what is to be
// done.
func (t *TempDir) prepare(op Op) (record, error) {
	r := record{Options: slices.Clone(op.Options)}
	if !slices.Contains(op.Options, "bind") {
		return r, fmt.Errorf("options %q without a type: only bind mounts are possible without privilege", op.Options)
	}
	if slices.Contains(op.Options, "remount") {
		return r, errors.New("remounting is not possible without privilege")
	}
	var err error
	if r.Source, err = t.cfg.Dir.EvalSymlinks(op.Source); err != nil {
		return r, fmt.Errorf("special device %s: %w", op.Source, err)
	}
	if r.Target, err = t.free(op.Target); err != nil {
		return r, err
	}
	if r.Source == r.Target {
		return r, errors.New("source and target are the same")
	}
	return r, t.compare(&r)
}

// free is where target really is, if nothing is mounted there.
func (t *TempDir) free(target string) (string, error) {
	at, err := t.canonical(target)
	if err != nil {
		return "", fmt.Errorf("mount point %s: %w", target, err)
	}
	if _, mounted := t.mounted(at); mounted {
		return "", fmt.Errorf("%s is a mount point already; mounts cannot be stacked without privilege", target)
	}
	return at, nil
}

// compare checks that source and target are both directories or both not, and
// that the target hides nothing.
func (t *TempDir) compare(r *record) error {
	source, err := t.cfg.Dir.Lstat(r.Source)
	if err != nil {
		return err
	}
	target, err := t.cfg.Dir.Lstat(r.Target)
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

func (t *TempDir) isEmpty(dir string) error {
	entries, err := t.cfg.Dir.ReadDir(dir)
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("the mount point is not empty (%q), and without privilege nothing can be hidden", entries[0].Name())
	}
	return err
}

// bind puts the link in place of the target.
func (t *TempDir) bind(r record) error {
	if err := t.save(r); err != nil {
		return err
	}
	if err := t.cfg.Dir.Remove(r.Target); err != nil {
		if full := t.isEmpty(r.Target); full != nil && !r.File {
			err = full
		}
		return errors.Join(err, t.forget(r))
	}
	text, err := t.cfg.Dir.Symlink(r.Source, r.Target)
	if err != nil {
		return errors.Join(err, t.restore(r), t.forget(r))
	}
	r.Link = text
	t.table[r.Target] = r
	return nil
}

// Unmount takes the link away and puts the empty directory or file back.
func (t *TempDir) Unmount(target string) error {
	at, err := t.canonical(target)
	if err != nil {
		return fmt.Errorf("unmounting %s failed: %w", target, err)
	}
	r, mounted := t.mounted(at)
	if !mounted {
		return fmt.Errorf("unmounting %s failed: not mounted", target)
	}
	if r.Type != "" {
		err = errors.Join(t.cfg.Dir.Detach(at), t.forget(r))
	} else if err = t.cfg.Dir.Remove(at); err == nil {
		err = errors.Join(t.restore(r), t.forget(r))
	}
	if err != nil {
		return fmt.Errorf("unmounting %s failed: %w", target, err)
	}
	return nil
}

func (t *TempDir) restore(r record) error {
	if r.File {
		return t.cfg.Dir.WriteFile(r.Target, nil, r.Mode)
	}
	return t.cfg.Dir.Mkdir(r.Target, r.Mode)
}

// canonical is where name is, its last element not followed: a mount's target is
// itself a link.
func (t *TempDir) canonical(name string) (string, error) {
	if err := nodefs.Check(name); err != nil {
		return "", err
	}
	clean := path.Clean(name)
	parent, err := t.cfg.Dir.EvalSymlinks(path.Dir(clean))
	if err != nil {
		return "", err
	}
	return path.Join(parent, path.Base(clean)), nil
}

// MountSensitive is Mount; without a mount program there is nothing to log.
func (t *TempDir) MountSensitive(source, target, fstype string, options, sensitiveOptions []string) error {
	return t.Mount(source, target, fstype, options)
}

// MountSensitiveWithoutSystemd is Mount.
func (t *TempDir) MountSensitiveWithoutSystemd(source, target, fstype string, options, sensitiveOptions []string) error {
	return t.Mount(source, target, fstype, options)
}

// MountSensitiveWithoutSystemdWithMountFlags is Mount; there are no mount flags
// without a mount program.
func (t *TempDir) MountSensitiveWithoutSystemdWithMountFlags(source, target, fstype string, options, sensitiveOptions, mountFlags []string) error {
	return t.Mount(source, target, fstype, options)
}
