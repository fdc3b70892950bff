package shell

import (
	"errors"
	"fmt"
	"strconv"
)

// errReadonly is returned for a change of a read-only variable.
var errReadonly = errors.New("is read only")

// variable is a variable of a shell.
type variable struct {
	value              string
	exported, readonly bool
}

func (v variable) size(name string) int { return len(name) + len(v.value) + varCost }

// set gives a variable a value.
func (s *shell) set(name, value string) error {
	old := s.vars[name]
	if old.readonly {
		return fmt.Errorf("%s: %w", name, errReadonly)
	}
	if len(value) > maxValue {
		tooMuch("%s: a value of more than %d bytes", name, maxValue)
	}
	if name == "OPTIND" {
		s.optchar = 0
	}
	s.put(name, variable{value: value, exported: old.exported || s.exports[name]})
	return nil
}

// put replaces a variable.
func (s *shell) put(name string, v variable) {
	s.unset(name)
	s.grow(v.size(name))
	s.vars[name] = v
}

// unset removes a variable.
func (s *shell) unset(name string) {
	if v, ok := s.vars[name]; ok {
		s.grow(-v.size(name))
		delete(s.vars, name)
	}
}

// grow counts n more bytes of variables and arguments.
func (s *shell) grow(n int) {
	if s.size += n; s.size > maxVars {
		tooMuch("variables of more than %d bytes", maxVars)
	}
	s.keep(n)
}

// keep counts n more bytes that the shell holds until it ends.
func (s *shell) keep(n int) {
	s.held += n
	s.program.hold(n)
}

// release gives back all that the shell holds.
func (s *shell) release() { s.keep(-s.held) }

// setArgs replaces $1 and so on.
func (s *shell) setArgs(args []string) {
	s.grow(-s.argSize)
	s.args, s.argSize = args, commandSize(args)
	s.grow(s.argSize)
}

// get returns the value of a parameter.
func (s *shell) get(name string) (value string, ok bool) {
	switch name {
	case "?":
		return strconv.Itoa(int(s.status)), true
	case "#":
		return strconv.Itoa(len(s.args)), true
	case "$":
		return strconv.Itoa(s.program.id()), true
	case "0":
		return s.name, true
	case "-":
		return s.flags(), true
	case "!":
		return strconv.Itoa(s.lastJob), s.lastJob > 0
	case "RANDOM":
		return strconv.Itoa(s.program.nextRandom()), true
	}
	if n, err := strconv.Atoi(name); err == nil {
		if n < 1 || n > len(s.args) {
			return "", false
		}
		return s.args[n-1], true
	}
	v, ok := s.vars[name]
	return v.value, ok
}

// environ returns the exported variables.
func (s *shell) environ() map[string]string {
	s.program.step(len(s.vars) / 100)
	env := map[string]string{}
	for name, v := range s.vars {
		if v.exported {
			env[name] = v.value
		}
	}
	return env
}

// keepVariable remembers in saved what a variable was; nil if it was not set.
func (s *shell) keepVariable(saved map[string]*variable, name string) {
	if _, kept := saved[name]; kept {
		return
	}
	saved[name] = nil
	if v, ok := s.vars[name]; ok {
		s.grow(v.size(name))
		saved[name] = &v
	}
}

// restore gives variables back the values that keepVariable remembered.
func (s *shell) restore(saved map[string]*variable) {
	for name, v := range saved {
		s.unset(name)
		if v != nil {
			s.vars[name] = *v // keepVariable has counted it
		}
	}
}
