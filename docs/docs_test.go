// Package docs tests the documents: they quote only what the tests of this
// repository run, and the links in them lead somewhere.
//
// A fenced block that quotes is preceded by a comment that names its source:
//
//	<!-- from story/testdata/openebs.txt -->
//
// The block must then be found in that file, line by line in one piece, with
// the same indentation (tabs that all lines begin with may be left out); a line
// "..." skips any number of lines.
// With -update, lines that differ only in white space are taken from the file.
//
// A comment "from FILE func NAME", or "func TYPE.NAME" for a method, or "type NAME", quotes a whole
// declaration, from its comment to its closing brace, and leaves nothing out. With -update it is
// written anew. A function that was renamed is an error.
package docs

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "take the white space of quoted lines from the files they are quoted from")

var (
	quote = regexp.MustCompile("(?ms)^<!-- from (\\S+)(?: (func|type) (\\S+))? -->\n```\\w*\n(.*?)^```$")
	fence = regexp.MustCompile("(?m)^```\\w+$")
	link  = regexp.MustCompile(`\]\(([^)#\s]+)(?:#[^)]*)?\)`)
)

// documents returns all Markdown files of the repository, relative to its root.
func documents(t *testing.T) []string {
	t.Helper()
	var files []string
	for _, pattern := range []string{"../*.md", "*.md", "zh/*.md", "lessons/*.md", "../*/*/README.md", "../*/*/*/README.md"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		files = append(files, found...)
	}
	require.Greater(t, len(files), 3)
	return files
}

func TestWhatDocumentsQuoteIsWhatTestsRun(t *testing.T) {
	quotes := 0
	for _, file := range documents(t) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		if *update {
			text = []byte(mended(t, string(text)))
			require.NoError(t, os.WriteFile(file, text, 0o644))
		}
		for _, m := range quote.FindAllStringSubmatch(string(text), -1) {
			quotes++
			if m[2] != "" {
				require.Equal(t, strings.Join(declaration(t, file, m[1], m[2], m[3]), "\n"), strings.TrimSuffix(m[4], "\n"),
					"%s: %s of %s; go test ./docs -update takes it from there", file, m[3], m[1])
				continue
			}
			require.True(t, says(source(t, file, m[1]), lines(m[4])), "%s quotes what %s does not say:\n%s", file, m[1], m[4])
		}
	}
	require.Greater(t, quotes, 3)
}

// mended returns a document whose quotes have the white space of what they quote.
func mended(t *testing.T, text string) string {
	return quote.ReplaceAllStringFunc(text, func(block string) string {
		m := quote.FindStringSubmatch(block)
		if m[2] != "" {
			head, _, _ := strings.Cut(block, "```")
			return head + "```go\n" + strings.Join(declaration(t, "a document", m[1], m[2], m[3]), "\n") + "\n```"
		}
		whole, part := source(t, "a document", m[1]), lines(m[4])
		if says(whole, part) {
			return block
		}
		for i, at := range locate(whole, part, folded) {
			if at >= 0 {
				part[i] = whole[at]
			}
		}
		return strings.Replace(block, m[4], strings.Join(part, "\n")+"\n", 1)
	})
}

func source(t *testing.T, file, name string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", name))
	require.NoError(t, err, "%s quotes a file that is not there", file)
	return lines(string(text))
}

func TestGoAndTextBlocksInChaptersAreQuotes(t *testing.T) {
	chapters, err := filepath.Glob("[0-9]*.md")
	require.NoError(t, err)
	require.NotEmpty(t, chapters)
	for _, file := range chapters {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		blocks := len(fence.FindAllString(string(text), -1))
		require.Len(t, quote.FindAllString(string(text), -1), blocks, "%s: each block with a language names where it is from", file)
	}
}

func TestLinksLeadSomewhere(t *testing.T) {
	for _, file := range documents(t) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			_, err := os.Stat(filepath.Join(filepath.Dir(file), m[1]))
			require.NoError(t, err, "%s links to %s", file, m[1])
		}
	}
}

// lines returns the lines of a text without white space at their ends.
func lines(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		out = append(out, strings.TrimRight(line, " \t\n"))
	}
	return out
}

// says reports whether whole has the lines of part, each of them shortened by the
// same number of tabs, or by none.
func says(whole, part []string) bool {
	for tabs := ""; len(tabs) < 5; tabs += "\t" {
		same := func(a, b string) bool { return a == "" && b == "" || b != "" && a == tabs+b }
		if locate(whole, part, same) != nil {
			return true
		}
	}
	return false
}

// folded compares lines whatever their white space.
func folded(a, b string) bool {
	return strings.Join(strings.Fields(a), " ") == strings.Join(strings.Fields(b), " ")
}

// locate finds the lines of part in whole, in one piece except for "...". It
// returns where each line is, -1 for "...", or nil if they are not there.
func locate(whole, part []string, same func(a, b string) bool) []int {
	for start := range whole {
		if at := locateAt(whole, start, part, same); at != nil {
			return at
		}
	}
	return nil
}

func locateAt(whole []string, start int, part []string, same func(a, b string) bool) []int {
	at := make([]int, 0, len(part))
	for i, line := range part {
		if line == "..." {
			for next := start; next < len(whole); next++ {
				if rest := locateAt(whole, next, part[i+1:], same); rest != nil {
					return append(append(at, -1), rest...)
				}
			}
			return nil
		}
		if start >= len(whole) || !same(whole[start], line) {
			return nil
		}
		at, start = append(at, start), start+1
	}
	return at
}

func TestTheCheckerFindsWhatDiffers(t *testing.T) {
	whole := lines("a\nb c\n d\ne\n")
	require.True(t, says(whole, lines("b c\n d\n")))
	require.True(t, says(whole, lines("a\n...\ne\n")))
	require.True(t, says(lines("\tif a {\n\t\tb\n\t}\n"), lines("if a {\n\tb\n}\n")))
	require.Equal(t, []int{1, 2}, locate(whole, lines("b  c\nd\n"), folded))
	require.False(t, says(whole, lines("b c\nd\n")), "the indentation differs")
	require.False(t, says(lines("\tif a {\n\t\tb\n\t}\n"), lines("if a {\nb\n}\n")))
	require.Nil(t, locate(whole, lines("b\nd\n"), folded))
	require.Nil(t, locate(whole, lines("e\n...\na\n"), folded))
}

// command finds commands of the project that a document tells the reader to run.
var command = regexp.MustCompile("go run (\\./[\\w./-]+)((?: [^`\n]*)?)")

func TestCommandsInDocumentsNameWhatIsThere(t *testing.T) {
	commands := 0
	for _, file := range documents(t) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range command.FindAllStringSubmatch(string(text), -1) {
			commands++
			for _, word := range append(strings.Fields(m[2]), m[1]) {
				if strings.HasPrefix(word, "./") || strings.HasPrefix(word, "examples/") || strings.HasPrefix(word, "story/testdata/") || strings.HasPrefix(word, "docs/") {
					_, err := os.Stat(filepath.Join("..", word))
					require.NoError(t, err, "%s says %s", file, m[0])
				}
			}
		}
	}
	require.Greater(t, commands, 10)
}
