package driver

import (
	"errors"
	"hash/fnv"
	"path"

	"github.com/storagesim/storagesim/machine/disk"
)

// bound limits the files of a volume to its size, in whole blocks, where the disk can do that: in
// memory. A device is not limited.
func (b *Backend) bound(v *volume) error {
	if v.Foreign && v.Size == 0 {
		return nil // its size is not known
	}
	if v.Block {
		return nil // a device is one file, and its size is that of the largest file
	}
	const block = 4 << 10
	data, project := path.Join(b.dir(v.ID), "data"), projectOf(v.ID)
	err := b.disk.LimitProject(data, project, disk.Limits{Bytes: (v.Size + block - 1) / block * block})
	if err == nil {
		err = b.disk.SetProject(data, project)
	}
	if errors.Is(err, disk.ErrNoLimits) {
		return nil
	}
	return err
}

// projectOf returns the project of a volume's files.
func projectOf(id string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(id))
	return max(1, h.Sum32())
}
