package mount

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/storagesim/storagesim/machine/internal/mountinfo"
)

// onNode returns the mounts below the node's directory. Path is the node's; Device is
// the node path of what is mounted, or the device's name if that lies outside.
func (b *Bind) onNode(table mountinfo.Table) (list []MountPoint) {
	home := table.Containing(b.root)
	for _, m := range table {
		at, ok := mountinfo.Below(m.Path, b.root)
		if !ok || at == "/" {
			continue
		}
		p := MountPoint{Device: m.Source, Path: at, Type: m.FSType, Opts: m.Options}
		if source, ok := mountinfo.Below(m.Root, home.At(b.root)); ok && m.Device == home.Device {
			p.Device, p.Type, p.Opts = source, "none", append([]string{"bind"}, m.Options...)
		} else if as, ok := b.typeOf(&m); ok {
			p.Device, p.Type = as.source, as.fstype
		}
		list = append(list, p)
	}
	return list
}

// List returns all mounts on the node, in order of target. Of mounts on one target the
// lowest comes first.
func (b *Bind) List() ([]MountPoint, error) {
	table, err := mountinfo.Read("self")
	if err != nil {
		return nil, err
	}
	list := b.onNode(table)
	slices.SortStableFunc(list, func(a, b MountPoint) int { return strings.Compare(a.Path, b.Path) })
	return list, nil
}

// IsMountPoint reports whether something is mounted on file. The error is
// fs.ErrNotExist if there is no such file.
func (b *Bind) IsMountPoint(file string) (bool, error) {
	info, err := b.dir.Lstat(file)
	if err != nil || info.Mode()&fs.ModeSymlink != 0 {
		return false, err
	}
	at, err := b.dir.EvalSymlinks(file)
	if err != nil {
		return false, err
	}
	table, err := mountinfo.Read("self")
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(table, func(m mountinfo.Mount) bool { return m.Path == b.machine(at) }), nil
}

// machine returns this machine's path of a node path without links.
func (b *Bind) machine(at string) string { return path.Join(b.root, at) }

// IsLikelyNotMountPoint returns the opposite of IsMountPoint, which is exact here.
func (b *Bind) IsLikelyNotMountPoint(file string) (bool, error) {
	mounted, err := b.IsMountPoint(file)
	return !mounted, err
}

// CanSafelySkipMountPointCheck returns false: unmounting what is not mounted fails.
func (b *Bind) CanSafelySkipMountPointCheck() bool { return false }

// GetMountRefs returns the other targets on the node on which the same directory is
// mounted; none for a path that does not exist. pathname is a mount point, or a directory
// that is mounted elsewhere.
func (b *Bind) GetMountRefs(pathname string) ([]string, error) {
	real, err := b.dir.EvalSymlinks(pathname)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	table, err := mountinfo.Read("self")
	if err != nil {
		return nil, err
	}
	var refs []string
	self := b.machine(real)
	on := table.Containing(self)
	for i := range table {
		m := &table[i]
		at, ok := mountinfo.Below(m.Path, b.root)
		if ok && m.Path != self && m.Device == on.Device && m.Root == on.At(self) {
			refs = append(refs, at)
		}
	}
	slices.Sort(refs)
	return refs, nil
}
