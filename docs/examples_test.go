package docs

import (
	"fmt"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const exampleMark = "<!-- made of the comment of main.go by make update -->\n"

// told begins the list of chapters.
const told = "\nIt is told in\n\n"

// exampleReadme returns the page of an example: what its comment says, how to run it, and the chapters that do.
func exampleReadme(t *testing.T, folder string, chapters []string) string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), "main.go", read(t, filepath.Join(folder, "main.go")), parser.ParseComments|parser.PackageClauseOnly)
	require.NoError(t, err)
	name := filepath.Base(folder)
	page := fmt.Sprintf("%s\n# %s\n\n%s\n```\ngo run ./examples/%s\ngo run ./examples/%s -html page.html\n```\n\n"+
		"What it prints is in [output.txt](output.txt), which a test compares. The second command also writes a page of the run.\n",
		exampleMark, name, new(doc.Package).Markdown(parsed.Doc.Text()), name, name)
	var links []string
	for _, file := range chapters {
		if text := read(t, file); strings.Contains(text, "examples/"+name+"/") || strings.Contains(text, "examples/"+name+"\n") {
			title, _, _ := strings.Cut(strings.TrimPrefix(text, "# "), "\n")
			links = append(links, fmt.Sprintf("- [%s](../../docs/%s)\n", title, file))
		}
	}
	if len(links) > 0 {
		page += told + strings.Join(links, "")
	}
	return page
}

// TestEachExampleHasAPage: one that is written by hand, or one made of the example's comment. The list of chapters at its end is that of the
// last make update.
func TestEachExampleHasAPage(t *testing.T) {
	chapters, err := filepath.Glob("[0-9]*.md")
	require.NoError(t, err)
	programs, err := filepath.Glob("../examples/*/main.go")
	require.NoError(t, err)
	require.Greater(t, len(programs), 20)
	for _, program := range programs {
		folder := filepath.Dir(program)
		if _, err := os.Stat(filepath.Join(folder, "output.txt")); err != nil {
			continue
		}
		file := filepath.Join(folder, "README.md")
		old, err := os.ReadFile(file)
		if err == nil && !strings.HasPrefix(string(old), exampleMark) {
			continue
		}
		want := exampleReadme(t, folder, chapters)
		if *update {
			require.NoError(t, os.WriteFile(file, []byte(want), 0o644))
			continue
		}
		require.NoError(t, err, "make update writes it")
		want, _, _ = strings.Cut(want, told)
		is, _, _ := strings.Cut(string(old), told)
		require.Equal(t, want, is, "make update writes it")
	}
}
