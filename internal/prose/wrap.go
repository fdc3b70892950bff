package prose

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// Columns returns the number of columns that a text takes on a terminal: a Chinese character takes
// two, a combining mark none.
func Columns(text string) (n int) {
	for _, r := range text {
		n += columns(r)
	}
	return n
}

func columns(r rune) int {
	if r < unicode.MaxLatin1 {
		return 1
	}
	if unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Me, r) || unicode.Is(unicode.Cf, r) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// Pad returns a text with so many blanks behind it that it takes n columns.
func Pad(text string, n int) string {
	return text + strings.Repeat(" ", max(0, n-Columns(text)))
}

// Wrap breaks the lines of a text that are wider than width columns, at blanks and between
// Chinese characters. What does not fit continues on the next line, hang columns further right than
// its line begins. A word that is wider than a line, such as a path, continues behind a slash or a comma in
// lines narrower than 100 columns, and is not broken in wider ones. If width is not positive, the text comes
// back as it is.
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
	for room, indent := width, ""; ; room, begin, indent = width-hang, 0, strings.Repeat(" ", hang) {
		b.WriteString(indent)
		at, next := breakAt(line, width, room, begin)
		if at == len(line) || width <= 0 {
			b.WriteString(line)
			return b.String()
		}
		b.WriteString(line[:at] + "\n")
		line = line[next:]
	}
}

// fits reports whether a text takes at most so many columns. It looks no further: a text may have a million.
func fits(text string, room int) bool {
	for _, r := range text {
		if room -= columns(r); room < 0 {
			return false
		}
	}
	return room >= 0
}

// Marks of Chinese texts that begin no line, and those that end none.
const (
	closing = "，。、；：？！）》】」』"
	opening = "（《【「『"
)

// breakAt returns the end of a line that is too wide, and the start of the next one: at the
// last blank, or between the last two Chinese characters, that fits, or else at the first. Of the width there is room for the line.
func breakAt(line string, width, room, begin int) (end, next int) {
	if fits(line, room) {
		return len(line), len(line)
	}
	at, used, inText, wide := -1, 0, false, false // wide: a line may end behind the character before, which is Chinese
	for i, r := range line {
		if i >= begin && inText && (r == ' ' || wide && columns(r) == 2 && !strings.ContainsRune(closing, r)) {
			if used > room && at >= 0 {
				break
			}
			at = i
			if used > room {
				break
			}
		}
		inText = inText || i >= begin && r != ' '
		wide = columns(r) == 2 && !strings.ContainsRune(opening, r)
		used += columns(r)
	}
	if at < 0 {
		at = len(line)
	}
	if inner := insideWord(line[:at], width, room, begin); inner > 0 {
		return inner, inner
	}
	rest := strings.TrimLeft(line[at:], " ")
	if rest == "" {
		return len(line), len(line)
	}
	return len(strings.TrimRight(line[:at], " ")), len(line) - len(rest)
}

// breaksWords is the width below which words are broken.
const breaksWords = 100

// insideWord returns the end of a line that has one word which is too wide: behind the last slash or comma that fits.
// It is 0 if the line fits or the word is not to be broken.
func insideWord(line string, width, room, begin int) (end int) {
	if width >= breaksWords || fits(line, room) {
		return 0
	}
	used, inText := 0, false
	for i, r := range line {
		if used += columns(r); used > room {
			break
		}
		if i >= begin && inText && (r == '/' || r == ',') {
			end = i + 1
		}
		inText = inText || i >= begin && r != ' '
	}
	return end
}

// leastRoom is the width that the last column of a table must have to be wrapped
// within it.
const leastRoom = 30

// WrapMessages wraps the last column of tables whose last heading is "Message",
// however it is written, and no other lines. A message whose first word does not fit begins on the next line.
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
			if word, _, _ := strings.Cut(line[min(column, len(line)):], " "); strings.Trim(word, "-") != "" && !fits(line[:column]+word, width) {
				lines[i] = strings.TrimRight(line[:column], " ") + "\n" + WrapLine(strings.Repeat(" ", hang)+line[column:], width, hang, hang)
				continue
			}
			lines[i] = WrapLine(line, width, min(column, len(line)), hang)
		}
	}
	return strings.Join(lines, "\n")
}
