package shell

import (
	"errors"
	"fmt"
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
	size := commandSize(argv)
	s.program.hold(size)
	defer s.program.hold(-size)
	if len(redirs) == 0 {
		s.assignAndRun(call.Assigns, argv)
		return
	}
	outside := s.fds
	err = s.redirected(redirs, func() {
		s.assignAndRun(call.Assigns, argv)
		if len(argv) > 0 && argv[0] == "exec" && s.status == 0 {
			s.keep(inputSize(s.fds) - inputSize(outside))
			outside = s.fds
		}
	})
	s.fds = outside
	if err != nil && len(argv) > 0 && isSpecial(argv[0]) {
		s.flow = exits
	}
}

// assignAndRun runs a command with the assignments before it. Without a command they
// change the shell's variables.
func (s *shell) assignAndRun(assigns []*syntax.Assign, argv []string) {
	var saved map[string]*variable
	if len(assigns) > 0 {
		saved = map[string]*variable{}
	}
	special := len(argv) == 0 || isSpecial(argv[0])
	for _, a := range assigns {
		value, err := s.assigned(a)
		if !special {
			s.keepVariable(saved, a.Name.Value)
		}
		if err == nil {
			err = s.set(a.Name.Value, value)
		}
		if err != nil {
			s.restore(saved)
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
	s.restore(saved)
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

// assigned returns the value of an assignment.
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

// invoke runs a function, a builtin or a program.
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

// external runs a program. The last one of "sh -c" takes the place of the shell, unless that has a trap.
func (s *shell) external(argv []string) int32 {
	return s.runProgram(argv, s.first && s.inline && s.last && s.tested == 0 && s.trap == nil && s.term == nil)
}

// runProgram runs a program; inPlace says that it is the first process of the container.
func (s *shell) runProgram(argv []string, inPlace bool) int32 {
	p := s.process(argv)
	p.Env, p.decisive, p.first = s.environ(), s.decides(), inPlace
	if _, ok := s.program.lookup(argv[0]); !ok && !strings.Contains(argv[0], "/") {
		if code, taken := s.program.take(p); taken {
			return code
		}
		p.complain(&ExitError{127, fmt.Sprintf("%s: %s: not found%s", s.name, argv[0], s.program.lacking(argv[0]))})
		return 127
	}
	return s.program.exec(p)
}

func (s *shell) process(argv []string) *Process {
	return &Process{
		Argv: argv, Dir: s.dir, program: s.program, umask: s.umask,
		Stdin: s.in(), Stdout: s.out(1), Stderr: s.out(2),
	}
}

// define makes a function.
func (s *shell) define(name string, body *syntax.Stmt) {
	s.undefine(name)
	s.keep(functionSize(name, body))
	s.funcs[name] = body
	s.status = 0
}

func (s *shell) undefine(name string) {
	if body, ok := s.funcs[name]; ok {
		s.keep(-functionSize(name, body))
		delete(s.funcs, name)
	}
}

func functionSize(name string, body *syntax.Stmt) int {
	return varCost + len(name) + syntaxCost*int(body.End().Offset()-body.Pos().Offset())
}

// function calls a function.
func (s *shell) function(body *syntax.Stmt, argv []string) {
	defer s.program.enter()()
	args, size, loops := s.args, s.argSize, s.loops
	s.args, s.argSize, s.loops = slices.Clone(argv[1:]), commandSize(argv[1:]), 0
	s.grow(s.argSize)
	s.locals = append(s.locals, map[string]*variable{})
	s.status = 0
	s.stmt(body)
	last := len(s.locals) - 1
	s.restore(s.locals[last])
	s.locals = s.locals[:last]
	s.grow(-s.argSize)
	s.args, s.argSize, s.loops = args, size, loops
	if s.flow == returns {
		s.flow = goesOn
	}
}

// expansionFailed ends the shell because a word cannot be expanded.
func (s *shell) expansionFailed(err error) {
	var exit *ExitError
	if errors.As(err, &exit) { // its message was printed
		s.status = exit.Code
	} else {
		s.fail(2, "%v", err)
	}
	s.flow = exits
}
