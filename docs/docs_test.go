// Package docs tests the documents: what they quote is what the tests of this
// repository run, and the links in them lead somewhere.
//
// A fenced block that quotes is preceded by a comment that names its source:
//
//	<!-- from story/testdata/openebs.txt -->
//
// The block must then be found in that file, line by line in one piece; lines
// may be indented differently, and a line "..." skips any number of lines.
package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	quote = regexp.MustCompile("(?ms)^<!-- from (\\S+) -->\n```\\w*\n(.*?)^```$")
	fence = regexp.MustCompile("(?m)^```\\w+$")
	link  = regexp.MustCompile(`\]\(([^)#\s]+)(?:#[^)]*)?\)`)
)

// documents are all Markdown files of the repository, relative to its root.
func documents(t *testing.T) []string {
	t.Helper()
	var files []string
	for _, pattern := range []string{"../*.md", "*.md", "../*/*/README.md", "../*/*/*/README.md"} {
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
		for _, m := range quote.FindAllStringSubmatch(string(text), -1) {
			quotes++
			source, err := os.ReadFile(filepath.Join("..", m[1]))
			require.NoError(t, err, "%s quotes a file that is not there", file)
			require.True(t, contains(lines(string(source)), lines(m[2])), "%s quotes what %s does not say:\n%s", file, m[1], m[2])
		}
	}
	require.Greater(t, quotes, 3)
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

func lines(text string) []string {
	var out []string
	for line := range strings.Lines(strings.TrimSpace(text)) {
		out = append(out, strings.Join(strings.Fields(line), " "))
	}
	return out
}

// contains finds the lines of part in whole, in one piece except for "...".
func contains(whole, part []string) bool {
	for start := range whole {
		if matches(whole[start:], part) {
			return true
		}
	}
	return len(part) == 0
}

func matches(whole, part []string) bool {
	for i, line := range part {
		if line == "..." {
			return contains(whole[i:], part[i+1:])
		}
		if i >= len(whole) || whole[i] != line {
			return false
		}
	}
	return true
}

func TestTheCheckerFindsWhatDiffers(t *testing.T) {
	whole := lines("a\nb c\n d\ne\n")
	require.True(t, contains(whole, lines("b  c\nd")))
	require.True(t, contains(whole, lines("a\n...\ne")))
	require.False(t, contains(whole, lines("b\nd")))
	require.False(t, contains(whole, lines("e\n...\na")))
}
