package shell

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Exit codes of what a signal has ended: 128 and the signal's number.
const (
	exitKilled     = 137 // SIGKILL
	exitTerminated = 143 // SIGTERM
)

// Terminate sends SIGTERM to the program. handled says that it handles the signal: Run it now. A shell that has a trap for SIGTERM runs it as soon as the
// command that it waits for has ended, and goes on. Otherwise a first process ignores the signal, and any other has ended by it.
func (p *Program) Terminate() (handled bool) {
	switch handler := p.handler(); {
	case p.ended:
		return false
	case handler == nil && p.cfg.NotFirst:
		p.Stop()
		p.code = exitTerminated
		return false
	case handler == nil || *handler == "":
		return false
	}
	p.signalled, p.woken = true, true
	return true
}

// OfImage reports whether the program is now one of the image, of which nothing is known: not what it does with signals, either.
func (p *Program) OfImage() bool { return p.ofImage }

// handler returns the command of the program's trap for SIGTERM; nil if it has none.
func (p *Program) handler() *string {
	if p.first == nil {
		return nil
	}
	return p.first.term
}

// interrupted reports whether the shell has a signal to handle.
func (s *shell) interrupted() bool { return s.program.signalled && s.program.first == s }

// handleSignal runs the trap for a signal that has come, between two commands.
func (s *shell) handleSignal() {
	if !s.interrupted() || s.flow == exits || s.term == nil {
		return
	}
	s.program.signalled = false
	flow := s.flow
	s.flow = goesOn
	s.runTrap(*s.term)
	if s.flow == goesOn {
		s.flow = flow
	}
}

// runTrap runs the command of a trap. Unless that ends the shell, the status stays. An exit without a number is one with that status.
func (s *shell) runTrap(text string) {
	status, outside := s.status, s.trapped
	s.trapped = &status
	s.eval(text)
	s.trapped = outside
	if s.flow == goesOn {
		s.status = status
	}
}

// setTrap implements "trap": it keeps the commands for EXIT and SIGTERM. Other signals are not delivered, so commands
// for them are not kept; one that does not exist is an error, after which the others are set.
func (s *shell) setTrap(argv []string) {
	argv = argv[1:]
	if len(argv) == 0 {
		s.printTrap(s.trap, "EXIT")
		s.printTrap(s.term, "TERM")
		return
	}
	action, signals := &argv[0], argv[1:]
	switch _, err := strconv.Atoi(*action); {
	case err == nil || len(signals) == 0:
		action, signals = nil, argv
	case *action == "-":
		action = nil
	}
	for _, signal := range signals {
		switch strings.TrimPrefix(strings.ToUpper(signal), "SIG") {
		case "0", "EXIT":
			s.trap = action
		case "15", "TERM":
			s.term = action
		default:
			if !isSignal(signal) {
				s.fail(1, "trap: %s: invalid signal specification", signal)
			}
		}
	}
}

// isSignal reports whether there is a signal of that name or number on Linux.
func isSignal(signal string) bool {
	if number, err := strconv.Atoi(signal); err == nil {
		return number >= 0 && number <= 64
	}
	const names = "HUP INT QUIT ILL TRAP ABRT IOT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM STKFLT CHLD CLD CONT STOP TSTP TTIN TTOU URG XCPU XFSZ VTALRM PROF " +
		"WINCH IO POLL PWR SYS ERR DEBUG RETURN"
	return slices.Contains(strings.Fields(names), strings.TrimPrefix(strings.ToUpper(signal), "SIG"))
}

func (s *shell) printTrap(action *string, signal string) {
	if action != nil {
		s.print(fmt.Sprintf("trap -- '%s' %s\n", strings.ReplaceAll(*action, "'", `'"'"'`), signal))
	}
}

// signalNumber returns the number of a signal that "kill" sends, by its name or number. 0 asks whether the process is there.
func signalNumber(signal string) (number int32, known bool) {
	switch strings.TrimPrefix(strings.ToUpper(signal), "SIG") {
	case "0":
		return 0, true
	case "HUP", "1":
		return 1, true
	case "KILL", "9":
		return 9, true
	case "USR1", "10":
		return 10, true
	case "USR2", "12":
		return 12, true
	case "TERM", "15":
		return sigterm, true
	}
	return 0, false
}

const sigterm = 15

// id returns the process ID of the program.
func (p *Program) id() int {
	if p.cfg.Beside != nil {
		return p.cfg.Beside.ID
	}
	return 1
}

// kill implements "kill": it ends background commands. The shell handles SIGTERM to itself if it has a trap; as the first process of its
// container it ignores all else. Beside the container's own program it ends by it, and can send signals to the first process.
func (s *shell) kill(argv []string) {
	number, ids := killOf(argv)
	if len(ids) == 0 {
		s.fail(2, "kill: %s", killUsage)
		return
	}
	for _, word := range ids {
		id, j, err := s.findJob(word)
		switch {
		case err == nil && id == s.program.id():
			s.signalItself(number)
		case err == nil && id == 1:
			if number > 0 {
				s.program.cfg.Beside.Signal(number)
			}
		case j == nil || j.ended:
			s.fail(1, "kill: (%s) - No such process", word)
		case number > 0:
			s.program.endJob(j, 128+number)
		}
	}
}

const killUsage = "a signal (HUP, KILL, USR1, USR2, TERM or 0) and the number of a process are wanted"

// killOf returns the signal that "kill" is to send, and the processes; none if the command is wrong.
func killOf(argv []string) (number int32, ids []string) {
	ids, signal := argv[1:], "TERM"
	switch {
	case len(ids) > 1 && ids[0] == "-s":
		signal, ids = ids[1], ids[2:]
	case len(ids) > 0 && strings.HasPrefix(ids[0], "-"):
		signal, ids = ids[0][1:], ids[1:]
	}
	number, known := signalNumber(signal)
	if !known {
		return 0, nil
	}
	return number, ids
}

// killProgram runs the program "kill", which a command without a shell calls: beside the container's own program it sends signals to that.
func killProgram(p *Process) error {
	number, ids := killOf(p.Argv)
	if len(ids) == 0 {
		return &ExitError{2, "kill: " + killUsage}
	}
	var errs []error
	for _, word := range ids {
		beside := p.program.cfg.Beside
		switch id, err := strconv.Atoi(word); {
		case err != nil || id != 1 || beside == nil:
			errs = append(errs, fmt.Errorf("kill: can't kill pid %s: No such process", word))
		case number > 0:
			beside.Signal(number)
		}
	}
	return errors.Join(errs...)
}

// signalItself delivers a signal that the shell sends to the program that it belongs to.
func (s *shell) signalItself(number int32) {
	switch p := s.program; {
	case number == sigterm && p.handler() != nil:
		p.signalled = true
	case p.cfg.Beside != nil && number > 0:
		s.trap, s.status, s.flow = nil, 128+number, exits
	}
}

// endJob ends a background command.
func (p *Program) endJob(j *job, status int32) {
	if j == p.job {
		panic(stopped{})
	}
	j.ended = true
	j.stop()
	j.status = status
}

// findJob finds a background command by its process ID or, after "%", by its number.
func (s *shell) findJob(word string) (id int, found *job, err error) {
	id, err = strconv.Atoi(strings.TrimPrefix(word, "%"))
	if err != nil {
		return 0, nil, err
	}
	if strings.HasPrefix(word, "%") {
		id += s.program.id() // jobs are counted from 1
	}
	for _, j := range s.jobs {
		if j.id == id {
			found = j
		}
	}
	return id, found, nil
}
