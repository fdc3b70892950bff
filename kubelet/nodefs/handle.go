package nodefs

import "os"

// Handle opens a directory or a regular file for its descriptor, which names it
// whatever happens to its path: what mounts it takes this one and no other. Links
// are followed as everywhere, inside the node's directory only. Close it when done;
// as long as it is open, its file system is busy.
func (d *Dir) Handle(name string) (f *os.File, err error) {
	err = d.do("open", name, func(d *Dir, rel string) error {
		info, err := d.root.Stat(rel)
		if err != nil {
			return err
		}
		if !info.IsDir() && !info.Mode().IsRegular() {
			return ErrNotRegular
		}
		f, err = d.root.OpenFile(rel, os.O_RDONLY|nonblock, 0)
		return err
	})
	return f, err
}
