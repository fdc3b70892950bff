package disk

import (
	"cmp"
	"errors"
	"math"
	"syscall"
)

// BlockSize is the unit in which the space of a file is counted.
const BlockSize = 4096

// DefaultSize is the size that df and a kubelet say of a disk without one.
const DefaultSize int64 = 100 << 30

// ErrNoLimits is returned for limits of a directory of the machine that runs the
// simulation: to set a quota there takes privilege and a file system of its own.
var ErrNoLimits = errors.New("limits can be set on disks in memory only")

// ErrQuotaExceeded is the error of ext4 for a write past the limits of a project.
const ErrQuotaExceeded = syscall.EDQUOT

// Limits bound a disk, or all files of a project together.
type Limits struct {
	// Bytes is the hard limit of what files take, in blocks of 4 KiB: what goes past it
	// is not written. Inodes is that of the number of files, directories and links. 0
	// is no limit.
	Bytes, Inodes int64
	// Soft, if set, is the size that Space tells of a project, as XFS does. Nothing is
	// refused because of it: the time of grace past a soft limit never ends here.
	Soft int64
	// Err is the error past a project's limits: default syscall.ENOSPC, as on
	// XFS; ext4 has ErrQuotaExceeded. The error of a full disk is always
	// syscall.ENOSPC.
	Err error
}

// Space is the size of a disk and how much of it is in use, as statfs(2) reports it.
type Space struct {
	// Bytes and Inodes are the sizes, 0 if there is no limit.
	Bytes, Inodes int64
	// UsedBytes is the size of the files, in blocks of 4 KiB; UsedInodes is the number of files,
	// directories and links.
	UsedBytes, UsedInodes int64
}

// Limit gives the disk a size. What is on it stays, also if it is more.
func (d *Disk) Limit(limits Limits) error {
	return d.do("setquota", "/", func(d *Disk, _ string) error { return d.store.limit(0, limits) })
}

// SetProject makes a directory and all below it the files of a project, a number that
// is not 0; what is made there later belongs to it as well. What would move a file of
// another project there fails with EXDEV. It does not follow links below name.
func (d *Disk) SetProject(name string, project uint32) error {
	return d.do("setproject", name, func(d *Disk, rel string) error {
		if project == 0 {
			return errors.New("a project is a number from 1 to 4294967295")
		}
		return d.store.setProject(rel, project)
	})
}

// LimitProject sets the limits of a project on the disk that name is on.
func (d *Disk) LimitProject(name string, project uint32, limits Limits) error {
	return d.do("setquota", name, func(d *Disk, _ string) error {
		if project == 0 {
			return errors.New("a project is a number from 1 to 4294967295")
		}
		return d.store.limit(project, limits)
	})
}

// Space returns the space where name is: on the disk, or in the project that
// name belongs to, if that has limits. The error is ErrNoLimits for a directory of the
// machine that runs the simulation.
func (d *Disk) Space(name string) (space Space, err error) {
	err = d.do("statfs", name, func(d *Disk, rel string) error {
		space, err = d.store.space(rel)
		return err
	})
	return space, err
}

// account holds the limits and the usage of a disk or a project.
type account struct {
	limits         Limits
	blocks, inodes int64
}

// accounts holds the account of a disk, and those of its projects by their numbers.
type accounts struct {
	disk     account
	projects map[uint32]*account
}

// of returns the account of a project; for 0 that of the disk.
func (as *accounts) of(project uint32) *account {
	if project == 0 {
		return &as.disk
	}
	a := as.projects[project]
	if a == nil {
		a = &account{}
		as.projects[project] = a
	}
	return a
}

// charge counts what an inode of a project takes more, or less.
func (as *accounts) charge(project uint32, blocks, inodes int64) {
	as.disk.blocks += blocks
	as.disk.inodes += inodes
	if project != 0 {
		a := as.of(project)
		a.blocks += blocks
		a.inodes += inodes
	}
}

// mayMake returns an error if a project is not allowed another file.
func (as *accounts) mayMake(project uint32) error {
	if a := as.of(project); a.limits.Inodes > 0 && a.inodes >= a.limits.Inodes {
		return a.limits.refusal()
	}
	if as.disk.limits.Inodes > 0 && as.disk.inodes >= as.disk.limits.Inodes {
		return syscall.ENOSPC
	}
	return nil
}

// free returns how many more blocks a file of a project may take, and the error for one
// more.
func (as *accounts) free(project uint32) (blocks int64, refusal error) {
	a := as.of(project)
	blocks, refusal = a.free(), a.limits.refusal()
	if left := as.disk.free(); left < blocks {
		blocks, refusal = left, syscall.ENOSPC
	}
	return blocks, refusal
}

func (a *account) free() int64 {
	if a.limits.Bytes == 0 {
		return math.MaxInt64
	}
	return max(0, a.limits.Bytes/BlockSize-a.blocks)
}

func (l Limits) refusal() error {
	if l.Err != nil {
		return l.Err
	}
	return syscall.ENOSPC
}

func blocksOf(size int) int64 { return (int64(size) + BlockSize - 1) / BlockSize }

// grow charges a file for size bytes. If there is less space, it charges for what fits and
// returns an error. fits is never less than the present size.
func (t *tree) grow(n *inode, size int) (fits int, err error) {
	has, want := blocksOf(len(n.data)), blocksOf(size)
	if free, refusal := t.free(n.project); want-has > free {
		want, size, err = has+free, int((has+free)*BlockSize), refusal
	}
	t.charge(n.project, want-has, 0)
	return size, err
}

// drop stops to count a removed inode and all below it.
func (t *tree) drop(n *inode) {
	t.charge(n.project, -blocksOf(len(n.data)), -1)
	for _, below := range n.entries {
		t.drop(below)
	}
}

// setProject assigns an inode and all below it to a project.
func (t *tree) setProject(n *inode, project uint32) {
	t.charge(n.project, -blocksOf(len(n.data)), -1)
	n.project = project
	t.charge(n.project, blocksOf(len(n.data)), 1)
	for _, below := range n.entries {
		t.setProject(below, project)
	}
}

func (m *memory) limit(project uint32, limits Limits) error {
	if limits.Bytes < 0 || limits.Inodes < 0 || limits.Soft < 0 {
		return errors.New("a limit is negative")
	}
	unlock, err := m.lock()
	if err != nil {
		return err
	}
	defer unlock()
	m.tree.of(project).limits = limits
	return nil
}

func (m *memory) setProject(rel string, project uint32) error {
	return m.existing(rel, true, func(p place) error {
		if !p.file.mode.IsDir() {
			return syscall.ENOTDIR
		}
		m.tree.setProject(p.file, project)
		return nil
	})
}

// Linux: fs/xfs/xfs_super.c xfs_fs_statfs, fs/xfs/xfs_qm_bhv.c xfs_fill_statvfs_from_dquot.
func (m *memory) space(rel string) (s Space, err error) {
	err = m.existing(rel, true, func(p place) error {
		disk := &m.tree.disk
		s = Space{Bytes: disk.limits.Bytes, Inodes: disk.limits.Inodes, UsedBytes: disk.blocks * BlockSize, UsedInodes: disk.inodes}
		a := m.tree.of(p.file.project)
		if size := cmp.Or(a.limits.Soft, a.limits.Bytes); size > 0 {
			s.Bytes, s.UsedBytes = size, a.blocks*BlockSize
		}
		if a.limits.Inodes > 0 {
			s.Inodes, s.UsedInodes = a.limits.Inodes, a.inodes
		}
		return nil
	})
	return s, err
}

func (r *root) limit(uint32, Limits) error      { return ErrNoLimits }
func (r *root) setProject(string, uint32) error { return ErrNoLimits }
func (r *root) space(string) (Space, error)     { return Space{}, ErrNoLimits }
