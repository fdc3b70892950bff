package bundled

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/internal/prose"
)

// Disk names a directory that a node has before the start, or below /dev a block device.
type Disk struct{ Node, Path string }

// ParseDisks reads values of a flag, NODE:PATH.
func ParseDisks(flag string, texts, nodes []string) (disks []Disk, err error) {
	for _, text := range texts {
		node, name, ok := strings.Cut(text, ":")
		switch {
		case !ok || !path.IsAbs(name) || slices.Contains(strings.Split(name, "/"), ".."):
			return nil, fmt.Errorf("%s: %q is not NODE:PATH with an absolute path, such as node-1:/data/disk", flag, text)
		case !slices.Contains(nodes, node):
			return nil, fmt.Errorf("%s %s: there is no node %q%s", flag, text, node, prose.OneOf(node, nodes))
		}
		disks = append(disks, Disk{node, path.Clean(name)})
	}
	return disks, nil
}

// MakeDisk gives a node a disk.
func MakeDisk(c *storagesim.Cluster, d Disk) error {
	files, err := c.Machine("node/" + d.Node).Disk()
	switch {
	case err != nil:
	case strings.HasPrefix(d.Path, "/dev/"):
		if err = files.MkdirAll(path.Dir(d.Path), 0o755); err == nil {
			err = files.MakeDevice(d.Path)
		}
	default:
		err = files.MakeDir(d.Path, 0o777)
	}
	if err != nil {
		return fmt.Errorf("%s:%s: %w", d.Node, d.Path, err)
	}
	return nil
}
