package shell

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// sedCommands are the commands of sed that are known.
const sedCommands = "=acdipqsy{}"

// sedAddress is a line, the last line, the lines that match, or so many lines after another.
type sedAddress struct {
	line int
	last bool
	plus bool // line is a number of lines after the first one of the range
	// matches says that match is an expression, or the last one that was used if it is nil.
	matches bool
	match   *sedExpression
}

// sedCommand is one command with its addresses.
type sedCommand struct {
	from, to *sedAddress
	not      bool
	name     byte
	block    []*sedCommand // of {
	text     string        // of a, i and c
	code     int32         // of q
	change   *sedChange    // of s
	runes    map[rune]rune // of y
	active   bool          // a line of the range was found, and its end not yet
	end      int           // the last line of the active range, if that is a number
}

// sedParser reads a script. Its commands are in each other as deep as a program may go.
type sedParser struct {
	program  *Program
	text     string
	extended bool
	usesLast bool
	held     int // bytes that the program is charged for
}

// skip passes over what is in set.
func (s *sedParser) skip(set string) { s.text = strings.TrimLeft(s.text, set) }

// next takes a byte; 0 at the end.
func (s *sedParser) next() byte {
	if s.text == "" {
		return 0
	}
	c := s.text[0]
	s.text = s.text[1:]
	return c
}

// number takes a number.
func (s *sedParser) number() (int, error) {
	digits := s.text[:len(s.text)-len(strings.TrimLeft(s.text, "0123456789"))]
	s.text = s.text[len(digits):]
	n, err := strconv.Atoi(digits)
	if err != nil || n > maxHeld {
		return 0, fmt.Errorf("'%s' is not a number from 0 to %d", digits, maxHeld)
	}
	return n, nil
}

// commands reads commands up to the end, or to the end of a block.
func (s *sedParser) commands(inBlock bool) (list []*sedCommand, err error) {
	defer s.program.enter()()
	for {
		s.skip(" \t\n;")
		switch {
		case s.text == "" && inBlock:
			return nil, errors.New("unmatched '{'")
		case s.text == "":
			return list, nil
		case s.text[0] == '}' && inBlock:
			s.next()
			return list, s.ends()
		case s.text[0] == '#':
			_, s.text, _ = strings.Cut(s.text, "\n")
			continue
		}
		s.program.work(syntaxCost)
		c, err := s.command()
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
}

// ends returns an error if anything follows a command on its line.
func (s *sedParser) ends() error {
	s.skip(" \t")
	if s.text == "" || strings.Contains("\n;}#", s.text[:1]) {
		return nil
	}
	return fmt.Errorf("extra characters after a command: '%.20s'", s.text)
}

// command reads a command with its addresses.
func (s *sedParser) command() (c *sedCommand, err error) {
	c = &sedCommand{}
	if c.from, err = s.address(false); err != nil {
		return nil, err
	}
	s.skip(" \t")
	if c.from != nil && strings.HasPrefix(s.text, ",") {
		s.next()
		s.skip(" \t")
		if c.to, err = s.address(true); err == nil && c.to == nil {
			err = errors.New("unexpected ','")
		}
		if err != nil {
			return nil, err
		}
	}
	for s.skip(" \t"); strings.HasPrefix(s.text, "!"); s.skip(" \t!") {
		c.not = true
	}
	c.name = s.next()
	switch c.name {
	case '{':
		c.block, err = s.commands(true)
		return c, err
	case 'a', 'i', 'c':
		c.text, err = s.lines(c.name)
		return c, err
	case 's':
		err = s.substitution(c)
	case 'y':
		err = s.transliteration(c)
	case 'q':
		err = s.exitCode(c)
	case 'd', 'p', '=':
	case 0:
		return nil, errors.New("missing command")
	default:
		return nil, fmt.Errorf("this simulation does not know the command '%c'%s", c.name, "; it knows "+sedCommands)
	}
	if err == nil {
		err = s.ends()
	}
	return c, err
}

func (s *sedParser) exitCode(c *sedCommand) error {
	if s.skip(" \t"); s.text == "" || s.text[0] < '0' || s.text[0] > '9' {
		return nil
	}
	n, err := s.number()
	c.code = int32(n & 0xff)
	return err
}

// address reads one address; nil if there is none.
func (s *sedParser) address(second bool) (*sedAddress, error) {
	if s.text == "" {
		return nil, nil
	}
	switch c := s.text[0]; {
	case c == '$':
		s.next()
		s.usesLast = true
		return &sedAddress{last: true}, nil
	case c == '/' || c == '\\':
		if s.next(); c == '\\' {
			c = s.next()
		}
		return s.matching(c)
	case c >= '0' && c <= '9' || c == '+' && second:
		if c == '+' {
			s.next()
		}
		n, err := s.number()
		switch {
		case err != nil:
			return nil, err
		case n == 0 && !second:
			return nil, errors.New("this simulation does not know the address 0")
		case strings.HasPrefix(s.text, "~"):
			return nil, errors.New("this simulation does not know addresses with '~'")
		}
		return &sedAddress{line: n, plus: c == '+'}, nil
	case c == '~':
		return nil, errors.New("this simulation does not know addresses with '~'")
	}
	return nil, nil
}

// matching reads the rest of an address that is an expression.
func (s *sedParser) matching(delimiter byte) (*sedAddress, error) {
	text, err := s.part(delimiter, "address")
	if err != nil {
		return nil, err
	}
	flag := ""
	if strings.HasPrefix(s.text, "I") {
		s.next()
		flag = "(?i)"
	}
	x, err := s.expression(text, delimiter, flag)
	return &sedAddress{matches: true, match: x}, err
}

// part takes the text up to the delimiter. A backslash before the delimiter, which stays, takes its meaning.
func (s *sedParser) part(delimiter byte, of string) (string, error) {
	if delimiter == 0 || delimiter == '\n' || delimiter == '\\' || delimiter >= utf8.RuneSelf {
		return "", fmt.Errorf("unterminated %s, or one with a delimiter that this simulation does not know", of)
	}
	for i := 0; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case c == delimiter:
			text := s.text[:i]
			s.text = s.text[i+1:]
			return text, nil
		case c == '\\':
			i++
		case c == '[' && of != "replacement" && of != "'y'":
			i += bracketEnd(s.text[i:]) - 1
		}
	}
	return "", fmt.Errorf("unterminated %s", of)
}

// bracketEnd returns the size of a bracket expression at the beginning of text; 1 if it is not closed.
func bracketEnd(text string) int {
	end := 1
	if end < len(text) && text[end] == '^' {
		end++
	}
	if end < len(text) && text[end] == ']' {
		end++
	}
	for end < len(text) && text[end] != ']' && text[end] != '\n' {
		if _, n := characterClass(text[end:]); n > 0 {
			end += n - 1
		}
		end++
	}
	if end < len(text) && text[end] == ']' {
		return end + 1
	}
	return 1
}

// lines reads the text of a, i and c.
func (s *sedParser) lines(name byte) (string, error) {
	s.skip(" \t")
	if strings.HasPrefix(s.text, `\`) {
		s.next()
		if rest := strings.TrimLeft(s.text, " \t"); strings.HasPrefix(rest, "\n") {
			s.text = rest[1:]
		}
	}
	if s.text == "" {
		return "", fmt.Errorf("the text of '%c' is missing", name)
	}
	var b strings.Builder
	for s.text != "" {
		c := s.next()
		if c == '\n' {
			break
		}
		if c == '\\' && s.text != "" {
			if c = s.next(); c == 't' {
				c = '\t'
			} else if c != '\n' && strings.ContainsRune("acdfnorvxABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", rune(c)) {
				return "", fmt.Errorf("this simulation does not know '\\%c' in the text of '%c'", c, name)
			}
		}
		b.WriteByte(c)
	}
	return b.String() + "\n", nil
}

// transliteration reads y/abc/xyz/.
func (s *sedParser) transliteration(c *sedCommand) error {
	delimiter := s.next()
	var sets [2][]rune
	for i := range sets {
		text, err := s.part(delimiter, "'y'")
		if err != nil {
			return err
		}
		var b strings.Builder
		for j := 0; j < len(text); j++ {
			if text[j] != '\\' || j+1 == len(text) {
				b.WriteByte(text[j])
				continue
			}
			switch j++; {
			case text[j] == 'n':
				b.WriteByte('\n')
			case text[j] == 't':
				b.WriteByte('\t')
			case text[j] == '\\' || text[j] == delimiter:
				b.WriteByte(text[j])
			default:
				return fmt.Errorf("this simulation does not know '\\%c' in 'y'", text[j])
			}
		}
		sets[i] = []rune(b.String())
	}
	if len(sets[0]) != len(sets[1]) {
		return errors.New("the strings of 'y' are of different lengths")
	}
	c.runes = map[rune]rune{}
	for i, from := range sets[0] {
		if _, ok := c.runes[from]; !ok {
			c.runes[from] = sets[1][i]
		}
	}
	return nil
}
