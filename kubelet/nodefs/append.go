package nodefs

import "os"

// AppendFile writes data at the end of a regular file, which must exist. The file
// does not grow beyond 64 MiB (ErrTooLarge), the size up to which files are read.
func (d *Dir) AppendFile(name string, data []byte) error {
	return d.do("write", name, func(d *Dir, rel string) error {
		f, err := d.open(rel, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return err
		}
		info, err := f.Stat()
		if err == nil && info.Size()+int64(len(data)) > maxFile {
			err = ErrTooLarge
		}
		if err == nil {
			_, err = f.Write(data)
		}
		return firstError(err, f.Close())
	})
}
