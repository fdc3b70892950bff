package mount

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/storagesim/storagesim/machine/disk"
)

// TableDir is the directory of a TempDir's records of mounts, one file each: what a kernel
// has in its memory.
const TableDir = "/run/mounts"

// record is one mount.
type record struct {
	// Source is the target of the link, without links on the way.
	Source string `json:"source"`
	// Target is the mount point, without links on the way to it.
	Target  string   `json:"target"`
	Options []string `json:"options"`
	// Type is the type of a mount that is not a bind mount, "nfs".
	Type string `json:"type,omitempty"`
	// Part is the directory in what Type and Source name that is mounted, "" for all of it.
	Part string `json:"part,omitempty"`
	// File says that the target was a file; Mode are its permissions.
	File bool        `json:"file,omitempty"`
	Mode fs.FileMode `json:"mode"`
	// Link is the link's text, known once it is made.
	Link string `json:"-"`
}

func (r record) file() string {
	sum := sha256.Sum256([]byte(r.Target))
	return TableDir + "/" + hex.EncodeToString(sum[:16]) + ".json"
}

// load reads the mounts. A record without its link is not a mount: a mount or unmount was
// interrupted, or the mount point was removed.
func (t *TempDir) load() error {
	table, stale, err := readTable(t.cfg.Dir)
	if err != nil {
		return err
	}
	t.table = table
	for _, r := range stale {
		if r.Type != "" && t.attach(r) == nil {
			continue
		}
		if err := t.cfg.Dir.Remove(r.file()); err != nil {
			return err
		}
	}
	return nil
}

// Read returns what is mounted on a node, in order of target, and the records of
// mounts that do not exist any more. Unlike NewTempDir it changes nothing.
func Read(node *disk.Disk) (mounts []MountPoint, stale []string, err error) {
	table, left, err := readTable(node)
	for _, r := range table {
		mounts = append(mounts, r.mountPoint())
	}
	for _, r := range left {
		stale = append(stale, r.file())
	}
	return inOrder(mounts), stale, err
}

// readTable reads the records. Files that are no records of ours are passed over.
func readTable(node *disk.Disk) (table map[string]record, stale []record, err error) {
	table = map[string]record{}
	entries, err := node.ReadDir(TableDir)
	if errors.Is(err, fs.ErrNotExist) {
		return table, nil, nil
	}
	for _, e := range entries {
		file := path.Join(TableDir, e.Name())
		var r record
		data, err := node.ReadFile(file)
		if err != nil || json.Unmarshal(data, &r) != nil || r.file() != file {
			continue
		}
		if !r.exists(node) {
			stale = append(stale, r)
			continue
		}
		r.Mode = r.Mode.Perm() // whatever a file says
		table[r.Target] = r
	}
	return table, stale, err
}

// exists reports whether the mount of a record exists. For a bind mount it sets Link to the present text of the link at the target.
func (r *record) exists(node *disk.Disk) bool {
	if r.Type != "" {
		return node.Attached(r.Target)
	}
	var err error
	if r.Link, err = node.Readlink(r.Target); err != nil {
		return false
	}
	at, err := node.EvalSymlinks(r.Target)
	return err != nil || at == r.Source
}

func (t *TempDir) save(r record) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := t.cfg.Dir.WriteFile(r.file(), data, 0o644); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := t.cfg.Dir.MkdirAll(TableDir, 0o755); err != nil {
		return err
	}
	return t.cfg.Dir.WriteFile(r.file(), data, 0o644)
}

func (t *TempDir) forget(r record) error {
	delete(t.table, r.Target)
	if err := t.cfg.Dir.Remove(r.file()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil // another process was faster
}

// mounted returns the mount at a place, if its link still exists. If the link cannot be
// read, it counts as existing.
func (t *TempDir) mounted(at *disk.At, base string) (r record, mounted bool, err error) {
	r, ok := t.table[at.Path(base)]
	if !ok || r.Type != "" {
		return r, ok && t.cfg.Dir.Attached(r.Target), nil
	}
	text, err := at.Readlink(base)
	if err == nil {
		return r, text == r.Link, nil
	}
	info, unknown := at.Lstat(base)
	switch {
	case errors.Is(unknown, fs.ErrNotExist):
		return r, false, nil
	case unknown != nil:
		return r, false, unknown
	case info.Mode()&fs.ModeSymlink == 0:
		return r, false, nil
	}
	return r, false, err
}

// stillMounted works as mounted, for a target of the table.
func (t *TempDir) stillMounted(target string) (mounted bool) {
	err := t.at(target, func(at *disk.At, base string) (err error) {
		_, mounted, err = t.mounted(at, base)
		return err
	})
	return mounted && err == nil
}

// List returns all mounts, in order of target.
func (t *TempDir) List() ([]MountPoint, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []MountPoint
	for target, r := range t.table {
		if t.stillMounted(target) {
			list = append(list, r.mountPoint())
		}
	}
	return inOrder(list), nil
}

func (r record) mountPoint() MountPoint {
	return MountPoint{Device: r.Source, Path: r.Target, Type: cmp.Or(r.Type, "none"), Opts: slices.Clone(r.Options)}
}

func inOrder(list []MountPoint) []MountPoint {
	slices.SortFunc(list, func(a, b MountPoint) int { return strings.Compare(a.Path, b.Path) })
	return list
}

// IsMountPoint reports whether something is mounted on file. The error is
// fs.ErrNotExist if there is no such file.
func (t *TempDir) IsMountPoint(file string) (mounted bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	err = t.at(file, func(at *disk.At, base string) (err error) {
		if _, mounted, err = t.mounted(at, base); err == nil && !mounted {
			_, err = at.Lstat(base)
		}
		return err
	})
	return mounted, err
}

// IsLikelyNotMountPoint returns the opposite of IsMountPoint, which is exact here.
func (t *TempDir) IsLikelyNotMountPoint(file string) (bool, error) {
	mounted, err := t.IsMountPoint(file)
	return !mounted, err
}

// CanSafelySkipMountPointCheck returns false: unmounting what is not mounted fails.
func (t *TempDir) CanSafelySkipMountPointCheck() bool { return false }

// GetMountRefs returns the other targets on which the same directory is mounted; none for a
// path that does not exist. pathname is a mount point, or a directory that is mounted
// elsewhere.
func (t *TempDir) GetMountRefs(pathname string) ([]string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	source, err := t.cfg.Dir.EvalSymlinks(pathname)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	self := path.Clean(pathname)
	if source != self { // there are links: it may be one itself
		if err := t.at(pathname, func(at *disk.At, base string) error { self = at.Path(base); return nil }); err != nil {
			return nil, err
		}
	}
	shown, _ := t.partOf(source)
	var refs []string
	for target, r := range t.table {
		if r.Source == shown.Source && r.Type == shown.Type && r.Part == shown.Part && target != self && t.stillMounted(target) {
			refs = append(refs, target)
		}
	}
	slices.Sort(refs)
	return refs, nil
}
