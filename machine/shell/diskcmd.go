package shell

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/storagesim/storagesim/machine/disk"
)

// df prints the size of the disks that paths are on, and how much is in use.
func df(p *Process) error {
	_, names, err := options(p.Argv, "hkPT", "")
	if err != nil {
		return err
	}
	if len(names) == 0 {
		p.program.files.root.list(func(m Mount, _, fsType, _ string) {
			if m.root == nil || fsType == "overlay" || fsType == "tmpfs" {
				names = append(names, m.ContainerPath)
			}
		})
	}
	errs := []error{p.printf("Filesystem     1K-blocks  Used Available Use%% Mounted on\n")}
	for _, name := range names {
		if _, err := p.lookAt(name, false); err != nil {
			errs = append(errs, fmt.Errorf("df: %s: %w", name, reason(err)))
			continue
		}
		m, _, _ := FindMount(p.program.files.mounts, p.program.files.follow(p.Path(name), true)) // what exists is in a mount
		size, used, err := p.space(name, m)
		free := max(0, size-used)
		percent := (used*100 + used + free - 1) / max(1, used+free)
		source, _ := m.device()
		errs = append(errs, err, p.printf("%s %d %d %d %d%% %s\n", source, size, used, free, percent, m.ContainerPath))
	}
	return errors.Join(errs...)
}

// space returns the size of the disk that name is on, or of the project that it belongs to,
// and how much is in use, in KiB. If there is no limit, it counts the volume's files.
func (p *Process) space(name string, m Mount) (size, used int64, err error) {
	var space disk.Space
	err = p.Do(name, false, func(in *disk.Disk, name string) error {
		space, err = in.Space(name)
		return err
	})
	switch {
	case errors.Is(err, disk.ErrNoLimits), err == nil && space.Bytes == 0:
		used, err = p.diskUsage(m.ContainerPath, nil)
		return disk.DefaultSize / 1024, used, err
	case err != nil:
		return 0, 0, fmt.Errorf("%s: %s: %w", p.Argv[0], name, reason(err))
	}
	return space.Bytes / 1024, space.UsedBytes / 1024, nil
}

// du prints the size of directories, in KiB.
func du(p *Process) error {
	flags, names, err := options(p.Argv, "skhab", "")
	if err != nil {
		return err
	}
	if len(names) == 0 {
		names = []string{"."}
	}
	var errs []error
	for _, name := range names {
		if _, err := p.lookAt(name, true); err != nil {
			errs = append(errs, cannot("du", "cannot access", name, err))
			continue
		}
		full := p.Path(name)
		_, err := p.diskUsage(full, func(at string, isDir bool, used int64) error {
			if at != full && (has(flags, "s") || !isDir && !has(flags, "a")) {
				return nil
			}
			return p.printf("%d\t%s\n", used, name+strings.TrimPrefix(at, full))
		})
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// diskUsage returns the size of a tree in KiB, each file rounded up to blocks of 4 KiB. It calls
// tell, unless it is nil, for each file and directory, a directory after its content.
func (p *Process) diskUsage(name string, tell func(name string, isDir bool, used int64) error) (int64, error) {
	p.program.step(1)
	info, err := p.program.files.lstat(name)
	if err != nil {
		return 0, &fs.PathError{Op: "walk", Path: name, Err: reason(err)}
	}
	used := (sizeOf(info) + 4095) / 4096 * 4
	var errs []error
	if info.IsDir() {
		names, err := p.program.files.list(name)
		errs = append(errs, err)
		for _, child := range names {
			below, err := p.diskUsage(path.Join(name, child), tell)
			used += below
			errs = append(errs, err)
		}
	}
	if tell != nil {
		errs = append(errs, tell(name, info.IsDir(), used))
	}
	return used, errors.Join(errs...)
}
