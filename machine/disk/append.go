package disk

// AppendFile writes data at the end of a regular file, which must exist. The file
// does not grow beyond 64 MiB (ErrTooLarge), the size up to which files are read.
func (d *Disk) AppendFile(name string, data []byte) error {
	return d.do("write", name, func(d *Disk, rel string) error { return d.store.appendFile(rel, data) })
}
