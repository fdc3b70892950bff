package shell

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"

	"github.com/storagesim/storagesim/machine/disk"
)

// quotasDir has a file for each project quota of the node.
const quotasDir = "/run/quotas"

// ProjectQuota limits a directory tree of a node. A disk in memory
// keeps to the hard limit (disk.Limits). In a directory of the machine that runs the
// simulation it is a record and no more: setting a real one needs privilege and a file
// system of its own, so a pod can write beyond it.
type ProjectQuota struct {
	// Project is the number that the file system knows the tree by.
	Project uint64 `json:"project"`
	// Path is the tree's directory on the node.
	Path string `json:"path"`
	// Soft and Hard are the limits as they were given, "6291456k"; 0 means none.
	Soft string `json:"soft,omitempty"`
	Hard string `json:"hard,omitempty"`
}

// Quotas returns the project quotas recorded on a node, in order of project number.
func Quotas(node *disk.Disk) ([]ProjectQuota, error) {
	entries, err := node.ReadDir(quotasDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var list []ProjectQuota
	for _, e := range entries {
		data, err := node.ReadFile(path.Join(quotasDir, e.Name()))
		var q ProjectQuota
		if err == nil {
			err = json.Unmarshal(data, &q)
		}
		if err != nil {
			return nil, err
		}
		list = append(list, q)
	}
	return list, err
}

// parseProject reads a project's number.
func (p *Process) parseProject(text string) (uint32, error) {
	number, err := strconv.ParseUint(text, 10, 32)
	if err != nil || number == 0 {
		return 0, fmt.Errorf("%s: project '%s' must be a number from 1 to 4294967295", p.Argv[0], text)
	}
	return uint32(number), nil
}

// changeQuota changes what is recorded of a project.
func (p *Process) changeQuota(project uint32, change func(*ProjectQuota)) error {
	q := ProjectQuota{Project: uint64(project)}
	file := fmt.Sprintf("%s/%010d", quotasDir, q.Project)
	data, err := p.program.cfg.Node.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = p.program.cfg.Node.MkdirAll(quotasDir, 0o755)
	case err == nil:
		err = json.Unmarshal(data, &q)
	}
	if err != nil {
		return fmt.Errorf("%s: project %d: %w", p.Argv[0], project, err)
	}
	change(&q)
	if data, err = json.Marshal(q); err != nil {
		return err
	}
	return p.program.cfg.Node.WriteFile(file, data, 0o644)
}

// setProject makes a directory the tree of a project.
func (p *Process) setProject(text, dir string) error {
	project, err := p.parseProject(text)
	if err != nil {
		return err
	}
	err = p.inVolume(dir, true, func(in *disk.Disk, name string) error {
		info, err := in.Stat(name)
		if err == nil && !info.IsDir() {
			err = errors.New("Not a directory")
		}
		if err != nil {
			return err
		}
		if err = in.SetProject(name, project); errors.Is(err, disk.ErrNoLimits) {
			err = nil // it is recorded
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: '%s': %w", p.Argv[0], dir, reason(err))
	}
	return p.changeQuota(project, func(q *ProjectQuota) { q.Path = p.paths[len(p.paths)-1] })
}

// inVolume works as Do, for a path in a volume: the root file system has no quotas.
func (p *Process) inVolume(name string, write bool, f func(in *disk.Disk, name string) error) error {
	if m, _, ok := FindMount(p.program.files.mounts, p.program.files.follow(p.Path(name), true)); !ok || m.root != nil {
		return errNoVolume
	}
	return p.Do(name, write, f)
}

// limits are the limits of a project on the disk that mount is on.
type limits struct {
	project, soft, hard, mount string
	// unit is the size in bytes that a number without a suffix counts.
	unit int64
	// past is disk.Limits.Err.
	past error
}

// setLimits records the limits, and has the disk keep to them if it is one in memory.
func (p *Process) setLimits(l limits) error {
	project, err := p.parseProject(l.project)
	if err != nil {
		return err
	}
	soft, err1 := parseLimit(l.soft, l.unit)
	hard, err2 := parseLimit(l.hard, l.unit)
	if err := cmp.Or(err1, err2); err != nil {
		return fmt.Errorf("%s: %w", p.Argv[0], err)
	}
	kept := p.inVolume(l.mount, false, func(in *disk.Disk, name string) error {
		return in.LimitProject(name, project, disk.Limits{Bytes: hard, Soft: soft, Err: l.past})
	})
	if kept != nil && !errors.Is(kept, disk.ErrNoLimits) {
		return fmt.Errorf("%s: '%s': %w", p.Argv[0], l.mount, reason(kept))
	}
	dir := ""
	if err := p.changeQuota(project, func(q *ProjectQuota) { q.Soft, q.Hard, dir = l.soft, l.hard, q.Path }); err != nil {
		return err
	}
	if kept != nil {
		p.Note("the limits of %s are recorded, soft %s and hard %s; only disks in memory enforce them", dir, l.soft, l.hard)
	} else {
		p.Note("the limits of %s are set, soft %s and hard %s; the time of grace past the soft one never ends", dir, l.soft, l.hard)
	}
	return nil
}

// parseLimit returns a limit in bytes from a number with a suffix, or from a number of units.
func parseLimit(text string, unit int64) (int64, error) {
	bad := fmt.Errorf("limit '%s' must be a number, with a suffix k, m, g or t or without", text)
	digits := strings.TrimRight(text, "kKmMgGtT")
	if suffix := strings.ToLower(text[len(digits):]); len(suffix) > 1 {
		return 0, bad
	} else if suffix != "" {
		unit = 1 << (10 * (1 + strings.Index("kmgt", suffix)))
	}
	number, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || number < 0 || number > math.MaxInt64/unit {
		return 0, bad
	}
	return number * unit, nil
}

// xfsQuota knows "xfs_quota -x -c 'project -s -p DIR PROJECT' MOUNT" and
// "xfs_quota -x -c 'limit -p bsoft=N bhard=N PROJECT' MOUNT".
func xfsQuota(p *Process) error {
	if len(p.Argv) == 5 && p.Argv[1] == "-x" && p.Argv[2] == "-c" {
		words := strings.Fields(p.Argv[3])
		switch {
		case len(words) == 5 && strings.Join(words[:3], " ") == "project -s -p":
			return p.setProject(words[4], words[3])
		case len(words) == 5 && strings.Join(words[:2], " ") == "limit -p":
			soft, isSoft := strings.CutPrefix(words[2], "bsoft=")
			hard, isHard := strings.CutPrefix(words[3], "bhard=")
			if isSoft && isHard {
				return p.setLimits(limits{words[4], soft, hard, p.Argv[4], 1, nil})
			}
		}
	}
	return errors.New("xfs_quota: this simulation knows only 'xfs_quota -x -c \"project -s -p DIR PROJECT\" MOUNT' " +
		"and 'xfs_quota -x -c \"limit -p bsoft=N bhard=N PROJECT\" MOUNT'")
}

// chattr knows "chattr +P -p PROJECT DIR".
func chattr(p *Process) error {
	if len(p.Argv) != 5 || p.Argv[1] != "+P" || p.Argv[2] != "-p" {
		return errors.New("chattr: this simulation knows only 'chattr +P -p PROJECT DIR'")
	}
	return p.setProject(p.Argv[3], p.Argv[4])
}

// setquota counts blocks of 1 KiB. It knows "setquota -P PROJECT SOFT HARD 0 0 MOUNT".
func setquota(p *Process) error {
	if len(p.Argv) != 8 || p.Argv[1] != "-P" || p.Argv[5] != "0" || p.Argv[6] != "0" {
		return errors.New("setquota: this simulation knows only 'setquota -P PROJECT SOFT HARD 0 0 MOUNT'")
	}
	return p.setLimits(limits{p.Argv[2], p.Argv[3], p.Argv[4], p.Argv[7], 1024, disk.ErrQuotaExceeded})
}
