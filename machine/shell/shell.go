package shell

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// flow is a pending break, continue, return or exit.
type flow int

const (
	goesOn flow = iota
	breaks
	continues
	returns
	exits
)

// stream is an open descriptor: for reading or for writing.
type stream struct {
	in  *Input
	out io.Writer
}

// shell is one shell environment: a script, or a subshell of it.
type shell struct {
	program *Program
	name    string   // $0
	args    []string // $1...
	bash    bool
	dir     string
	umask   fs.FileMode
	vars    map[string]variable
	exports map[string]bool        // names to export when they are set
	locals  []map[string]*variable // for each function, what its local variables were outside
	funcs   map[string]*syntax.Stmt
	fds     map[int]stream
	trap    *string // the command for EXIT
	term    *string // the command for SIGTERM
	trapped *int32  // the status when the command of a trap that runs began
	// The options of "set".
	errexit, nounset, xtrace, noglob, noexec, pipefail bool

	size    int // bytes of variables and arguments
	argSize int // of which arguments
	opened  int // bytes of input that redirections opened
	held    int // bytes that the program is charged for until the shell ends

	status      int32
	flow        flow
	levels      int   // loops still to leave
	own         bool  // it runs the script of the container itself, in no subshell
	first       bool  // it is the first process of the container
	inline      bool  // it runs the text after -c
	last        bool  // the statement at hand is the last one of the script
	tested      int   // how many conditions surround this statement: errexit does not apply
	loops       int   // loops around it, in this function
	optchar     int   // position of getopts in the current argument
	ran         bool  // a substitution has set the status
	substituted int32 // status of that substitution
	before      int32 // status before the command
	jobs        []*job
	lastJob     int // $!
}

func newShell(p *Process) *shell {
	s := &shell{
		program: p.program, own: p.top, first: p.first, name: p.Argv[0], bash: path.Base(p.Argv[0]) == "bash", dir: p.Dir, umask: p.umask,
		vars: map[string]variable{}, funcs: map[string]*syntax.Stmt{},
		fds: map[int]stream{0: {in: p.Stdin}, 1: {out: p.Stdout}, 2: {out: p.Stderr}},
	}
	if s.first {
		s.program.first = s
	}
	for name, value := range p.Env {
		if isName(name) {
			s.put(name, variable{value: value, exported: true})
		}
	}
	for name, value := range map[string]string{"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "OPTIND": "1"} {
		if _, ok := s.vars[name]; !ok {
			s.put(name, variable{value: value})
		}
	}
	s.put("IFS", variable{value: " \t\n"})
	s.put("PWD", variable{value: s.dir, exported: true})
	return s
}

// subshell returns a copy, whose changes do not reach s. Call its release when it has ended.
func (s *shell) subshell() *shell {
	s.program.step((len(s.vars) + len(s.funcs)) / 100)
	c := *s
	c.held = 0
	c.keep(c.size)
	c.vars, c.exports, c.funcs, c.fds = maps.Clone(s.vars), maps.Clone(s.exports), maps.Clone(s.funcs), maps.Clone(s.fds)
	c.locals = slices.Clone(s.locals)
	for i, saved := range c.locals {
		c.locals[i] = maps.Clone(saved)
	}
	c.trap, c.term, c.trapped, c.own, c.first = nil, nil, nil, false, false
	c.flow = goesOn
	return &c
}

// main runs the shell's script.
func (s *shell) main(text string) error {
	file, err := s.parse(s.name, text)
	switch _, refused := errors.AsType[unsupportedError](err); {
	case refused && s.takeScript():
		return nil
	case err != nil:
		return &ExitError{2, fmt.Sprintf("%s: %v", s.name, err)}
	}
	s.keep(syntaxCost * len(text))
	s.last = true
	s.list(file.Stmts)
	s.last = false
	s.exitTrap()
	if s.status == 0 {
		return nil
	}
	return &ExitError{Code: s.status}
}

// exitTrap runs the command of "trap COMMAND EXIT".
func (s *shell) exitTrap() {
	text := s.trap
	s.trap = nil
	if text == nil || *text == "" {
		return
	}
	s.flow = goesOn
	s.runTrap(*text)
}

// eval runs text in this environment.
func (s *shell) eval(text string) {
	defer s.program.enter()()
	file, err := s.parse(s.name, text)
	if err != nil {
		s.fail(2, "%v", err)
		s.flow = exits
		return
	}
	s.program.hold(syntaxCost * len(text))
	defer s.program.hold(-syntaxCost * len(text))
	if len(file.Stmts) == 0 {
		s.status = 0
	}
	s.list(file.Stmts)
}

// list runs statements until one leaves the list.
func (s *shell) list(stmts []*syntax.Stmt) {
	last := s.last
	defer func() { s.last = last }()
	for i, stmt := range stmts {
		s.last = last && i == len(stmts)-1
		s.stmt(stmt)
		if s.flow != goesOn {
			return
		}
	}
}

// stmt runs one statement with its redirections, and then the trap of a signal that came meanwhile.
func (s *shell) stmt(stmt *syntax.Stmt) {
	s.program.step(1)
	if s.noexec {
		return
	}
	if stmt.Background {
		s.background(stmt)
		return
	}
	if stmt.Negated {
		s.tested++
	}
	call, isCall := stmt.Cmd.(*syntax.CallExpr)
	switch {
	case isCall:
		s.call(call, stmt.Redirs)
	case len(stmt.Redirs) == 0:
		s.command(stmt.Cmd)
	default:
		_ = s.redirected(stmt.Redirs, func() { // it has been shown, and is the status
			s.status = 0
			s.command(stmt.Cmd)
		})
	}
	s.handleSignal()
	if stmt.Negated {
		s.tested--
		if s.flow == goesOn {
			s.status = truth(s.status != 0)
		}
		return
	}
	if s.errexit && s.status != 0 && s.tested == 0 && s.flow == goesOn && endsShell(stmt.Cmd) {
		s.flow = exits
	}
}

// endsShell reports whether the failure of this command ends a shell with -e. A compound
// command does not: the failed command in it has ended the shell already.
func endsShell(cmd syntax.Command) bool {
	switch cmd := cmd.(type) {
	case *syntax.CallExpr, *syntax.Subshell, *syntax.TestClause, *syntax.ArithmCmd, *syntax.LetClause, *syntax.DeclClause, nil:
		return true
	case *syntax.BinaryCmd:
		return cmd.Op == syntax.Pipe
	}
	return false
}

// fail prints a message of the shell itself and sets the status.
func (s *shell) fail(status int32, format string, args ...any) {
	s.status = status
	s.warn(format, args...)
}

func (s *shell) warn(format string, args ...any) {
	_, _ = fmt.Fprintf(s.out(2), "%s: %s\n", s.name, fmt.Sprintf(format, args...)) // an error of standard error cannot be shown
}

func (s *shell) out(fd int) io.Writer {
	if out := s.fds[fd].out; out != nil {
		return out
	}
	return closedOutput{}
}

func (s *shell) in() *Input {
	if in := s.fds[0].in; in != nil {
		return in
	}
	return &Input{}
}

// truth returns the status 0 for true and 1 for false.
func truth(holds bool) int32 {
	if holds {
		return 0
	}
	return 1
}
