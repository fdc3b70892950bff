package shell

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// grep prints the lines that match.
func grep(p *Process) error {
	const eachLine = "--line-buffered"
	argv := slices.DeleteFunc(slices.Clone(p.Argv), func(word string) bool { return word == eachLine })
	flags, args, err := options(argv, "EFGqvicnlxohs", "e")
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
	x, err := grepExpression(pattern, flags)
	if err != nil {
		return &ExitError{2, "grep: " + err.Error()}
	}
	if p.reads(args) && !has(flags, "c", "l", "n", "q") {
		return p.grepLines(x, flags, len(argv) < len(p.Argv))
	}
	found := false
	err = inputs(p, args, func(name string, data []byte) error {
		prefix := ""
		if len(args) > 1 && !has(flags, "h") {
			prefix = name + ":"
		}
		n, err := p.grepIn(x, flags, prefix, name, string(data))
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

// grepLines searches the lines of an input that a program writes meanwhile. It prints each when it comes, or in blocks.
func (p *Process) grepLines(x *expression, flags map[string]string, each bool) error {
	found, out := false, p.Stdout
	kept := &blocks{Process: p.another(p.Argv)}
	if !each {
		p.Stdout = kept
	}
	err := p.eachPart(true, func(data []byte) error {
		n, err := p.grepIn(x, flags, "", "", string(data))
		found = found || n > 0
		return err
	})
	if p.Stdout = out; err == nil {
		err = kept.flush()
	}
	switch {
	case err != nil:
		return &ExitError{2, err.Error()}
	case !found:
		return &ExitError{Code: 1}
	}
	return nil
}

// grepIn searches one file and returns how many lines match.
func (p *Process) grepIn(x *expression, flags map[string]string, prefix, name, data string) (count int, err error) {
	silent := has(flags, "q", "l", "c")
	number := 0
	var out bytes.Buffer
	for line := range strings.Lines(data) {
		line = strings.TrimSuffix(line, "\n")
		number++
		p.program.step(1)
		if (x.find(p.program, line, 0) != nil) == has(flags, "v") {
			continue
		}
		count++
		if silent || err != nil {
			continue
		}
		place := prefix
		if has(flags, "n") {
			place += fmt.Sprintf("%d:", number)
		}
		if !has(flags, "o") {
			out.WriteString(place + line + "\n")
		} else if err = p.writeMatches(&out, x, place, line); err != nil {
			continue
		}
		err = p.flush(&out, maxLog)
	}
	if err == nil {
		err = p.flush(&out, 0)
	}
	switch {
	case has(flags, "q"):
	case has(flags, "l"):
		if count > 0 {
			err = p.printf("%s\n", name)
		}
	case has(flags, "c"):
		err = p.printf("%s%d\n", prefix, count)
	}
	return count, err
}

// writeMatches writes the matching parts of a line.
func (p *Process) writeMatches(out *bytes.Buffer, x *expression, place, line string) error {
	for at := 0; at < len(line); {
		found := x.find(p.program, line, at)
		if found == nil {
			break
		}
		if found[0] == found[1] {
			at = found[1] + 1
			continue
		}
		at = found[1]
		out.WriteString(place + line[found[0]:at] + "\n")
		if err := p.flush(out, maxLog); err != nil {
			return err
		}
	}
	return nil
}

// flush prints what is in out if that is more than size bytes.
func (p *Process) flush(out *bytes.Buffer, size int) error {
	if out.Len() <= size {
		return nil
	}
	defer out.Reset()
	return p.write(out.Bytes())
}

func grepExpression(pattern string, flags map[string]string) (*expression, error) {
	switch {
	case has(flags, "F"):
		pattern = regexp.QuoteMeta(pattern)
	case !has(flags, "E"):
		pattern = fromBasic(pattern)
	}
	if has(flags, "x") {
		pattern = "^(?:" + pattern + ")$"
	}
	if has(flags, "i") {
		pattern = "(?i)" + pattern
	}
	return compileExpression(pattern)
}

// fromBasic makes an extended expression of a basic one, in which ( ) { } | + ? have their
// special meaning with a backslash.
func fromBasic(pattern string) string {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		switch {
		case c == '[':
			size := bracketEnd(pattern[i:])
			b.WriteString(strings.ReplaceAll(pattern[i:i+size], `\`, `\\`))
			i += size - 1
		case c == '\\' && i+1 < len(pattern):
			i++
			if !strings.ContainsRune("(){}|+?", rune(pattern[i])) {
				b.WriteByte('\\')
			}
			b.WriteByte(pattern[i])
		case strings.ContainsRune("(){}|+?", rune(c)),
			c == '^' && i > 0 && !strings.HasSuffix(pattern[:i], `\(`) && !strings.HasSuffix(pattern[:i], `\|`),
			c == '$' && i+1 < len(pattern) && !strings.HasPrefix(pattern[i+1:], `\)`) && !strings.HasPrefix(pattern[i+1:], `\|`),
			c == '*' && (i == 0 || strings.HasSuffix(pattern[:i], `\(`) || i == 1 && pattern[0] == '^'):
			b.WriteByte('\\')
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
