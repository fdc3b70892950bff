package shell

import (
	"errors"
	"path"
	"strings"

	"github.com/storagesim/storagesim/machine/disk"
)

// ErrReadOnly is returned for writes into a volume that is mounted read-only.
var ErrReadOnly = errors.New("read-only file system")

// errNoVolume is returned for a path outside of all volumes, where only a volume will do.
var errNoVolume = errors.New("the path is in none of the container's volumes")

// errNotDirectory is returned for a path below a file.
var errNotDirectory = errors.New("not a directory")

// Mount is a volume in a container.
type Mount struct {
	// ContainerPath is the path in the container.
	ContainerPath string `json:"containerPath"`
	// VolumePath is the volume's directory (or file) on the node.
	VolumePath string `json:"volumePath"`
	// SubPath is the part of the volume that is mounted; empty for all of it.
	SubPath  string `json:"subPath,omitempty"`
	ReadOnly bool   `json:"readOnly,omitempty"`
	// Kept has at SubPath what was there when it was mounted, which the container sees whatever is at VolumePath; nil if it sees that.
	Kept *disk.Disk `json:"-"`
	// Block says that VolumePath is the file that stands for a block device. The container sees a device.
	Block bool `json:"block,omitempty"`
	// Source and FSType are the device and the type of the mount at VolumePath, as mount(8) takes them:
	// "192.168.203.110:/data/nfs" and "nfs". Empty for a directory of the node's own disk.
	Source string `json:"source,omitempty"`
	FSType string `json:"fsType,omitempty"`

	root *Root // VolumePath is in it, and not on the node
}

// device returns the source and the file system type that mount and df print. A disk of the node has
// no name here. The NFS client of a Linux node finds the version itself, and the mount's type is then nfs4.
func (m Mount) device() (source, fsType string) {
	switch m.FSType {
	case "":
		return "/dev/disk", "ext4"
	case "nfs":
		return m.Source, "nfs4"
	}
	return m.Source, m.FSType
}

// FindMount returns the mount that name is in, and the rest of name: "/" for the volume
// itself.
func FindMount(mounts []Mount, name string) (best Mount, rest string, ok bool) {
	name = path.Clean(name)
	for _, m := range mounts {
		if below, isBelow := cutDir(name, m.ContainerPath); isBelow && (!ok || len(m.ContainerPath) > len(best.ContainerPath)) {
			best, rest, ok = m, path.Clean("/"+below), true
		}
	}
	return best, rest, ok
}

// cutDir returns what follows dir in the path name; ok is false if name is not in dir.
func cutDir(name, dir string) (below string, ok bool) {
	below, ok = strings.CutPrefix(name, strings.TrimSuffix(dir, "/"))
	return below, ok && (below == "" || below[0] == '/')
}

// InVolume calls f with the volume that a container path is in, as a file system of its
// own, since a link must not lead out of it. A path outside of all mounts is an error, and
// so is a path in a read-only one if write is set. What f does is done by the user; nil may do everything.
func InVolume(node *disk.Disk, user *disk.User, mounts []Mount, name string, write bool, f func(dir *disk.Disk, name string) error) error {
	m, rest, ok := FindMount(mounts, name)
	switch {
	case !ok:
		return errNoVolume
	case m.ReadOnly && write:
		return ErrReadOnly
	}
	if m.root != nil {
		var err error
		if node, err = m.root.files(); err != nil {
			return err
		}
	}
	dir, inside, err := openMount(node, m, rest)
	if err != nil {
		return err
	}
	defer dir.Close()
	dir.As(user, inside != rest)
	return f(dir, inside)
}

// openMount opens a mount's directory. For a mount of a file it opens the directory of the
// file.
func openMount(node *disk.Disk, m Mount, rest string) (*disk.Disk, string, error) {
	switch {
	case m.Kept != nil:
		return openOrParent(m.Kept, "/"+m.SubPath, rest)
	case m.SubPath == "":
		return openOrParent(node, m.VolumePath, rest)
	}
	whole, err := node.Sub(m.VolumePath)
	if err != nil {
		return nil, "", err
	}
	defer whole.Close()
	return openOrParent(whole, "/"+m.SubPath, rest)
}

func openOrParent(in *disk.Disk, name, rest string) (*disk.Disk, string, error) {
	info, err := in.Stat(name)
	if err != nil {
		return nil, "", err
	}
	if info.IsDir() {
		dir, err := in.Sub(name)
		return dir, rest, err
	}
	if rest != "/" {
		return nil, "", errNotDirectory
	}
	dir, err := in.Sub(path.Dir(name))
	return dir, "/" + path.Base(name), err
}
