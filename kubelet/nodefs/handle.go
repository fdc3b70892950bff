package nodefs

import "os"

// Handle opens a directory or a regular file for its descriptor, which names it
// whatever happens to its path: what mounts it takes this one and no other. Links
// are followed as everywhere, inside the node's directory only. Close it when done;
// as long as it is open, its file system is busy.
func (d *Dir) Handle(name string) (f *os.File, err error) {
	err = d.do("open", name, func(d *Dir, rel string) error {
		if err := d.root.mayOpen(rel); err != nil {
			return err
		}
		f, err = d.root.OpenFile(rel, os.O_RDONLY|nonblock, 0)
		if err != nil {
			return err
		}
		info, err := f.Stat() // it may be another one by now
		if err == nil && !info.IsDir() && !info.Mode().IsRegular() {
			err = ErrNotRegular
		}
		if err != nil {
			err = firstError(err, f.Close())
			f = nil
		}
		return err
	})
	return f, err
}

// mayOpen refuses what is neither a directory nor a regular file: opening a named pipe
// or a device can wait for its other end, or do something.
func (r *root) mayOpen(rel string) error {
	info, err := r.Stat(rel)
	if err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		err = ErrNotRegular
	}
	return err
}
