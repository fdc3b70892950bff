package kubelet

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/storagesim/storagesim/kubelet/nodefs"
)

// errShell is why a script is not run.
var errShell = errors.New("this simulation has no shell; it runs only scripts that are lines of known commands, assignments and \"set\", " +
	"with quotes and $VARIABLES, and without pipes, redirections, substitutions, patterns, conditions and loops")

// errJustRuns is why a command is not carried out: its container just runs.
var errJustRuns = errors.New("the container just runs")

// exitError is the end of a program with an exit code of its own.
type exitError struct {
	code int32
	text string // what it printed
}

func (e *exitError) Error() string {
	if e.text != "" {
		return e.text
	}
	return fmt.Sprintf("exit status %d", e.code)
}

// maxPrinted is how much of what a script printed last is kept.
//
// Upstream: kuberuntime MaxContainerTerminationMessageLogLength, v1.36.
const maxPrinted = 2048

// shell is one run of a script.
type shell struct {
	process *Process
	vars    map[string]string
	name    string // of the script, for messages
	inline  bool   // given with -c
	// exitOnError and unset are "set -e" and "set -u".
	exitOnError, unset bool
	status             int32
	printed            []string
}

// sh runs "sh [-eu] FILE [ARG...]" and "sh [-eu] -c SCRIPT [NAME [ARG...]]": no
// shell, but a reader of scripts so simple that the default scripts of
// provisioners are among them. A file that is not is refused before anything of
// it is run, by the line and the word that it fails for; with -c, where any
// program of a user's may stand, the container just runs, as it does for all
// commands that are not known.
func sh(p *Process) error {
	s := &shell{process: p, vars: maps.Clone(p.Env), name: p.Argv[0]}
	if s.vars == nil {
		s.vars = map[string]string{}
	}
	script, err := s.load(p.Argv[1:])
	if err != nil {
		return &exitError{code: 2, text: fmt.Sprintf("%s: %v", p.Argv[0], err)}
	}
	if s.inline && script == recyclerScript {
		script = recyclerCommand
	}
	lines, err := lexShell(script)
	if err == nil {
		err = s.check(lines)
	}
	switch {
	case err != nil && s.inline:
		return fmt.Errorf("%w: %w", errJustRuns, err)
	case err != nil:
		return &exitError{code: 2, text: fmt.Sprintf("%s: %v", s.name, err)}
	}
	s.run(lines)
	if s.status == 0 {
		return nil
	}
	text := strings.Join(s.printed, "\n")
	return &exitError{code: s.status, text: text[max(0, len(text)-maxPrinted):]}
}

// The script of the PV controller's recycler pods needs more of a shell than there is
// here; the command does the same. A volume that is not mounted, or not emptied, fails
// it as it does the script's tests.
// Upstream: pkg/volume NewPersistentVolumeRecyclerPodTemplate, v1.36.
const (
	recyclerScript  = `test -e /scrub && find /scrub -mindepth 1 -delete && test -z "$(ls -A /scrub)" || exit 1`
	recyclerCommand = "find /scrub -mindepth 1 -delete"
)

// load reads the options and the script.
func (s *shell) load(args []string) (script string, err error) {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") && args[0] != "-" {
		for _, flag := range args[0][1:] {
			if flag == 'c' {
				s.inline = true
				continue
			}
			if err := s.set("-" + string(flag)); err != nil {
				return "", err
			}
		}
		args = args[1:]
	}
	if len(args) == 0 {
		return "", fmt.Errorf("a script is missing; %w", errShell)
	}
	script = args[0]
	if !s.inline {
		s.name = args[0]
		err = s.process.Do(args[0], false, func(dir *nodefs.Dir, name string) error {
			data, err := dir.ReadFile(name)
			script = string(data)
			return err
		})
		if err != nil {
			return "", fmt.Errorf("cannot open %s: %w", args[0], reason(err))
		}
	}
	if s.inline && len(args) > 1 {
		args = args[1:] // the name that the script goes by
	}
	for i, arg := range args[1:] {
		s.vars[strconv.Itoa(i+1)] = arg
	}
	return script, nil
}

// set understands "set -e", "set -u" and both in one.
func (s *shell) set(flags string) error {
	on := strings.HasPrefix(flags, "-")
	if len(flags) < 2 || !on && !strings.HasPrefix(flags, "+") {
		return fmt.Errorf("set %s: %w", flags, errShell)
	}
	for _, flag := range flags[1:] {
		switch flag {
		case 'e':
			s.exitOnError = on
		case 'u':
			s.unset = on
		default:
			return fmt.Errorf("option %q is not one of those this simulation knows: -e, -u and -c", string(flag))
		}
	}
	return nil
}

// check refuses a script that names an unknown command, before anything is
// done. Whatever is built in is known, and what a variable says is seen later.
func (s *shell) check(lines []shellLine) error {
	for _, line := range lines {
		name := line.words[0].literal()
		_, _, assigns := assignment(line.words[0])
		_, known := lookup(s.process.commands, name)
		if name == "" || assigns || known || slices.Contains(shellBuiltins(), name) {
			continue
		}
		return fmt.Errorf("line %d: %s: %w; known commands are %s", line.number, name, errShell,
			strings.Join(slices.Concat(slices.Sorted(maps.Keys(s.process.commands)), shellBuiltins()), ", "))
	}
	return nil
}

func shellBuiltins() []string { return []string{":", "echo", "exit", "false", "set", "true"} }

func (s *shell) run(lines []shellLine) {
	for _, line := range lines {
		ended, err := s.runLine(line)
		if err != nil {
			s.print(fmt.Sprintf("%s: line %d: %v", s.name, line.number, err))
			s.status, ended = 2, true
		}
		if ended || s.status != 0 && s.exitOnError {
			return
		}
	}
}

// runLine does one line; an error ends the script, as a failed command does not
// by itself.
func (s *shell) runLine(line shellLine) (ended bool, err error) {
	words := line.words
	for len(words) > 0 {
		name, value, ok := assignment(words[0])
		if !ok {
			break
		}
		if s.vars[name], err = s.expandOne(value); err != nil {
			return true, err
		}
		words = words[1:]
	}
	if len(words) == 0 {
		s.status = 0
		return false, nil
	}
	if len(words) < len(line.words) {
		return true, fmt.Errorf("an assignment before a command: %w", errShell)
	}
	argv, err := s.expand(words)
	if err != nil || len(argv) == 0 {
		return err != nil, err
	}
	return s.command(argv)
}

func (s *shell) command(argv []string) (ended bool, err error) {
	switch argv[0] {
	case ":", "true", "echo": // its output is not read
		s.status = 0
	case "false":
		s.status = 1
	case "set":
		s.status = 0
		for _, flags := range argv[1:] {
			if err := s.set(flags); err != nil {
				return true, err
			}
		}
	case "exit":
		if len(argv) > 1 {
			code, err := strconv.ParseUint(argv[1], 10, 8)
			if err != nil {
				return true, fmt.Errorf("exit: illegal number: %s", argv[1])
			}
			s.status = int32(code)
		}
		return true, nil
	default:
		s.status = s.execute(argv)
	}
	return false, nil
}

// execute runs a command of the simulation.
func (s *shell) execute(argv []string) int32 {
	run, known := lookup(s.process.commands, argv[0])
	if !known {
		s.print(fmt.Sprintf("%s: %s: not found", s.name, argv[0]))
		return 127
	}
	err := s.process.child(argv, s.vars, run)
	if err == nil {
		return 0
	}
	s.print(err.Error())
	return exitCode(err)
}

func (s *shell) print(text string) { s.printed = append(s.printed, text) }

// lookup finds a command by its name, or by its path in one of the usual
// directories.
func lookup(commands map[string]Command, name string) (Command, bool) {
	switch path.Dir(name) {
	case "/bin", "/sbin", "/usr/bin", "/usr/sbin":
		name = path.Base(name)
	}
	run, ok := commands[name]
	return run, ok
}

// exitCode is the exit code of a program that ended with err.
func exitCode(err error) int32 {
	var exit *exitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.code
	}
	return 1
}
