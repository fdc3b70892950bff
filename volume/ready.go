package volume

import (
	"path"

	"github.com/storagesim/storagesim/machine/disk"
)

// ReadyFileName is the file that says that a volume was set up.
const ReadyFileName = "ready"

// IsReady reports whether SetReady was called for the directory, which is the plugin's own,
// beside the volume, so that no container writes to it.
//
// Upstream: pkg/volume/util/util.go IsReady, v1.37.
func IsReady(node *disk.Disk, dir string) bool {
	info, err := node.Stat(path.Join(dir, ReadyFileName))
	return err == nil && info.Mode().IsRegular()
}

// SetReady makes the directory and records in it that a volume was set up.
//
// Upstream: pkg/volume/util/util.go SetReady, v1.37.
func SetReady(node *disk.Disk, dir string) error {
	if err := node.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	return node.WriteFile(path.Join(dir, ReadyFileName), nil, 0o644)
}
