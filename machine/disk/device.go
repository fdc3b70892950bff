package disk

import (
	"errors"
	"io/fs"
	"strings"
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

// Filesystem names a file system on a block device.
type Filesystem struct {
	Type string // "ext4"
	// ID tells one file system from all others. It is part of a file's name: letters, digits and hyphens.
	ID string
}

var errNoDevice = errors.New("block device required")

// superblock stands at the beginning of a formatted device, before the type and the ID. A write over it, as by dd, takes the file system with it.
const superblock = "storagesim file system "

// Format makes an empty file system on a block device, whatever was there before.
func (d *Disk) Format(name string, of Filesystem) error {
	info, err := d.Stat(name)
	if err == nil && !isDevice(info.Mode()) {
		err = explain("format", name, errNoDevice)
	}
	if err != nil {
		return err
	}
	return d.WriteFile(name, []byte(superblock+of.Type+" "+of.ID+"\n"), 0o660)
}

// Formatted returns the file system of a block device; its Type is "" if the device is not formatted.
func (d *Disk) Formatted(name string) (of Filesystem, err error) {
	info, err := d.Stat(name)
	if err == nil && !isDevice(info.Mode()) {
		err = explain("blkid", name, errNoDevice)
	}
	if err != nil {
		return of, err
	}
	data, err := d.ReadFile(name)
	if text, ok := strings.CutPrefix(string(data[:min(len(data), maxSuperblock)]), superblock); ok && err == nil {
		line, _, _ := strings.Cut(text, "\n")
		if kind, id, ok := strings.Cut(line, " "); ok && isFileName(id) {
			return Filesystem{Type: kind, ID: id}, nil
		}
	}
	return of, err
}

// maxSuperblock is the number of bytes in which a superblock ends.
const maxSuperblock = 512

// isFileName reports whether an ID may be part of a file's name: who writes to the device may have written anything.
func isFileName(id string) bool {
	return id != "" && !strings.ContainsFunc(id, func(r rune) bool {
		return !(r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z')
	})
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
