package kubelet

import (
	"fmt"
	"strings"
)

// shellLine is one simple command of a script.
type shellLine struct {
	number int
	words  []shellWord
}

// shellWord is a word as it is written, before variables are put in.
type shellWord []shellPiece

// shellPiece is text, or the name of a variable.
type shellPiece struct {
	text             string
	variable, quoted bool
}

// literal is the word if it is plain, unquoted text.
func (w shellWord) literal() string {
	if len(w) == 1 && !w[0].variable && !w[0].quoted {
		return w[0].text
	}
	return ""
}

// shellLexer cuts a script into lines of words. What it does not know (pipes,
// redirections, substitutions, patterns) is an error that names it.
type shellLexer struct {
	rest  string
	line  int
	lines []shellLine

	words  []shellWord
	word   shellWord
	inWord bool
}

func lexShell(script string) ([]shellLine, error) {
	l := &shellLexer{rest: script, line: 1}
	for l.rest != "" {
		if err := l.next(); err != nil {
			return nil, fmt.Errorf("line %d: %w", l.line, err)
		}
	}
	l.endLine()
	return l.lines, nil
}

// next takes one character, or one quoted string.
func (l *shellLexer) next() error {
	c := l.rest[0]
	l.rest = l.rest[1:]
	switch {
	case c == '\n' || c == ';':
		l.endLine()
		if c == '\n' {
			l.line++
		}
	case c == ' ' || c == '\t' || c == '\r':
		l.endWord()
	case c == '#' && !l.inWord:
		comment, _, _ := strings.Cut(l.rest, "\n")
		l.rest = l.rest[len(comment):]
	case c == '\\':
		return l.escaped()
	case c == '\'':
		text, rest, ok := strings.Cut(l.rest, "'")
		if !ok {
			return fmt.Errorf("a single quote is not closed")
		}
		l.line += strings.Count(text, "\n")
		l.rest = rest
		l.add(shellPiece{text: text, quoted: true})
	case c == '"':
		return l.doubleQuoted()
	case c == '$':
		return l.dollar(false)
	case strings.IndexByte("|&<>()`*?[~{}!", c) >= 0:
		return fmt.Errorf("%q: %w", string(c), errShell)
	default:
		l.add(shellPiece{text: string(c)})
	}
	return nil
}

// add puts a piece at the end of the word; plain text is joined.
func (l *shellLexer) add(p shellPiece) {
	l.inWord = true
	if n := len(l.word); n > 0 && !p.variable && !l.word[n-1].variable && l.word[n-1].quoted == p.quoted {
		l.word[n-1].text += p.text
		return
	}
	l.word = append(l.word, p)
}

func (l *shellLexer) endWord() {
	if l.inWord {
		l.words = append(l.words, l.word)
	}
	l.word, l.inWord = nil, false
}

func (l *shellLexer) endLine() {
	l.endWord()
	if len(l.words) > 0 {
		l.lines = append(l.lines, shellLine{l.line, l.words})
	}
	l.words = nil
}

// escaped is what follows a backslash; before the end of a line it joins the
// lines.
func (l *shellLexer) escaped() error {
	if l.rest == "" {
		return fmt.Errorf("a backslash ends the script")
	}
	c := l.rest[0]
	l.rest = l.rest[1:]
	if c == '\n' {
		l.line++
		return nil
	}
	l.add(shellPiece{text: string(c), quoted: true})
	return nil
}

func (l *shellLexer) doubleQuoted() error {
	l.add(shellPiece{quoted: true}) // "" is a word too
	for l.rest != "" {
		c := l.rest[0]
		l.rest = l.rest[1:]
		switch {
		case c == '"':
			return nil
		case c == '`':
			return fmt.Errorf("%q: %w", "`", errShell)
		case c == '$':
			if err := l.dollar(true); err != nil {
				return err
			}
		case c == '\\' && l.rest != "" && strings.IndexByte("$`\"\\", l.rest[0]) >= 0:
			l.add(shellPiece{text: l.rest[:1], quoted: true})
			l.rest = l.rest[1:]
		default:
			if c == '\n' {
				l.line++
			}
			l.add(shellPiece{text: string(c), quoted: true})
		}
	}
	return fmt.Errorf("a double quote is not closed")
}

// dollar reads $NAME, ${NAME} and $1; a lone dollar is itself.
func (l *shellLexer) dollar(quoted bool) error {
	text := l.rest
	braced := strings.HasPrefix(text, "{")
	if braced {
		text = text[1:]
	}
	n := 0
	for n < len(text) && isNameByte(text[n]) {
		if n++; isDigit(text[0]) && !braced {
			break // $10 is ${1}0
		}
	}
	switch {
	case braced && (n == 0 || !strings.HasPrefix(text[n:], "}")):
		return fmt.Errorf("%q: %w", "${"+firstLine(text), errShell)
	case braced:
		l.rest = text[n+1:]
	case n == 0 && text != "" && strings.IndexByte("(@*#?$!-", text[0]) >= 0:
		return fmt.Errorf("%q: %w", "$"+text[:1], errShell)
	case n == 0:
		l.add(shellPiece{text: "$", quoted: quoted})
		return nil
	default:
		l.rest = text[n:]
	}
	l.add(shellPiece{text: text[:n], variable: true, quoted: quoted})
	return nil
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isNameByte says whether c can be part of a variable's name.
func isNameByte(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || isDigit(c)
}

// isName says whether a variable can be called that.
func isName(text string) bool {
	for i := range len(text) {
		if !isNameByte(text[i]) {
			return false
		}
	}
	return text != "" && !isDigit(text[0])
}
