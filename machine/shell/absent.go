package shell

import "path"

// Absent says what becomes of a program that an image may have and that does not exist here.
type Absent int

const (
	// NotFound: it is not found, 127, as of a shell.
	NotFound Absent = iota
	// Runs: it is taken to run for ever.
	Runs
	// Succeeds: it is taken to have succeeded at once.
	Succeeds
	// Excuses: wherever it is called, the whole command waits for ever and is Excused, since what it would do without the program says nothing.
	Excuses
)

// take does what Config.Absent says of a program that is not there, if its exit code 127 would end the container's own command.
func (p *Program) take(proc *Process) (code int32, taken bool) {
	if p.cfg.Absent == nil || p.isInVolume(proc) {
		return 0, false
	}
	name := path.Base(proc.Argv[0])
	does := p.cfg.Absent(name)
	if does == NotFound || !proc.decisive && does != Excuses {
		return 0, false
	}
	p.report(Report{Taken: name})
	p.began = true
	p.excused = p.excused || does == Excuses
	p.ofImage = p.ofImage || proc.first && does == Runs
	for does == Runs || does == Excuses {
		proc.Sleep(Forever)
	}
	return 0, true
}

// Excused reports whether the program has called one that is not there, with Excuses.
func (p *Program) Excused() bool { return p.excused }

// isInVolume reports whether a program is named by a path in one of the container's volumes, whose files are all known.
func (p *Program) isInVolume(proc *Process) bool {
	if path.Base(proc.Argv[0]) == proc.Argv[0] {
		return false
	}
	m, _, ok := FindMount(p.files.mounts, p.files.follow(proc.Path(proc.Argv[0]), true))
	return ok && m.root == nil
}

// decides reports whether the exit code of the command at hand, if it is 127, would end the script of the container.
func (s *shell) decides() bool { return s.own && s.tested == 0 && (s.last || s.errexit) }

// takeScript takes a script that this shell cannot read for a program that is not there: the shell of the image can read it.
func (s *shell) takeScript() (taken bool) {
	name := "sh"
	if s.bash {
		name = "bash"
	}
	_, taken = s.program.take(&Process{Argv: []string{name}, program: s.program, decisive: s.own, first: s.first})
	return taken
}
