package volume

import (
	"path"

	"github.com/storagesim/storagesim/machine/disk"
)

// ReadyFileName is the file that says that a volume was set up.
const ReadyFileName = "ready"

// IsReady reports whether SetReady was called for the directory. It is one of the plugin's
// own, beside the volume, where no container writes.
//
// Upstream: pkg/volume/util/util.go IsReady, v1.36.
func IsReady(node *disk.Disk, dir string) bool {
	info, err := node.Stat(path.Join(dir, ReadyFileName))
	return err == nil && info.Mode().IsRegular()
}

// SetReady notes in the directory, which it makes, that a volume was set up.
//
// Upstream: pkg/volume/util/util.go SetReady, v1.36.
func SetReady(node *disk.Disk, dir string) error {
	if err := node.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	return node.WriteFile(path.Join(dir, ReadyFileName), nil, 0o644)
}
