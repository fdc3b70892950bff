package shell

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// variable is one of a shell's.
type variable struct {
	value              string
	exported, readonly bool
}

// flow is how a statement ends that is not the end of its list: the way to the loop,
// function or shell that it leaves.
type flow int

const (
	goesOn flow = iota
	breaks
	continues
	returns
	exits
)

// stream is an open descriptor: one of the two.
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
	vars    map[string]variable
	size    int // bytes of all variables
	locals  []map[string]*variable
	funcs   map[string]*syntax.Stmt
	fds     map[int]stream
	traps   map[string]string
	// errexit and so on are the options of "set".
	errexit, nounset, xtrace, noglob, noexec, pipefail bool

	status      int32
	flow        flow
	levels      int // loops still to leave
	tested      int // how many conditions are round this statement: errexit does not hold
	loops       int // loops round it, in this function
	optchar     int // of getopts, in the current argument
	expErr      error
	ran         bool // a substitution has set the status
	substituted int32
	before      int32           // the status before the command
	jobs        []*job          // its background commands
	lastJob     int             // $!
	exports     map[string]bool // to be exported when they are set
}

func newShell(p *Process) *shell {
	s := &shell{
		program: p.program, name: p.Argv[0], bash: baseName(p.Argv[0]) == "bash", dir: p.Dir,
		vars: map[string]variable{}, funcs: map[string]*syntax.Stmt{}, traps: map[string]string{},
		fds: map[int]stream{0: {in: p.Stdin}, 1: {out: p.Stdout}, 2: {out: p.Stderr}},
	}
	for name, value := range p.Env {
		if isName(name) {
			s.vars[name] = variable{value: value, exported: true}
			s.size += len(name) + len(value)
		}
	}
	s.vars["IFS"] = variable{value: " \t\n"}
	s.setDefault("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
	s.setDefault("OPTIND", "1")
	s.vars["PWD"] = variable{value: s.dir, exported: true}
	return s
}

func (s *shell) setDefault(name, value string) {
	if _, ok := s.vars[name]; !ok {
		s.vars[name] = variable{value: value}
	}
}

// subshell is a copy whose changes stay in it.
func (s *shell) subshell() *shell {
	c := *s
	c.vars, c.funcs, c.fds = maps.Clone(s.vars), maps.Clone(s.funcs), maps.Clone(s.fds)
	c.traps = map[string]string{}
	c.locals = slices.Clone(s.locals)
	c.flow = goesOn
	c.expErr = nil
	return &c
}

// main runs the shell's script.
func (s *shell) main(text string) error {
	file, err := s.parse(s.name, text)
	if err != nil {
		return &ExitError{2, fmt.Sprintf("%s: %v", s.name, err)}
	}
	s.list(file.Stmts)
	s.exitTrap()
	if s.status == 0 {
		return nil
	}
	return &ExitError{Code: s.status}
}

// exitTrap runs what is to be run at the end.
func (s *shell) exitTrap() {
	text, ok := s.traps["EXIT"]
	delete(s.traps, "EXIT")
	if !ok || text == "" {
		return
	}
	s.flow = goesOn
	status := s.status
	s.eval(text)
	if s.flow != exits {
		s.status = status
	}
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
	if len(file.Stmts) == 0 {
		s.status = 0
	}
	s.list(file.Stmts)
}

// list runs statements until one leaves the list.
func (s *shell) list(stmts []*syntax.Stmt) {
	for _, stmt := range stmts {
		s.stmt(stmt)
		if s.flow != goesOn {
			return
		}
	}
}

// stmt runs one statement with its redirections.
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
	if isCall {
		s.call(call, stmt.Redirs)
	} else {
		s.redirected(stmt)
	}
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

// endsShell says whether a failure of this very command ends a shell with -e. Those
// of commands in others do already.
func endsShell(cmd syntax.Command) bool {
	switch cmd := cmd.(type) {
	case *syntax.CallExpr, *syntax.Subshell, *syntax.TestClause, *syntax.ArithmCmd, *syntax.DeclClause, nil:
		return true
	case *syntax.BinaryCmd:
		return cmd.Op == syntax.Pipe
	}
	return false
}

// redirected runs a compound command with its redirections.
func (s *shell) redirected(stmt *syntax.Stmt) {
	if len(stmt.Redirs) == 0 {
		s.command(stmt.Cmd)
		return
	}
	saved := s.fds
	s.fds = maps.Clone(saved)
	if err := s.redirect(stmt.Redirs); err != nil {
		s.fail(2, "%v", err)
	} else {
		s.status = 0
		s.command(stmt.Cmd)
	}
	s.fds = saved
}

// fail prints a message of the shell's own.
func (s *shell) fail(status int32, format string, args ...any) {
	s.status = status
	s.warn(format, args...)
}

func (s *shell) warn(format string, args ...any) {
	_, _ = fmt.Fprintf(s.out(2), "%s: %s\n", s.name, fmt.Sprintf(format, args...)) // nobody hears of a failure
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

// truth is the status that says whether something holds.
func truth(holds bool) int32 {
	if holds {
		return 0
	}
	return 1
}
