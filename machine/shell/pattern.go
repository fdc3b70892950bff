package shell

import (
	"slices"
	"strings"
)

// pattern is a compiled pattern of the shell: its parts between the stars.
type pattern [][]element

// element matches one byte: any byte, one of a set, or char.
type element struct {
	any  bool
	char byte
	set  *byteSet
}

// byteSet is a bit set of bytes.
type byteSet [4]uint64

func (s *byteSet) add(low, high byte) {
	for c := int(low); c <= int(high); c++ {
		s[c/64] |= 1 << (c % 64)
	}
}

func (e element) matches(c byte) bool {
	switch {
	case e.any:
		return true
	case e.set != nil:
		return e.set[c/64]>>(c%64)&1 == 1
	}
	return e.char == c
}

// compile reads a pattern. Like all functions that work on patterns it charges the program
// for every byte that it looks at, so that no pattern holds up the simulation.
func (p *Program) compile(text string) pattern {
	parts := pattern{nil}
	for text != "" {
		last := len(parts) - 1
		e, size := element{char: text[0]}, 1
		switch text[0] {
		case '*':
			if last == 0 || len(parts[last]) > 0 { // not a star after a star
				parts = append(parts, nil)
			}
			text = text[1:]
			p.work(1)
			continue
		case '?':
			e.any = true
		case '[':
			if set, n := p.bracket(text); n > 0 {
				e.set, size = set, n
			}
		case '\\':
			e.char, size = unescaped(text)
		}
		parts[last] = append(parts[last], e)
		text = text[size:]
		p.work(size)
	}
	return parts
}

// bracket reads "[a-z]" at the beginning of text; size is 0 if it is not closed.
func (p *Program) bracket(text string) (set *byteSet, size int) {
	set = &byteSet{}
	i := 1
	negated := i < len(text) && (text[i] == '!' || text[i] == '^')
	if negated {
		i++
	}
	for first := true; i < len(text); first = false {
		if text[i] == ']' && !first {
			if negated {
				for j := range set {
					set[j] = ^set[j]
				}
			}
			return set, i + 1
		}
		p.work(1)
		if class, n := characterClass(text[i:]); n > 0 {
			p.work(256)
			for c := range 256 {
				if inClass(class, byte(c)) {
					set.add(byte(c), byte(c))
				}
			}
			i += n
			continue
		}
		low, n := unescaped(text[i:])
		i += n
		high := low
		if i+1 < len(text) && text[i] == '-' && text[i+1] != ']' {
			high, n = unescaped(text[i+1:])
			i += 1 + n
		}
		set.add(low, high)
	}
	return nil, 0
}

// characterClass reads "[:name:]" at the beginning of text; size is 0 if there is none.
func characterClass(text string) (name string, size int) {
	if !strings.HasPrefix(text, "[:") {
		return "", 0
	}
	name, _, ok := strings.Cut(text[2:min(len(text), 32)], ":]")
	if !ok {
		return "", 0
	}
	return name, len("[::]") + len(name)
}

// unescaped returns the first character of a pattern without its backslash, and its size
// with it.
func unescaped(text string) (c byte, size int) {
	if text[0] == '\\' && len(text) > 1 {
		return text[1], 2
	}
	return text[0], 1
}

func inClass(class string, c byte) bool {
	lower, upper, digit := c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9'
	switch class {
	case "lower":
		return lower
	case "upper":
		return upper
	case "digit":
		return digit
	case "alpha":
		return lower || upper
	case "alnum":
		return lower || upper || digit
	case "space":
		return c == ' ' || c >= '\t' && c <= '\r'
	case "blank":
		return c == ' ' || c == '\t'
	case "xdigit":
		return digit || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
	case "punct":
		return c > ' ' && c < 0x7f && !lower && !upper && !digit
	}
	return false
}

// match reports whether the pattern matches all of text.
func (p *Program) match(pt pattern, text string) bool {
	last := len(pt) - 1
	end := len(text) - len(pt[last])
	if end < 0 || last == 0 && end > 0 || !p.startsWith(text[end:], pt[last]) {
		return false
	}
	if last == 0 {
		return true
	}
	_, ok := p.prefix(pt[:last], text[:end], false)
	return ok
}

// prefix returns the length of the shortest or longest beginning of text that the pattern
// matches.
func (p *Program) prefix(pt pattern, text string, longest bool) (size int, ok bool) {
	if !p.startsWith(text, pt[0]) {
		return 0, false
	}
	size = len(pt[0])
	for i, part := range pt[1:] {
		at := p.index(text[size:], part, longest && i == len(pt)-2)
		if at < 0 {
			return 0, false
		}
		size += at + len(part)
	}
	return size, true
}

// suffix returns the length of the shortest or longest end of text that the pattern
// matches.
func (p *Program) suffix(pt pattern, text string, longest bool) (size int, ok bool) {
	p.work(len(text))
	bytes := []byte(text)
	slices.Reverse(bytes)
	backwards := slices.Clone(pt)
	slices.Reverse(backwards)
	for i, part := range backwards {
		backwards[i] = slices.Clone(part)
		slices.Reverse(backwards[i])
	}
	return p.prefix(backwards, string(bytes), longest)
}

// index finds the first place in text, or the last one, where the elements match; -1 if
// there is none.
func (p *Program) index(text string, part []element, last bool) int {
	for i := range len(text) - len(part) + 1 {
		if last {
			i = len(text) - len(part) - i
		}
		if p.startsWith(text[i:], part) {
			return i
		}
	}
	return -1
}

func (p *Program) startsWith(text string, part []element) bool {
	p.work(1)
	if len(text) < len(part) {
		return false
	}
	for i, e := range part {
		if !e.matches(text[i]) {
			p.work(i)
			return false
		}
	}
	p.work(len(part))
	return true
}

// literal returns the text that a pattern without wildcards matches.
func literal(pattern string) string {
	var b strings.Builder
	for pattern != "" {
		c, size := unescaped(pattern)
		b.WriteByte(c)
		pattern = pattern[size:]
	}
	return b.String()
}
