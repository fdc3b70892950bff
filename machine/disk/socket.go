package disk

import (
	"io/fs"
	"syscall"
)

// MakeSocket makes the file of a unix socket, as bind does: Stat says fs.ModeSocket. Nothing
// listens there; package csi/call has the servers. A socket that is there already stays,
// any other file is an error. Where a directory's file system has no sockets it is
// an empty file.
func (d *Disk) MakeSocket(name string) error {
	return d.do("mkdir", name, func(d *Disk, rel string) error {
		if info, err := d.store.Lstat(rel); err == nil && info.Mode()&fs.ModeSocket != 0 {
			return nil
		} else if err == nil {
			return syscall.EADDRINUSE
		}
		return d.store.socket(rel)
	})
}

func (m *memory) socket(rel string) error {
	return m.at(rel, false, func(p place) error {
		return m.add(p, fs.ModeSocket|0o755, func(*inode) error { return nil })
	})
}

// plainSocket stands for a socket's file where the system has no such kind of file.
func (r *root) plainSocket(rel string) error {
	f, err := r.OpenFile(rel, syscall.O_CREAT|syscall.O_EXCL|syscall.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	return f.Close()
}
