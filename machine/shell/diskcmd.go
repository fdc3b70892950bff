package shell

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"

	"github.com/storagesim/storagesim/machine/disk"
)

// df prints the size of the disks that paths are on, and how much is in use. With -h the sizes have units, with -T the
// type of the file system stands beside its source.
func df(p *Process) error {
	flags, names, err := options(p.Argv, "hkPT", "")
	if err != nil {
		return err
	}
	kind, columns, number := "", "1K-blocks  Used Available Use%", func(kib int64) string { return strconv.FormatInt(kib, 10) }
	if has(flags, "h") {
		columns, number = "Size  Used Avail Use%", func(kib int64) string { return humanSize(kib * 1024) }
	}
	if has(flags, "T") {
		kind = "Type "
	}
	if len(names) == 0 {
		p.program.files.root.list(func(m Mount, _, fsType, _ string) {
			if m.root == nil || fsType == "overlay" || fsType == "tmpfs" {
				names = append(names, m.ContainerPath)
			}
		})
	}
	errs := []error{p.printf("Filesystem     %s%s Mounted on\n", kind, columns)}
	for _, name := range names {
		if _, err := p.lookAt(name, false); err != nil {
			errs = append(errs, fmt.Errorf("df: %s: %w", name, reason(err)))
			continue
		}
		m, _, _ := FindMount(p.program.files.mounts, p.program.files.follow(p.Path(name), true)) // what exists is in a mount
		size, used, err := p.space(name, m)
		free := max(0, size-used)
		percent := (used*100 + used + free - 1) / max(1, used+free)
		source, fsType := m.device()
		if kind != "" {
			source += " " + fsType
		}
		errs = append(errs, err, p.printf("%s %s %s %s %d%% %s\n", source, number(size), number(used), number(free), percent, m.ContainerPath))
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
		used, err = p.diskUsage(m.ContainerPath, onDisk, nil)
		return disk.DefaultSize / 1024, used, err
	case err != nil:
		return 0, 0, fmt.Errorf("%s: %s: %w", p.Argv[0], name, reason(err))
	}
	return space.Bytes / 1024, space.UsedBytes / 1024, nil
}

// humanSize returns a number of bytes as df -h and du -h print it: rounded up, with one digit after the point below 10.
func humanSize(bytes int64) string {
	size, unit := float64(bytes), ""
	for _, next := range []string{"K", "M", "G", "T", "P", "E"} {
		if math.Ceil(size) < 1024 {
			break
		}
		size, unit = size/1024, next
	}
	if tenths := math.Ceil(size * 10); unit != "" && tenths < 100 {
		return fmt.Sprintf("%.1f%s", tenths/10, unit)
	}
	return fmt.Sprintf("%.0f%s", math.Ceil(size), unit)
}

// du prints the size of directories: the blocks in KiB, with -b the bytes of the files, with -h either with units.
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
		size, unit := onDisk, int64(1024)
		if has(flags, "b") {
			size, unit = apparent, 1
		}
		_, err := p.diskUsage(full, size, func(at string, isDir bool, used int64) error {
			if at != full && (has(flags, "s") || !isDir && !has(flags, "a")) {
				return nil
			}
			text := strconv.FormatInt(used, 10)
			if has(flags, "h") {
				text = humanSize(used * unit)
			}
			return p.printf("%s\t%s\n", text, name+strings.TrimPrefix(at, full))
		})
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// onDisk returns what a file takes on the disk, in KiB: blocks of 4 KiB.
func onDisk(size int64) int64 { return (size + 4095) / 4096 * 4 }

// apparent returns the bytes that can be read.
func apparent(size int64) int64 { return size }

// diskUsage returns the sum of the sizes of the files and directories of a tree. It calls
// tell, unless it is nil, for each of them, a directory after its content.
func (p *Process) diskUsage(name string, size func(int64) int64, tell func(name string, isDir bool, used int64) error) (int64, error) {
	p.program.step(1)
	info, err := p.program.files.lstat(name)
	if err != nil {
		return 0, &fs.PathError{Op: "walk", Path: name, Err: reason(err)}
	}
	used := size(sizeOf(info))
	var errs []error
	if info.IsDir() {
		names, err := p.program.files.list(name)
		errs = append(errs, err)
		for _, child := range names {
			below, err := p.diskUsage(path.Join(name, child), size, tell)
			used += below
			errs = append(errs, err)
		}
	}
	if tell != nil {
		errs = append(errs, tell(name, info.IsDir(), used))
	}
	return used, errors.Join(errs...)
}
