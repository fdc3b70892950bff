package shell

import (
	"errors"
	"fmt"
	"strconv"
)

// errReadonly is that of a change of a variable that is not to be changed.
var errReadonly = errors.New("is read only")

// set gives a variable a value.
func (s *shell) set(name, value string) error {
	old, ok := s.vars[name]
	if old.readonly {
		return fmt.Errorf("%s: %w", name, errReadonly)
	}
	if len(value) > maxValue {
		tooMuch("%s: a value of more than %d bytes", name, maxValue)
	}
	if !ok {
		s.size += len(name)
	}
	if s.size += len(value) - len(old.value); s.size > maxVars {
		tooMuch("variables of more than %d bytes", maxVars)
	}
	if name == "OPTIND" {
		s.optchar = 0
	}
	old.value, old.exported = value, old.exported || s.exports[name]
	s.vars[name] = old
	return nil
}

// get is a parameter's value.
func (s *shell) get(name string) (value string, ok bool) {
	switch name {
	case "?":
		return strconv.Itoa(int(s.status)), true
	case "#":
		return strconv.Itoa(len(s.args)), true
	case "$":
		return "1", true
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

// environ is what the shell's commands have for an environment.
func (s *shell) environ() map[string]string {
	env := map[string]string{}
	for name, v := range s.vars {
		if v.exported {
			env[name] = v.value
		}
	}
	return env
}
