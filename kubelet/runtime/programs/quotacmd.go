package programs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/storagesim/storagesim/machine/disk"
)

// quotasDir has a file for each project quota of the node.
const quotasDir = "/run/quotas"

// ProjectQuota is how much a directory tree of a node may hold. Here it is a
// record and no more: setting a real one needs privilege and a file system of its
// own, so a pod can write beyond it.
type ProjectQuota struct {
	// Project is the number that the file system knows the tree by.
	Project uint64 `json:"project"`
	// Path is the tree's directory on the node.
	Path string `json:"path"`
	// Soft and Hard are the limits as they were given, "6291456k"; 0 means none.
	Soft string `json:"soft,omitempty"`
	Hard string `json:"hard,omitempty"`
}

// Quotas are the project quotas recorded on a node, in order of project number.
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

func quotaFile(project uint64) string { return fmt.Sprintf("%s/%010d", quotasDir, project) }

// changeQuota changes what is recorded of a project.
func (p *Process) changeQuota(project string, change func(*ProjectQuota)) error {
	number, err := strconv.ParseUint(project, 10, 32)
	if err != nil || number == 0 {
		return fmt.Errorf("%s: project '%s' must be a number from 1 to 4294967295", p.Argv[0], project)
	}
	q := ProjectQuota{Project: number}
	file := quotaFile(number)
	data, err := p.program.cfg.Node.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = p.program.cfg.Node.MkdirAll(quotasDir, 0o755)
	case err == nil:
		err = json.Unmarshal(data, &q)
	}
	if err != nil {
		return fmt.Errorf("%s: project %s: %w", p.Argv[0], project, err)
	}
	change(&q)
	if data, err = json.Marshal(q); err != nil {
		return err
	}
	return p.program.cfg.Node.WriteFile(file, data, 0o644)
}

// setProject makes a directory the tree of a project.
func (p *Process) setProject(project, dir string) error {
	err := p.Do(dir, true, func(in *disk.Disk, name string) error {
		info, err := in.Stat(name)
		if err == nil && !info.IsDir() {
			err = errors.New("Not a directory")
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: '%s': %w", p.Argv[0], dir, reason(err))
	}
	return p.changeQuota(project, func(q *ProjectQuota) { q.Path = p.paths[len(p.paths)-1] })
}

// setLimits gives a project its limits.
func (p *Process) setLimits(project, soft, hard string) error {
	for _, limit := range []string{soft, hard} {
		if _, err := strconv.ParseUint(strings.TrimRight(limit, "kKmMgGtT"), 10, 64); err != nil {
			return fmt.Errorf("%s: limit '%s' must be a number, with a suffix k, m, g or t or without", p.Argv[0], limit)
		}
	}
	dir := ""
	err := p.changeQuota(project, func(q *ProjectQuota) { q.Soft, q.Hard, dir = soft, hard, q.Path })
	if err == nil {
		p.Note("the limits of %s are recorded, soft %s and hard %s; this simulation does not enforce them", dir, soft, hard)
	}
	return err
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
				return p.setLimits(words[4], soft, hard)
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

// setquota knows "setquota -P PROJECT SOFT HARD 0 0 MOUNT".
func setquota(p *Process) error {
	if len(p.Argv) != 8 || p.Argv[1] != "-P" || p.Argv[5] != "0" || p.Argv[6] != "0" {
		return errors.New("setquota: this simulation knows only 'setquota -P PROJECT SOFT HARD 0 0 MOUNT'")
	}
	return p.setLimits(p.Argv[2], p.Argv[3], p.Argv[4])
}
