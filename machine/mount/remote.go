package mount

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/storagesim/storagesim/machine/disk"
)

// mountRemote mounts what lies outside of the node. What fails reads as the mount
// program's answer does.
//
// Upstream: k8s.io/mount-utils mount_linux.go doMount, v1.37.
func (t *TempDir) mountRemote(op Op, fstype string) error {
	r := record{Source: op.Source, Type: fstype, Options: slices.Clone(op.Options)}
	err := t.checkRemote(op, &r)
	if err == nil {
		err = t.save(r)
	}
	if err == nil {
		if err = t.attach(r); err != nil {
			err = errors.Join(err, t.forget(r))
		}
	}
	if err == nil {
		return nil
	}
	args := []string{"-t", fstype}
	if len(op.Options) > 0 {
		args = append(args, "-o", strings.Join(op.Options, ","))
	}
	return fmt.Errorf("mount failed: exit status 32\nMounting command: mount\nMounting arguments: %s\nOutput: %w",
		strings.Join(append(args, op.Source, op.Target), " "), err)
}

// checkRemote checks the options, and the target.
func (t *TempDir) checkRemote(op Op, r *record) error {
	if slices.Contains(op.Options, "bind") || slices.Contains(op.Options, "remount") {
		return fmt.Errorf("mount: options %q go with no type: bind mounts have none, and remounting is not possible without privilege", op.Options)
	}
	return t.checkTarget(op, r)
}

// checkTarget finds the target and looks at it.
func (t *TempDir) checkTarget(op Op, r *record) (err error) {
	var info fs.FileInfo
	err = t.at(op.Target, func(at *disk.At, base string) (err error) {
		r.Target = at.Path(base)
		if _, mounted, err := t.mounted(at, base); err != nil {
			return err
		} else if mounted {
			return alreadyMounted(op.Target)
		}
		info, err = at.Lstat(base)
		return err
	})
	switch {
	case err != nil:
		return err
	case r.Target != path.Clean(op.Target): // see disk.Disk.Attach
		return fmt.Errorf("mount: %s: there is a symbolic link on the way, which only bind mounts allow without privilege", op.Target)
	case info.Mode()&fs.ModeSymlink != 0:
		return errors.New("mount: the mount point is a symbolic link")
	case !info.IsDir():
		return fmt.Errorf("mount: %s: the mount point is not a directory", op.Target)
	}
	return t.isEmpty(r.Target)
}

// attach makes the directory that a record names visible to the node.
func (t *TempDir) attach(r record) error {
	if t.cfg.Remote == nil {
		return fmt.Errorf("mount: %s: unknown filesystem type '%s'", r.Target, r.Type)
	}
	dir, err := t.cfg.Remote(r.Type, r.Source)
	if err != nil {
		return err
	}
	if r.Part != "" {
		whole := dir
		if dir, err = whole.Sub(r.Part); err != nil {
			return errors.Join(err, whole.Close())
		}
		if err := whole.Close(); err != nil { // the part stays open
			return errors.Join(err, dir.Close())
		}
	}
	return t.see(r, dir)
}

// see attaches a directory to the node at the target of a record, and keeps the record. If it cannot, it closes the directory.
func (t *TempDir) see(r record, dir *disk.Disk) error {
	if err := t.cfg.Dir.Attach(r.Target, dir, slices.Contains(r.Options, "ro")); err != nil {
		return errors.Join(err, dir.Close())
	}
	t.table[r.Target] = r
	return nil
}

// partOf returns the part of a remote file system at a path without links, as a record
// without a target; false if the path is not in a remote file system.
func (t *TempDir) partOf(real string) (r record, remote bool) {
	for at := real; at != "/"; at = path.Dir(at) {
		if on, ok := t.table[at]; ok && on.Type != "" {
			rest, _ := strings.CutPrefix(real, at)
			return record{Source: on.Source, Type: on.Type, Part: strings.TrimSuffix(path.Join("/", on.Part, rest), "/"), Options: on.Options}, true
		}
	}
	return record{Source: real}, false
}

// mountPart bind mounts what is on a remote file system: as with a kernel, that is one more
// mount of it, which stays when the first is unmounted, and is read-only if the first is.
func (t *TempDir) mountPart(op Op, source string, r record) error {
	options := slices.Clone(op.Options)
	if slices.Contains(r.Options, "ro") && !slices.Contains(options, "ro") {
		options = append(options, "ro")
	}
	r.Options = options
	if err := t.checkTarget(op, &r); err != nil {
		return err
	}
	dir, err := t.cfg.Dir.Sub(source)
	if err != nil {
		return err
	}
	if err := t.save(r); err != nil {
		return errors.Join(err, dir.Close())
	}
	if err := t.see(r, dir); err != nil {
		return errors.Join(err, t.forget(r))
	}
	return nil
}
