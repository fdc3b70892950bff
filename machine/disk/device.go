package disk

import (
	"io/fs"
	"syscall"
)

// A block device is a regular file with the sticky bit, which means nothing to Linux: a process without privilege can make it, in a
// directory too, and it names no device of the machine that runs the simulation. Chmod does not set that bit of a file.

// MakeDevice makes a block device, which is empty; its directory must exist. What is read and written is the file. A device that is
// there already stays, any other file is an error.
func (d *Disk) MakeDevice(name string) error {
	info, err := d.Lstat(name)
	switch {
	case err == nil && isDevice(info.Mode()):
		return nil
	case err == nil:
		return explain("mknod", name, syscall.EEXIST)
	}
	if err := d.WriteFile(name, nil, 0o660); err != nil {
		return err
	}
	return d.do("chmod", name, func(d *Disk, rel string) error { return d.store.Chmod(rel, 0o660|fs.ModeSticky) })
}

func isDevice(mode fs.FileMode) bool { return mode&(fs.ModeDevice|fs.ModeCharDevice) == fs.ModeDevice }

// deviceInfo describes a block device.
type deviceInfo struct{ fs.FileInfo }

func (i deviceInfo) Mode() fs.FileMode { return i.FileInfo.Mode()&^fs.ModeSticky | fs.ModeDevice }

// described returns info as Stat and Lstat show it.
func described(info fs.FileInfo, err error) (fs.FileInfo, error) {
	if err == nil && info.Mode().IsRegular() && info.Mode()&fs.ModeSticky != 0 {
		return deviceInfo{info}, nil
	}
	return info, err
}

// raw undoes described.
func raw(info fs.FileInfo) fs.FileInfo {
	if lost, ok := info.(unowned); ok {
		info = lost.FileInfo
	}
	if device, ok := info.(deviceInfo); ok {
		return device.FileInfo
	}
	return info
}

// fileBits returns the bits of mode that Chmod sets for a file: its sticky bit stays as it is.
func fileBits(info fs.FileInfo, mode fs.FileMode) fs.FileMode {
	if info.Mode().IsRegular() {
		mode = mode&^fs.ModeSticky | info.Mode()&fs.ModeSticky
	}
	return mode
}
