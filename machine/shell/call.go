package shell

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// call runs a simple command.
func (s *shell) call(call *syntax.CallExpr, redirs []*syntax.Redirect) {
	s.ran = false
	argv, err := s.words(call.Args)
	if err != nil {
		s.expansionFailed(err)
		return
	}
	saved := s.fds
	if len(redirs) > 0 {
		s.fds = maps.Clone(saved)
	}
	if err := s.redirect(redirs); err != nil {
		s.fds = saved
		s.fail(2, "%v", err)
		if len(argv) > 0 && isSpecial(argv[0]) {
			s.flow = exits
		}
		return
	}
	keep := len(argv) > 0 && argv[0] == "exec"
	s.assignAndRun(call.Assigns, argv)
	if len(redirs) > 0 && (!keep || s.status != 0) {
		s.fds = saved
	}
}

// assignAndRun runs a command with the assignments before it; without a command they
// are the shell's.
func (s *shell) assignAndRun(assigns []*syntax.Assign, argv []string) {
	var before map[string]*variable
	if len(assigns) > 0 {
		before = map[string]*variable{}
	}
	special := len(argv) == 0 || isSpecial(argv[0])
	for _, a := range assigns {
		value, err := s.assigned(a)
		if !special {
			s.keepVariable(before, a.Name.Value)
		}
		if err == nil {
			err = s.set(a.Name.Value, value)
		}
		if err != nil {
			s.restore(before)
			s.expansionFailed(err)
			return
		}
		if len(argv) > 0 {
			v := s.vars[a.Name.Value]
			v.exported = true
			s.vars[a.Name.Value] = v
		}
	}
	s.trace(assigns, argv)
	if len(argv) == 0 {
		s.status = 0
		if s.ran {
			s.status = s.substituted
		}
		return
	}
	s.invoke(argv)
	s.restore(before)
}

// trace prints a command for set -x.
func (s *shell) trace(assigns []*syntax.Assign, argv []string) {
	if !s.xtrace {
		return
	}
	var words []string
	for _, a := range assigns {
		words = append(words, a.Name.Value+"="+s.vars[a.Name.Value].value)
	}
	_, _ = fmt.Fprintf(s.out(2), "+ %s\n", strings.Join(append(words, argv...), " "))
}

// assigned is the value of an assignment.
func (s *shell) assigned(a *syntax.Assign) (string, error) {
	if a.Value == nil {
		return "", nil
	}
	value, err := s.word(a.Value)
	if a.Append {
		value = s.vars[a.Name.Value].value + value
	}
	return value, err
}

// keepVariable notes what a variable was, nil if it was not set.
func (s *shell) keepVariable(in map[string]*variable, name string) {
	if _, kept := in[name]; kept {
		return
	}
	in[name] = nil
	if v, ok := s.vars[name]; ok {
		in[name] = &v
	}
}

func (s *shell) restore(before map[string]*variable) {
	for name, v := range before {
		s.size -= len(s.vars[name].value)
		if v == nil {
			delete(s.vars, name)
			s.size -= len(name)
			continue
		}
		s.size += len(v.value)
		s.vars[name] = *v
	}
}

// invoke runs a function, a command of the shell's own or a program.
func (s *shell) invoke(argv []string) {
	if body, ok := s.funcs[argv[0]]; ok && !isSpecial(argv[0]) {
		s.function(body, argv)
		return
	}
	if builtin, ok := s.program.builtins[argv[0]]; ok {
		s.before, s.status = s.status, 0
		builtin(s, argv)
		return
	}
	s.status = s.external(argv)
}

// external runs a program.
func (s *shell) external(argv []string) int32 {
	p := s.process(argv)
	p.Env = s.environ()
	if _, ok := s.program.lookup(argv[0]); !ok && !strings.Contains(argv[0], "/") {
		p.complain(&ExitError{127, fmt.Sprintf("%s: %s: not found", s.name, argv[0])})
		return 127
	}
	return s.program.exec(p)
}

func (s *shell) process(argv []string) *Process {
	return &Process{
		Argv: argv, Dir: s.dir, program: s.program,
		Stdin: s.in(), Stdout: s.out(1), Stderr: s.out(2),
	}
}

// function calls a function.
func (s *shell) function(body *syntax.Stmt, argv []string) {
	defer s.program.enter()()
	args, loops := s.args, s.loops
	s.args, s.loops = slices.Clone(argv[1:]), 0
	s.locals = append(s.locals, map[string]*variable{})
	s.status = 0
	s.stmt(body)
	last := len(s.locals) - 1
	s.restore(s.locals[last])
	s.locals = s.locals[:last]
	s.args, s.loops = args, loops
	if s.flow == returns {
		s.flow = goesOn
	}
}

// expansionFailed is the end of a shell that cannot say what a word is.
func (s *shell) expansionFailed(err error) {
	var exit *ExitError
	if errors.As(err, &exit) { // it has been said
		s.status = exit.Code
	} else {
		s.fail(2, "%v", err)
	}
	s.flow = exits
}
