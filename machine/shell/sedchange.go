package shell

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// sedExpression finds the leftmost match, and the longest one there, as POSIX has it. Of several ways to match its groups it takes the first one.
type sedExpression struct {
	first *expression
	// at finds the match at the beginning of a text, behind one after its first character.
	at, behind *regexp.Regexp
	groups     int
}

// expression compiles the text of an expression; nil for an empty one, which stands for the last one that was used.
func (s *sedParser) expression(text string, delimiter byte, flags string) (*sedExpression, error) {
	if text == "" {
		return nil, nil
	}
	text, err := s.known(text, delimiter)
	if err != nil {
		return nil, err
	}
	if !s.extended {
		text = fromBasic(text)
	}
	text = flags + "(?s)" + text
	first, err := compileExpression(text)
	if err != nil {
		return nil, err
	}
	if tree, err := syntax.Parse(text, syntax.Perl); err == nil && isLazy(tree) {
		return nil, fmt.Errorf("this simulation does not know '?' behind another repetition in an expression: '%s'", text)
	}
	s.program.hold(syntaxCost * len(text))
	s.held += syntaxCost * len(text)
	x := &sedExpression{first: first, groups: first.re.NumSubexp()}
	if x.at, err = regexp.Compile("^(" + text + ")"); err != nil {
		return nil, fmt.Errorf("'%s' is not a valid expression: %w", text, err)
	}
	if x.behind, err = regexp.Compile("^(?s:.)(" + text + ")"); err != nil {
		return nil, fmt.Errorf("'%s' is not a valid expression: %w", text, err)
	}
	x.at.Longest()
	x.behind.Longest()
	return x, nil
}

// isLazy reports whether any repetition takes as little as it can, which is no syntax of POSIX.
func isLazy(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		if re.Flags&syntax.NonGreedy != 0 {
			return true
		}
	}
	return slices.ContainsFunc(re.Sub, isLazy)
}

// known returns an expression without the backslashes before its delimiter, and refuses what has another meaning here than in sed.
func (s *sedParser) known(text string, delimiter byte) (string, error) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '[':
			size := bracketEnd(text[i:])
			set := strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(text[i : i+size])
			if strings.Contains(set, "[.") || strings.Contains(set, "[=") {
				return "", fmt.Errorf("this simulation does not know '%s'", set)
			}
			if s.extended {
				set = strings.ReplaceAll(set, `\`, `\\`)
			}
			b.WriteString(set)
			i += size - 1
		case c == '\\' && i+1 < len(text):
			i++
			word, err := s.escape(text[i], delimiter)
			if err != nil {
				return "", err
			}
			b.WriteString(word)
		case s.extended && c == '(' && strings.HasPrefix(text[i+1:], "?"):
			return "", errors.New("this simulation does not know '(?' in an expression")
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), nil
}

// escape returns what a backslash and c are in an expression.
func (s *sedParser) escape(c, delimiter byte) (string, error) {
	switch {
	case c == delimiter && (strings.ContainsRune(`.*[]^$+?(){}`, rune(c)) || c == '|' && s.extended):
		return "", fmt.Errorf("this simulation does not know '\\%c' in an expression with this delimiter", c)
	case c == delimiter:
		return string(c), nil
	case c == '\n':
		return "\n", nil
	case c >= '1' && c <= '9':
		return "", fmt.Errorf("this simulation does not know the back-reference '\\%c' in an expression", c)
	case c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.ContainsRune("<>`'", rune(c)):
		if !strings.ContainsRune("wWsSbBntrfv", rune(c)) {
			return "", fmt.Errorf("this simulation does not know '\\%c' in an expression", c)
		}
	case c >= utf8.RuneSelf:
		return "", errors.New("this simulation does not know a backslash before a character that is not of ASCII")
	}
	return `\` + string(c), nil
}

// find returns where the match at or after from and its groups begin and end; nil if there is none.
func (x *sedExpression) find(p *Program, text string, from int) []int {
	found := x.first.find(p, text, from)
	if found == nil {
		return nil
	}
	re, start := x.at, found[0]
	if start > 0 {
		_, size := utf8.DecodeLastRuneInString(text[:start])
		re, start = x.behind, start-size
	}
	all := re.FindReaderSubmatchIndex(&chargedReader{program: p, text: text[start:], cost: x.first.cost})
	if all == nil { // it was found there
		return nil
	}
	for i := range all {
		if all[i] >= 0 {
			all[i] += start
		}
	}
	return all[2:]
}

// sedChange holds the expression and the replacement of s.
type sedChange struct {
	match         *sedExpression
	parts         []sedPart
	global, print bool
	number        int // the match that is replaced, from 1
}

// sedPart is a part of a replacement: text, or a group, 0 being the whole match.
type sedPart struct {
	text  string
	group int
}

// substitution reads s/EXPRESSION/REPLACEMENT/FLAGS.
func (s *sedParser) substitution(c *sedCommand) error {
	delimiter := s.next()
	pattern, err := s.part(delimiter, "'s'")
	if err != nil {
		return err
	}
	replacement, err := s.part(delimiter, "replacement")
	if err != nil {
		return err
	}
	c.change = &sedChange{number: 1}
	if c.change.parts, err = sedReplacement(replacement, delimiter); err != nil {
		return err
	}
	flags, err := s.flags(c.change)
	if err != nil {
		return err
	}
	if c.change.match, err = s.expression(pattern, delimiter, flags); err != nil {
		return err
	}
	for _, part := range c.change.parts {
		if x := c.change.match; x != nil && part.group > x.groups {
			return fmt.Errorf("invalid reference \\%d in the replacement of 's'", part.group)
		}
	}
	return nil
}

func (s *sedParser) flags(c *sedChange) (ofExpression string, err error) {
	for s.text != "" && !strings.Contains(" \t\n;}#", s.text[:1]) {
		switch flag := s.text[0]; {
		case flag == 'g':
			c.global = true
		case flag == 'p':
			c.print = true
		case flag == 'i' || flag == 'I':
			ofExpression = "(?i)"
		case flag >= '1' && flag <= '9':
			if c.number, err = s.number(); err != nil {
				return "", err
			}
			continue
		default:
			return "", fmt.Errorf("this simulation does not know the flag '%c' of 's'; it knows g, i, I, p and a number", flag)
		}
		s.next()
	}
	return ofExpression, nil
}

// sedReplacement reads the parts of a replacement.
func sedReplacement(text string, delimiter byte) (parts []sedPart, err error) {
	var b strings.Builder
	group := func(n int) {
		parts = append(parts, sedPart{b.String(), -1}, sedPart{"", n})
		b.Reset()
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '&':
			group(0)
			continue
		case c == '\n':
			return nil, errors.New("unterminated 's': a line end in the replacement needs a backslash")
		case c != '\\' || i+1 == len(text):
			b.WriteByte(c)
			continue
		}
		switch i++; {
		case text[i] == delimiter:
			if strings.IndexByte("&0123456789n", delimiter) >= 0 {
				return nil, fmt.Errorf("this simulation does not know '\\%c' in a replacement with this delimiter", delimiter)
			}
			b.WriteByte(text[i])
		case text[i] >= '0' && text[i] <= '9':
			group(int(text[i] - '0'))
		case text[i] == 'n':
			b.WriteByte('\n')
		case text[i] == 't':
			b.WriteByte('\t')
		case text[i] >= 'a' && text[i] <= 'z' || text[i] >= 'A' && text[i] <= 'Z':
			return nil, fmt.Errorf("this simulation does not know '\\%c' in a replacement", text[i])
		default:
			b.WriteByte(text[i])
		}
	}
	return append(parts, sedPart{b.String(), -1}), nil
}

// apply returns a line with its matches replaced, and whether there were any.
func (c *sedChange) apply(p *Program, x *sedExpression, line string) (string, bool) {
	var b strings.Builder
	done, last, changed := 0, -1, false // line[:done] is in b, the last match ends at last
	for at, n := 0, 1; at <= len(line); {
		found := x.find(p, line, at)
		if found == nil {
			break
		}
		if found[0] == found[1] && found[0] == last { // behind the last match
			at = last + max(1, runeSize(line[last:]))
			continue
		}
		b.WriteString(line[done:found[0]])
		if n >= c.number {
			c.write(&b, line, found)
			changed = true
		} else {
			b.WriteString(line[found[0]:found[1]])
		}
		checkSize(p, &b)
		n++
		done, at, last = found[1], found[1], found[1]
		if n > c.number && !c.global {
			break
		}
	}
	b.WriteString(line[done:])
	checkSize(p, &b)
	return b.String(), changed
}

func runeSize(text string) int {
	_, size := utf8.DecodeRuneInString(text)
	return size
}

func checkSize(p *Program, b *strings.Builder) {
	p.work(100)
	if b.Len() > maxValue {
		tooMuch("sed: a line of more than %d bytes", maxValue)
	}
}

func (c *sedChange) write(b *strings.Builder, line string, found []int) {
	for _, part := range c.parts {
		text := part.text
		if n := 2 * part.group; n >= 0 && n+1 < len(found) && found[n] >= 0 {
			text = line[found[n]:found[n+1]]
		}
		if b.WriteString(text); b.Len() > maxValue {
			return // checkSize tells
		}
	}
}
