package story

import (
	"fmt"
	"strings"

	"github.com/storagesim/storagesim/internal/manifest"
)

const fence = "----"

// script is a parsed script: lines kept as they are, and commands.
type script struct {
	file  string
	items []item
}

// item is a line outside commands or, if words is set, a command.
type item struct {
	line  int // from 1
	text  string
	words []string
	input []string
	// fails says that the command must fail.
	fails bool
	// tight says that another line follows at once, from which an output must be kept apart.
	tight bool
}

// must is the word before a command that must fail.
const must = "!"

// Error is a script that cannot be played: the command does not exist, or is not
// written as its usage says.
type Error struct {
	File    string
	Line    int
	Problem string
}

func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Problem) }

// parse reads a script; outputs are dropped.
func parse(file, text string) (*script, error) {
	if err := manifest.CheckText(file, []byte(text)); err != nil {
		return nil, err
	}
	s := &script{file: file}
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n") // as editors on Windows write it
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i := 0; i < len(lines); {
		line := lines[i]
		if trimmed := strings.TrimSpace(line); trimmed == "" || trimmed[0] == '#' {
			s.items = append(s.items, item{line: i + 1, text: line})
			i++
			continue
		}
		if line == fence {
			return nil, &Error{file, i + 1, "a ---- without a command above it"}
		}
		next, err := s.command(lines, i)
		if err != nil {
			return nil, err
		}
		i = next
	}
	return s, nil
}

// command reads the command that begins at lines[i] and returns where it ends.
func (s *script) command(lines []string, i int) (int, error) {
	words, err := split(lines[i])
	if err != nil {
		return 0, &Error{s.file, i + 1, err.Error()}
	}
	cmd := item{line: i + 1, text: lines[i], words: words}
	if words[0] == must && len(words) > 1 {
		cmd.words, cmd.fails = words[1:], true
	}
	end, fenced := inputEnd(lines, i+1, cmd.words[0])
	if end > i+1 {
		cmd.input = lines[i+1 : end]
	}
	cmd.tight = !fenced && end < len(lines) && lines[end] != ""
	s.items = append(s.items, cmd)
	if !fenced {
		return end, nil
	}
	end++
	if end == len(lines) || lines[end] != fence {
		begin := end
		for end < len(lines) && lines[end] != "" {
			end++
		}
		if at := strayCommand(lines[begin:end]); at >= 0 {
			return 0, &Error{s.file, begin + at + 1, fmt.Sprintf("%q would be dropped as old output of %q: put an empty line before a command",
				lines[begin+at], words[0])}
		}
		return end, nil
	}
	for end++; end+1 < len(lines); end++ {
		if lines[end] == fence && lines[end+1] == fence {
			return end + 2, nil
		}
	}
	return 0, &Error{s.file, i + 1, fmt.Sprintf("the output of %q begins with two lines ---- and does not end with two", words[0])}
}

// inputEnd returns the line at which the input of a command ends that begins at lines[i], and whether that is a fence. A command that was
// not played yet needs none: its input ends before the next command.
func inputEnd(lines []string, i int, name string) (end int, fenced bool) {
	cmd, err := find(name)
	takesInput := err == nil && cmd.input && (NeedsInput(lines[i-1]) || !objectsOrPatch(name)) // with -f or -p there is none
	for end = i; end < len(lines); end++ {
		line := lines[end]
		switch {
		case line == fence:
			return end, true
		case takesInput && apart(lines, i, end) && beginsCommand(line):
			return lastInput(lines, i, end), false
		case !takesInput && (line == "" || line[0] == '#' || beginsCommand(line)):
			return end, false
		}
	}
	return lastInput(lines, i, end), false
}

// objectsOrPatch reports whether a command's flags say what its input would.
func objectsOrPatch(name string) bool { return name == "apply" || name == "create" || name == "patch" }

// apart reports whether lines[at] has an empty line above it, or comments and an empty line above those. Its input begins at lines[begin].
func apart(lines []string, begin, at int) bool {
	for at > begin && strings.HasPrefix(lines[at-1], "#") {
		at--
	}
	return lines[at-1] == ""
}

// beginsCommand reports whether a line begins with the name of a command.
func beginsCommand(line string) bool {
	words, err := split(line)
	if err != nil || len(words) == 0 || line[0] == ' ' {
		return false
	}
	if words[0] == must && len(words) > 1 {
		words = words[1:]
	}
	_, err = find(words[0])
	return err == nil
}

// strayCommand returns which line of an output was written as a command: its first or its last, -1 if neither. Lines between them may look
// like commands, as "events" in what describe prints does.
func strayCommand(output []string) int {
	for _, at := range []int{0, len(output) - 1} {
		if at >= 0 && at < len(output) && beginsCommand(output[at]) {
			return at
		}
	}
	return -1
}

// lastInput returns the end of an input without the empty lines and comments below it.
func lastInput(lines []string, begin, end int) int {
	for end > begin && (strings.TrimSpace(lines[end-1]) == "" || lines[end-1][0] == '#') {
		end--
	}
	return end
}

// printed returns the command with its output, as the script has it.
func (c item) printed(output string) string {
	var b strings.Builder
	b.WriteString(c.text + "\n")
	for _, line := range c.input {
		b.WriteString(line + "\n")
	}
	b.WriteString(fence + "\n")
	output = strings.TrimRight(output, "\n")
	switch {
	case output == "":
	case strings.Contains(output, "\n\n") || output[0] == '\n' || strings.HasPrefix(output, fence+"\n") || strayCommand(strings.Split(output, "\n")) >= 0:
		fmt.Fprintf(&b, "%s\n%s\n%s\n%s\n", fence, output, fence, fence)
	default:
		b.WriteString(output + "\n")
	}
	if c.tight {
		b.WriteByte('\n')
	}
	return b.String()
}

// Quote returns a word as it is written in a command line of a script. The word must not have a line break.
func Quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'"'"'`) + "'" }

// split splits a command line into words.
func split(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord, quote := false, rune(0)
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, inWord = r, true
		case r == '#' && !inWord:
			return words, nil
		case r == ' ' || r == '\t':
			if inWord {
				words = append(words, word.String())
				word.Reset()
			}
			inWord = false
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("a quote %c is not closed", quote)
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}
