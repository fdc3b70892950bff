package shell

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// builtin is a command of the shell itself. The status is 0 when it is called.
type builtin func(s *shell, argv []string)

func builtins() map[string]builtin {
	return map[string]builtin{
		":": doNothing, "true": doNothing, "false": (*shell).isFalse, "wait": (*shell).waitFor, "kill": (*shell).kill, "umask": (*shell).setUmask,
		"let": (*shell).letWords,
		".":   (*shell).source, "source": (*shell).source, "eval": (*shell).evalWords, "exec": (*shell).execWords,
		"exit": (*shell).exit, "return": (*shell).returnFrom, "break": (*shell).leaveLoop, "continue": (*shell).leaveLoop,
		"export": (*shell).exportNames, "readonly": (*shell).exportNames, "declare": (*shell).exportNames, "typeset": (*shell).exportNames,
		"local": (*shell).local, "unset": (*shell).unsetNames, "set": (*shell).setOptions, "shopt": doNothing,
		"shift": (*shell).shift, "cd": (*shell).cd, "pwd": (*shell).pwd, "read": (*shell).read, "getopts": (*shell).getopts,
		"trap": (*shell).setTrap, "command": (*shell).commandWords, "builtin": (*shell).commandWords, "type": (*shell).typeOf,
		"echo": program(echo), "printf": program(printf), "test": program(test), "[": program(test),
	}
}

// isSpecial reports whether a command is a special builtin of POSIX: its errors end the
// shell, and assignments before it stay.
func isSpecial(name string) bool {
	return slices.Contains([]string{":", ".", "break", "continue", "eval", "exec", "exit", "export", "readonly", "return", "set", "shift", "trap", "unset"}, name)
}

// program makes a builtin of a program. It is not reported as a command.
func program(command Command) builtin {
	return func(s *shell, argv []string) {
		p := s.process(argv)
		err := command(p)
		p.complain(err)
		s.status = exitCode(err)
	}
}

func doNothing(*shell, []string) {}

func (s *shell) isFalse([]string) { s.status = 1 }

func (s *shell) print(text string) {
	if _, err := s.out(1).Write([]byte(text)); err != nil {
		s.fail(1, "%v", reason(err))
	}
}

// number reads a builtin's numeric argument.
func (s *shell) number(argv []string, otherwise int) (n int, ok bool) {
	if len(argv) < 2 {
		return otherwise, true
	}
	n, err := strconv.Atoi(argv[1])
	if err != nil || n < 0 {
		s.fail(2, "%s: Illegal number: %s", argv[0], argv[1])
		s.flow = exits
		return 0, false
	}
	return n, true
}

func (s *shell) exit(argv []string) { s.leave(argv, exits) }

func (s *shell) returnFrom(argv []string) { s.leave(argv, returns) }

func (s *shell) leave(argv []string, flow flow) {
	before := s.before
	if s.trapped != nil && flow == exits {
		before = *s.trapped
	}
	if n, ok := s.number(argv, int(before)); ok {
		s.status, s.flow = int32(n&0xff), flow
	}
}

func (s *shell) leaveLoop(argv []string) {
	n, ok := s.number(argv, 1)
	switch {
	case !ok:
	case n == 0:
		s.fail(2, "%s: Illegal number: 0", argv[0])
		s.flow = exits
	case s.loops > 0:
		s.levels = min(n, s.loops)
		s.flow = map[string]flow{"break": breaks, "continue": continues}[argv[0]]
	}
}

func (s *shell) source(argv []string) {
	if len(argv) < 2 {
		s.fail(2, "%s: a file is missing", argv[0])
		return
	}
	text, err := s.process(argv).script(argv[1])
	if err != nil {
		s.fail(2, "%s: cannot open %s: %v", argv[0], argv[1], reason(err))
		s.flow = exits
		return
	}
	s.eval(text)
	if s.flow == returns {
		s.flow = goesOn
	}
}

func (s *shell) evalWords(argv []string) { s.eval(strings.Join(argv[1:], " ")) }

func (s *shell) execWords(argv []string) {
	if len(argv) > 1 {
		last := s.last
		s.last = true // nothing comes after it
		s.trap, s.term = nil, nil
		s.status = s.runProgram(argv[1:], s.first)
		s.last = last
		s.flow = exits
	}
}

// commandWords implements "command": it runs a command even if there is a function of that name.
// "command -v NAME" prints what NAME is.
func (s *shell) commandWords(argv []string) {
	argv = argv[1:]
	if len(argv) > 0 && (argv[0] == "-v" || argv[0] == "-V") {
		s.status = 127
		for _, name := range argv[1:] {
			if what := s.whatIs(name); what != "" {
				s.status = 0
				s.print(what + "\n")
			}
		}
		return
	}
	if len(argv) > 0 && argv[0] == "-p" {
		argv = argv[1:]
	}
	if len(argv) == 0 {
		return
	}
	if run, ok := s.program.builtins[argv[0]]; ok {
		run(s, argv)
		return
	}
	s.status = s.external(argv)
}

// whatIs returns where a command would be found; "" if it would not.
func (s *shell) whatIs(name string) string {
	_, function := s.funcs[name]
	_, own := s.program.builtins[name]
	_, there := s.program.lookup(name)
	switch {
	case function || own:
		return name
	case there && !strings.Contains(name, "/"):
		return "/bin/" + name
	case there:
		return name
	}
	return ""
}

func (s *shell) typeOf(argv []string) {
	for _, name := range argv[1:] {
		if what := s.whatIs(name); what != "" {
			s.print(name + " is " + what + "\n")
			continue
		}
		s.print(name + ": not found\n")
		s.status = 127
	}
}

// declare runs export, local and the like as bash parses them.
func (s *shell) declare(cmd *syntax.DeclClause) {
	argv := []string{cmd.Variant.Value}
	for _, a := range cmd.Args {
		word := ""
		if a.Name != nil {
			word = a.Name.Value
		}
		value, err := s.assigned(a)
		if err != nil {
			s.expansionFailed(err)
			return
		}
		if !a.Naked {
			word += "="
		}
		argv = append(argv, word+value)
	}
	s.invoke(argv)
}
