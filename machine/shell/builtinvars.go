package shell

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/storagesim/storagesim/machine/disk"
)

// exportNames implements "export", "readonly" and "declare".
func (s *shell) exportNames(argv []string) {
	readonly, exported := argv[0] == "readonly", argv[0] == "export"
	for _, word := range argv[1:] {
		if strings.HasPrefix(word, "-") {
			readonly = readonly || strings.Contains(word, "r")
			exported = exported || strings.Contains(word, "x")
			continue
		}
		name, value, assigned := strings.Cut(word, "=")
		if !isName(name) {
			s.fail(2, "%s: %s: bad variable name", argv[0], name)
			s.flow = exits
			return
		}
		if assigned {
			if err := s.set(name, value); err != nil {
				s.expansionFailed(fmt.Errorf("%s: %w", argv[0], err))
				return
			}
		}
		v, ok := s.vars[name]
		if !ok && !assigned && !readonly {
			s.exportLater(name)
			continue
		}
		v.readonly, v.exported = v.readonly || readonly, v.exported || exported
		s.put(name, v)
	}
	if len(argv) == 1 {
		for _, name := range slices.Sorted(maps.Keys(s.vars)) {
			if v := s.vars[name]; v.exported && exported || v.readonly && readonly {
				s.print(fmt.Sprintf("%s %s=%s\n", argv[0], name, quoteText(v.value)))
			}
		}
	}
}

// exportLater exports a variable when it is set.
func (s *shell) exportLater(name string) {
	if s.exports[name] {
		return
	}
	s.grow(len(name) + varCost)
	if s.exports == nil {
		s.exports = map[string]bool{}
	}
	s.exports[name] = true
}

func quoteText(text string) string { return "'" + strings.ReplaceAll(text, "'", `'"'"'`) + "'" }

// local makes variables local to a function.
func (s *shell) local(argv []string) {
	if len(s.locals) == 0 {
		s.fail(2, "local: not in a function")
		return
	}
	for _, word := range argv[1:] {
		name, value, assigned := strings.Cut(word, "=")
		if strings.HasPrefix(word, "-") && s.bash {
			continue
		}
		if !isName(name) {
			s.fail(2, "local: %s: bad variable name", name)
			return
		}
		s.keepVariable(s.locals[len(s.locals)-1], name)
		if assigned {
			if err := s.set(name, value); err != nil {
				s.expansionFailed(err)
				return
			}
		}
	}
}

func (s *shell) unsetNames(argv []string) {
	functions := false
	for _, name := range argv[1:] {
		switch {
		case name == "-f":
			functions = true
		case name == "-v":
			functions = false
		case functions:
			s.undefine(name)
		case s.vars[name].readonly:
			s.expansionFailed(fmt.Errorf("unset: %s: %w", name, errReadonly))
			return
		default:
			s.unset(name)
		}
	}
}

// setOptions implements "set".
func (s *shell) setOptions(argv []string) {
	if len(argv) == 1 {
		for _, name := range slices.Sorted(maps.Keys(s.vars)) {
			s.print(fmt.Sprintf("%s=%s\n", name, quoteText(s.vars[name].value)))
		}
		return
	}
	argv = argv[1:]
	for len(argv) > 0 {
		word := argv[0]
		if word == "--" {
			s.setArgs(slices.Clone(argv[1:]))
			return
		}
		if len(word) < 2 || word[0] != '-' && word[0] != '+' {
			s.setArgs(slices.Clone(argv))
			return
		}
		argv = argv[1:]
		for _, flag := range word[1:] {
			var err error
			if flag == 'o' && len(argv) > 0 {
				err = s.setOption(argv[0], word[0] == '-')
				argv = argv[1:]
			} else {
				err = s.setFlag(flag, word[0] == '-')
			}
			if err != nil {
				s.fail(2, "set: %v", err)
				s.flow = exits
				return
			}
		}
	}
}

func (s *shell) setFlag(flag rune, on bool) error {
	switch flag {
	case 'e':
		s.errexit = on
	case 'u':
		s.nounset = on
	case 'x':
		s.xtrace = on
	case 'f':
		s.noglob = on
	case 'n':
		s.noexec = on
	case 'a', 'b', 'h', 'm', 'v', 'C', 'E', 'T':
		return fmt.Errorf("option -%c is not supported; the options are -e, -u, -x, -f and -n", flag)
	default:
		return fmt.Errorf("Illegal option -%c", flag)
	}
	return nil
}

func (s *shell) setOption(name string, on bool) error {
	flags := map[string]rune{"errexit": 'e', "nounset": 'u', "xtrace": 'x', "noglob": 'f', "noexec": 'n'}
	switch flag, ok := flags[name]; {
	case ok:
		return s.setFlag(flag, on)
	case name == "pipefail":
		s.pipefail = on
	default:
		return fmt.Errorf("Illegal option -o %s", name)
	}
	return nil
}

// flags returns the options that are on: $-.
func (s *shell) flags() string {
	text := ""
	for _, f := range []struct {
		on   bool
		name string
	}{{s.errexit, "e"}, {s.nounset, "u"}, {s.xtrace, "x"}, {s.noglob, "f"}} {
		if f.on {
			text += f.name
		}
	}
	return text
}

func (s *shell) shift(argv []string) {
	n, ok := s.number(argv, 1)
	switch {
	case !ok:
	case n > len(s.args):
		s.fail(2, "shift: can't shift that many")
		s.flow = exits
	default:
		s.args = s.args[n:]
	}
}

func (s *shell) cd(argv []string) {
	for len(argv) > 1 && (argv[1] == "-P" || argv[1] == "-L" || argv[1] == "--") {
		argv = argv[1:]
	}
	target := s.vars["HOME"].value
	if len(argv) > 1 {
		target = argv[1]
	}
	shown := target == "-"
	if shown {
		target = s.vars["OLDPWD"].value
	}
	name := s.path(target)
	info, err := s.program.files.stat(name)
	if err != nil || !info.IsDir() || !s.program.files.may(name, info, disk.Search) {
		s.fail(2, "cd: can't cd to %s", target)
		return
	}
	old := s.dir
	s.dir = name
	for name, value := range map[string]string{"OLDPWD": old, "PWD": name} {
		if err := s.set(name, value); err != nil {
			s.fail(2, "cd: %v", err)
		}
	}
	if shown {
		s.print(name + "\n")
	}
}

func (s *shell) pwd([]string) { s.print(s.dir + "\n") }
