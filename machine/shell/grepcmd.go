package shell

import (
	"fmt"
	"regexp"
	"strings"
)

// grep prints the lines that match.
func grep(p *Process) error {
	flags, args, err := options(p.Argv, "EFGqvicnlxohs", "e")
	if err != nil {
		return &ExitError{2, err.Error()}
	}
	pattern, given := flags["e"]
	if !given {
		if len(args) == 0 {
			return &ExitError{2, "grep: usage: grep [-EFqvicnlxohs] PATTERN [FILE...]"}
		}
		pattern, args = args[0], args[1:]
	}
	re, err := grepPattern(pattern, flags)
	if err != nil {
		return &ExitError{2, "grep: " + err.Error()}
	}
	found := false
	err = inputs(p, args, func(name string, data []byte) error {
		prefix := ""
		if len(args) > 1 && !has(flags, "h") {
			prefix = name + ":"
		}
		n, err := p.grepIn(re, flags, prefix, name, data)
		found = found || n > 0
		return err
	})
	switch {
	case found && has(flags, "q"):
		return nil
	case err != nil:
		return &ExitError{2, err.Error()}
	case !found:
		return &ExitError{Code: 1}
	}
	return nil
}

// grepIn looks in one file and says how many lines match.
func (p *Process) grepIn(re *regexp.Regexp, flags map[string]string, prefix, name string, data []byte) (count int, err error) {
	if len(data) == 0 {
		data = nil
	}
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	if data == nil {
		lines = nil
	}
	var out strings.Builder
	for i, line := range lines {
		p.program.step(1 + len(line)/1000)
		if re.MatchString(line) == has(flags, "v") {
			continue
		}
		count++
		number := ""
		if has(flags, "n") {
			number = fmt.Sprintf("%d:", i+1)
		}
		if !has(flags, "o") {
			out.WriteString(prefix + number + line + "\n")
			continue
		}
		for _, part := range re.FindAllString(line, -1) {
			if part != "" {
				out.WriteString(prefix + number + part + "\n")
			}
		}
	}
	switch {
	case has(flags, "q"):
		return count, nil
	case has(flags, "l"):
		if count == 0 {
			return 0, nil
		}
		return count, p.printf("%s\n", name)
	case has(flags, "c"):
		return count, p.printf("%s%d\n", prefix, count)
	}
	return count, p.write([]byte(out.String()))
}

func grepPattern(pattern string, flags map[string]string) (*regexp.Regexp, error) {
	if has(flags, "F") {
		pattern = regexp.QuoteMeta(pattern)
	} else {
		re, err := expression(pattern, has(flags, "E"), false)
		if err != nil {
			return nil, err
		}
		pattern = re.String()
	}
	if has(flags, "x") {
		pattern = "^(?:" + pattern + ")$"
	}
	if has(flags, "i") {
		pattern = "(?i)" + pattern
	}
	return regexp.Compile(pattern)
}

// expression compiles a POSIX expression, basic or extended. In a basic one ( ) { } | +
// ? mean themselves, and with a backslash what they mean in an extended one.
func expression(pattern string, extended, whole bool) (*regexp.Regexp, error) {
	if !extended {
		pattern = fromBasic(pattern)
	}
	if whole {
		pattern = "^(?:" + pattern + ")$"
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("'%s' is no expression that this simulation knows: %w", pattern, err)
	}
	return re, nil
}

func fromBasic(pattern string) string {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		switch {
		case c == '[':
			end := i + 1
			if end < len(pattern) && pattern[end] == '^' {
				end++
			}
			if end < len(pattern) && pattern[end] == ']' {
				end++
			}
			for end < len(pattern) && pattern[end] != ']' {
				if strings.HasPrefix(pattern[end:], "[:") {
					if close := strings.Index(pattern[end:], ":]"); close > 0 {
						end += close + 1
					}
				}
				end++
			}
			b.WriteString(strings.ReplaceAll(pattern[i:min(end+1, len(pattern))], `\`, `\\`))
			i = end
		case c == '\\' && i+1 < len(pattern):
			i++
			if !strings.ContainsRune("(){}|+?", rune(pattern[i])) {
				b.WriteByte('\\')
			}
			b.WriteByte(pattern[i])
		case strings.ContainsRune("(){}|+?", rune(c)),
			c == '*' && (i == 0 || strings.HasSuffix(pattern[:i], `\(`) || i == 1 && pattern[0] == '^'):
			b.WriteByte('\\')
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
