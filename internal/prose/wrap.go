package prose

import (
	"strings"
	"unicode/utf8"
)

// Wrap breaks the lines of a text that are wider than width characters, at blanks.
// What does not fit continues on the next line, hang characters further right than
// its line begins. A word that is wider than a line is not broken. If width is not
// positive, the text comes back as it is.
func Wrap(text string, width, hang int) string {
	if width <= 0 {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		indent := len(line) - len(strings.TrimLeft(line, " "))
		lines[i] = WrapLine(line, width, indent, indent+hang)
	}
	return strings.Join(lines, "\n")
}

// WrapLine breaks one line as Wrap does, but not within its first begin bytes. What
// does not fit continues at column hang.
func WrapLine(line string, width, begin, hang int) string {
	var b strings.Builder
	for {
		at, next := breakAt(line, width, begin)
		if at == len(line) || width <= 0 {
			b.WriteString(line)
			return b.String()
		}
		b.WriteString(line[:at] + "\n")
		line, begin = strings.Repeat(" ", hang)+line[next:], hang
	}
}

// breakAt returns the end of a line that is too wide, and the start of the next one: at the
// last blank that fits, or else at the first.
func breakAt(line string, width, begin int) (end, next int) {
	if utf8.RuneCountInString(line) <= width {
		return len(line), len(line)
	}
	at, columns, inText := -1, 0, false
	for i, r := range line {
		if i >= begin && r == ' ' && inText {
			if columns > width && at >= 0 {
				break
			}
			at = i
			if columns > width {
				break
			}
		}
		inText = inText || i >= begin && r != ' '
		columns++
	}
	if at < 0 {
		return len(line), len(line)
	}
	rest := strings.TrimLeft(line[at:], " ")
	if rest == "" {
		return len(line), len(line)
	}
	return len(strings.TrimRight(line[:at], " ")), len(line) - len(rest)
}

// leastRoom is the width that the last column of a table must have to be wrapped
// within it.
const leastRoom = 30

// WrapMessages wraps the last column of tables whose last heading is "Message",
// however it is written, and no other lines.
func WrapMessages(text string, width int) string {
	if width <= 0 {
		return text
	}
	lines := strings.Split(text, "\n")
	column := -1
	for i, line := range lines {
		switch {
		case strings.HasSuffix(strings.ToLower(line), " message"):
			column = len(line) - len("message")
		case line == "":
			column = -1
		case column >= 0:
			indent := len(line) - len(strings.TrimLeft(line, " "))
			hang := column
			if width-column < leastRoom {
				hang = indent + 4
			}
			lines[i] = WrapLine(line, width, min(column, len(line)), hang)
		}
	}
	return strings.Join(lines, "\n")
}
