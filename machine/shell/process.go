package shell

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/storagesim/storagesim/machine/disk"
)

// Command is a program that containers can run. It does to the node's files, through the
// container's volumes, what the real program does. An error that it returns is printed; the
// exit code is 1 then, unless it is an ExitError.
type Command func(p *Process) error

// Process is one run of a command in a container.
type Process struct {
	// Argv is the command and its arguments.
	Argv []string
	// Dir is the working directory, an absolute path of the container.
	Dir string
	// Env is the environment.
	Env map[string]string

	Stdin          *Input
	Stdout, Stderr io.Writer

	program *Program
	paths   []string    // on the node, that it changed
	notes   []string    // sentences for the trace
	assets  []Asset     // directories that it made and removed
	changes bool        // it may change files, so it is reported
	top     bool        // it is the container's own command
	first   bool        // it is the first process of the container
	umask   fs.FileMode // bits that what it makes does not get
	upTo    int         // bytes that it reads of a device without an end
	// decisive says that the container's command ends if this one is not found.
	decisive bool
}

// ExitError ends a command with an exit code of its own. Text is printed, if
// there is any.
type ExitError struct {
	Code int32
	Text string
}

func (e *ExitError) Error() string {
	if e.Text != "" {
		return e.Text
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

// exitCode returns the exit code of a command that returned err.
func exitCode(err error) int32 {
	var exit *ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.Code
	}
	return 1
}

// Now returns the virtual time.
func (p *Process) Now() time.Time { return p.program.host.Now().UTC() }

// Sleep lets virtual time pass.
func (p *Process) Sleep(d time.Duration) { p.program.sleep(d) }

// Note puts a sentence into the trace, beside the command itself.
func (p *Process) Note(format string, args ...any) {
	if len(p.notes) < maxReported {
		p.notes = append(p.notes, fmt.Sprintf(format, args...))
	}
}

// Path returns the absolute path of name in the container.
func (p *Process) Path(name string) string {
	if !path.IsAbs(name) {
		name = path.Join(p.Dir, name)
	}
	return path.Clean(name)
}

// Do calls f with the volume that name, a path in the container, leads to and its
// path in there, "/" being the volume itself; outside of all volumes with the root file
// system. A path in a read-only one is an error if write is asked for.
func (p *Process) Do(name string, write bool, f func(dir *disk.Disk, name string) error) error {
	return p.do(name, true, write, f)
}

// doLink works as Do, but takes a link for itself, and not for the file to which it leads: f is to describe, read, make or remove it.
func (p *Process) doLink(name string, write bool, f func(dir *disk.Disk, name string) error) error {
	return p.do(name, false, write, f)
}

func (p *Process) do(name string, last, write bool, f func(dir *disk.Disk, name string) error) error {
	p.program.step(1)
	if name == "" {
		return errors.New("no such file or directory")
	}
	name = p.program.files.follow(p.Path(name), last)
	if write {
		p.worksOn(name)
	}
	return p.program.files.answered(name, write, f)
}

// worksOn reports a path that is changed.
func (p *Process) worksOn(name string) {
	p.changes = true
	if m, rest, ok := FindMount(p.program.files.mounts, name); ok && m.root == nil && len(p.paths) < maxReported {
		p.paths = append(p.paths, path.Join(m.VolumePath, m.SubPath, rest))
	}
}

// made reports a directory that was made.
func (p *Process) made(name string) { p.asset(name, false) }

// removed reports a directory that was removed.
func (p *Process) removed(name string) { p.asset(name, true) }

func (p *Process) asset(name string, removed bool) {
	m, rest, ok := FindMount(p.program.files.mounts, p.program.files.follow(p.Path(name), false))
	if ok && m.root == nil && len(p.assets) < maxReported {
		p.assets = append(p.assets, Asset{path.Join(m.VolumePath, m.SubPath, rest), removed})
	}
}

// printf prints to the standard output.
func (p *Process) printf(format string, args ...any) error {
	_, err := fmt.Fprintf(p.Stdout, format, args...)
	return err
}

// run runs a command and prints its error.
func (p *Process) run(command Command) int32 {
	p.program.step(1)
	p.program.began = p.program.began || p.top
	err := command(p)
	report := Report{Argv: p.Argv, Paths: p.paths, Err: err, Notes: p.notes, Assets: p.assets}
	switch {
	case p.top:
		p.program.top = report
	case p.changes || len(p.notes) > 0:
		p.program.report(report)
	}
	p.complain(err)
	return exitCode(err)
}

// another returns a process like this one with another command.
func (p *Process) another(argv []string) *Process {
	return &Process{Argv: argv, Dir: p.Dir, Env: p.Env, Stdin: p.Stdin, Stdout: p.Stdout, Stderr: p.Stderr, program: p.program, umask: p.umask}
}

// complain prints an error, unless it is an exit code without a text.
func (p *Process) complain(err error) {
	var exit *ExitError
	if err == nil || errors.As(err, &exit) && exit.Text == "" {
		return
	}
	_, _ = fmt.Fprintln(p.Stderr, err) // a failure of this write cannot be reported
}

// each calls f for every path, and goes on after errors as these programs
// do. f is given what Do gives, and the path.
func each(p *Process, paths []string, what string, f func(dir *disk.Disk, name, given string) error) error {
	return eachBy(p, p.Do, paths, what, f)
}

// eachBy works as each, by Do or doLink.
func eachBy(p *Process, by func(string, bool, func(*disk.Disk, string) error) error, paths []string, what string,
	f func(dir *disk.Disk, name, given string) error) error {
	if len(paths) == 0 {
		return fmt.Errorf("%s: missing operand", p.Argv[0])
	}
	var errs []error
	for _, name := range paths {
		do := func(dir *disk.Disk, inside string) error { return f(dir, inside, name) }
		if err := by(name, true, do); err != nil {
			errs = append(errs, cannot(p.Argv[0], what, name, err))
		}
	}
	return errors.Join(errs...)
}

// options parses flags as getopt does: plain ones may be joined ("-rf"), those in
// valued take the rest of the word or the next one. "--" ends them.
func options(argv []string, plain, valued string) (flags map[string]string, args []string, err error) {
	return parseOptions(argv, plain, valued, false)
}

// leadingOptions works as options, and the first word that is none ends them, too: what follows is another command.
func leadingOptions(argv []string, plain, valued string) (flags map[string]string, command []string, err error) {
	return parseOptions(argv, plain, valued, true)
}

func parseOptions(argv []string, plain, valued string, leading bool) (flags map[string]string, args []string, err error) {
	flags = map[string]string{}
	for i := 1; i < len(argv); i++ {
		word := argv[i]
		if word == "--" {
			return flags, append(args, argv[i+1:]...), nil
		}
		if len(word) < 2 || word[0] != '-' {
			if leading {
				return flags, argv[i:], nil
			}
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
				return nil, nil, unknownOption(argv[0], flag, word, plain+valued)
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

func unknownOption(program, flag, word, known string) error {
	return fmt.Errorf("%s: option %q of %q is not one of those this simulation knows: %s", program, flag, word, known)
}

// has reports whether a flag is set.
func has(flags map[string]string, names ...string) bool {
	for _, name := range names {
		if _, ok := flags[name]; ok {
			return true
		}
	}
	return false
}
