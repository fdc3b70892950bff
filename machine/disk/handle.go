package disk

import "os"

// Handle opens a directory or a regular file for its descriptor, which names it
// whatever happens to its path: what mounts it takes this one and no other. Links
// are followed as everywhere, inside the node's directory only. Close it when done;
// as long as it is open, its file system is busy. Memory has no descriptors:
// ErrInMemory.
func (d *Disk) Handle(name string) (f *os.File, err error) {
	err = d.do("open", name, func(d *Disk, rel string) error {
		f, err = d.store.handle(rel)
		return err
	})
	return f, err
}
