package docs

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// mostWords bounds what a chapter says in its own words: ten minutes.
const mostWords = 1000

var fenced = regexp.MustCompile("(?ms)^[ \t]*```.*?^[ \t]*```[ \t]*$")

// register finds tables that a test writes from a register of the code.
var register = regexp.MustCompile("(?s)<!-- from [^>]*-->\n\\|.*?<!-- end of [^>]*-->")

// ownWords returns the number of words of a chapter outside of quotations: blocks, tables of the code, and tables beside a source document.
func ownWords(text string) int {
	text = register.ReplaceAllString(text, "")
	text = fenced.ReplaceAllString(beside.ReplaceAllString(text, ""), "")
	return len(strings.Fields(regexp.MustCompile("(?s)<!--.*?-->").ReplaceAllString(text, "")))
}

func TestAChapterTakesTenMinutes(t *testing.T) {
	chapters, err := filepath.Glob("[0-9]*.md")
	require.NoError(t, err)
	require.Greater(t, len(chapters), 40)
	for _, file := range chapters {
		require.Less(t, ownWords(read(t, file)), mostWords, "%s: split it, or say less", file)
	}
	require.Equal(t, 6, ownWords("# A chapter\n\n<!-- from x -->\n```go\nnot these words\n```\n\nhas this <!-- n x -->1<!-- /n -->\n\n"+
		"<!-- from x.go -->\n| not | these |\n<!-- end of x.go -->\n\n<!-- beside a 1 2 -->\n"+
		"| lines | the document | ours | why different |\n|---|---|---|---|\n| 1 | a | b | c |\n"))
}
