package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// fileNames is a field, or the files whose names it matches if it is a pattern.
func (s *shell) fileNames(f field) []string {
	if s.noglob || !f.isPattern() {
		return []string{string(f.text)}
	}
	pattern := f.pattern()
	found := []string{""}
	if strings.HasPrefix(pattern, "/") {
		found = []string{"/"}
	}
	elements := strings.FieldsFunc(pattern, func(c rune) bool { return c == '/' })
	for i, element := range elements {
		found = s.matching(found, element, i < len(elements)-1 || strings.HasSuffix(pattern, "/"))
	}
	if len(found) == 0 {
		return []string{string(f.text)}
	}
	return found
}

// matching goes one directory deeper.
func (s *shell) matching(dirs []string, element string, inner bool) []string {
	var found []string
	for _, dir := range dirs {
		names := []string{strings.ReplaceAll(element, "\\", "")}
		if strings.ContainsAny(element, "*?[") {
			names, _ = s.program.file.list(s.path(dir)) // what cannot be listed matches nothing
		}
		s.program.step(1 + len(names)/10)
		for _, name := range names {
			hidden := strings.HasPrefix(name, ".") && !strings.HasPrefix(element, ".")
			if hidden || !s.program.match(element, name) {
				continue
			}
			look, end := s.program.file.lstat, ""
			if inner {
				look, end = s.program.file.stat, "/"
			}
			if info, err := look(s.path(dir + name)); err == nil && (!inner || info.IsDir()) {
				found = append(found, dir+name+end)
			}
		}
	}
	return found
}

// isPattern says whether a character of a pattern is not quoted.
func (f field) isPattern() bool {
	for i, c := range f.text {
		if !f.quoted[i] && strings.IndexByte("*?[", c) >= 0 {
			return true
		}
	}
	return false
}

// match says whether a pattern of the shell matches all of text.
func (p *Program) match(pattern, text string) bool { return matches(pattern, text, p.step) }

// matches is match; every hundred characters are a step.
func matches(pattern, text string, step func(n int)) bool {
	p, t := 0, 0
	star, from := -1, 0
	for rounds := 1; ; rounds++ {
		if rounds%100 == 0 {
			step(1)
		}
		if p < len(pattern) && pattern[p] == '*' {
			star, from = p, t
			p++
			continue
		}
		if t == len(text) {
			return p == len(pattern)
		}
		if n := matchOne(pattern[p:], text[t]); n > 0 {
			p, t = p+n, t+1
			continue
		}
		if star < 0 {
			return false
		}
		from++
		p, t = star+1, from
	}
}

// matchOne is the length of the pattern's first element if it matches c, or 0.
func matchOne(pattern string, c byte) int {
	if pattern == "" {
		return 0
	}
	switch pattern[0] {
	case '?':
		return 1
	case '[':
		if n, ok := bracket(pattern, c); n > 0 {
			if ok {
				return n
			}
			return 0
		}
	case '\\':
		if len(pattern) > 1 {
			if pattern[1] == c {
				return 2
			}
			return 0
		}
	}
	if pattern[0] == c {
		return 1
	}
	return 0
}

// bracket reads "[a-z]"; n is 0 if it is not closed.
func bracket(pattern string, c byte) (n int, ok bool) {
	i := 1
	negated := i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^')
	if negated {
		i++
	}
	for first := true; i < len(pattern); first = false {
		if pattern[i] == ']' && !first {
			return i + 1, ok != negated
		}
		if class, rest, is := strings.Cut(pattern[i:], ":]"); is && strings.HasPrefix(class, "[:") {
			ok = ok || inClass(class[2:], c)
			i = len(pattern) - len(rest)
			continue
		}
		low, size := unescaped(pattern[i:])
		i += size
		high := low
		if i+1 < len(pattern) && pattern[i] == '-' && pattern[i+1] != ']' {
			high, size = unescaped(pattern[i+1:])
			i += 1 + size
		}
		ok = ok || low <= c && c <= high
	}
	return 0, false
}

// unescaped is the first character of a pattern, and how long it is there.
func unescaped(pattern string) (c byte, size int) {
	if pattern[0] == '\\' && len(pattern) > 1 {
		return pattern[1], 2
	}
	return pattern[0], 1
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

// maxBraces is how many words one word's braces make.
const maxBraces = 1000

// expandBraces is the words that a word with braces stands for.
func expandBraces(w *syntax.Word) []*syntax.Word {
	var text string
	for _, part := range w.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			text += lit.Value
		}
	}
	if !strings.Contains(text, "{") {
		return []*syntax.Word{w}
	}
	if !syntax.SplitBraces(w) {
		return []*syntax.Word{w}
	}
	var words []*syntax.Word
	for _, parts := range braceParts(w.Parts) {
		words = append(words, &syntax.Word{Parts: parts})
	}
	return words
}
