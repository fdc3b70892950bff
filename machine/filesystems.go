package machine

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/storagesim/storagesim/machine/disk"
)

// filesystems are the file systems of a machine's block devices: the device has its name, and the files are elsewhere.
type filesystems struct {
	cfg  Config
	open map[string]*disk.Disk // by the ID of the file system
}

// find returns what is mounted with a type: the file system of a block device of the machine, or what Config.Remote finds.
func (m *Machine) find(fstype, source string) (*disk.Disk, error) {
	if of, err := m.disk.Formatted(source); err == nil && of.Type != "" {
		if of.Type != fstype {
			return nil, fmt.Errorf("mount: wrong fs type, bad option, bad superblock on %s, missing codepage or helper program, or other error", source)
		}
		return m.devices.find(of)
	}
	if remote := m.devices.cfg.Remote; remote != nil {
		return remote(fstype, source)
	}
	return nil, fmt.Errorf("mount: unknown filesystem type '%s'", fstype)
}

// find opens a file system, which is empty if it was not used before.
func (f *filesystems) find(of disk.Filesystem) (*disk.Disk, error) {
	d := f.open[of.ID]
	if d == nil {
		var err error
		if f.cfg.Filesystems == "" {
			d, err = inMemory(f.cfg)
		} else {
			d, err = disk.Open(filepath.Join(f.cfg.Filesystems, of.ID))
		}
		if err == nil && strings.HasPrefix(of.Type, "ext") {
			err = d.MkdirAll("/lost+found", 0o700) // mkfs makes it
		}
		if err != nil {
			return nil, err
		}
		f.open[of.ID] = d
	}
	return d.Sub("/")
}

func (f *filesystems) close() error {
	var errs []error
	for _, d := range f.open {
		errs = append(errs, d.Close())
	}
	return errors.Join(errs...)
}
