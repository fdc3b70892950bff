package shell

import (
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// quoting is what stands round a part of a word.
type quoting int

const (
	bare     quoting = iota
	quoted           // in double quotes
	document         // in a here-document
)

// expander makes fields of words.
type expander struct {
	shell   *shell
	split   bool
	fields  []field
	current field
	nested  int  // words in ${name:-word} round this part, which are split
	soft    bool // the last field was ended by white space of IFS, and nothing came since
}

// field is text of which every byte is quoted or not.
type field struct {
	text   []byte
	quoted []bool
	there  bool // also if it is empty
}

// words is what a command's words come to: split and with file names put in.
func (s *shell) words(list []*syntax.Word) ([]string, error) {
	var out []string
	for _, w := range list {
		for _, w := range s.braces(w) {
			e := &expander{shell: s, split: true}
			if err := e.word(w); err != nil {
				return nil, err
			}
			for _, f := range e.fields {
				out = append(out, s.fileNames(f)...)
			}
		}
	}
	return out, nil
}

// braces is {a,b} and {1..3} of bash.
func (s *shell) braces(w *syntax.Word) []*syntax.Word {
	if !s.bash {
		return []*syntax.Word{w}
	}
	s.program.step(1)
	return expandBraces(w)
}

// word is what a word comes to where it is one: in an assignment, a redirection.
func (s *shell) word(w *syntax.Word) (string, error) {
	if w == nil {
		return "", nil
	}
	e := &expander{shell: s}
	err := e.word(w)
	return e.joined(), err
}

// pattern is a word as a pattern, in which a backslash takes the meaning from what
// was quoted.
func (s *shell) pattern(w *syntax.Word) (string, error) {
	if w == nil {
		return "", nil
	}
	e := &expander{shell: s}
	if err := e.word(w); err != nil || len(e.fields) == 0 {
		return "", err
	}
	return e.fields[0].pattern(), nil
}

// hereText is a here-document's text.
func (s *shell) hereText(w *syntax.Word) (string, error) {
	e := &expander{shell: s}
	err := e.parts(w.Parts, document)
	e.finish()
	return e.joined(), err
}

func (e *expander) joined() string {
	if len(e.fields) == 0 {
		return ""
	}
	return string(e.fields[0].text)
}

func (e *expander) word(w *syntax.Word) error {
	e.shell.program.step(1)
	parts := w.Parts
	if len(parts) > 0 {
		if lit, ok := parts[0].(*syntax.Lit); ok && strings.HasPrefix(lit.Value, "~") {
			parts = append([]syntax.WordPart{e.tilde(lit)}, parts[1:]...)
		}
	}
	err := e.parts(parts, bare)
	if e.current.there {
		e.finish()
	}
	return err
}

// tilde puts the home directory in.
func (e *expander) tilde(lit *syntax.Lit) syntax.WordPart {
	home, ok := e.shell.get("HOME")
	rest := lit.Value[1:]
	if !ok || rest != "" && rest[0] != '/' {
		return lit
	}
	return &syntax.SglQuoted{Value: home + rest}
}

func (e *expander) parts(parts []syntax.WordPart, in quoting) error {
	for _, part := range parts {
		if err := e.part(part, in); err != nil {
			return err
		}
	}
	return nil
}

func (e *expander) part(part syntax.WordPart, in quoting) error {
	switch part := part.(type) {
	case *syntax.Lit:
		e.literal(part.Value, in)
	case *syntax.SglQuoted:
		e.current.there = true
		value := part.Value
		if part.Dollar {
			value, _ = unescape(value, true)
		}
		e.add(value, true)
	case *syntax.DblQuoted:
		if !e.onlyNoArguments(part.Parts) {
			e.current.there = true
		}
		return e.parts(part.Parts, quoted)
	case *syntax.ParamExp:
		return e.param(part, in)
	case *syntax.CmdSubst:
		e.value(e.shell.substitute(part.Stmts), in)
	case *syntax.ArithmExp:
		n, err := e.shell.arithmetic(part.X)
		if err != nil {
			return err
		}
		e.value(fmt.Sprint(n), in)
	default:
		return fmt.Errorf("line %d: this simulation's shell has no such word", part.Pos().Line())
	}
	return nil
}

// onlyNoArguments says whether parts are "$@" and there are no arguments: then they
// are no word.
func (e *expander) onlyNoArguments(parts []syntax.WordPart) bool {
	for _, part := range parts {
		p, ok := part.(*syntax.ParamExp)
		if !ok || p.Exp == nil && (p.Param == nil || p.Param.Value != "@") || p.Length {
			return false
		}
		if p.Exp != nil && !isQuotedArguments(p) {
			return false
		}
	}
	return len(parts) > 0 && len(e.shell.args) == 0
}

// isQuotedArguments says whether p is like ${1+"$@"}.
func isQuotedArguments(p *syntax.ParamExp) bool { return p.Param != nil && p.Param.Value == "@" }

// literal adds text of the script.
func (e *expander) literal(text string, in quoting) {
	if in != document && !strings.Contains(text, "\\") && e.nested == 0 {
		e.add(text, in != bare)
		return
	}
	special := "$`\"\\\n"
	if in == document { // a quote is nothing special there
		special = "$`\\\n"
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c != '\\' || i+1 == len(text) || in != bare && !strings.Contains(special, text[i+1:i+2]) {
			if in == bare && e.nested > 0 {
				e.value(text[i:i+1], in)
			} else {
				e.add(text[i:i+1], in != bare)
			}
			continue
		}
		if i++; text[i] != '\n' {
			e.add(text[i:i+1], true)
		}
	}
}

// value adds what a parameter or a substitution comes to.
func (e *expander) value(text string, in quoting) {
	if in != bare || !e.split {
		e.add(text, in != bare)
		return
	}
	ifs := e.shell.vars["IFS"].value
	if _, set := e.shell.vars["IFS"]; !set {
		ifs = " \t\n"
	}
	for i := 0; i < len(text); i++ {
		c := text[i : i+1]
		switch {
		case !strings.Contains(ifs, c):
			e.add(c, false)
		case strings.ContainsAny(c, " \t\n"):
			if e.current.there {
				e.finish()
				e.soft = true
			}
		case e.soft && !e.current.there:
			e.soft = false
		default:
			e.finish()
		}
	}
}

// add adds text to the field.
func (e *expander) add(text string, isQuoted bool) {
	if text == "" {
		return
	}
	if len(e.current.text)+len(text) > maxValue {
		tooMuch("a word of more than %d bytes", maxValue)
	}
	e.current.there, e.soft = true, false
	e.current.text = append(e.current.text, text...)
	for range len(text) {
		e.current.quoted = append(e.current.quoted, isQuoted)
	}
}

// finish ends the field.
func (e *expander) finish() {
	e.shell.program.step(1)
	e.fields = append(e.fields, e.current)
	e.current, e.soft = field{}, false
	if len(e.fields) > maxValue/16 {
		tooMuch("a word that becomes more than %d words", maxValue/16)
	}
}

// pattern is the field as a pattern.
func (f field) pattern() string {
	var b strings.Builder
	for i, c := range f.text {
		if f.quoted[i] && strings.IndexByte("*?[]\\!-^", c) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	return b.String()
}

// substitute is what commands print, without the line ends at its end.
func (s *shell) substitute(stmts []*syntax.Stmt) string {
	output, before := &captured{}, s.status
	s.inSubshell(func(c *shell) {
		c.fds[1] = stream{out: output}
		c.tested = 0 // as in dash, and as POSIX has it
		if len(stmts) == 0 {
			c.status = 0
		}
		c.list(stmts)
	})
	s.ran, s.substituted, s.status = true, s.status, before
	return strings.TrimRight(strings.ReplaceAll(string(output.data), "\x00", ""), "\n")
}
