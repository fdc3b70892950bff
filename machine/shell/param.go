package shell

import (
	"fmt"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// param adds the value of a parameter.
func (e *expander) param(p *syntax.ParamExp, in quoting) error {
	s, name := e.shell, p.Param.Value
	if p.Length {
		return e.length(name, in)
	}
	value, set := e.parameter(name)
	if p.Exp != nil && !removes(p.Exp.Op) {
		return e.otherwise(p, value, set, in)
	}
	if !set && s.nounset && name != "@" && name != "*" {
		return unset(name)
	}
	switch {
	case p.Exp != nil:
		pattern, err := s.pattern(p.Exp.Word)
		if err != nil {
			return err
		}
		value = s.program.remove(p.Exp.Op, value, pattern)
	case p.Slice != nil:
		var err error
		if value, err = s.slice(value, p.Slice); err != nil {
			return err
		}
	case p.Repl != nil:
		var err error
		if value, err = s.replaced(value, p.Repl); err != nil {
			return err
		}
	case name == "@" || name == "*":
		e.arguments(name, in)
		return nil
	}
	e.value(value, in)
	return nil
}

func unset(name string) error { return fmt.Errorf("%s: parameter not set", name) }

// parameter is a parameter's value, all arguments as one text.
func (e *expander) parameter(name string) (value string, set bool) {
	if name == "@" || name == "*" {
		return strings.Join(e.shell.args, " "), len(e.shell.args) > 0
	}
	return e.shell.get(name)
}

func (e *expander) length(name string, in quoting) error {
	if name == "@" || name == "*" {
		e.value(strconv.Itoa(len(e.shell.args)), in)
		return nil
	}
	value, set := e.shell.get(name)
	if !set && e.shell.nounset {
		return unset(name)
	}
	e.value(strconv.Itoa(len(value)), in)
	return nil
}

// arguments adds "$@" or "$*".
func (e *expander) arguments(name string, in quoting) {
	args := e.shell.args
	if in == bare && e.split {
		for i, arg := range args {
			if i > 0 && e.current.there {
				e.finish()
			}
			e.value(arg, in)
		}
		return
	}
	if name == "*" || !e.split {
		separator := " "
		if ifs, ok := e.shell.vars["IFS"]; ok && name == "*" {
			separator = ifs.value[:min(1, len(ifs.value))]
		}
		e.add(strings.Join(args, separator), in != bare)
		return
	}
	for i, arg := range args {
		if i > 0 {
			e.finish()
		}
		e.current.there = true
		e.add(arg, true)
	}
}

// otherwise is ${name-word}, ${name:+word} and so on.
func (e *expander) otherwise(p *syntax.ParamExp, value string, set bool, in quoting) error {
	s, name, op, word := e.shell, p.Param.Value, p.Exp.Op, p.Exp.Word
	there := set
	switch op {
	case syntax.DefaultUnsetOrNull, syntax.AlternateUnsetOrNull, syntax.AssignUnsetOrNull, syntax.ErrorUnsetOrNull:
		there = set && value != ""
	}
	switch op {
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		if !there || word == nil {
			return nil
		}
		return e.inner(word, in)
	}
	switch {
	case there && (name == "@" || name == "*"):
		e.arguments(name, in)
		return nil
	case there:
		e.value(value, in)
		return nil
	}
	switch op {
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull:
		if word == nil {
			return nil
		}
		return e.inner(word, in)
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		if !isName(name) {
			return fmt.Errorf("%s: bad variable name", name)
		}
		text, err := s.word(word)
		if err == nil {
			err = s.set(name, text)
		}
		if err == nil {
			e.value(text, in)
		}
		return err
	}
	text, err := s.word(word)
	if err == nil && text == "" {
		text = "parameter not set or null"
	}
	if err == nil {
		err = fmt.Errorf("%s: %s", name, text)
	}
	return err
}

// inner adds the word of an expansion, which is split as a value is.
func (e *expander) inner(word *syntax.Word, in quoting) error {
	e.nested++
	defer func() { e.nested-- }()
	return e.parts(word.Parts, in)
}

// removes says whether an operator takes part of a value away.
func removes(op syntax.ParExpOperator) bool {
	switch op {
	case syntax.RemSmallSuffix, syntax.RemLargeSuffix, syntax.RemSmallPrefix, syntax.RemLargePrefix:
		return true
	}
	return false
}

// remove takes from a value what the pattern matches at its end or beginning.
func (p *Program) remove(op syntax.ParExpOperator, value, pattern string) string {
	n := len(value)
	for i := range n + 1 {
		switch op {
		case syntax.RemSmallSuffix:
			if p.match(pattern, value[n-i:]) {
				return value[:n-i]
			}
		case syntax.RemLargeSuffix:
			if p.match(pattern, value[i:]) {
				return value[:i]
			}
		case syntax.RemSmallPrefix:
			if p.match(pattern, value[:i]) {
				return value[i:]
			}
		default:
			if p.match(pattern, value[:n-i]) {
				return value[n-i:]
			}
		}
	}
	return value
}

// slice is ${name:offset:length} of bash.
func (s *shell) slice(value string, at *syntax.Slice) (string, error) {
	number := func(x syntax.ArithmExpr, otherwise int64) (int64, error) {
		if x == nil {
			return otherwise, nil
		}
		return s.arithmetic(x)
	}
	size := int64(len(value))
	from, err := number(at.Offset, 0)
	if err != nil {
		return "", err
	}
	if from < 0 {
		from += size
	}
	if from < 0 || from > size {
		return "", nil
	}
	length, err := number(at.Length, size-from)
	if err != nil {
		return "", err
	}
	to := min(size, from+min(length, size))
	if length < 0 {
		to = size + length
	}
	if to < from {
		return "", fmt.Errorf("%d: substring expression < 0", length)
	}
	return value[from:to], nil
}

// replaced is ${name/pattern/text} and ${name//pattern/text} of bash.
func (s *shell) replaced(value string, r *syntax.Replace) (string, error) {
	pattern, err := s.pattern(r.Orig)
	if err != nil {
		return "", err
	}
	with, err := s.word(r.With)
	if err != nil || pattern == "" {
		return value, err
	}
	var out strings.Builder
	for i := 0; i < len(value); {
		s.program.step(1)
		size := s.program.longest(pattern, value[i:])
		if size == 0 {
			out.WriteByte(value[i])
			i++
			continue
		}
		out.WriteString(with)
		if out.Len() > maxValue {
			tooMuch("a value of more than %d bytes", maxValue)
		}
		if i += size; !r.All {
			out.WriteString(value[i:])
			break
		}
	}
	return out.String(), nil
}

// longest is how much of the beginning of text the pattern matches.
func (p *Program) longest(pattern, text string) int {
	for n := len(text); n > 0; n-- {
		if p.match(pattern, text[:n]) {
			return n
		}
	}
	return 0
}

// isName says whether text can be a variable's name.
func isName(text string) bool {
	for i, c := range []byte(text) {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return text != ""
}
