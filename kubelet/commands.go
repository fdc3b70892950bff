package kubelet

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/storagesim/storagesim/kubelet/nodefs"
)

// Command is a program that containers can run: it does to the node's files,
// through the container's volumes, what the real one would. An error is what it
// prints, and makes the exit code 1.
type Command func(p *Process) error

// Process is one run of a command in a container.
type Process struct {
	// Argv is the container's command and args.
	Argv []string
	// WorkingDir is the container's; "" means "/".
	WorkingDir string
	// Env is the container's environment, as far as its values are written in
	// the pod: what comes from elsewhere (valueFrom, envFrom) is not in it.
	Env map[string]string

	node     *nodefs.Dir
	mounts   []containerMount
	commands map[string]Command // that it can run itself
	paths    []string           // on the node, of what it worked on
	notes    []string           // what the trace should say of it
	children []ran
	started  *int // how many commands the container has run
}

// ran is a command that was run.
type ran struct {
	process *Process
	err     error
}

// DefaultCommands are "mkdir [-m MODE] [-p] PATH...", "rm [-r] [-f] PATH...",
// "chmod [-R] MODE PATH..." and "chown [-R] [UID][:GID] PATH...", which provisioners'
// helper pods run, "find PATH -mindepth 1 -delete", which the
// PV controller's recycler pods run, "sh" for scripts that only do such things,
// and xfs_quota, chattr and setquota, which record project quotas (Quotas) that
// not enforced.
func DefaultCommands() map[string]Command {
	return map[string]Command{
		"mkdir": mkdir, "rm": rm, "find": find, "sh": sh, "chmod": chmod, "chown": chown,
		"xfs_quota": xfsQuota, "chattr": chattr, "setquota": setquota,
	}
}

// Note puts a sentence into the trace, beside the command itself.
func (p *Process) Note(format string, args ...any) {
	p.notes = append(p.notes, fmt.Sprintf(format, args...))
}

// maxChildren is how many commands one container may run, so that a script that
// runs itself comes to an end.
const maxChildren = 1000

// child runs another command in the same container.
func (p *Process) child(argv []string, env map[string]string, run Command) error {
	if p.started == nil {
		p.started = new(int)
	}
	if *p.started++; *p.started > maxChildren {
		return &exitError{code: 2, text: fmt.Sprintf("%s: more than %d commands in one container", argv[0], maxChildren)}
	}
	child := &Process{
		Argv: argv, WorkingDir: p.WorkingDir, Env: env,
		node: p.node, mounts: p.mounts, commands: p.commands, started: p.started,
	}
	err := run(child)
	p.children = append(p.children, ran{child, err})
	return err
}

// Do calls f with the volume that name, a path in the container, is in and its
// path in there, "/" being the volume itself. Links cannot lead out of the
// volume. A path outside of all volumes, and one in a read-only volume if write
// is asked for, is an error.
func (p *Process) Do(name string, write bool, f func(dir *nodefs.Dir, name string) error) error {
	if !path.IsAbs(name) {
		name = path.Join("/", p.WorkingDir, name)
	}
	if m, rest, ok := findMount(p.mounts, name); ok {
		p.paths = append(p.paths, path.Join(m.VolumePath, m.SubPath, rest))
	}
	return inVolume(p.node, p.mounts, name, write, f)
}

// mkdir makes directories. -p makes parents and takes those that exist; -m sets
// the mode of the last element.
func mkdir(p *Process) error {
	flags, paths, err := options(p.Argv, "p", "m")
	if err != nil {
		return err
	}
	mode := fs.FileMode(0)
	text, hasMode := flags["m"]
	if hasMode {
		if mode, err = parseMode(text); err != nil {
			return err
		}
	}
	_, parents := flags["p"]
	return each(p, paths, "cannot create directory", func(dir *nodefs.Dir, name string) error {
		_, existed := dir.Stat(name)
		switch {
		case parents:
			err = dir.MkdirAll(name, 0o755)
		default:
			err = dir.Mkdir(name, 0o755)
		}
		if err == nil && hasMode && existed != nil { // mkdir -p leaves an old directory's mode
			err = dir.Chmod(name, mode)
		}
		return err
	})
}

// rm removes files; -r directories too; -f takes what does not exist.
func rm(p *Process) error {
	flags, paths, err := options(p.Argv, "rRf", "")
	if err != nil {
		return err
	}
	_, r := flags["r"]
	_, R := flags["R"]
	_, force := flags["f"]
	if len(paths) == 0 && force {
		return nil
	}
	return each(p, paths, "cannot remove", func(dir *nodefs.Dir, name string) error {
		info, err := dir.Lstat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist) && force:
			return nil
		case err != nil:
			return err
		case name == "/":
			return errors.New("Device or resource busy")
		case info.IsDir() && !r && !R:
			return errors.New("Is a directory")
		}
		return dir.RemoveAll(name)
	})
}

// each does something to every path, and goes on after errors as these programs
// do.
func each(p *Process, paths []string, what string, f func(dir *nodefs.Dir, name string) error) error {
	if len(paths) == 0 {
		return fmt.Errorf("%s: missing operand", p.Argv[0])
	}
	var errs []error
	for _, name := range paths {
		if err := p.Do(name, true, f); err != nil {
			errs = append(errs, fmt.Errorf("%s: %s '%s': %w", p.Argv[0], what, name, reason(err)))
		}
	}
	return errors.Join(errs...)
}

// reason leaves out the node's path, which a container does not know.
func reason(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

// options parses flags as getopt does: plain ones may be joined ("-rf"), those in
// valued take the rest of the word or the next one. "--" ends them.
func options(argv []string, plain, valued string) (flags map[string]string, args []string, err error) {
	flags = map[string]string{}
	for i := 1; i < len(argv); i++ {
		word := argv[i]
		if word == "--" {
			return flags, append(args, argv[i+1:]...), nil
		}
		if len(word) < 2 || word[0] != '-' {
			args = append(args, word)
			continue
		}
		for j := 1; j < len(word); j++ {
			flag := word[j : j+1]
			switch {
			case strings.Contains(plain, flag):
				flags[flag] = ""
				continue
			case !strings.Contains(valued, flag):
				return nil, nil, fmt.Errorf("%s: option %q of %q is not one of those this simulation knows: %s", argv[0], flag, word, plain+valued)
			case j+1 < len(word):
				flags[flag] = word[j+1:]
			case i+1 < len(argv):
				i++
				flags[flag] = argv[i]
			default:
				return nil, nil, fmt.Errorf("%s: option requires an argument -- '%s'", argv[0], flag)
			}
			break
		}
	}
	return flags, args, nil
}
