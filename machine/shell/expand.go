package shell

import (
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// quoting says where in a script a part of a word stands.
type quoting int

const (
	bare     quoting = iota
	quoted           // in double quotes
	document         // in a here-document
)

// expander makes fields of one word.
type expander struct {
	shell   *shell
	split   bool // split values by IFS
	fields  []field
	current field
	nested  int  // how many ${name:-word} surround this part; their words are split
	soft    bool // white space of IFS ended the last field, and nothing was added since
	held    int  // bytes of the fields that the program was charged for
}

// field is text, with a mark for each byte that is quoted.
type field struct {
	text   []byte
	quoted []bool
	exists bool // even if text is empty
}

// words expands a command's words: splits them and replaces patterns by file names.
func (s *shell) words(list []*syntax.Word) ([]string, error) {
	var out []string
	size := 0
	add := func(w *syntax.Word) error {
		fields, err := s.expand(w, true)
		for _, f := range fields {
			for _, name := range s.fileNames(f) {
				out = append(out, name)
				if size += len(name) + wordCost; size > maxCommand {
					tooMuch("a command of more than %d bytes", maxCommand)
				}
			}
		}
		return err
	}
	for _, w := range list {
		if err := s.eachBrace(w, add); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// commandSize returns how many bytes a command's words count for.
func commandSize(words []string) int {
	size := wordCost * len(words)
	for _, w := range words {
		size += len(w)
	}
	return size
}

// eachBrace calls f for every word that {a,b} and {1..3} make of w; only bash has them.
func (s *shell) eachBrace(w *syntax.Word, f func(w *syntax.Word) error) error {
	open := 0
	for _, part := range w.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			open += strings.Count(lit.Value, "{")
		}
	}
	if !s.bash || open == 0 {
		return f(w)
	}
	if open > maxBraces {
		tooMuch("a word with more than %d braces", maxBraces)
	}
	split := *w // SplitBraces changes the word
	syntax.SplitBraces(&split)
	n := 0
	for each, err := range expand.BracesSeq(nil, &split) {
		if n++; n > maxBraceWords {
			tooMuch("braces of more than %d words", maxBraceWords)
		}
		s.program.step(1)
		if err == nil {
			err = f(each)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// word expands a word that is not split, as in an assignment or a redirection.
func (s *shell) word(w *syntax.Word) (string, error) {
	f, err := s.single(w)
	return string(f.text), err
}

// pattern expands a word that is used as a pattern: what was quoted has a backslash.
func (s *shell) pattern(w *syntax.Word) (string, error) {
	f, err := s.single(w)
	return f.pattern(), err
}

func (s *shell) single(w *syntax.Word) (field, error) {
	if w == nil {
		return field{}, nil
	}
	fields, err := s.expand(w, false)
	if len(fields) == 0 {
		return field{}, err
	}
	return fields[0], err
}

// expand makes fields of a word.
func (s *shell) expand(w *syntax.Word, split bool) ([]field, error) {
	e := &expander{shell: s, split: split}
	defer e.release()
	s.program.step(1)
	parts := w.Parts
	if len(parts) > 0 {
		if lit, ok := parts[0].(*syntax.Lit); ok && strings.HasPrefix(lit.Value, "~") {
			parts = append([]syntax.WordPart{e.tilde(lit)}, parts[1:]...)
		}
	}
	if err := e.parts(parts, bare); err != nil {
		return nil, err
	}
	if e.current.exists {
		e.finish()
	}
	return e.fields, nil
}

// hereText expands the text of a here-document.
func (s *shell) hereText(w *syntax.Word) (string, error) {
	e := &expander{shell: s}
	defer e.release()
	err := e.parts(w.Parts, document)
	return string(e.current.text), err
}

// release stops to charge the program for the fields.
func (e *expander) release() { e.shell.program.hold(-e.held) }

// tilde replaces ~ by the home directory.
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
		e.current.exists = true
		value := part.Value
		if part.Dollar {
			value, _ = unescape(value, true)
		}
		e.add(value, true)
	case *syntax.DblQuoted:
		if !e.isNoWord(part.Parts) {
			e.current.exists = true
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
		return unsupportedError{part.Pos().Line(), textOf(part)}
	}
	return nil
}

// isNoWord reports whether double quotes contain nothing but "$@" or ${1+"$@"}, and there
// are no arguments: then they make no word.
func (e *expander) isNoWord(parts []syntax.WordPart) bool {
	return len(parts) > 0 && len(e.shell.args) == 0 && !slices.ContainsFunc(parts, func(part syntax.WordPart) bool {
		p, ok := part.(*syntax.ParamExp)
		return !ok || p.Length || p.Param == nil || p.Param.Value != "@"
	})
}

// literal adds text of the script.
func (e *expander) literal(text string, in quoting) {
	if in != document && !strings.Contains(text, "\\") && e.nested == 0 {
		e.add(text, in != bare)
		return
	}
	special := "$`\"\\\n"
	if in == document { // where a quote is an ordinary character
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

// value adds the value of a parameter or a substitution, split by IFS.
func (e *expander) value(text string, in quoting) {
	if in != bare || !e.split {
		e.add(text, in != bare)
		return
	}
	ifs := e.shell.ifs()
	for text != "" {
		end := 0
		for end < len(text) && strings.IndexByte(ifs, text[end]) < 0 {
			end++
		}
		e.add(text[:end], false)
		if end == len(text) {
			return
		}
		switch separator := text[end]; {
		case strings.IndexByte(" \t\n", separator) >= 0:
			if e.current.exists {
				e.finish()
				e.soft = true
			}
		case e.soft && !e.current.exists:
			e.soft = false
		default:
			e.finish()
		}
		text = text[end+1:]
		e.shell.program.work(1)
	}
}

// ifs returns the characters that separate fields.
func (s *shell) ifs() string {
	if v, set := s.vars["IFS"]; set {
		return v.value
	}
	return " \t\n"
}

// add adds text to the current field.
func (e *expander) add(text string, isQuoted bool) {
	if text == "" {
		return
	}
	if len(e.current.text)+len(text) > maxValue {
		tooMuch("a word of more than %d bytes", maxValue)
	}
	e.charge(2 * len(text))
	e.current.exists, e.soft = true, false
	e.current.text = append(e.current.text, text...)
	for range len(text) {
		e.current.quoted = append(e.current.quoted, isQuoted)
	}
}

// finish ends the current field.
func (e *expander) finish() {
	e.shell.program.step(1)
	e.charge(varCost)
	e.fields = append(e.fields, e.current)
	e.current, e.soft = field{}, false
	if len(e.fields) > maxWords {
		tooMuch("a word that becomes more than %d words", maxWords)
	}
}

// charge counts n bytes of the fields.
func (e *expander) charge(n int) {
	e.shell.program.work(n)
	e.held += n
	e.shell.program.hold(n)
	if e.held > 2*maxCommand {
		tooMuch("a word of more than %d bytes", maxCommand)
	}
}

// pattern returns the field as a pattern, with a backslash before what was quoted.
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

// substitute returns what commands print, without the line ends at its end.
func (s *shell) substitute(stmts []*syntax.Stmt) string {
	output, before := &captured{program: s.program}, s.status
	defer output.release()
	s.inSubshell(func(c *shell) {
		c.fds[1] = stream{out: output}
		c.tested = 0 // as in dash, and as POSIX demands
		if len(stmts) == 0 {
			c.status = 0
		}
		c.list(stmts)
	})
	s.ran, s.substituted, s.status = true, s.status, before
	return strings.TrimRight(strings.ReplaceAll(string(output.data), "\x00", ""), "\n")
}
