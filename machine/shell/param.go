package shell

import (
	"fmt"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// param adds the value of ${...}.
func (e *expander) param(p *syntax.ParamExp, in quoting) error {
	s, name := e.shell, p.Param.Value
	all := name == "@" || name == "*"
	value, set := "", len(s.args) > 0
	if !all {
		value, set = s.get(name)
	}
	if p.Exp != nil && !removes(p.Exp.Op) {
		return e.conditional(p, value, set, in)
	}
	switch {
	case !set && s.nounset && !all:
		return unset(name)
	case all && p.Length:
		e.value(strconv.Itoa(len(s.args)), in)
		return nil
	case all && p.Exp == nil && p.Slice == nil && p.Repl == nil:
		e.arguments(name, in)
		return nil
	case all:
		value = s.joinedArguments(" ")
	}
	var err error
	switch {
	case p.Length:
		value = strconv.Itoa(len(value))
	case p.Exp != nil:
		value, err = s.removed(p.Exp, value)
	case p.Slice != nil:
		value, err = s.slice(value, p.Slice)
	case p.Repl != nil:
		value, err = s.replaced(value, p.Repl)
	}
	if err == nil {
		e.value(value, in)
	}
	return err
}

func unset(name string) error { return fmt.Errorf("%s: parameter not set", name) }

// joinedArguments returns all arguments as one text.
func (s *shell) joinedArguments(separator string) string {
	size := commandSize(s.args)
	if size-wordCost*len(s.args) > maxValue {
		tooMuch("a word of more than %d bytes", maxValue)
	}
	s.program.work(size)
	return strings.Join(s.args, separator)
}

// arguments adds "$@" or "$*".
func (e *expander) arguments(name string, in quoting) {
	args := e.shell.args
	if in == bare && e.split {
		for i, arg := range args {
			if i > 0 && e.current.exists {
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
		e.add(e.shell.joinedArguments(separator), in != bare)
		return
	}
	for i, arg := range args {
		if i > 0 {
			e.finish()
		}
		e.current.exists = true
		e.add(arg, true)
	}
}

// conditional adds ${name-word}, ${name:+word} and the like.
func (e *expander) conditional(p *syntax.ParamExp, value string, set bool, in quoting) error {
	s, name, op, word := e.shell, p.Param.Value, p.Exp.Op, p.Exp.Word
	all := name == "@" || name == "*"
	switch op {
	case syntax.DefaultUnsetOrNull, syntax.AlternateUnsetOrNull, syntax.AssignUnsetOrNull, syntax.ErrorUnsetOrNull:
		if all {
			set = len(s.args) > 1 || len(s.args) == 1 && s.args[0] != ""
		} else {
			set = set && value != ""
		}
	}
	alternate := op == syntax.AlternateUnset || op == syntax.AlternateUnsetOrNull
	switch {
	case alternate && !set:
		return nil
	case set && !alternate && all:
		e.arguments(name, in)
		return nil
	case set && !alternate:
		e.value(value, in)
		return nil
	}
	switch op {
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull, syntax.DefaultUnset, syntax.DefaultUnsetOrNull:
		if word == nil {
			return nil
		}
		e.nested++
		defer func() { e.nested-- }()
		return e.parts(word.Parts, in)
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

// removes reports whether an operator removes part of a value.
func removes(op syntax.ParExpOperator) bool {
	switch op {
	case syntax.RemSmallSuffix, syntax.RemLargeSuffix, syntax.RemSmallPrefix, syntax.RemLargePrefix:
		return true
	}
	return false
}

// removed returns a value without the beginning or the end that a pattern matches.
func (s *shell) removed(x *syntax.Expansion, value string) (string, error) {
	text, err := s.pattern(x.Word)
	if err != nil {
		return "", err
	}
	p := s.program
	pattern := p.compile(text)
	if x.Op == syntax.RemSmallSuffix || x.Op == syntax.RemLargeSuffix {
		n, _ := p.suffix(pattern, value, x.Op == syntax.RemLargeSuffix)
		return value[:len(value)-n], nil
	}
	n, _ := p.prefix(pattern, value, x.Op == syntax.RemLargePrefix)
	return value[n:], nil
}

// slice returns ${name:offset:length} of bash.
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

// replaced returns ${name/pattern/text} or ${name//pattern/text} of bash.
func (s *shell) replaced(value string, r *syntax.Replace) (string, error) {
	text, err := s.pattern(r.Orig)
	if err != nil {
		return "", err
	}
	with, err := s.word(r.With)
	if err != nil || text == "" {
		return value, err
	}
	pattern := s.program.compile(text)
	var out strings.Builder
	for i := 0; i < len(value); {
		size, _ := s.program.prefix(pattern, value[i:], true)
		if size == 0 {
			out.WriteByte(value[i])
			i++
			continue
		}
		s.program.work(len(with))
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

// isName reports whether text can be the name of a variable.
func isName(text string) bool {
	for i, c := range []byte(text) {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return text != ""
}
