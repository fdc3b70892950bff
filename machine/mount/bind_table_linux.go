package mount

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// mountInfo is one line of /proc/self/mountinfo.
type mountInfo struct {
	// id is the kernel's number for the mount. device is "major:minor", root the directory in it that is mounted, path
	// where this machine has it.
	id, device, root, path string
	options                []string
	fstype, source         string
	shared                 bool
}

// mountInfos are in the order in which they were mounted.
type mountInfos []mountInfo

// readMountInfo reads what a process sees, by its number or "self".
func readMountInfo(process string) (mountInfos, error) {
	data, err := os.ReadFile("/proc/" + process + "/mountinfo")
	if err != nil {
		return nil, err
	}
	var list mountInfos
	for line := range strings.Lines(string(data)) {
		before, after, found := strings.Cut(strings.TrimSpace(line), " - ")
		fields, rest := strings.Fields(before), strings.Fields(after)
		if !found || len(fields) < 6 || len(rest) < 2 {
			continue
		}
		list = append(list, mountInfo{
			id: fields[0], device: fields[2], root: unescape(fields[3]), path: unescape(fields[4]), options: strings.Split(fields[5], ","),
			fstype: rest[0], source: unescape(rest[1]),
			shared: slices.ContainsFunc(fields[6:], func(f string) bool { return strings.HasPrefix(f, "shared:") }),
		})
	}
	return list, nil
}

// ids returns the kernel's numbers of the mounts.
func (list mountInfos) ids() []string {
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = list[i].id
	}
	return ids
}

// unescape undoes what the kernel does to blanks, \040 and the like.
func unescape(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+3 < len(text) {
			if n, err := strconv.ParseUint(text[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// containing returns the mount that a path is in: the last one of those with the
// longest path, which is on top.
func (list mountInfos) containing(name string) (best *mountInfo) {
	for i := range list {
		if _, ok := below(name, list[i].path); ok && (best == nil || len(list[i].path) >= len(best.path)) {
			best = &list[i]
		}
	}
	return best
}

// at returns the path in a mount's device of a path below the mount.
func (m *mountInfo) at(name string) string {
	rest, _ := below(name, m.path)
	return path.Join(m.root, rest)
}

// below returns the path from dir down to name, "/" for dir itself.
func below(name, dir string) (rest string, ok bool) {
	if name == dir {
		return "/", true
	}
	rest, ok = strings.CutPrefix(name, strings.TrimSuffix(dir, "/")+"/")
	return "/" + rest, ok
}

// onNode returns the mounts below the node's directory. Path is the node's; Device is
// the node path of what is mounted, or the device's name if that lies outside.
func (b *Bind) onNode(table mountInfos) (list []MountPoint) {
	home := table.containing(b.root)
	for _, m := range table {
		at, ok := below(m.path, b.root)
		if !ok || at == "/" {
			continue
		}
		p := MountPoint{Device: m.source, Path: at, Type: m.fstype, Opts: m.options}
		if source, ok := below(m.root, home.at(b.root)); ok && m.device == home.device {
			p.Device, p.Type, p.Opts = source, "none", append([]string{"bind"}, m.options...)
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
	table, err := readMountInfo("self")
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
	table, err := readMountInfo("self")
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(table, func(m mountInfo) bool { return m.path == b.machine(at) }), nil
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
	table, err := readMountInfo("self")
	if err != nil {
		return nil, err
	}
	var refs []string
	self := b.machine(real)
	on := table.containing(self)
	for i := range table {
		m := &table[i]
		at, ok := below(m.path, b.root)
		if ok && m.path != self && m.device == on.device && m.root == on.at(self) {
			refs = append(refs, at)
		}
	}
	slices.Sort(refs)
	return refs, nil
}
